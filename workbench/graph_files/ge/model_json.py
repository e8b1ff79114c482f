"""Reader of the model that ATC writes as JSON (``atc --mode=1``): the messages of ge.proto under their own names.

A map is a list of ``key`` and ``value``, a float a number or a text.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.core.errors import FormatError
from workbench.core.files import file_content
from workbench.core.words import Message
from workbench.graph_files.ge.graph import model_graph
from workbench.graph_files.ge.schema import GE_IR
from workbench.proto.text import MAX_DEPTH, asked, parse_word, single

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.graph.graph import Graph
    from workbench.proto.schema import Field

MAX_JSON = 1 << 27
"""Most bytes of a model: Python's reader makes an object of 64 bytes of three."""


def read_model_json(path: Path) -> Graph:
    """Read the graph of a model; raises FormatError with the line, or with the field, if it is damaged."""
    text = file_content(path, MAX_JSON, "graph").decode("utf-8-sig", "surrogateescape")
    return replace(parse_model_json(text, str(path)), path=str(path))


def parse_model_json(text: str, where: str = "<text>") -> Graph:
    """Parse the text of a model; ``where`` starts the message of an error."""
    try:
        values = json.loads(text)
    except RecursionError as error:
        raise FormatError("graph_files/json-deep", place=where, most=MAX_DEPTH) from error
    except ValueError as error:
        place = f"{where}:{getattr(error, 'lineno', 1)}"
        why = getattr(error, "msg", str(error))
        raise FormatError("graph_files/json", place=place, why=why) from error
    reader = _Reader(where)
    graph = model_graph(reader.message("ModelDef", values, "model", 0))
    if graph is None:
        raise FormatError("graph_files/json-without-graph", place=where)
    return replace(graph, unknown_lines=graph.unknown_lines + reader.unknown)


class _Reader:
    """Reads values of JSON as the fields that a text of the same model gives; ``unknown`` counts those left out."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.unknown = 0

    def message(self, kind: str, values: Any, at: str, depth: int) -> Any:
        """Return the fields of a message; ``at`` says where it stands."""
        if not isinstance(values, dict):
            self._refuse(at, Message("proto/block"), values)
        if depth > MAX_DEPTH:
            place = f"{self.where}: {at[:80]}"
            raise FormatError("graph_files/json-deep", place=place, most=MAX_DEPTH)
        known = GE_IR.by_name[kind]
        found: dict[str, Any] = {}
        for name, value in values.items():
            row = known.get(name)
            if row is None:
                self.unknown += bool(known)
            elif value is not None:
                found[name] = self._field(row, value, f"{at}.{name}", depth)
        ordered = {row.name: found[row.name] for row in known.values() if row.name in found}
        return GE_IR.to_python(kind, ordered)

    def _field(self, row: Field, value: Any, at: str, depth: int) -> Any:
        if not row.many:
            return self._value(row, value, at, depth)
        if not isinstance(value, list):
            self._refuse(at, Message("graph_files/json-list"), value)
        items = [(f"{at}[{number}]", item) for number, item in enumerate(value)]
        if row.many == "@":
            return dict(self._entry(row, item, place, depth) for place, item in items)
        return tuple(self._value(row, item, place, depth) for place, item in items)

    def _entry(self, row: Field, item: Any, at: str, depth: int) -> tuple[str, Any]:
        """Key and value of a map's entry; a value that is null is one without fields."""
        if not isinstance(item, dict) or not isinstance(item.get("key", ""), str):
            self._refuse(at, Message("graph_files/json-entry"), item)
        value = item.get("value")
        value = {} if value is None else value
        return item.get("key", ""), self.message(row.kind, value, f"{at}.value", depth + 1)

    def _value(self, row: Field, value: Any, at: str, depth: int) -> Any:
        if row.kind in GE_IR.messages:
            return self.message(row.kind, value, at, depth + 1)
        found = _scalar(row.kind, value)
        if found is None:
            self._refuse(at, asked(GE_IR, row.kind), value)
        return found

    def _refuse(self, at: str, expected: Message, got: Any) -> NoReturn:
        place = f"{self.where}: {at}"
        shown = type(got).__name__ if isinstance(got, dict | list) else got
        raise FormatError("graph_files/json-value", place=place, expected=expected, got=shown)


def _scalar(kind: str, value: Any) -> Any:
    """Value of a scalar; ``None`` if the kind has no such value."""
    if kind in ("string", "text", "bytes"):
        if not isinstance(value, str):
            return None
        return value.encode("utf-8", "surrogatepass") if kind == "bytes" else value
    if isinstance(value, bool) or kind == "bool":
        return value if isinstance(value, bool) and kind == "bool" else None
    if kind == "float" and isinstance(value, float):
        return single(value)
    return parse_word(GE_IR, kind, str(value)) if isinstance(value, str | int) else None
