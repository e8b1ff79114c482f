"""Predictions are checked against what the writer writes, and against dumps that MindSpore wrote."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.foreign_files import PAIRS
from kit.build.traced_networks import graphs
from kit.build.written import foresee, target_of, write
from kit.trees import foretold, sizes
from kit.words import check_said
from workbench.core.errors import FormatError
from workbench.core.plan import CATEGORIES, DumpPlan, Exclusion, Iterations, Selector
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.core.writers import SIMULATED_SURFACES
from workbench.dump.formats.mindspore_name import parse_npy_name
from workbench.dump.reader import load
from workbench.dump.write import forecast as module
from workbench.dump.write.forecast import foretell
from workbench.dump.write.targets import Clock, Target
from workbench.dump.write.trees import write_tree
from workbench.graph.graph import Const, Graph, GraphRef, Op, Param, Parameter, Value
from workbench.run.reference import run_reference

F = TensorSpec("float32", (2, 3))
PLAN = DumpPlan("/dump")


def one(spec=F, op_type="Add", name="Default/Add-op0"):
    """A graph of one operator that doubles its parameter."""
    op = Op(name, op_type, (Param(0), Param(0)), {}, (spec,), (spec, spec))
    return Graph("g", (Parameter("x", spec),), (op,), (Value(0),))


def record(array, name="Default/Add-op0", io="output"):
    key = TensorKey("Add", name, io, 0)
    return TensorRecord(key, TensorSpec(array.dtype.name, array.shape), ArraySource(array))


selectors = st.one_of(
    st.builds(Selector, st.just("type"), st.sampled_from(("re", "CONV", "add", "w", "n"))),
    st.builds(Selector, st.just("regex"), st.sampled_from((".*ReLU.*", "Default.+op0", "x", "("))),
    st.builds(Selector, st.just("name"), st.sampled_from(("Default/ReLU-op0", "x"))),
    st.just(Selector("all")),
    st.just(Selector("marked")),
)
exclusions = st.builds(
    Exclusion,
    st.just("type"),
    st.sampled_from(("Add", "ReLU")),
    st.sampled_from(((), ("input0",), ("output0", "input1"))),
)
plans = st.builds(
    DumpPlan,
    path=st.just("/dump"),
    net_name=st.sampled_from(("Net", "my-net_1")),
    io=st.sampled_from(("input", "output", "both")).map(
        lambda io: frozenset(("input", "output") if io == "both" else (io,))
    ),
    select=st.lists(selectors, max_size=2).map(tuple),
    omit=st.lists(exclusions, max_size=2).map(tuple),
    saved=st.sampled_from(("tensor", "statistic", "full")),
    statistics=st.lists(st.sampled_from(CATEGORIES), max_size=4).map(tuple),
    statistics_on=st.sampled_from(("host", "device")),
    statistics_precision=st.sampled_from(("high", "low")),
    sample=st.sampled_from((None, 1, 5, 100)),
    kernel_args=st.booleans(),
    files=st.sampled_from(("npy", "bin")),
    host_format=st.booleans(),
)
targets = st.builds(
    Target,
    st.sampled_from(sorted(SIMULATED_SURFACES)),
    st.sampled_from(("2.3.0", "2.3.1", "2.6.0", "2.10.0")),
    config_text=st.sampled_from((None, '{"größe": 1}\n')),
    beside=st.booleans(),
)


@given(graphs(), plans, targets, st.integers(0, 5), st.lists(st.integers(0, 12), max_size=2))
def test_what_is_foretold_is_what_every_surface_writes(
    tmp_path_factory, graph, plan, target, seed, iterations
):
    """Paths, bytes, rows and tensors; a table's bytes are a bound unless its figures have fixed widths."""
    iterations = sorted(set(iterations))
    records = (r for number in iterations for r in run_reference(graph, iteration=number))
    root, done = tmp_path_factory.mktemp("tree") / "dump", []
    settings = {"graph": graph, "target": target, "clock": Clock(seed)}
    try:
        forecast = foretell([graph], plan, iterations, target, Clock(seed))
    except FormatError as error:
        with pytest.raises(FormatError, match=re.escape(str(error))):
            write_tree(records, plan, root, **settings)
        return
    write_tree(records, plan, root, progress=lambda *one: done.append(one), **settings)
    written = sizes(root)
    assert written.keys() == foretold(forecast).keys()
    for entry in forecast.files:
        exact, size = not entry.is_upper_bound, written[entry.path]
        assert size == entry.size if exact else size <= entry.size
        assert exact or is_table(root, entry.path)
    assert bool(forecast.uncertain) == any(entry.is_upper_bound for entry in forecast.files)
    tables = [path for path in written if is_table(root, path)]
    assert forecast.rows == sum(len((root / path).read_text().splitlines()) - 1 for path in tables)
    assert [number for number, _ in done] == [*range(1, len(done) + 1)]
    assert Counter(name for _, name in done).keys() >= forecast.tensors.keys()


