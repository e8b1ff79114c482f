"""The map file: what the user knows better than alignment and noise floor. Read everywhere, reported in the result.

::

    {"pairs":      [{"target": "Default/b-Net/ReLU-op1", "golden": "Default/a-Net/ReLU-op0"},
                    {"target": ["Default/MatMulBiasAdd-op0"], "golden": ["Default/MatMul-op0", "Default/BiasAdd-op0"]}],
     "ignore":     ["Default/debug-Print/Print-op0",
                    {"name": "*/Dropout-op*", "side": "target", "reason": "random"}],
     "tolerances": [{"name": "Default/head/*", "relative_error": 0.02, "reason": "fast kernels, agreed upon"},
                    {"op_type": "GeLU", "relative_error": 0.001, "reason": "tanh approximation"}],
     "missing":    [{"name": "Default/aux/*", "reason": "the auxiliary head is dumped on one side only"}],
     "dont_care":  [{"op_type": "PadTokens", "output": 0, "behind": "input.1", "axis": 1, "reason": "padding"},
                    {"name": "*/Softmax-op3", "output": 0, "where_zero": "input.1", "reason": "masked rows"}]}

Names are full operator names of the IR, or file-side names where there is no IR. In all names but those of
pairs, ``*`` and ``?`` stand for any characters and for any one. What is ignored takes no
part; what may be missing is compared where both sides have it, and is no gap where one has not. Of what nobody cares
for, elements are left out where both sides hold the tensor that says which, and agree on it.
"""

from __future__ import annotations

import json
import re
from dataclasses import field, replace
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import AlignError, FormatError
from workbench.core.files import file_content, write_text
from workbench.core.text import one_line
from workbench.core.words import Message
from workbench.ops.dont_care import BehindCount, WhereZero

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_BYTES = 1 << 26
"""Largest file that is read."""

MAX_PATTERNS = 1000
"""Most entries with wildcards or types: each is held against every operator."""

MAX_NAME = 4096
"""Most characters of a name or reason."""

_T = TypeVar("_T")

TOLERATED = "compare/tolerated"
"""Code of the reason of a tensor that a map file tolerates."""

_KEYS = ("pairs", "ignore", "tolerances", "missing", "dont_care")
_SIDES = ("both", "target", "golden")


class Match(NamedTuple):
    """Operators of the target and of the golden that stand for the same computation, N to M."""

    target: tuple[str, ...]
    golden: tuple[str, ...]

    @property
    def plain(self) -> bool:
        """Whether it is one operator on either side."""
        return len(self.target) == len(self.golden) == 1

    def __str__(self) -> str:
        return one_line(f"{', '.join(self.target)} ↔ {', '.join(self.golden)}")


class Ignore(NamedTuple):
    """Operators to leave out: a name or pattern, on which side, and why."""

    name: str
    side: Literal["both", "target", "golden"] = "both"
    reason: str = ""

    def fits(self, op_name: str, side: str = "both") -> bool:
        """Whether an operator of a side is meant."""
        here = "both" in (self.side, side) or self.side == side
        return here and _same_name(self.name, op_name)

    def __str__(self) -> str:
        if self.side == "both":
            return one_line(self.name)
        return one_line(str(Message("compare/map-side", name=self.name, side=self.side)))


class Tolerance(NamedTuple):
    """Relative error that outputs of some operators of the target may have, and why.

    ``name`` is a name or pattern, ``op_type`` a type; what is given must fit.
    """

    relative_error: float
    reason: str
    name: str = ""
    op_type: str = ""

    def fits(self, op_name: str, op_type: str) -> bool:
        """Whether an operator is meant."""
        named = not self.name or _same_name(self.name, op_name)
        return named and (not self.op_type or self.op_type == op_type)

    @property
    def said(self) -> Message:
        """Reason of a tensor that it decides."""
        return Message(TOLERATED, limit=self.relative_error, why=self.reason)

    def __str__(self) -> str:
        which = " ".join(filter(None, (self.op_type, self.name)))
        said = Message("compare/map-tolerance", which=which, limit=self.relative_error)
        return one_line(str(said))


class Missing(NamedTuple):
    """Operators whose tensors or results need not be compared: a name or pattern, and why."""

    name: str
    reason: str = ""

    def fits(self, op_name: str) -> bool:
        """Whether an operator is meant."""
        return _same_name(self.name, op_name)

    def __str__(self) -> str:
        return one_line(self.name)


