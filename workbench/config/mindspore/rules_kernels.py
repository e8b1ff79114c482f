"""Rules on ``kernels``: what survives of an entry, and what it can match."""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench.config.context import Context
from workbench.config.mindspore.kernel_list import is_regex, kernel_text, read_kernel
from workbench.config.mindspore.row import SEEN, TUTORIAL, WHOLE_GRAPH, Row, setting
from workbench.config.rule import Breach, Example
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.mindspore.form import MindSporeForm
    from workbench.core.plan import Selector

_LONG_NAME = 150
_LONGEST = 100
"""Longest name that is compared with those of operators."""

_GLOB = frozenset("*?|()^$\\")


def _entries(form: MindSporeForm) -> Iterator[tuple[str, Any]]:
    """Entries that are read, with their paths: ``dump_mode`` counts as it is written."""
    section = form.common_dump_settings
    for index, entry in enumerate(section.kernels if section.dump_mode == 1 else ()):
        yield setting(f"kernels[{index}]"), entry


def _selectors(form: MindSporeForm) -> Iterator[tuple[str, Any, Selector]]:
    for path, entry in _entries(form):
        try:
            selector = read_kernel(entry)
        except FormatError:
            continue
        if selector is not None:
            yield path, entry, selector


def _unread(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if section.kernels and section.dump_mode != 1:
        values = {"mode": section.dump_mode}
        yield Breach(setting("kernels"), list(section.kernels), values)


def _everything(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if section.dump_mode == 1 and not any(kernel_text(entry) for entry in section.kernels):
        yield Breach(setting("kernels"), list(section.kernels))


def _old_everything(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    if context.release() and context.release() < (2, 3):
        for breach in _everything(form, context):
            yield breach._replace(values={"version": context.version})


def _old_regex(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    if context.release() and context.release() < (2, 3):
        for path, entry in _entries(form):
            if is_regex(kernel_text(entry)):
                yield Breach(path, entry, {"version": context.version})


def _bad_regex(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for path, entry in _entries(form):
        try:
            read_kernel(entry)
        except FormatError as error:
            yield Breach(path, entry, {"why": error})


def _backslash(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for path, entry in _entries(form):
        if isinstance(entry, str) and "\\" in entry:
            yield Breach(path, entry)


def _blank(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for path, entry in _entries(form):
        if isinstance(entry, str) and " " in entry.strip(" ") and '"' not in entry:
            yield Breach(path, entry, {"text": kernel_text(entry)})


def _no_text(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for path, entry in _entries(form):
        if not isinstance(entry, str):
            yield Breach(path, entry, {"text": kernel_text(entry)})


def _twice(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    seen: set[str] = set()
    for path, entry in _entries(form):
        text = kernel_text(entry)
        if text and text in seen:
            yield Breach(path, entry)
        seen.add(text)


def _glob(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for path, entry, selector in _selectors(form):
        if selector.kind != "regex" and _GLOB & set(selector.text):
            yield Breach(path, entry)


def _short(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for path, entry, selector in _selectors(form):
        if selector.kind == "name" and "/" not in selector.text:
            yield Breach(path, entry)


def _unlike(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    """Look for types that are a slip of the pen away from one that exists."""
    for path, entry, selector in _selectors(form):
        if selector.kind == "type" and not _GLOB & set(selector.text):
            near = _near(selector.text[:100])
            if near:
                yield Breach(path, entry, {"near": near})


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


def _types(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for path, entry, selector in _selectors(form):
        if selector.kind == "type":
            yield Breach(path, entry)


def _ids(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    named = [entry for _, entry, selector in _selectors(form) if "-op" in selector.text]
    if named:
        yield Breach(setting("kernels"), named)


def _long(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for path, entry, selector in _selectors(form):
        if selector.kind == "name" and len(selector.text) > _LONG_NAME:
            yield Breach(path, entry)


def _listed(*kernels: Any, **more: Any) -> dict[str, Any]:
    return {"dump_mode": 1, "kernels": list(kernels)} | more


_OLD = Context("2.0.0")

ROWS = (
    Row(
        "kernels-unread",
        "hint",
        _unread,
        "{key} is not read with dump_mode {mode}",
        "Set dump_mode to 1 to select operators.",
        {"kernels": ["Conv2D"]},
        _listed("Conv2D"),
    ),
    Row(
        "kernels-empty",
        "hint",
        _everything,
        "dump_mode 1 with an empty list dumps every operator",
        "Add operator names.",
        _listed(),
        _listed("Conv2D"),
    ),
    Row(
        "kernels-empty-old",
        "warning",
        _old_everything,
        "An empty list of operators dumps nothing with MindSpore {version}",
        "Add operator names.",
        Example(_listed(), _OLD),
        Example(_listed("Conv2D"), _OLD),
        "seen with MindSpore 2.0.0 on a CPU; 2.1 and 2.2 are not verified",
        on="o0o1 cpu gpu",
    ),
    Row(
        "kernels-regex-old",
        "warning",
        _old_regex,
        "{path}: regular expressions match nothing with MindSpore {version}",
        "Use names or types.",
        Example(_listed("name-regex(Default/.+)"), _OLD),
        Example(_listed("name-regex(Default/.+)"), Context("2.5")),
        "seen with MindSpore 2.0.0 on a CPU; 2.1 and 2.2 are not verified",
        on="o0o1 cpu gpu",
    ),
    Row(
        "kernels-regex",
        "error",
        _bad_regex,
        "{path}: {got!r} is not a valid C++ regular expression ({why})",
        "Correct the expression.",
        _listed("name-regex(()"),
        _listed("name-regex(())"),
    ),
    Row(
        "kernels-backslash",
        "warning",
        _backslash,
        "{path}: {got!r} has a backslash, which MindSpore doubles",
        "Write '[.]' for a dot and '[0-9]' for a digit.",
        _listed(r"name-regex(a\.b)"),
        _listed("name-regex(a[.]b)"),
    ),
    Row(
        "kernels-blank",
        "warning",
        _blank,
        "{path}: MindSpore removes the blanks in {got!r} and reads {text!r}",
        "Remove the blanks.",
        _listed("Default/my net/Add-op0"),
        _listed("Default/mynet/Add-op0"),
    ),
    Row(
        "kernels-text",
        "warning",
        _no_text,
        "{path}: {got!r} is not text; MindSpore reads it as {text!r}",
        "Put it in quotes.",
        _listed(5),
        _listed("5"),
    ),
    Row(
        "kernels-twice",
        "warning",
        _twice,
        "{path}: {got!r} is listed again",
        "Remove it.",
        _listed("Add", "Add "),
        _listed("Add", "add"),
    ),
    Row(
        "kernels-glob",
        "warning",
        _glob,
        "{path}: '*', '|' and the like are taken literally, so {got!r} matches nothing",
        "Use name-regex(…).",
        _listed("Conv*"),
        _listed("name-regex(.*Conv.*)"),
    ),
    Row(
        "kernels-short",
        "warning",
        _short,
        "{path}: '-op' makes {got!r} a full name, and full names match exactly",
        "Add the scope, as in 'Default/net-Net/Conv2D-op12'.",
        _listed("Conv2D-op12"),
        _listed("Default/Conv2D-op12"),
    ),
    Row(
        "kernels-type",
        "hint",
        _unlike,
        "{path}: no known operator type contains {got!r}",
        "Did you mean {near!r}?",
        _listed("MatMull"),
        _listed("matmul"),
        "the operator types known here",
        on="o0o1 cpu gpu",
    ),
    Row(
        "kernels-type-o2",
        "warning",
        _types,
        "{path}: with O2, {got!r} is the full name of an operator, not a type",
        "Use full names or name-regex(…).",
        _listed("Conv2D"),
        _listed("Default/Conv2D-op12"),
        on=WHOLE_GRAPH,
    ),
    Row(
        "kernels-ids",
        "hint",
        _ids,
        'The "-opN" suffix depends on MS_DEV_SAVE_GRAPHS',
        "Take names from dump file names.",
        _listed("Default/Add-op0"),
        _listed("name-regex(Default/fc1.+)"),
        f"{TUTORIAL}; {SEEN}",
        on="o0o1 cpu gpu",
    ),
    Row(
        "kernels-long",
        "hint",
        _long,
        f"{{path}}: names of more than {_LONG_NAME} characters are replaced by numbers in file names (mapping.csv)",
        "Shorten them with mindspore.set_context(reserve_class_name_in_scope=False).",
        _listed("Default/" + "a" * 150),
        _listed("Default/a-op1"),
        TUTORIAL,
        on="o0o1 cpu gpu",
    ),
)
"""Order is that of MindSpore's own checks; hints come last."""