def is_table(root, path):
    """Whether a file holds statistics: one of the folder, or one of an operator, whose name may have been too long."""
    folder, _, name = path.rpartition("/")
    mapping = root / folder / "mapping.csv"
    if mapping.exists():
        names = dict(line.split(",", 1) for line in mapping.read_text().splitlines())
        name = names.get(name, name)
    return name.endswith(".csv") and name != "mapping.csv" and "execution_order" not in folder


@pytest.mark.parametrize("device", ["CPU", "Ascend"])
@pytest.mark.parametrize(
    "array",
    [
        np.array([-1.17549e-38, 3.4e38], np.float32),
        np.array([-2.2250738585072014e-308, 1e-310, 123456.7]),
        np.array([np.nan, np.inf, -np.inf], np.float16),
        np.array([2**63 - 1, -(2**63)]),
        np.array([1, 0], np.complex64),
        np.array(1 + 2j),
        np.array([True, False]),
        np.array([1, -1], ml_dtypes.bfloat16),
        np.array([1, -1], ml_dtypes.int4),
        np.ones((2, 2), ml_dtypes.float8_e5m2),
        np.zeros((2, 0), np.float32),
    ],
)
def test_a_row_of_statistics_never_becomes_longer_than_foreseen(tmp_path, device, array):
    graph = one(TensorSpec(array.dtype.name, array.shape))
    plan = replace(PLAN, saved="full", statistics=CATEGORIES, io=frozenset(("output",)))
    write([record(array)], plan, tmp_path, graph=graph, device=device)
    forecast = foresee([graph], replace(plan, omit=(Exclusion("name", "x"),)), [0],
                            target=target_of(device))  # fmt: skip
    predicted = {p: n for p, n in foretold(forecast).items() if "Parameter" not in p}
    written = sizes(tmp_path)
    rows = [p for p in written if p.endswith("statistic.csv")]
    assert predicted.keys() == written.keys()
    for path in rows:
        lines = (tmp_path / path).read_text().splitlines(keepends=True)
        header, row = lines[0], lines[1]
        assert len(header) + len(row) <= predicted[path]
        assert len(next(csv.reader([row]))) == len(CATEGORIES) + 11


def test_bytes_that_statistics_on_the_host_copy_are_counted():
    forecast = foresee([one()], replace(PLAN, saved="statistic"), [0, 1])
    assert forecast.moved == 4 * 24  # two inputs, one output, one parameter of 2 x 3 x 4 bytes


def test_tensors_are_counted_by_operator():
    forecast = foresee([one()], PLAN, [0, 5])
    assert forecast.tensors == {"Default/Add-op0": 6, "x": 2}


@pytest.mark.parametrize(
    ("op", "device", "code", "values"),
    [
        (Op("a/Switch-op0", "Switch", (GraphRef("b"),), {}, (F,)), "CPU", "control-flow", {}),
        (Op("a/call-op0", "call", (GraphRef("b"),), {}, (F,)), "CPU", "control-flow", {}),
        (Op("a/Odd-op0", "Odd", (), {}, (TensorSpec("String", ()),)), "CPU", "npy-never", {"dtype": "String"}),
        (Op("a/Odd-op0", "Odd", (), {}, (TensorSpec("complex64", (2,)),)), "Ascend", "npy-never",
         {"dtype": "complex64", "device": "Ascend"}),
        (Op("a/Odd-op0", "Odd", (), {}, (TensorSpec("float32", (0, 4)),)), "Ascend", "tensor-empty", {}),
    ],
)  # fmt: skip
def test_operators_that_never_dump_are_named_with_the_reason(op, device, code, values):
    other = Op("a/Add-op0", "Add", (), {}, (F,))
    graph = Graph("g", (), (op, other))
    forecast = foresee([graph], PLAN, [0], target=target_of(device))
    assert [*forecast.without_dump] == [op.name]
    check_said(forecast.without_dump[op.name], f"dump/{code}", **values)
    assert forecast.tensors == {"a/Add-op0": 1}
    only_other = replace(PLAN, select=(Selector("name", other.name),))
    assert foresee([graph], only_other, [0], target=target_of(device)).without_dump == {}


