"""The lines of a graph file that tell of an operator, wherever they stand in it."""

from types import SimpleNamespace

import pytest

from workbench.graph.graph import Graph
from workbench.views import attributes
from workbench.views.attributes import graph_lines


def graph_of(path, names):
    """A graph that a file tells of, as far as its lines are looked for."""
    ops = tuple(SimpleNamespace(name=name) for name in names)
    return Graph("net", (), ops, (), path=str(path))


@pytest.mark.parametrize("piece", [1, 7, 30, 1 << 20])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_an_operator_is_found_wherever_a_piece_of_the_file_ends(
    tmp_path, monkeypatch, piece, ending
):
    monkeypatch.setattr(attributes, "_PIECE", piece)
    names = [f"Default/größe/Op-op{number}" for number in range(12)]
    lines = [
        text
        for name in names
        for text in (f"  %{name[-1]} = Op(%0)", f"      : (Fullname with scope: ({name}))")
    ]
    path = tmp_path / "graph.ir"
    path.write_bytes(ending.join(["# head", *lines, "}", ""]).encode())
    for number in range(len(names)):
        found = graph_lines(graph_of(path, names), number)
        own = [found.lines[place] for place in found.here]
        assert own == lines[2 * number : 2 * number + 2]
        assert found.first + found.here.start == 2 + 2 * number


def test_a_name_that_the_file_does_not_have_is_not_found(tmp_path):
    path = tmp_path / "graph.ir"
    path.write_text("  %0 = Op(%0)\n      : (Fullname with scope: (Default/A-op0))\n")
    assert attributes._from_file(path, SimpleNamespace(name="Default/A-op"), 3) is None