class Undefined(NamedTuple):
    """Elements of an output that mean nothing, and why; ``name`` is a name or pattern, ``op_type`` a type."""

    slot: int
    region: BehindCount | WhereZero
    reason: str
    name: str = ""
    op_type: str = ""

    def fits(self, op_name: str, op_type: str) -> bool:
        """Whether an operator is meant."""
        named = not self.name or _same_name(self.name, op_name)
        return named and (not self.op_type or self.op_type == op_type)

    @property
    def said(self) -> Message:
        """Reason of what it leaves out."""
        return Message("compare/left-out-map", why=self.reason)

    def __str__(self) -> str:
        which = " ".join(filter(None, (self.op_type, self.name)))
        held = f"{self.region.io}.{self.region.slot}"
        word = "behind" if isinstance(self.region, BehindCount) else "zero"
        said = Message(f"compare/map-{word}", which=which, slot=self.slot, held=held)
        return one_line(str(said))


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a map file says; ``path`` is where it was read, empty for one made in memory."""

    matches: tuple[Match, ...] = ()
    ignore: tuple[Ignore, ...] = ()
    tolerances: tuple[Tolerance, ...] = ()
    missing: tuple[Missing, ...] = ()
    dont_care: tuple[Undefined, ...] = ()
    path: str = field(default="", compare=False)

    def __bool__(self) -> bool:
        entries = self.matches, self.ignore, self.tolerances, self.missing, self.dont_care
        return any(entries)

    @property
    def said(self) -> Message:
        """How many entries there are of each kind."""
        pairs, groups = len(self.pairs), len(self.groups)
        ignored, tolerated = len(self.ignore), len(self.tolerances)
        counts = {"pairs": pairs, "groups": groups, "ignored": ignored, "tolerated": tolerated}
        if self.dont_care:
            counts |= {"missing": len(self.missing), "excluded": len(self.dont_care)}
            return Message("compare/map-dont-care", **counts)
        if self.missing:
            return Message("compare/map-missing", **counts, missing=len(self.missing))
        return Message("compare/map", **counts)

    def __str__(self) -> str:
        return str(self.said)

    @property
    def pairs(self) -> Mapping[str, str]:
        """Target name → golden name of what is one operator on either side."""
        return {match.target[0]: match.golden[0] for match in self.matches if match.plain}

    @property
    def groups(self) -> tuple[Match, ...]:
        """Matches of several operators."""
        return tuple(match for match in self.matches if not match.plain)

    def match(self, target: Iterable[str], golden: Iterable[str]) -> Overrides:
        """Return the same with one match more; earlier ones that name one of these operators go."""
        ours, theirs = tuple(target), tuple(golden)
        kept = [
            one for one in self.matches
            if not set(one.target) & set(ours) and not set(one.golden) & set(theirs)
        ]  # fmt: skip
        return replace(self, matches=(*kept, Match(ours, theirs)), path="")

    def may_miss(self, op_name: str) -> bool:
        """Whether the tensors of an operator may be missing."""
        return any(entry.fits(op_name) for entry in self.missing)

    def allow_missing(self, names: Iterable[str]) -> Overrides:
        """Return the same with operators, by name or pattern, whose tensors may be missing."""
        more = (Missing(name) for name in names)
        return replace(self, missing=tuple(dict.fromkeys((*self.missing, *more))))

    def tolerated(self, op_name: str, op_type: str, error: float) -> Tolerance | None:
        """Return the first tolerance that an error of an operator keeps."""
        return next(
            (t for t in self.tolerances if error <= t.relative_error and t.fits(op_name, op_type)),
            None,
        )


NO_OVERRIDES = Overrides()


def is_pattern(name: str) -> bool:
    """Whether a name of the map file has wildcards."""
    return "*" in name or "?" in name


def _same_name(name: str, op_name: str) -> bool:
    return bool(_pattern(name).match(op_name)) if is_pattern(name) else name == op_name


@lru_cache(maxsize=MAX_PATTERNS)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(translate(name.replace("[", "[[]")))


def read_overrides(path: Path) -> Overrides:
    """Read a map file; raises FormatError or AlignError with file and key if it is not one."""
    text = file_content(path, MAX_BYTES, "map file")
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except FormatError as error:
        raise error.at(str(path)) from error
    except (ValueError, RecursionError) as error:
        raise FormatError("compare/map-json", place=str(path), why=error) from error
    return parse_overrides(data, str(path))


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in items:
        if key in found:
            raise FormatError("compare/map-key-twice", key=key)
        found[key] = value
    return found


def _no_constant(word: str) -> float:
    raise FormatError("compare/map-constant", got=word)


def parse_overrides(data: object, where: str = "") -> Overrides:
    """Return what decoded JSON says; raises FormatError or AlignError that starts with ``where`` and the key."""
    top = _entry(data, where, "map file", _KEYS)
    matches = _list(top, "pairs", where, _match)
    _check_once(matches, where)
    found = Overrides(
        tuple(matches),
        tuple(dict.fromkeys(_list(top, "ignore", where, _ignore))),
        tuple(_list(top, "tolerances", where, _tolerance)),
        tuple(dict.fromkeys(_list(top, "missing", where, _missing))),
        tuple(dict.fromkeys(_list(top, "dont_care", where, _undefined))),
        where,
    )
    kinds = (found.ignore, found.tolerances, found.missing, found.dont_care)
    names = [one.name for some in kinds for one in some]
    patterns = sum(is_pattern(name) or not name for name in names)
    if patterns > MAX_PATTERNS:
        code = "compare/map-patterns"
        raise FormatError(code, place=where, got=patterns, limit=MAX_PATTERNS)
    return found


def to_data(overrides: Overrides) -> dict[str, Any]:
    """Return overrides as the map file has them."""

    def one(names: tuple[str, ...]) -> str | list[str]:
        return names[0] if len(names) == 1 else list(names)

    data = {
        "pairs": [{"target": one(m.target), "golden": one(m.golden)} for m in overrides.matches],
        "ignore": [
            i.name if (i.side, i.reason) == ("both", "")
            else _told(name=i.name, side=i.side, reason=i.reason)
            for i in overrides.ignore
        ],
        "tolerances": [
            _told(name=t.name, op_type=t.op_type, relative_error=t.relative_error, reason=t.reason)
            for t in overrides.tolerances
        ],
    }  # fmt: skip
    if overrides.missing:
        data["missing"] = [_told(name=m.name, reason=m.reason) for m in overrides.missing]
    if overrides.dont_care:
        data["dont_care"] = [_told_undefined(one) for one in overrides.dont_care]
    return data


def _told_undefined(one: Undefined) -> dict[str, Any]:
    held, region = f"{one.region.io}.{one.region.slot}", one.region
    where: dict[str, Any] = {"where_zero": held}
    if isinstance(region, BehindCount):
        where = {"behind": held, "axis": region.axis}
    return _told(name=one.name, op_type=one.op_type, output=one.slot, **where, reason=one.reason)


def _told(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value != ""}


def save_overrides(overrides: Overrides, path: str | Path) -> Path:
    """Write a map file; raises FormatError or AlignError for what `read_overrides` would refuse."""
    parse_overrides(to_data(overrides))
    # lone surrogates of file names become what JSON spells them
    return write_text(path, overrides_text(overrides), "map file")


def overrides_text(overrides: Overrides) -> str:
    """Return the text of a map file."""
    return json.dumps(to_data(overrides), ensure_ascii=False, indent=1) + "\n"


def _entry(data: object, where: str, key: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, dict):
        got = type(data).__name__
        raise FormatError("compare/map-object", place=where, key=key, got=got)
    if set(data) - set(known):
        unknown = sorted(set(data) - set(known))
        raise FormatError("compare/map-keys", place=where, key=key, got=unknown, known=known)
    return data


def _list(
    top: dict[str, Any], key: str, where: str, read: Callable[[Any, str, str], _T]
) -> list[_T]:
    items = top.get(key, [])
    if not isinstance(items, list):
        got = type(items).__name__
        raise FormatError("compare/map-list", place=where, key=key, got=got)
    return [read(item, where, f"{key}[{number}]") for number, item in enumerate(items)]


def _text(value: object, where: str, key: str) -> str:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= len(value) <= MAX_NAME:
        raise FormatError("compare/map-text", place=where, key=key, limit=MAX_NAME, got=value)
    return value


def _match(item: object, where: str, key: str) -> Match:
    entry = _entry(item, where, key, ("target", "golden"))
    sides = []
    for side in ("target", "golden"):
        value, place = entry.get(side), f"{key}.{side}"
        names = value if isinstance(value, list) and value else [value]
        sides.append(tuple(_text(name, where, place) for name in names))
    return Match(*sides)


def _check_once(matches: list[Match], where: str) -> None:
    """Refuse an operator that two entries of ``pairs`` name."""
    for side in ("target", "golden"):
        seen: set[str] = set()
        for number, match in enumerate(matches):
            for name in getattr(match, side):
                if name in seen:
                    code, key = "compare/map-name-twice", f"pairs[{number}]"
                    raise AlignError(code, place=where, key=key, side=side, name=name)
                seen.add(name)


def _ignore(item: object, where: str, key: str) -> Ignore:
    if not isinstance(item, dict):
        return Ignore(_text(item, where, key))
    entry = _entry(item, where, key, ("name", "side", "reason"))
    side = entry.get("side", "both")
    if side not in _SIDES:
        subject = f"{key}.side"
        raise FormatError("core/choice", place=where, subject=subject, got=side, known=_SIDES)
    reason = _text(entry["reason"], where, f"{key}.reason") if "reason" in entry else ""
    name = _text(entry.get("name"), where, f"{key}.name")
    return Ignore(name, cast('Literal["both", "target", "golden"]', side), reason)


def _missing(item: object, where: str, key: str) -> Missing:
    entry = _entry(item, where, key, ("name", "reason"))
    if "reason" not in entry:
        raise FormatError("compare/map-missing-reason", place=where, key=key)
    name = _text(entry.get("name"), where, f"{key}.name")
    return Missing(name, _text(entry["reason"], where, f"{key}.reason"))


def _tolerance(item: object, where: str, key: str) -> Tolerance:
    entry = _entry(item, where, key, ("name", "op_type", "relative_error", "reason"))
    if "reason" not in entry:
        raise FormatError("compare/map-reason", place=where, key=key)
    if not entry.keys() & {"name", "op_type"}:
        raise FormatError("compare/map-whom", place=where, key=key)
    error = _positive(entry.get("relative_error"), where, f"{key}.relative_error")
    texts = {k: _text(entry[k], where, f"{key}.{k}") for k in ("name", "op_type") if k in entry}
    return Tolerance(error, _text(entry["reason"], where, f"{key}.reason"), **texts)


def _undefined(item: object, where: str, key: str) -> Undefined:
    known = ("name", "op_type", "output", "behind", "where_zero", "axis", "reason")
    entry = _entry(item, where, key, known)
    if "reason" not in entry:
        raise FormatError("compare/map-dont-care-reason", place=where, key=key)
    if not entry.keys() & {"name", "op_type"}:
        raise FormatError("compare/map-whom", place=where, key=key)
    if ("behind" in entry) == ("where_zero" in entry) or (
        "axis" in entry and "behind" not in entry
    ):
        raise FormatError("compare/map-region", place=where, key=key)
    texts = {k: _text(entry[k], where, f"{key}.{k}") for k in ("name", "op_type") if k in entry}
    slot = _number(entry.get("output", 0), where, f"{key}.output")
    region: BehindCount | WhereZero
    if "behind" in entry:
        axis = _number(entry.get("axis", 0), where, f"{key}.axis")
        region = BehindCount(*_slot(entry["behind"], where, f"{key}.behind"), axis)
    else:
        region = WhereZero(*_slot(entry["where_zero"], where, f"{key}.where_zero"))
    return Undefined(slot, region, _text(entry["reason"], where, f"{key}.reason"), **texts)


def _slot(value: object, where: str, key: str) -> tuple[str, int]:
    """Direction and number of a tensor of an operator, as ``input.1``."""
    found = re.fullmatch(r"(input|output)\.([0-9]{1,4})", value) if isinstance(value, str) else None
    if found is None:
        raise FormatError("compare/map-slot", place=where, key=key, got=value)
    return found[1], int(found[2])


def _number(value: object, where: str, key: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10_000:
        return value
    raise FormatError("compare/map-number", place=where, key=key, got=value)


def _positive(value: object, where: str, key: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, int | float) and number and 0 < value <= 1e308:
        return float(value)
    raise FormatError("compare/map-error", place=where, key=key, got=value)
