"""Rules on ``kernels``: what survives of an entry, and what it can match."""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench.config.context import Context
from workbench.config.form.rules import Example, Row
from workbench.config.mindspore.kernels import is_regex, kernel_text, read_kernel
from workbench.config.mindspore.settings import SEEN, TUTORIAL, WHOLE_GRAPH, common_path
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from workbench.config.form.rules import At
    from workbench.config.mindspore.reading import MindSporeReading
    from workbench.core.plan import Selector

KERNELS = common_path("kernels")
EACH = f"{KERNELS}[]"
_LONG_NAME = 150
_LONGEST = 100
"""Longest name that is compared with those of operators."""

_GLOB = frozenset("*?|()^$\\")


def _selector(r: MindSporeReading, entry: Any) -> Selector | None:
    """Return what an entry that is read selects; ``None`` if nothing, or if it is no valid expression."""
    try:
        return read_kernel(entry) if r.selects else None
    except FormatError:
        return None


def _kind(r: MindSporeReading, at: At) -> str:
    selector = _selector(r, at.value)
    return selector.kind if selector else ""


def _selects_everything(r: MindSporeReading, at: At) -> bool:
    return r.selects and not any(map(kernel_text, at.value))


def _is_unread_regex(r: MindSporeReading, at: At) -> Any:
    unread = r.old and r.selects and is_regex(kernel_text(at.value))
    return unread and {"version": r.context.version}


def _is_bad_regex(r: MindSporeReading, at: At) -> Any:
    try:
        read_kernel(at.value if r.selects else "")
    except FormatError as error:
        return {"why": error}
    return False


def _has_blanks(r: MindSporeReading, at: At) -> Any:
    entry = at.value if r.selects and isinstance(at.value, str) else ""
    blank = " " in entry.strip(" ") and '"' not in entry
    return blank and {"text": kernel_text(entry)}


def _repeated_entries(r: MindSporeReading, at: At) -> list[dict[str, Any]]:
    found, seen = [], set()
    for index, entry in enumerate(at.value if r.selects else ()):
        text = kernel_text(entry)
        if text and text in seen:
            found.append({"below": f"[{index}]", "got": entry})
        seen.add(text)
    return found


def _is_glob(r: MindSporeReading, at: At) -> bool:
    selector = _selector(r, at.value)
    return selector is not None and selector.kind != "regex" and bool(_GLOB & set(selector.text))


def _is_nearly_a_type(r: MindSporeReading, at: At) -> Any:
    """Look for types that are a slip of the pen away from one that exists."""
    selector = _selector(r, at.value)
    if selector is None or selector.kind != "type" or _GLOB & set(selector.text):
        return False
    near = _near(selector.text[:100])
    return near and {"near": near}


@lru_cache(maxsize=1024)
def _near(text: str) -> str:
    from workbench.ops import OPS

    if len(text) > _LONGEST:
        return ""

    types = {name.lower(): name for name in OPS}
    if any(text.lower() in name for name in types):
        return ""
    close = difflib.get_close_matches(text.lower(), types, 1, 0.8)
    return types[close[0]] if close else ""


def _entries_with_ids(r: MindSporeReading, at: At) -> Any:
    selectors = [(entry, _selector(r, entry)) for entry in at.value]
    named = [entry for entry, selector in selectors if selector and "-op" in selector.text]
    return named and [{"got": named}]


def _is_long_name(r: MindSporeReading, at: At) -> bool:
    selector = _selector(r, at.value)
    return selector is not None and selector.kind == "name" and len(selector.text) > _LONG_NAME


def _listed(*kernels: Any, **more: Any) -> dict[str, Any]:
    return {"dump_mode": 1, "kernels": list(kernels)} | more


_OLD = Context("2.0.0")

