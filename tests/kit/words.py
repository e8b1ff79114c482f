"""What the workbench says, for tests: by code and values; the sentences themselves stand in ``tests/words/*.txt``.

A snapshot holds a block a sentence: its code, the values of a real run, and the sentence that they make. Sentences
that tests have raised are added with ``pytest --record-words``; after a change of words ``pytest tests/words
--update-words`` writes the file anew, and the difference is for a person to read.
"""

from __future__ import annotations

import ast
import fcntl
import re
from contextlib import contextmanager
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pytest

from kit.syntax import nodes_of
from workbench.core.errors import ConfigError, WorkbenchError
from workbench.core.text import readable
from workbench.core.words import Message, RowMessage, render, sentence
from workbench.core.words.translate import Say

SNAPSHOTS = Path(__file__).parents[1] / "words"
_TEMPORARY = re.compile(r"/\S*?/pytest-of-[^/]+/pytest-\d+/(?:popen-gw\d+/)?[^/\s'\"]+/?")
_DEEP = 3


@contextmanager
def refused(
    code: str | tuple[str, ...], kind: type[WorkbenchError] = WorkbenchError, /, **values: Any
):
    """The block must raise this code, or one of several; ``values`` are some of the error's (``place`` among them).

    Yields what `pytest.raises` yields.
    """
    with pytest.raises(kind) as caught:
        yield caught
    check_said(caught.value, code, **values)


@contextmanager
def misconfigured(problem: str, code: str = "", **values: Any):
    """The block must raise a ConfigError with a problem of this id, whose message has this code and these values."""
    with pytest.raises(ConfigError) as caught:
        yield caught
    found = [one for one in caught.value.problems if one.id == problem]
    assert found, str(caught.value)
    if code:
        check_said(found[0].message, code, **values)


def check_said(said: Message | WorkbenchError, code: str | tuple[str, ...], **values: Any) -> None:
    """An error or a message must have this code (or one of several) and these values, perhaps more."""
    code = (
        code if isinstance(code, str) else next((one for one in code if one == said.code), code[0])
    )
    held = dict(said.values) | {"place": said.place}
    assert (said.code, {name: held.get(name) for name in values}) == (code, values), str(said)
    assert str(said)  # there is a sentence, and it has all the values that it names


def fields(code: str) -> set[str]:
    """Names of the values that the sentence of a code names."""
    return set(fields_in(render.template(code)))


def fields_in(text: str):
    """Names of the values in words of a table."""
    for _, name, spec, _ in Formatter().parse(text):
        if name:
            yield re.split(r"[.\[]", name)[0]
            yield from fields_in(spec or "")


def read_snapshot(area: str) -> dict[str, tuple[dict[str, Any], str]]:
    """Code → values and sentence of an area's snapshot, in the file's order."""
    path = SNAPSHOTS / f"{area}.txt"
    blocks = path.read_text(encoding="utf-8").split("\n\n") if path.exists() else []
    found = {}
    for block in filter(str.strip, blocks):
        code, values, *lines = block.strip("\n").split("\n")
        found[code] = (_values(values.strip()), "\n".join(line[4:] for line in lines))
    return found


def write_snapshot(area: str, values: dict[str, dict[str, Any]]) -> None:
    """Write the snapshot of an area anew, sorted by code."""
    blocks = []
    for code in sorted(values):
        shown = ", ".join(f"{name}={value!r}" for name, value in values[code].items())
        text = readable(sentence(code, values[code])).replace("\n", "\n    ")
        blocks.append(f"{code}\n    {shown or '-'}\n    {text}\n")
    SNAPSHOTS.mkdir(exist_ok=True)
    (SNAPSHOTS / f"{area}.txt").write_text("\n".join(blocks), encoding="utf-8")


def _values(text: str) -> dict[str, Any]:
    """Read ``name=literal, …``; numbers that have no literal and messages in values are names."""
    names = {"nan": float("nan"), "inf": float("inf"), "Message": Message, "__builtins__": {}}
    return {} if text == "-" else eval(f"dict({text})", names, {"dict": dict})  # our own file


