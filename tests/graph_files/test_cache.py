"""Graphs that were read last: equal texts become one graph, within bounds."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.graph.graph import Graph, Op
from workbench.graph_files import cache as recent
from workbench.graph_files.cache import GraphCache
from workbench.graph_files.mindspore.text import read_ms_text

if TYPE_CHECKING:
    from pathlib import Path


class Parser:
    """Counts what it is asked for; refuses texts that say so."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str, where: str) -> Graph:
        self.asked.append(text)
        if text.startswith("bad"):
            raise FormatError("graph_files/no-subgraph", place=f"{where}:1")
        return Graph(text, ops=(Op(text, "Add", (), {}, ()),))


def test_parses_a_text_once() -> None:
    parser = Parser()
    known = GraphCache(parser)
    assert known.graph("a", "one").ops is known.graph("a", "two").ops
    assert known.graph("b", "one").name == "b"
    assert parser.asked == ["a", "b"]


def test_refuses_a_text_under_each_path() -> None:
    known = GraphCache(Parser())
    for where in ("one", "two"):
        with refused("graph_files/no-subgraph", FormatError, place=f"{where}:1"):
            known.graph("bad", where)


def test_forgets_what_was_not_asked_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "_MOST", 10)
    parser = Parser()
    known = GraphCache(parser)
    for text in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "d" * 11, "d" * 11):
        known.graph(text, "")
    assert parser.asked == ["aaaa", "bbbb", "cccc", "bbbb", "d" * 11, "d" * 11]


def test_a_long_text_is_parsed_once_while_somebody_holds_its_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recent, "_MOST", 10)
    parser = Parser()
    known = GraphCache(parser)
    first = known.graph("long enough", "one", 1)
    second = known.graph("long enough", "two", 2)
    assert (first.path, first.graph_id, second.path, second.graph_id) == ("one", 1, "two", 2)
    assert first.ops is second.ops is not known.graph("long enough too", "", 0).ops
    del first
    third = known.graph("long enough", "three", 3)
    assert third.ops is second.ops
    del second, third
    gc.collect()
    known.graph("long enough", "four", 4)
    assert parser.asked == ["long enough", "long enough too", "long enough"]


def test_files_of_one_text_keep_their_paths_and_ids(tmp_path: Path) -> None:
    text = "subgraph @main() {\n  Return(%1)\n}\n"
    found = []
    for number in (3, 4):
        path = tmp_path / f"ms_output_trace_code_graph_{number}.ir"
        path.write_text(text)
        found.append(read_ms_text(path))
    assert [graph.graph_id for graph in found] == [3, 4]
    assert [graph.path for graph in found] == [
        str(tmp_path / f"ms_output_trace_code_graph_{number}.ir") for number in (3, 4)
    ]
