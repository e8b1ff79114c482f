"""Which file belongs to which operator, on dumps whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build import small_dumps as small
from kit.build.foreign_files import PAIRS
from kit.build.runs import on_reference
from kit.build.small_dumps import START, Net, chain, in_memory, on_disk, shoot
from kit.words import check_said
from workbench.comparison.bind import bind as module
from workbench.comparison.bind.bind import NameTables, bind
from workbench.comparison.bind.binding import Execution, OperatorRun, Timeline
from workbench.dump.formats.mindspore_name import sanitize, short_name
from workbench.dump.index import index_of
from workbench.dump.reader import load
from workbench.graph.graph import Graph, Value
from workbench.graph_files.onnx.dialect import DIALECT as ONNX
from workbench.graph_files.onnx.dialect import OUTPUTS, UNNAMED
from workbench.network.models import load_graph

RENUMBERED = "operators_whose_id_in_ir_and_csv_differs_from_the_file_name"


def bound_names(folder) -> dict[str, set[str]]:
    """IR name → names of the files bound to it."""
    binding = bind(load(folder))
    table: dict[str, set[str]] = {}
    for runs in binding.runs.values():
        for run in runs.values():
            table.setdefault(run.op_name, set()).update(r.key.op_name for r in run.tensors.values())
    return table


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("side", ["a", "b"])
def test_every_file_is_bound_to_the_operator_that_truth_says(real_pairs, name, side):
    pair = real_pairs[name]
    other_id = pair.truth.get(RENUMBERED, {}).get(side, {})
    folder = pair.golden if side == "a" else pair.target
    old = name.endswith("ms200")
    for ir_name, files in bound_names(folder).items():
        plain = short_name(ir_name) if old else sanitize(ir_name)
        assert files == {other_id.get(ir_name, plain)}, ir_name


@pytest.mark.parametrize("name", PAIRS)
def test_every_renumbered_operator_is_noted(real_pairs, name):
    pair = real_pairs[name]
    truth = pair.truth.get(RENUMBERED, {}).get("b", {})
    noted = {note.name for note in bind(load(pair.target)).notes if note.kind == "renumbered"}
    assert noted == set(truth)


def test_an_ir_of_another_network_is_not_used(real_pairs):
    wrong = next((real_pairs["alexnet_padmode"].target / "rank_0/graphs").glob("*.ir"))
    binding = bind(load(real_pairs["transformer_fp16"].target, graph=wrong))
    assert binding.notes[0].kind == "graph-mismatch"
    assert {note.kind for note in binding.notes} == {"graph-mismatch", "mislabelled"}
    assert all(run.op < 0 for runs in binding.runs.values() for run in runs.values())


def test_files_left_from_another_run_are_skipped_by_name(real_pairs, tmp_path):
    import shutil

    root = tmp_path / "dump"
    shutil.copytree(real_pairs["alexnet_padmode"].target, root)
    folder = root / "rank_0/AlexNet/0/0"
    victim = next(folder.glob("ReLU*output*"))
    victim.rename(folder / victim.name.replace("ReLU-op", "ReLU-op77"))
    binding = bind(load(root))
    assert [(item.reason) for item in binding.skipped] == ["not-in-graph"]


# --- which rule, decided by data -------------------------------------------------------------


def renumbered() -> Graph:
    """Three ReLU whose ids run against the listing; the sizes differ, too."""
    net = Net()
    value = net.feed("x", (4,))
    for number, size in ((2, 4), (0, 4), (1, 4)):
        value = net.op("ReLU", value, name=f"Default/ReLU-op{number}", shape=(size,))
        value = net.op("Tanh", value, name=f"Default/Tanh-op{number}", shape=(size,))
    return net.graph()


def by_rank(name: str) -> str:
    """The id that MindSpore 2.7 gives: the count in listing order."""
    kind, _, number = name.rpartition("-op")
    return f"{kind}-op{[2, 0, 1].index(int(number))}"


def written(root, graph, rename=lambda name: name, io=("input", "output"), values=None):
    shots = shoot(graph, values or small.given(graph))
    kept = [s._replace(name=rename(s.name)) for s in shots if s.io in io]
    return load(on_disk(root, kept, graph))


def file_of(binding) -> dict[str, str]:
    return {
        run.op_name.rpartition("/")[2]: record.key.op_name.rpartition("_")[2]
        for runs in binding.runs.values()
        for run in runs.values()
        for record in run.tensors.values()
    }


@pytest.mark.parametrize("rename", [str, by_rank], ids=["exact-name", "id-rank"])
def test_the_data_decide_between_two_rules_that_name_every_file(tmp_path, rename):
    graph = renumbered()
    names = [op.name.rpartition("/")[2] for op in graph.ops]
    found = bind(written(tmp_path, graph, rename))
    assert file_of(found) == {name: rename(name) for name in names}
    noted = {n.name for n in found.notes if n.kind == "renumbered"}
    assert noted == (set() if rename is str else {f"Default/{name}" for name in names})


@pytest.mark.parametrize("rename", [str, by_rank], ids=["exact-name", "id-rank"])
def test_sizes_decide_where_only_outputs_were_dumped(tmp_path, rename):
    net = Net()
    for number, size in ((2, 3), (0, 4), (1, 5)):
        net.op(
            "ReLU", net.feed(f"x{number}", (size,)), name=f"Default/ReLU-op{number}", shape=(size,)
        )
    graph = net.graph()
    found = bind(written(tmp_path, graph, rename, io=("output",)))
    assert file_of(found) == {f"ReLU-op{n}": rename(f"ReLU-op{n}") for n in range(3)}


def test_without_any_evidence_the_ids_are_counted(tmp_path):
    graph = renumbered()
    found = bind(written(tmp_path, graph, by_rank, io=("output",)))
    assert file_of(found)["ReLU-op2"] == "ReLU-op0"


def test_short_names_bind_to_full_ones(tmp_path):
    graph = renumbered()
    found = bind(written(tmp_path, graph, lambda name: name.rpartition("_")[2]))
    assert {f"{a}={b}" for a, b in file_of(found).items()} == {
        f"{name}={name}" for name in file_of(found)
    }


def test_a_whole_name_comes_before_the_end_of_another_one():
    net = Net()
    for name in ("Default/X", "X"):
        net.op("Tanh", net.feed(name), name=name)
    graph = net.graph()
    last = [s for s in shoot(graph, small.given(graph)) if s.name == "X"]
    (runs,) = bind(in_memory(last, graph)).runs.values()
    assert runs.keys() == {1}


def counted(root):
    """Outputs alone, of which nothing tells whether their ids were counted anew."""
    return file_of(bind(written(root, renumbered(), by_rank, io=("output",))))


def whole(_root):
    """The end of one name is the whole of another."""
    net = Net()
    for name in ("Default/X", "X"):
        net.op("Tanh", net.feed(name), name=name)
    graph = net.graph()
    last = [s for s in shoot(graph, small.given(graph)) if s.name == "X"]
    return [[*runs] for runs in bind(in_memory(last, graph)).runs.values()]


def model(*nodes):
    """A graph of an ONNX model by the types, names (empty: without) and tensors of nodes in a row."""
    net, value = Net(), None
    for op_type, name, _ in nodes:
        net.op(op_type, net.feed("x") if value is None else value, name=name or f"{op_type}_0")
        value = Value(len(net.ops) - 1)
    graph = net.graph()
    ops = [
        replace(op, attrs={OUTPUTS: (tensor,)} | ({} if name else {UNNAMED: True}))
        for op, (_, name, tensor) in zip(graph.ops, nodes, strict=True)
    ]
    return replace(graph, ops=tuple(ops), dialect=ONNX)


def bound_golden(root, graph, *names):
    """Names of nodes that files of a golden are bound to, by the names of the files."""
    root.mkdir(parents=True)
    for name in names:
        np.save(root / f"{name}.npy", np.ones((4, 4), np.float32))
    dump = load(root)
    found = bind(replace(dump, graphs={(0, 0): graph}))
    return {
        record.key.op_name: (run.op, place)
        for runs in found.runs.values()
        for run in runs.values()
        for place, record in run.tensors.items()
    }


UNNAMED_NODES = (("Tanh", "", "a"), ("ReLU", "r", "b"), ("Tanh", "", "c"), ("Tanh", "", "d"))


def numbered(root):
    """What ATC calls the third node without a name is what msquickcmp calls the second."""
    graph = model(*UNNAMED_NODES)
    names = iter(("Tanh_0", "Tanh_1", "Tanh_2"))
    ops = [replace(op, name=next(names)) if op.op_type == "Tanh" else op for op in graph.ops]
    return bound_golden(root, replace(graph, ops=tuple(ops)), "Tanh_2")


def tensors(root):
    """The place of a node without a name is what another one's tensor is called."""
    return bound_golden(root, model(("ReLU", "a", "Tanh_1"), ("Tanh", "", "c")), "Tanh_1")


