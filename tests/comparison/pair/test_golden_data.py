"""Outputs of another framework: what pairs without graphs, and what stays undecided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.build.kernel_files import Call, save_calls, save_golden
from kit.build.small_dumps import LEAF, START, Net, save_container
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.results.coverage import ledger
from workbench.dump.formats.container import Origin
from workbench.dump.reader import load

RNG = np.random.default_rng(0)
A, B, C = RNG.standard_normal((3, 4, 5)).astype(np.float32)
ONES = np.ones((4, 5), np.float32)


def paired(tmp_path, calls, golden, **more):
    """What each tensor of the target is paired with, by which rule."""
    found = pair_tensors(
        *bind_both(save_calls(tmp_path / "t", calls, **more), save_golden(tmp_path / "g", golden))
    )
    ledger(found)  # every tensor is somewhere
    return {
        (pair.op_name, pair.io, pair.slot): (pair.golden.key.op_name, pair.rule)
        for pair in found.pairs
    }


JOINED = {
    "two names": (
        [Call("conv1relu1", (), B)], {"conv1": A, "relu1": B},
        {("conv1relu1", "output", 0): ("relu1", "joined-name")},
    ),
    "names that have files of their own": (
        [Call("conv1relu1", (), C), Call("relu1", (), B)], {"conv1": A, "relu1": B},
        {("relu1", "output", 0): ("relu1", "file-name")},
    ),
    "two ways": ([Call("abc", (), C)], {"a": A, "bc": B, "ab": A, "c": B}, {}),
    "another shape": ([Call("conv1relu1", (), C)], {"conv1": A, "relu1": B[:2]}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "golden", "pairs"), JOINED.values(), ids=JOINED)
def test_a_fused_kernel_is_the_last_operator_in_its_name(tmp_path, calls, golden, pairs):
    assert paired(tmp_path, calls, golden) == pairs


def test_what_lies_inside_a_kernel_needs_no_partner_if_its_file_says_whose_result_it_gives(
    tmp_path,
):
    given = (B, {"origin": Origin("relu1")})
    file = tmp_path / "t" / LEAF / f"Conv2D.conv1relu1.0.3.{START}"
    save_container(file, (), (given,), op_name="conv1relu1")
    golden = save_golden(tmp_path / "g", {"conv1": A, "relu1": B})
    found = pair_tensors(*bind_both(load(tmp_path / "t"), golden))
    assert [(one.golden.key.op_name, one.rule) for one in found.pairs] == [("relu1", "fusion")]
    assert [(one.name, one.reason) for one in found.skips.golden] == [("conv1", "fused")]


EXPANDED = {
    "the last of two": (
        [Call("conv", (), C), Call("conv_BiasAdd", (), B, "BiasAdd")], {"conv": B},
        {("conv_BiasAdd", "output", 0): ("conv", "expanded-name")},
    ),
    "the last of three": (
        [Call("conv", (), C), Call("conv_Mul", (), A, "Mul"), Call("conv_Cast", (), B, "Cast")], {"conv": B},
        {("conv_Cast", "output", 0): ("conv", "expanded-name")},
    ),
    "one before it": (
        [Call("conv_Slice", (), C, "Slice"), Call("conv", (), B)], {"conv": B},
        {("conv", "output", 0): ("conv", "file-name")},
    ),
    "the second of a kind": (
        [Call("lstm", (), C[0]), Call("lstm_Stack_2", (), B, "Pack")], {"lstm": B},
        {("lstm_Stack_2", "output", 0): ("lstm", "expanded-name")},
    ),
    "another node": (
        [Call("conv", (), B), Call("conv_2", (), C)], {"conv": B}, {("conv", "output", 0): ("conv", "file-name")},
    ),
    "a node of its own": (
        [Call("conv", (), B), Call("conv_Add", (), C, "Add")], {"conv": B, "conv_Add": C},
        {("conv", "output", 0): ("conv", "file-name"), ("conv_Add", "output", 0): ("conv_Add", "file-name")},
    ),
    "another size": (
        [Call("conv", (), B), Call("conv_Shape", (), B[0, 0], "Shape")], {"conv": B},
        {("conv", "output", 0): ("conv", "file-name")},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "golden", "pairs"), EXPANDED.values(), ids=EXPANDED)
def test_a_node_is_the_last_of_the_kernels_that_are_called_after_it(tmp_path, calls, golden, pairs):
    assert paired(tmp_path, calls, golden) == pairs


def test_what_an_expansion_computes_on_its_way_needs_no_partner(tmp_path):
    calls = [Call("conv", (A,), C), Call("conv_BiasAdd", (C,), B, "BiasAdd")]
    target, golden = save_calls(tmp_path / "t", calls), save_golden(tmp_path / "g", {"conv": B})
    found = pair_tensors(*bind_both(target, golden))
    assert [(one.name, one.reason) for one in found.skips.target] == [("conv", "part")]


NEAR = A + np.float32(1e-3)
NEAREST = {
    "nearly the same": ([Call("k", (), NEAR)], {"y": A, "z": B}, {("k", "output", 0): ("y", "nearest")}),
    "far off": ([Call("k", (), A * 2)], {"y": A}, {}),
    "another shape": ([Call("k", (), NEAR.reshape(5, 4))], {"y": A}, {}),
    "two goldens": ([Call("k", (), NEAR)], {"y": A, "z": A + np.float32(1e-4)}, {}),
    "two kernels": ([Call("k", (), NEAR), Call("l", (), A)], {"y": A}, {}),
    "one number everywhere": ([Call("k", (), ONES)], {"y": ONES}, {}),
    "zeros": ([Call("k", (), ONES * 0)], {"y": ONES * 0}, {}),
    "a cast, which has its value from another": ([Call("k", (), A, "Cast")], {"y": A}, {}),
    "not finite": ([Call("k", (), A * np.float32(np.nan))], {"y": A}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "golden", "pairs"), NEAREST.values(), ids=NEAREST)
def test_a_tensor_is_the_only_golden_that_is_near(tmp_path, calls, golden, pairs):
    assert paired(tmp_path, calls, golden) == pairs


READ = [Call("a", (), A), Call("b", (A,), B)]
WIRED = {
    "bytes of an output": (
        READ, {"a": A, "b": B}, 10,
        {("a", "output", 0): ("a", "file-name"), ("b", "output", 0): ("b", "file-name"),
         ("b", "input", 0): ("a", "producer")},
    ),
    "no order of time": (
        READ, {"a": A, "b": B}, 0,
        {("a", "output", 0): ("a", "file-name"), ("b", "output", 0): ("b", "file-name")},
    ),
    "bytes of two outputs": (
        [Call("a", (), (A, A)), Call("b", (A,), B)], {"a": A, "b": B}, 10,
        {("a", "output", 0): ("a", "file-name"), ("b", "output", 0): ("b", "file-name")},
    ),
    "a producer without a golden": (READ, {"b": B}, 10, {("b", "output", 0): ("b", "file-name")}),
    "bytes of many": (
        [Call("a", (), ONES), Call("b", (ONES,), B)], {"a": ONES, "b": B}, 10,
        {("a", "output", 0): ("a", "file-name"), ("b", "output", 0): ("b", "file-name")},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "golden", "step", "pairs"), WIRED.values(), ids=WIRED)
def test_an_input_is_the_golden_of_whose_bytes_it_has(tmp_path, calls, golden, step, pairs):
    assert paired(tmp_path, calls, golden, step=step) == pairs


def test_what_the_compiler_inserted_gives_what_it_reads(tmp_path):
    calls = [
        Call("a", (), A),
        Call("trans_Cast_1", (A,), NEAR, "Cast"),
        Call("b", (NEAR,), B),
        Call("cast", (A,), C, "Cast"),
    ]
    found = paired(tmp_path, calls, {"a": A, "b": B})
    given = {at: name for at, (name, rule) in found.items() if rule == "producer"}
    assert given == {
        ("trans_Cast_1", "input", 0): "a",
        ("trans_Cast_1", "output", 0): "a",
        ("b", "input", 0): "a",
        ("cast", "input", 0): "a",
    }


def test_states_of_another_size_are_no_partners(tmp_path):
    """A recurrence gives its last state, or all: what is a slot of one is none of the other."""
    root = tmp_path / "g"
    root.mkdir()
    for slot, array in enumerate((A, B[-1])):
        np.save(root / f"rnn.{slot}.{START}.npy", array)
    target = save_calls(tmp_path / "t", [Call("rnn", (), (A, B))])
    found = pair_tensors(*bind_both(target, load(root)))
    assert [(pair.io, pair.slot) for pair in found.pairs] == [("output", 0)]


MEANS = A.mean(axis=-1, keepdims=True)
LAYER = [Call("a", (), A), Call("sum_LayerNorm", (A,), B, "LayerNorm")]
NORMAL = {"a": A, "mean": MEANS, "scaled": A - MEANS, "sum": B}
ENCLOSED = {
    "a bias between names": ([Call("conv1relu1", (), B)], {"conv1": A, "add": C, "relu1": B}, ["add", "conv1"]),
    "another shape between names": ([Call("conv1relu1", (), B)], {"conv1": A, "add": C[:2], "relu1": B}, ["conv1"]),
    "what is compared between names": (
        [Call("conv1relu1", (), B), Call("add", (), C)], {"conv1": A, "more": C * 2, "add": C, "relu1": B}, ["conv1"],
    ),
    "a kernel called after its last node": (LAYER, NORMAL, ["mean", "scaled"]),
    "one without inputs, behind what is compared": (
        [LAYER[0], LAYER[1]._replace(inputs=())], NORMAL, ["mean", "scaled"],
    ),
    "one that reads what nobody knows": ([LAYER[0], LAYER[1]._replace(inputs=(C,))], NORMAL, []),
    "one that the model has": ([LAYER[0], LAYER[1]._replace(name="sum")], NORMAL, []),
    "another size than its ends": (LAYER, NORMAL | {"mean": MEANS[:2]}, []),
    "before and behind": (LAYER, {"first": C * 2, "a": A, "sum": B, "last": C * 3}, []),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "golden", "fused"), ENCLOSED.values(), ids=ENCLOSED)
def test_what_lies_between_the_ends_of_a_kernel_needs_no_partner(tmp_path, calls, golden, fused):
    found = pair_tensors(
        *bind_both(save_calls(tmp_path / "t", calls), save_golden(tmp_path / "g", golden))
    )
    skipped = found.skips.golden
    assert sorted(one.name for one in skipped) == fused
    assert {one.reason for one in skipped} <= {"fused"}


@pytest.mark.parametrize("dialect", ["onnx", "tensorflow"])
def test_a_target_without_a_graph_borrows_the_kernels_of_the_golden_s_model(tmp_path, dialect):
    net = Net()
    conv = net.op("Conv2D", net.feed("x", (4, 5)), name="scope/conv", shape=(4, 5))
    relu = net.op("Relu", conv, name="scope/relu", shape=(4, 5))
    net.op("Softmax", relu, name="scope/out", shape=(4, 5))
    calls = [Call("scope_convscope_relu", (A,), B), Call("scope_out", (B,), C, "SoftmaxV2")]
    golden = save_golden(tmp_path / "g", {"scope_conv": A, "scope_relu": B, "scope_out": C})
    golden = replace(golden, graphs={(0, 0): replace(net.graph(), dialect=dialect)})
    found = pair_tensors(*bind_both(save_calls(tmp_path / "t", calls), golden))
    assert {
        (pair.op_name, pair.io): (pair.golden.key.op_name, pair.rule) for pair in found.pairs
    } == {
        ("scope_convscope_relu", "output"): ("scope_relu", "fusion"),
        ("scope_out", "input"): ("scope_relu", "producer"),
        ("scope_out", "output"): ("scope_out", "fusion"),
    }


def test_a_shared_golden_is_counted_once(tmp_path):
    calls = [*READ, Call("c", (A,), C)]
    sides = save_calls(tmp_path / "t", calls), save_golden(tmp_path / "g", {"a": A, "b": B, "c": C})
    coverage = ledger(pair_tensors(*bind_both(*sides)))
    assert (coverage.matched, coverage.shared) == (5, 2)
    assert (coverage.matched_of("target"), coverage.matched_of("golden")) == (5, 3)


def test_a_golden_of_the_elements_that_were_fed_needs_no_partner(tmp_path):
    golden = tmp_path / "g"
    save_golden(golden, {"conv1": B, "flat": A.reshape(-1), "other": A * 2})
    (golden / "inputs").mkdir()
    np.save(golden / "inputs" / "x.npy", A)
    target = save_calls(tmp_path / "t", [Call("conv1", (), B)])
    found = pair_tensors(*bind_both(target, load(golden)))
    assert [(one.name, one.reason) for one in found.skips.golden] == [("flat", "copy")]
    assert [one.op_name for one in found.only_golden] == ["other"]


W = RNG.standard_normal((6, 9)).astype(np.float32)
CHANGED = np.where(np.arange(27).reshape(3, 9) == 13, 1, 0).astype(np.float32)
COPIES = {
    "another shape": ({"conv1": A, "flat": A.reshape(-1)}, ["flat"]),
    "the same again": ({"conv1": A, "drop": A}, ["drop"]),
    "a copy of what nothing is compared with": ({"conv1": A, "b": B, "same": B}, []),
    "other elements": ({"conv1": A, "other": -A}, []),
    "another type": ({"conv1": A, "wide": A.astype(np.float64)}, []),
    "a single number": ({"conv1": A[:1, :1], "flat": A[0, :1]}, ["flat"]),
    "a single short number": ({"conv1": ONES[:1, :1], "flat": ONES[0, :1]}, []),
    "elements that are all alike": ({"conv1": ONES, "mask": ONES}, []),
    "parts along the last axis": ({"conv1": C, "left": C[:, :2], "right": C[:, 2:]}, []),
    "large parts along the last axis": ({"conv1": W, "left": W[:, :4], "right": W[:, 4:]}, ["left", "right"]),
    "parts along the first axis": ({"conv1": W, "rows": W[1:4]}, ["rows"]),
    "part of a part": ({"conv1": W, "rows": W[1:5], "inner": W[2:4]}, ["rows", "inner"]),
    "a part with an element that is another": ({"conv1": W, "rows": W[1:4] + CHANGED}, []),
    "a part along two axes": ({"conv1": W, "corner": W[1:5, 1:6]}, []),
    "joined twice": ({"conv1": W, "both": np.concatenate([W, W], 1)}, ["both"]),
    "joined with its part": ({"conv1": W, "part": W[:4], "both": np.concatenate([W[:4], W])}, ["part", "both"]),
    "joined with what nothing is compared with": ({"conv1": W, "b": -W, "both": np.concatenate([W, -W])}, []),
}  # fmt: skip


@pytest.mark.parametrize(("golden", "copies"), COPIES.values(), ids=COPIES)
def test_a_golden_of_the_elements_of_a_compared_one_needs_no_partner(tmp_path, golden, copies):
    target = save_calls(tmp_path / "t", [Call("conv1", (), golden["conv1"])])
    found = pair_tensors(*bind_both(target, save_golden(tmp_path / "g", golden)))
    assert [one.name for one in found.skips.golden if one.reason == "copy"] == copies
    assert {one.op_name for one in found.only_golden} == golden.keys() - {"conv1", *copies}


ALIKE = np.zeros((3, 4), np.float32)
SAID = {
    "a copy of what is compared": ({"conv1": ALIKE, "mask": ALIKE}, ["mask,copy,conv1"], ["mask"]),
    "over another copy": (
        {"conv1": ALIKE, "flat": ALIKE[0], "mask": ALIKE}, ["mask,copy,missing", "missing,copy,conv1"], ["mask"],
    ),
    "what is compared is the copy": ({"mask": ALIKE, "conv1": ALIKE}, ["conv1,copy,mask"], ["mask"]),
    "in a circle": ({"conv1": ALIKE, "mask": ALIKE}, ["conv1,copy,mask", "mask,copy,conv1"], ["mask"]),
    "of itself": ({"conv1": ALIKE, "mask": ALIKE}, ["mask,copy,mask"], []),
    "in a circle apart": ({"conv1": A, "b": ALIKE, "c": ALIKE}, ["b,copy,c", "c,copy,b"], []),
    "other elements": ({"conv1": ALIKE, "mask": ALIKE + 1}, ["mask,copy,conv1"], []),
    "another type": ({"conv1": ALIKE, "mask": ALIKE.astype(np.int32)}, ["mask,copy,conv1"], []),
    "fewer elements": ({"conv1": ALIKE, "mask": ALIKE[0]}, ["mask,copy,conv1"], []),
    "of what nothing is compared with": ({"conv1": A, "b": ALIKE, "same": ALIKE}, ["same,copy,b"], []),
    "of a copy that its elements tell": (
        {"conv1": W, "part": W[1:4], "mask": W[1:4].copy()}, ["mask,copy,part"], ["part", "mask"],
    ),
}  # fmt: skip
"""Goldens in order of time, lines of roles.csv, and what counts as a copy; only conv1 is on the device."""


def save_with_roles(root, arrays, lines):
    """Golden data with a table of roles that calls files by the names of their operators."""
    save_golden(root, arrays)
    files = {path.name.partition(".")[0]: path.name for path in root.glob("*.npy")}
    words = [[files.get(one, one) for one in line.split(",")] for line in lines]
    known = [
        [f"{one}.npy" if n != 1 and one and "." not in one else one for n, one in enumerate(line)]
        for line in words
    ]
    rows = ["file,role,of", *(",".join(line) for line in known)]
    (root / "roles.csv").write_text("\n".join(rows), encoding="utf-8")
    return load(root)


@pytest.mark.parametrize(("golden", "lines", "copies"), SAID.values(), ids=SAID)
def test_a_golden_that_is_called_a_copy_needs_the_elements_of_what_is_compared(
    tmp_path, golden, lines, copies
):
    target = save_calls(tmp_path / "t", [Call("conv1", (), golden["conv1"])])
    found = pair_tensors(*bind_both(target, save_with_roles(tmp_path / "g", golden, lines)))
    assert sorted(s.name for s in found.skips.golden if s.reason == "copy") == sorted(copies)
    assert {one.op_name for one in found.only_golden} == golden.keys() - {"conv1", *copies}


def test_what_is_called_unread_needs_no_partner_and_is_compared_if_it_has_one(tmp_path):
    lines = ["conv1,unread,", "state,unread,", "absent,unread,"]
    golden = save_with_roles(tmp_path / "g", {"conv1": A, "state": B, "other": C}, lines)
    target = save_calls(tmp_path / "t", [Call("conv1", (), A)])
    found = pair_tensors(*bind_both(target, golden))
    assert [pair.op_name for pair in found.pairs] == ["conv1"]
    assert [(one.name, one.reason) for one in found.skips.golden] == [("state", "unread")]
    assert [one.op_name for one in found.only_golden] == ["other"]
    assert ledger(found).skipped == {"golden:unread": 1}
