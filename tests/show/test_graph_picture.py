"""A small graph laid out: nothing overlaps, everything lies inside, edges run from node to node."""

import itertools
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from workbench.show.plots.graph_picture import HIGH, WIDE, Edge, Neighbourhood, Node, drawn


def neighbourhood(levels, edges=(), hidden=None):
    nodes = tuple(
        Node(f"op {n}", level, "operator", f"op{n}", "Neg") for n, level in enumerate(levels)
    )
    return Neighbourhood(nodes, tuple(Edge(*edge, 0) for edge in edges), hidden or {})


@given(st.lists(st.integers(-3, 3), max_size=20))
def test_nodes_lie_inside_and_apart(levels):
    picture = drawn(neighbourhood(levels))
    assert len(picture.boxes) == len(levels)
    for box in picture.boxes:
        assert 0 <= box.x <= picture.width - WIDE
        assert 0 <= box.y <= picture.height - HIGH
    for a, b in itertools.combinations(picture.boxes, 2):
        assert abs(a.x - b.x) >= WIDE or abs(a.y - b.y) >= HIGH


def test_producers_stand_above_and_consumers_below():
    picture = drawn(neighbourhood([1, -1, 0]))
    heights = {box.node.level: box.y for box in picture.boxes}
    assert heights[-1] < heights[0] < heights[1]


def test_an_edge_is_drawn_once_and_known_to_be_near():
    edges = [("op 0", "op 1"), ("op 0", "op 1"), ("op 1", "op 2")]
    picture = drawn(replace(neighbourhood([-2, -1, 0], edges), centre=frozenset({"op 2"})))
    assert [wire.near for wire in picture.wires] == [False, True]


def test_an_edge_upwards_goes_around():
    edges = [("op 0", "op 1"), ("op 0", "op 2"), ("op 2", "op 1")]
    picture = drawn(neighbourhood([0, 0, -1], edges))
    boxes = {box.node.key: box for box in picture.boxes}
    paths = {tuple(map(int, re.findall(r"-?\d+", wire.path))) for wire in picture.wires}
    assert len(paths) == len(edges)
    for start, end in edges[:2]:  # beside it, and upwards: from right side to right side
        a, b = boxes[start], boxes[end]
        sides = [(box.x + WIDE, box.y + HIGH // 2) for box in (a, b)]
        ((one, other),) = [path[2:6:2] for path in paths if (path[:2], path[6:]) == (*sides,)]
        assert one > sides[0][0]
        assert other > sides[1][0]
    a, b = boxes["op 2"], boxes["op 1"]  # down: from the middle below to the middle above
    ends = (a.x + WIDE // 2, a.y + HIGH), (b.x + WIDE // 2, b.y)
    assert ends in {(path[:2], path[6:]) for path in paths}


def test_what_is_left_out_is_counted_beside_its_level():
    picture = drawn(neighbourhood([0, 1], hidden={1: 1234}))
    assert [note.hidden for note in picture.notes] == [1234]
    assert all(note.x < picture.width for note in picture.notes)


def test_nothing_is_a_picture_too():
    assert drawn(Neighbourhood()).boxes == ()