def ends(root):
    """The last part of one node's name is the whole name of another one's tensor."""
    return bound_golden(root, model(("ReLU", "r", "Tanh"), ("Tanh", "net/Tanh", "c")), "Tanh")


NEIGHBORS = {
    ("id-rank", "exact-name"): counted,
    ("exact-name", "node-place"): numbered,
    ("node-place", "tensor-name"): tensors,
    ("tensor-name", "short-name"): ends,
}
"""Neighboring naming rules → what is bound of files that both name."""


GOLDENS = {
    "nodes as ATC calls them": (("Tanh_0", "r", "Tanh_1", "Tanh_2"), (0, 1, 2, 3)),
    "nodes by their places": (("Tanh_0", "r", "Tanh_2", "Tanh_3"), (0, 1, 2, 3)),
    "tensors": (("a", "b", "c", "d"), (0, 1, 2, 3)),
    "tensors as PyTorch's exporter calls them": (("r_output_0",), (1,)),
    "tensors as TensorFlow calls them": (("r:0",), (1,)),
    "the same where a colon is no name of a file": (("r_0",), (1,)),
}


@pytest.mark.parametrize(("names", "numbers"), GOLDENS.values(), ids=GOLDENS)
def test_files_of_another_framework_are_bound_by_its_names(tmp_path, names, numbers):
    graph = model(*UNNAMED_NODES)
    called = iter(("Tanh_0", "Tanh_1", "Tanh_2"))
    ops = [replace(op, name=next(called)) if op.op_type == "Tanh" else op for op in graph.ops]
    found = bound_golden(tmp_path / "g", replace(graph, ops=tuple(ops)), *names)
    assert found == {
        name: (number, ("output", 0)) for name, number in zip(names, numbers, strict=True)
    }