def test_an_operator_that_dumps_some_of_its_tensors_is_not_silent():
    op = Op("a/Odd-op0", "Odd", (), {}, (TensorSpec("String", ()), F))
    forecast = foresee([Graph("g", (), (op,))], PLAN, [0])
    assert (forecast.without_dump, forecast.tensors) == ({}, {"a/Odd-op0": 1})


def test_an_unknown_shape_leaves_bytes_out_and_says_so():
    graph = one(TensorSpec("float16", (-1, 4)))
    forecast = foresee([graph], PLAN, [0])
    tensors = [entry.size for entry in forecast.files if entry.path.endswith(".npy")]
    assert tensors == [None] * 4
    check_said(forecast.uncertain[0], "dump/shapeless", files=4)


def test_a_shape_that_no_disk_holds_counts_as_unknown():
    graph = one(TensorSpec("float32", (2**62,) * 2000))
    forecast = foresee([graph], replace(PLAN, sample=3, saved="full"), [0])
    assert {e.size for e in forecast.files if e.path.endswith(".npy")} == {128 + 12}
    whole = foresee([graph], PLAN, [0])
    assert [e.size for e in whole.files if e.path.endswith(".npy")] == [None] * 4
    check_said(whole.uncertain[0], "dump/shapeless", files=4)


def test_several_graphs_share_a_tree():
    graphs = [one(), one(name="Default/Add-op1").with_id(3)]
    forecast = foresee(graphs, PLAN, [7])
    folders = Counter(path.rpartition("/")[0] for path in foretold(forecast))
    assert folders == {
        "rank_0/.dump_metadata": 1,
        "rank_0/graphs": 4,
        "rank_0/execution_order": 3,
        "rank_0/Net/0/7": 4,
        "rank_0/Net/3/7": 4,
    }


def test_branches_of_a_graph_are_a_doubt():
    graph = replace(one(), subgraphs=(one(name="Default/Add-op1"),))
    forecast = foresee([graph], PLAN, [0])
    assert "Default/Add-op1" in forecast.tensors
    check_said(forecast.uncertain[0], "dump/branches")


def test_the_rank_is_in_the_path():
    for iterations in ([0], []):
        forecast = foresee([one()], PLAN, iterations, target=target_of(rank=3))
        assert {path.partition("/")[0] for path in foretold(forecast)} == {"rank_3"}


def test_iterations_that_are_too_many_are_counted_but_not_listed(monkeypatch):
    monkeypatch.setattr(module, "MAX_TENSORS", 9)  # two iterations of four tensors
    forecast = foresee([one()], PLAN, range(5, 15))
    assert {e.iteration for e in forecast.files} == {None, 5, 6}
    assert forecast.unlisted_iterations == 8
    assert forecast.uncertain == (Message("dump/beyond", listed=2, more=8),)


SIDES = {1: ("input",), 2: ("output",), 0: ("input", "output")}


def own_plan(root):
    """The plan of a real dump's own form, read without the package."""
    (path,) = root.rglob("data_dump.json")
    form = json.loads(path.read_text())["common_dump_settings"]
    chosen = form["kernels"] if form["dump_mode"] == 1 else []
    return DumpPlan(
        form["path"],
        form["net_name"],
        Iterations.parse(form["iteration"]),
        frozenset(SIDES[form["input_output"]]),
        tuple(Selector("type", text) for text in chosen),
    )


def operands(pairs):
    """How often each (operator type, io, slot) has a file."""
    return Counter((parts.op_type, parts.io, parts.slot) for parts in pairs if parts is not None)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("side", ["golden", "target"])