class Recorder:
    """Keeps the first values that a run gave each code which no snapshot shows yet."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        for kind in (WorkbenchError, Message):
            self._listen(kind, "__init__")
        self._listen(Say, "__call__")

    def _listen(self, kind: type, method: str) -> None:
        begin = getattr(kind, method)

        def recorded(one: Any, code: Any = "", /, **values: Any) -> Any:
            done = begin(one, code, **values)
            self.note(code, {name: held for name, held in values.items() if name != "place"})
            return done

        setattr(kind, method, recorded)

    def note(self, code: Any, values: dict[str, Any]) -> None:
        if not isinstance(code, str) or code in self.found:
            return
        try:
            if fields(code) <= values.keys():
                self.found[code] = {name: literal(value) for name, value in values.items()}
        except LookupError:
            return

    def write(self) -> None:
        """Add what is missing to the snapshots; other processes do the same at the same time."""
        SNAPSHOTS.mkdir(exist_ok=True)
        with (SNAPSHOTS / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for area in render.AREAS:
                words = {f"{area}/{name}" for name in render.table(area)}
                shown = read_snapshot(area).items()
                known = {code: values for code, (values, _) in shown if code in words}
                new = {
                    code: values
                    for code, values in self.found.items()
                    if code.startswith(f"{area}/") and code not in known
                }
                if new:
                    write_snapshot(area, new | known)
        (SNAPSHOTS / ".lock").unlink(missing_ok=True)


def literal(value: Any, depth: int = 0) -> Any:
    """Return a value as Python writes it down: what has no literal becomes its text, long ones are cut."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, Message) and not isinstance(value, RowMessage):
        held = {name: literal(one, depth + 1) for name, one in value.values.items()}
        return Message(value.code, place=literal(value.place), **held)
    if isinstance(value, dict) and depth < _DEEP:
        return {str(key): literal(one, depth + 1) for key, one in list(value.items())[:4]}
    if isinstance(value, list | tuple | set | frozenset) and depth < _DEEP:
        some = [literal(one, depth + 1) for one in list(value)[:12]]
        return tuple(some) if isinstance(value, tuple) else some
    text = str(value).encode("utf-8", "replace").decode()  # a snapshot is UTF-8
    return _TEMPORARY.sub("", text)[:200]


def is_code(value: object) -> bool:
    """Whether a literal of a program is a code: ``area/name``."""
    found = re.fullmatch(r"([a-z_]+)/[a-z0-9-]+", value) if isinstance(value, str) else None
    return bool(found) and found[1] in render.AREAS


def codes_in(tree: ast.AST) -> tuple[set[str], set[str]]:
    """Codes that a module names, and beginnings of codes that it puts together (``f"compare/{kind}"``)."""
    known = tuple(f"{area}/" for area in render.AREAS)
    whole, begun = set(), set()
    parts = {
        id(part)
        for node in nodes_of(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in nodes_of(tree):
        if isinstance(node, ast.JoinedStr) and node.values:
            first = node.values[0]
            if isinstance(first, ast.Constant) and str(first.value).startswith(known):
                begun.add(str(first.value))
        elif isinstance(node, ast.Constant) and id(node) not in parts and is_code(node.value):
            whole.add(node.value)
    return whole, begun


def codes_in_text(text: str) -> set[str]:
    """Codes that a template or a module of a page names."""
    return set(filter(is_code, re.findall(r"""["']([a-z_]+/[a-z0-9-]+)["']""", text)))


def said_in(tree: ast.AST) -> list[tuple[int, str, set[str]]]:
    """Line, code and names of values wherever a module writes both out."""
    found = []
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        first = node.args[0]
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        told = name.endswith("Error") or name in ("Message", "say")
        if told and isinstance(first, ast.Constant) and isinstance(first.value, str):
            names = {one.arg for one in node.keywords}
            if None not in names:
                found.append((node.lineno, first.value, names))
    return found