ROWS = (
    Row(
        id="kernels-unread",
        severity="hint",
        at=KERNELS,
        when=lambda r, at: at.value and not r.selects and {"mode": r.common.dump_mode},
        says="{key} is not read with dump_mode {mode}",
        fix="Set dump_mode to 1 to select operators.",
        breaks={"kernels": ["Conv2D"]},
        keeps=_listed("Conv2D"),
    ),
    Row(
        id="kernels-empty",
        severity="hint",
        at=KERNELS,
        when=_selects_everything,
        says="dump_mode 1 with an empty list dumps every operator",
        fix="Add operator names.",
        breaks=_listed(),
        keeps=_listed("Conv2D"),
    ),
    Row(
        id="kernels-empty-old",
        severity="warning",
        at=KERNELS,
        when=lambda r, at: r.old and _selects_everything(r, at) and {"version": r.context.version},
        says="An empty list of operators dumps nothing with MindSpore {version}",
        fix="Add operator names.",
        breaks=Example(_listed(), _OLD),
        keeps=Example(_listed("Conv2D"), _OLD),
        source="seen with MindSpore 2.0.0 on a CPU; 2.1 and 2.2 are not verified",
        on="o0o1 cpu gpu",
    ),
    Row(
        id="kernels-regex-old",
        severity="warning",
        at=EACH,
        when=_is_unread_regex,
        says="{path}: regular expressions match nothing with MindSpore {version}",
        fix="Use names or types.",
        breaks=Example(_listed("name-regex(Default/.+)"), _OLD),
        keeps=Example(_listed("name-regex(Default/.+)"), Context("2.5")),
        source="seen with MindSpore 2.0.0 on a CPU; 2.1 and 2.2 are not verified",
        on="o0o1 cpu gpu",
    ),
    Row(
        id="kernels-regex",
        severity="error",
        at=EACH,
        when=_is_bad_regex,
        says="{path}: {got!r} is not a valid C++ regular expression ({why})",
        fix="Correct the expression.",
        breaks=_listed("name-regex(()"),
        keeps=_listed("name-regex(())"),
    ),
    Row(
        id="kernels-backslash",
        severity="warning",
        at=EACH,
        when=lambda r, at: r.selects and isinstance(at.value, str) and "\\" in at.value,
        says="{path}: {got!r} has a backslash, which MindSpore doubles",
        fix="Write '[.]' for a dot and '[0-9]' for a digit.",
        breaks=_listed(r"name-regex(a\.b)"),
        keeps=_listed("name-regex(a[.]b)"),
    ),
    Row(
        id="kernels-blank",
        severity="warning",
        at=EACH,
        when=_has_blanks,
        says="{path}: MindSpore removes the blanks in {got!r} and reads {text!r}",
        fix="Remove the blanks.",
        breaks=_listed("Default/my net/Add-op0"),
        keeps=_listed("Default/mynet/Add-op0"),
    ),
    Row(
        id="kernels-text",
        severity="warning",
        at=EACH,
        when=lambda r, at: (
            r.selects and not isinstance(at.value, str) and {"text": kernel_text(at.value)}
        ),
        says="{path}: {got!r} is not text; MindSpore reads it as {text!r}",
        fix="Put it in quotes.",
        breaks=_listed(5),
        keeps=_listed("5"),
    ),
    Row(
        id="kernels-twice",
        severity="warning",
        at=KERNELS,
        when=_repeated_entries,
        says="{path}: {got!r} is listed again",
        fix="Remove it.",
        breaks=_listed("Add", "Add "),
        keeps=_listed("Add", "add"),
    ),
    Row(
        id="kernels-glob",
        severity="warning",
        at=EACH,
        when=_is_glob,
        says="{path}: '*', '|' and the like are taken literally, so {got!r} matches nothing",
        fix="Use name-regex(…).",
        breaks=_listed("Conv*"),
        keeps=_listed("name-regex(.*Conv.*)"),
    ),
    Row(
        id="kernels-short",
        severity="warning",
        at=EACH,
        when=lambda r, at: _kind(r, at) == "name" and "/" not in kernel_text(at.value),
        says="{path}: '-op' makes {got!r} a full name, and full names match exactly",
        fix="Add the scope, as in 'Default/net-Net/Conv2D-op12'.",
        breaks=_listed("Conv2D-op12"),
        keeps=_listed("Default/Conv2D-op12"),
    ),
    Row(
        id="kernels-type",
        severity="hint",
        at=EACH,
        when=_is_nearly_a_type,
        says="{path}: no known operator type contains {got!r}, so this entry may select nothing",
        fix="Did you mean {near!r}?",
        breaks=_listed("MatMull"),
        keeps=_listed("matmul"),
        source="the operator types known here",
        on="o0o1 cpu gpu",
    ),
    Row(
        id="kernels-type-o2",
        severity="warning",
        at=EACH,
        when=lambda r, at: _kind(r, at) == "type",
        says="{path}: with O2, {got!r} is the full name of an operator, not a type",
        fix="Use full names or name-regex(…).",
        breaks=_listed("Conv2D"),
        keeps=_listed("Default/Conv2D-op12"),
        on=WHOLE_GRAPH,
    ),
    Row(
        id="kernels-ids",
        severity="hint",
        at=KERNELS,
        when=_entries_with_ids,
        says='The "-opN" suffix depends on MS_DEV_SAVE_GRAPHS, so the entry may select nothing in another run',
        fix="Take names from dump file names.",
        breaks=_listed("Default/Add-op0"),
        keeps=_listed("name-regex(Default/fc1.+)"),
        source=f"{TUTORIAL}; {SEEN}",
        on="o0o1 cpu gpu",
    ),
    Row(
        id="kernels-long",
        severity="hint",
        at=EACH,
        when=_is_long_name,
        says=f"{{path}}: names of more than {_LONG_NAME} characters are replaced by numbers"
        " in file names (mapping.csv)",
        fix="Shorten them with mindspore.set_context(reserve_class_name_in_scope=False).",
        breaks=_listed("Default/" + "a" * 150),
        keeps=_listed("Default/a-op1"),
        source=TUTORIAL,
        on="o0o1 cpu gpu",
    ),
)
"""Order is that of MindSpore's own checks; hints come last."""