def test_a_real_dump_holds_what_is_predicted_from_its_own_form_and_graph(real_pairs, name, side):
    root = getattr(real_pairs[name], side)
    dump = load(root)
    version = "2.3.0" if name.endswith("ms200") else dump.info["ms_version"]  # 2.0.0 is not written
    iterations = sorted({r.key.iteration for r in dump.records if r.key.iteration >= 0})
    forecast = foresee(
        list(dump.graphs.values()), own_plan(root), iterations, target=target_of("CPU", version)
    )
    predicted = [
        e.path.rpartition("/")[2]
        for e in forecast.files
        if e.path.endswith(".npy") and "/constants/" not in e.path
    ]
    real = [
        r.path.rpartition("/")[2]
        for r in dump.records
        if r.key.iteration in iterations and r.key.turn == 0
    ]
    long = [sum(parse_npy_name(file) is None for file in side) for side in (predicted, real)]
    assert long[0] == long[1]
    found, foreseen = (operands(map(parse_npy_name, side)) for side in (real, predicted))
    if not name.endswith("ms200"):
        assert forecast.uncertain == ()
        assert foreseen == found
        assert timeless(predicted) == timeless(real)
        return
    assert [doubt.code for doubt in forecast.uncertain] == ["dump/numbers"]
    assert foreseen - found == {("Parameter", "output", 0): 2}  # fed and read by no kernel
    assert found - foreseen == {  # 2.0.0 had no kernels yet that do not read an input
        ("Conv2DBackpropInput", "input", 2): 2,
        ("Conv2DBackpropFilter", "input", 2): 4,
    }


def timeless(names):
    """How often each name occurs, without its time; those that were too long tell nothing."""
    return Counter(re.sub(r"\.\d{16}\.", ".", name) for name in names if parse_npy_name(name))


def test_constants_of_a_real_dump_have_the_names_and_bytes_that_are_predicted(real_pairs):
    """MindSpore 2.0.0 on a CPU, the one real writer of constants; its file also has some of its own.

    A GPU of today writes them in the same way.
    """
    root = real_pairs["lenet_train_fp16_ms200"].golden
    dump = load(root)
    forecast = foresee(
        list(dump.graphs.values()), own_plan(root), [0], target=target_of("GPU", "2.3.0")
    )
    real = {path.name.split(".")[1]: path.stat().st_size for path in root.rglob("constants/*.npy")}
    foreseen = {
        e.path.rpartition("/")[2].split(".")[1]: e.size
        for e in forecast.files
        if "/constants/" in e.path
    }
    assert foreseen == {name: real[name] for name in ("data-1", "data-2", "data-3")}
    newer = foresee(
        list(dump.graphs.values()), own_plan(root), [0], target=target_of("CPU", "2.3.0")
    )
    assert not any("/constants/" in e.path for e in newer.files)


@pytest.mark.parametrize("name", ["alexnet_padmode", "optimizer_lr"])
def test_the_bytes_of_a_real_dump_are_those_predicted(real_pairs, name):
    root = real_pairs[name].target
    dump = load(root)
    iterations = sorted({r.key.iteration for r in dump.records})
    forecast = foresee(list(dump.graphs.values()), own_plan(root), iterations,
                            target=target_of("CPU", dump.info["ms_version"]))  # fmt: skip

    def by_operand(pairs):
        return Counter(
            (parts.op_type, parts.io, parts.slot, size)
            for path, size in pairs
            if (parts := parse_npy_name(path.rpartition("/")[2])) is not None
        )

    foreseen = by_operand((e.path, e.size) for e in forecast.files)
    assert by_operand(sizes(root).items()) == foreseen


def test_constants_are_inputs_like_any_other():
    op = Op("a/Softmax-op0", "Softmax", (Param(0), Const((-1,), "tuple", (1,))), {}, (F,))
    forecast = foresee([Graph("g", (Parameter("x", F),), (op,))], PLAN, [0])
    named = {parse_npy_name(path.rpartition("/")[2]): n for path, n in foretold(forecast).items()}
    assert {(p.op_type, p.io, p.slot): n for p, n in named.items() if p} == {
        ("Softmax", "input", 0): 128 + 24,
        ("Softmax", "input", 1): 128 + 8,
        ("Softmax", "output", 0): 128 + 24,
        ("Parameter", "output", 0): 128 + 24,
    }


def test_operators_that_a_flag_leaves_out_are_a_doubt():
    graph = one()
    ops = (replace(graph.ops[0], unless="found_inf"),)
    forecast = foresee([replace(graph, ops=ops)], PLAN, [0])
    assert forecast.uncertain == (Message("dump/flags", flags=["found_inf"]),)
