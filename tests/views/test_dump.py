"""What is in a dump, and what came from one source line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import Net, chain, on_disk, shoot
from kit.words import refused
from workbench.dump.reader import load
from workbench.graph.graph import SourceFrame
from workbench.views.dump import comes_from, inspect_dump, parse_place

GRAPH = chain("MatMul", "ReLU", "Tanh")


@pytest.fixture
def dump(tmp_path):
    shots = shoot(GRAPH, small.given(GRAPH)) + shoot(GRAPH, small.given(GRAPH), iteration=3)
    return load(on_disk(tmp_path, shots, GRAPH))


def test_an_inspection_counts_what_is_there(dump):
    info = inspect_dump(dump)
    assert info["schema"] == "workbench.inspection/1"
    assert (info["tensors"], info["ranks"], info["iterations"]) == (16, [0], [0, 3])
    assert info["tensor_types"] == {"MatMul": 6, "Parameter": 2, "ReLU": 4, "Tanh": 4}
    assert info["graphs"] == [
        {"rank": 0, "graph_id": 0, "name": "kernel_graph0", "operators": 3, "parameters": 2,
         "unknown_lines": 0}
    ]  # fmt: skip
    assert info["metadata"]["device_target"] == "CPU"
    assert (info["skipped"], info["anomalies"]) == ({}, [])
    json.dumps(info)


def test_skipped_files_and_anomalies_are_told(dump, tmp_path):
    folder = tmp_path / "rank_0/Net/0/0"
    (folder / "strange.npy").touch()
    stray = next(folder.glob("ReLU*output*"))
    stray.rename(folder / stray.name.replace("ReLU-op0", "ReLU-op9"))
    info = inspect_dump(load(tmp_path))
    assert info["skipped"] == {"unknown-name": 1, "not-in-graph": 1}
    assert info["tensors"] == 17


def at(dump, place):
    return inspect_dump(dump, place)["at"]["operators"]


def test_a_source_line_gives_its_operators_and_their_files_in_order(dump):
    (operator,) = at(dump, "net.py:101")
    assert (operator["op_name"], operator["code"]) == ("Default/ReLU-op0", "x = call_101(x)")
    names = [path.rpartition("/")[2].split(".")[5:7] for path in operator["files"]]
    assert names == [["input", "0"], ["output", "0"]] * 2


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("user/net.py:101", True),
        ("/home/user/net.py:101", True),
        ("./net.py:101", True),
        ("et.py:101", False),
        ("other.py:101", False),
        ("net.py:7", False),
    ],
)
def test_a_file_is_named_by_its_end_whole_parts_only(dump, place, found):
    assert bool(at(dump, place)) is found


@pytest.mark.parametrize("text", ["net.py", "net.py:", ":12", "net.py:x", "net.py:-1", ""])
def test_what_is_no_place_is_refused(text):
    with refused("views/place", got=text):
        parse_place(text)


def test_a_windows_path_keeps_its_colon():
    assert parse_place("C:\\work\\net.py:12") == ("C:\\work\\net.py", 12)


def op_with(*frames):
    net = Net()
    net.op("ReLU", net.feed("x"))
    return replace(net.ops[0], frames=frames)


@pytest.mark.parametrize(
    ("frame", "lines"),
    [
        (SourceFrame("net.py", 5, "x = f(x)"), {5}),
        (SourceFrame("net.py", 5, "x = f(", line_end=7), {5, 6, 7}),
        (SourceFrame("net.py", 5, "    def construct(self, x):", line_end=9), {5}),
        (SourceFrame("net.py", 5, "x = f(x)", group="candidate"), {5}),
        (SourceFrame("net.py", 5, "x = f(x)", group="forward"), set()),
    ],
    ids=["line", "lines", "function", "candidate", "forward"],
)
def test_a_frame_covers_its_own_lines(frame, lines):
    op = op_with(frame)
    assert {line for line in range(1, 12) if comes_from(op, "net.py", line)} == lines