def test_a_node_s_own_name_comes_before_another_one_s_number(tmp_path):
    graph = model(("ReLU", "conv", "p"), ("Tanh", "conv_0", "q"))
    assert bound_golden(tmp_path / "g", graph, "conv_0") == {"conv_0": (1, ("output", 0))}


def test_a_tensor_of_several_is_the_output_that_bears_its_name(tmp_path):
    graph = model(("Split", "s", "left"), ("Tanh", "t", "b"))
    first = replace(
        graph.ops[0], attrs={OUTPUTS: ("left", "right")}, outputs=graph.ops[0].outputs * 2
    )
    found = bound_golden(tmp_path / "g", replace(graph, ops=(first, graph.ops[1])), "right", "b")
    assert found == {"right": (0, ("output", 1)), "b": (1, ("output", 0))}


NAMESAKES = {
    "one file of two": (("a_b",), {}, ["ambiguous"]),
    "as many files as nodes, in order of time": (
        (f"a_b.0.{START}", f"a_b.0.{START + 1}"), {0: f"a_b.0.{START}.npy", 1: f"a_b.0.{START + 1}.npy"}, [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "expected", "skipped"), NAMESAKES.values(), ids=NAMESAKES)
def test_nodes_whose_files_are_called_alike_are_told_by_time_or_not_at_all(
    tmp_path, files, expected, skipped
):
    graph = model(("ReLU", "a/b", "p"), ("Tanh", "a.b", "q"))
    for name in files:
        np.save(tmp_path / f"{name}.npy", np.ones((4, 4), np.float32))
    found = bind(replace(load(tmp_path), graphs={(0, 0): graph}))
    assert {
        number: record.path.rpartition("/")[2]
        for runs in found.runs.values()
        for number, run in runs.items()
        for record in run.tensors.values()
    } == expected
    assert [one.reason for one in found.skipped] == skipped


def test_two_files_of_one_feed_are_no_two_feeds(tmp_path):
    for name in ("x", f"x.0.{START}", "t"):
        np.save(tmp_path / f"{name}.npy", np.ones((4, 4), np.float32))
    found = bind(replace(load(tmp_path), graphs={(0, 0): model(("Tanh", "t", "b"))}))
    held = [name for some in found.parameters.values() for name in some]
    assert held + [one.reason for one in found.skipped] in (["x", "x"], ["x", "twice"])


def test_files_of_nodes_and_of_tensors_may_lie_together(tmp_path):
    graph = model(("Split", "s", "left"), ("Tanh", "t", "b"), ("Tanh", "u", "c"))
    first = replace(
        graph.ops[0], attrs={OUTPUTS: ("left", "right")}, outputs=graph.ops[0].outputs * 2
    )
    graph = replace(graph, ops=(first, *graph.ops[1:]))
    found = bound_golden(tmp_path / "g", graph, "b", "c", f"s.1.{START}")
    assert found == {"s": (0, ("output", 1)), "b": (1, ("output", 0)), "c": (2, ("output", 0))}


def test_a_file_that_is_called_as_a_feed_is_no_operator(tmp_path):
    graph = model(("Tanh", "t", "b"))
    (tmp_path / "g").mkdir()
    for name in ("x", "b"):
        np.save(tmp_path / "g" / f"{name}.npy", np.ones((4, 4), np.float32))
    found = bind(replace(load(tmp_path / "g"), graphs={(0, 0): graph}))
    assert [[*some] for some in found.parameters.values()] == [["x"]]
    assert (found.skipped, found.notes) == ((), ())


def test_a_model_of_another_network_is_not_used(tmp_path):
    graph = model(("Tanh", "t", "b"))
    (tmp_path / "g").mkdir()
    for name in ("p", "q", "b"):
        np.save(tmp_path / "g" / f"{name}.npy", np.ones((4, 4), np.float32))
    found = bind(replace(load(tmp_path / "g"), graphs={(0, 0): graph}))
    assert [note.kind for note in found.notes] == ["graph-mismatch"]
    assert not found.graphs


def test_every_two_neighboring_naming_rules_have_a_case():
    assert [*pairwise(rule.name for rule in module.NAMING_RULES)] == [*NEIGHBORS]


@pytest.mark.parametrize("names", NEIGHBORS, ids=" before ".join)
def test_the_order_of_two_naming_rules_decides(names, tmp_path, monkeypatch):
    usual = NEIGHBORS[names](tmp_path / "usual")
    rows = list(module.NAMING_RULES)
    first = [rule.name for rule in rows].index(names[0])
    rows[first : first + 2] = reversed(rows[first : first + 2])
    monkeypatch.setattr(module, "NAMING_RULES", tuple(rows))
    assert NEIGHBORS[names](tmp_path / "swapped") != usual


def test_counting_goes_on_through_the_graphs_in_order_of_their_ids(tmp_path):
    """2.7 to 2.10: the first ReLU of graph 1 follows the last one of graph 0."""
    one, two = chain("ReLU", "ReLU"), replace(chain("ReLU"), graph_id=1, name="kernel_graph1")
    two_shots = [
        s._replace(name="Default_ReLU-op2") for s in shoot(two, small.given(two), start=START + 99)
    ]
    dump = load(on_disk(tmp_path, shoot(one, small.given(one)) + two_shots, one, two))
    found = bind(dump)
    assert not found.skipped
    graph_1 = [runs for block, runs in found.runs.items() if block.graph_id == 1]
    assert [run.op_name for runs in graph_1 for run in runs.values()] == ["Default/ReLU-op0"]


@pytest.mark.parametrize(
    ("change", "shared"),
    [
        pytest.param(lambda graph: graph.elsewhere("of the golden", graph.graph_id), True, id="path"),
        pytest.param(lambda graph: graph.with_id(graph.graph_id + 1), False, id="id"),
        pytest.param(lambda graph: replace(graph, ops=graph.ops[:-1]), False, id="operators"),
        pytest.param(lambda graph: replace(graph, parameters=graph.parameters[:-1]), False, id="parameters"),
        pytest.param(lambda graph: replace(graph, dialect=ONNX), False, id="dialect"),
    ],
)  # fmt: skip
def test_names_are_told_once_for_sides_that_have_the_same_graph(change, shared):
    graph = load_graph("mlp")
    changed = change(graph)
    tables = NameTables()
    first = tables.by_rule([graph])
    assert not any(names.known for names in tables.by_rule([]).values())
    again = tables.by_rule([changed])
    assert (again is first) == shared
    assert again == NameTables().by_rule([changed])


def test_a_reshape_that_carries_its_inputs_shape_is_bound_and_trusted(tmp_path):
    """2.10.0: the header of a Reshape output states the shape of the input."""
    net = Net()
    value = net.op("Reshape", net.feed("x", (2, 6)), shape=(12,))
    net.op("Tanh", value, shape=(12,))
    found = bind(written(tmp_path, net.graph()))
    assert not found.notes
    assert not found.oddities
    assert len(found.runs) == 1


def test_absent_inputs_of_operators_in_memory_take_no_place_of_others():
    graph = load_graph("lstm")
    dump = on_reference(graph)
    found = bind(dump)
    kept = [len(run.tensors) for runs in found.runs.values() for run in runs.values()]
    parameters = sum(map(len, found.parameters.values()))
    assert not found.skipped
    assert sum(kept) + parameters == dump.tensors


def test_a_tensor_that_is_there_already_is_skipped():
    graph = chain("Tanh")
    dump = in_memory(shoot(graph, small.given(graph)), graph)
    first = next(r for r in dump.records if r.key.op_type != "Parameter")
    skipped = bind(replace(dump, index=index_of([*dump.records, first]))).skipped
    assert [(one.reason, one.name) for one in skipped] == [("twice", "Default/Tanh-op0")]
    check_said(skipped[0].detail, "compare/twice", where=f"{first.key.io}.{first.key.slot}")


@given(st.lists(st.integers(0, 9)), st.integers(-1, 10))
def test_a_timeline_tells_what_comes_next(times, now):
    block = Execution(0, "Net", 0, 0, 0)
    runs = [
        OperatorRun(block, n, "Add", f"op{n}", {("output", 0): SimpleNamespace(timestamp_us=time)})
        for n, time in enumerate(times)
    ]
    later = [run for run in runs if run.time > now]
    assert Timeline(runs).next_after(now) is min(later, key=lambda run: run.time, default=None)
