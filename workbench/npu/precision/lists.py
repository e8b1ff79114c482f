"""Lists of operators with formats of their own: changes of mixed precision, kept formats, chosen ones.

They are the files that ATC takes as ``modify_mixlist``, ``keep_dtype`` and ``customize_dtypes``. Names are those of
the model; types are the graph engine's, or those of the operators here.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import TYPE_CHECKING, Any, get_args

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError
from workbench.npu.compile.provenance import TRACED, original_names, original_types
from workbench.npu.ops_info import Shade, op_info
from workbench.ops.aliases import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.graph.graph import Op

_MIXLIST = "modify_mixlist"


def table_type(op_type: str) -> str:
    """The table's name of an operator type: ``Relu`` is ``ReLU``, ``ConcatD`` is ``Concat``."""
    alias = ALIASES.get(op_type)
    return alias.op_type if alias is not None else TRACED.get(op_type, op_type)


@dataclass(frozen=True, slots=True)
class MixList:
    """Changes of the lists of mixed precision: operator type → the list it joins or leaves."""

    added: Mapping[str, Shade] = field(default_factory=dict)
    removed: Mapping[str, Shade] = field(default_factory=dict)

    def shade(self, op_type: str) -> Shade:
        """List that an operator type is on. What joins the gray list stays where it was."""
        shade = op_info(op_type).mixed_precision
        listed = table_type(op_type)
        if self.removed.get(listed) == shade:
            shade = "gray"
        added = self.added.get(listed, "gray")
        return shade if added == "gray" else added


def read_mixlist(text: str) -> MixList:
    """Read the JSON of ``modify_mixlist``; raises FormatError as the device would refuse it.

    >>> read_mixlist('{"black-list": {"to-add": ["MatMul"]}}').shade("MatMul")
    'black'
    """
    if not text:
        return MixList()
    added: dict[str, Shade] = {}
    removed: dict[str, Shade] = {}
    for shade, action, op_type in _mixlist_items(text):
        target = added if action == "to-add" else removed
        if target.setdefault(op_type, shade) != shade:
            raise FormatError(
                "run/mixlist-twice",
                place=_MIXLIST,
                type=op_type,
                action=action,
                lists=[target[op_type], shade],
            )
    for op_type, shade in removed.items():
        joins = added.get(op_type, "" if shade == "gray" else "gray")
        if joins in ("", shade):
            raise FormatError("run/mixlist-removed", place=_MIXLIST, type=op_type, list=shade)
    return MixList(
        {table_type(op_type): shade for op_type, shade in added.items()},
        {table_type(op_type): shade for op_type, shade in removed.items()},
    )


def _mixlist_items(text: str) -> Iterator[tuple[Shade, str, str]]:
    """Yield (list, action, operator type) of every entry."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError("run/mixlist-json", place=_MIXLIST, why=error) from None
    for shade in get_args(Shade):
        lists = _taken(content, f"{shade}-list", dict, {})
        for action in ("to-add", "to-remove"):
            for op_type in _taken(lists, action, list, []):
                if not isinstance(op_type, str):
                    raise FormatError("run/mixlist-type", place=_MIXLIST, got=op_type)
                yield shade, action, op_type
        _check_keys(lists, ("to-add", "to-remove"))
    _check_keys(content, tuple(f"{shade}-list" for shade in get_args(Shade)))


def _taken(content: Any, key: str, kind: type, missing: Any) -> Any:
    if not isinstance(content, dict):
        raise FormatError("run/mixlist-object", place=_MIXLIST, got=content)
    value = content.get(key, missing)
    if not isinstance(value, kind):
        code = "run/mixlist-object" if kind is dict else "run/mixlist-array"
        raise FormatError(code, place=f"{_MIXLIST}: {key}", got=value)
    return value


def _check_keys(content: Mapping[str, Any], known: Iterable[str]) -> None:
    for key in content:
        if key not in known:
            raise FormatError("core/choice", place=_MIXLIST, subject="key", got=key, known=[*known])


# --- operators that keep the formats of the model, or have chosen ones ----------------------------------

_TYPED = "OpType::"


@dataclass(frozen=True, slots=True)
class OperatorList:
    """Operators by name and by type."""

    names: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()

    def has(self, op: Op) -> bool:
        """Whether an operator is in the list, or one that it was fused from."""
        if not (self.names or self.types):  # as nearly always
            return False
        types = {table_type(one) for one in (op.op_type, *original_types(op))}
        return not self.types.isdisjoint(types) or not self.names.isdisjoint(original_names(op))


def read_keep_dtype(text: str) -> OperatorList:
    r"""Read the file of ``keep_dtype``: a name, or ``OpType::`` and a type, on each line.

    >>> sorted(read_keep_dtype("conv1\nOpType::Softmax").types)
    ['Softmax']
    """
    names, types = set[str](), set[str]()
    for number, line in _lines(text):
        if line.startswith(_TYPED):
            types.add(table_type(_type(line.removeprefix(_TYPED), f"keep_dtype:{number}")))
        else:
            names.add(line)
    return OperatorList(frozenset(names), frozenset(types))


class ChosenFormats(NamedTuple):
    """Formats in which an operator reads and writes floats; ``""``: those of the model."""

    inputs: str
    output: str


@dataclass(frozen=True, slots=True)
class FormatList:
    """Formats chosen for operators, by name and by type. A name counts before a type."""

    by_name: Mapping[str, ChosenFormats] = field(default_factory=dict)
    by_type: Mapping[str, ChosenFormats] = field(default_factory=dict)

    def formats(self, op: Op) -> ChosenFormats | None:
        """Formats that are chosen for an operator. What was fused with others has lost what was chosen for it."""
        if not (self.by_name or self.by_type):  # as nearly always
            return None
        names = original_names(op)
        if len(names) != 1:
            return None
        return self.by_name.get(names[0]) or self.by_type.get(table_type(original_types(op)[-1]))


_CHOICE = re.compile(
    r"(?P<name>.+?):{1,2}(?:InputDtype:(?P<inputs>[\w,]*?),?)?(?:OutputDtype:(?P<outputs>[\w,]+))?",
    re.ASCII,
)
_CHOSEN = {"float32": "", "float": "", "float16": "float16", "bfloat16": "bfloat16"}
"""Formats that the vector and the cube unit compute in, and how they are stated of an operator of a float32 model."""


def read_customize_dtypes(text: str) -> FormatList:
    """Read the file of ``customize_dtypes``: an operator, the formats of its inputs and those of its outputs a line.

    All floats that an operator reads have one format here, and all that it writes.

    >>> read_customize_dtypes("fc::InputDtype:float16,float16,OutputDtype:float32").by_name
    {'fc': ChosenFormats(inputs='float16', output='')}
    """
    by_name: dict[str, ChosenFormats] = {}
    by_type: dict[str, ChosenFormats] = {}
    for number, line in _lines(text):
        place = f"customize_dtypes:{number}"
        match = _CHOICE.fullmatch(line)
        if match is None or not (match["inputs"] or match["outputs"]):
            raise FormatError("run/custom-line", place=place, got=line)
        chosen = ChosenFormats(*(_chosen(match[key] or "", place) for key in ("inputs", "outputs")))
        if line.startswith(_TYPED):
            kind = _type(match["name"].removeprefix(_TYPED), place)
            by_type.setdefault(table_type(kind), chosen)
        else:
            by_name.setdefault(match["name"], chosen)
    return FormatList(by_name, by_type)


def _chosen(text: str, place: str) -> str:
    kinds = [one for one in text.split(",") if one]
    for kind in kinds:
        if kind not in _CHOSEN:
            raise FormatError(
                "core/choice", place=place, subject="dtype", got=kind, known=[*_CHOSEN]
            )
    found = {_CHOSEN[kind] for kind in kinds}
    if len(found) > 1:
        raise FormatError("run/custom-several", place=place, got=kinds)
    return next(iter(found), "")


def _type(word: str, place: str) -> str:
    """The graph engine refuses types that are not written in capitals and digits of one word."""
    if not re.fullmatch("[A-Z][A-Za-z0-9]*", word):
        raise FormatError("run/kept-type", place=place, got=word)
    return word


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()
