"""Faults of single channels, rows and tiles beside an outlier channel, which one norm over a tensor hides."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import workbench as wb
from kit.evidence import defects
from workbench.comparison.finding_kinds import KINDS
from workbench.core.dtypes import name_of
from workbench.core.plan import DumpPlan
from workbench.core.tensors import TensorSpec
from workbench.dump.formats.npy import NpySource, write_npy
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.precision import Precision

TOKENS, CHANNELS, OUTLIER = 128, 1024, 7
OTHERS = np.arange(CHANNELS) != OUTLIER


def body(x, scale, weight, bias):
    """One channel of 300, the others near 0.05, as in every large language model; and what reads them."""
    return F.relu(F.matmul(x * scale, weight) + bias)


def zeroed(array):
    array[:, OTHERS] = 0


def flipped(array):
    array[:, 100:132] *= -1


def replaced(array):
    array[5, OTHERS] = array[9, OTHERS]


def cleared(array):
    array[16:32, 64:80] = 0


FAULTS = {
    "channels zeroed": (zeroed, 1, CHANNELS - 1),
    "channels flipped": (flipped, 1, 32),
    "token replaced": (replaced, 0, 1),
    "tile zeroed": (cleared, -1, 1),
}
"""What is wrong in the product, the axis along which that is seen (-1: tiles), and how many slices are wrong."""


@pytest.fixture(scope="module", params=["float16", "bfloat16"])
def golden(request, tmp_path_factory):
    """Tree of the reference, its graph and what it was fed."""
    shapes = ((TOKENS, CHANNELS), (CHANNELS,), (CHANNELS, 256), (256,))
    graph = trace(body, *(TensorSpec(request.param, shape) for shape in shapes))
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], shapes[0])
    values = [sign * (1 + 0.2 * rng.standard_normal(shapes[0])), np.full(CHANNELS, 0.05),
              0.03 * rng.standard_normal(shapes[2]), 0.1 * rng.standard_normal(256)]  # fmt: skip
    values[1][OUTLIER] = 300
    values[0][:, OUTLIER] = 1  # the same for every token
    feeds = {one.name: value for one, value in zip(graph.parameters, values, strict=True)}
    root = tmp_path_factory.mktemp(request.param)
    return wb.simulate(graph, feeds, DumpPlan("/x"), root / "golden"), graph, feeds


def files(root, op_type, place):
    """Files of an operator, and of none whose type ends alike."""
    return [*root.rglob(f"{op_type}.*{place}*.npy")]


def load(path):
    return np.array(NpySource(path).array())


def save(path, array):
    with path.open("wb") as file:
        write_npy(file, array, name_of(array.dtype))


def rewritten(root, *places, value):
    for op_type, place in places:
        found = files(root, op_type, place)
        assert found
        for path in found:
            save(path, value.astype(load(path).dtype))


def spoiled(golden, root, fault):
    """The golden's tree, of which the product is wrong; whatever reads it does what it has to."""
    shutil.copytree(golden, root)
    (path,) = files(root, "Mul", "output.0")
    product = load(path)
    fault(product)
    rewritten(root, ("Mul", "output.0"), ("MatMul", "input.0"), value=product)
    weight, bias = (load(files(root, *at)[0]) for at in (("MatMul", "input.1"), ("Add", "input.1")))
    kind = product.dtype
    result = (
        (product.astype(np.float64) @ weight.astype(np.float64)).astype(np.float32).astype(kind)
    )
    rewritten(root, ("MatMul", "output.0"), ("Add", "input.0"), value=result)
    result = result + bias
    rewritten(root, ("Add", "output.0"), ("ReLU", "input.0"), value=result)
    rewritten(root, ("ReLU", "output.0"), value=np.maximum(result, 0))
    return root


@pytest.mark.parametrize("name", FAULTS)
def test_a_local_fault_fails_with_its_operator(name, golden, tmp_path):
    fault, axis, count = FAULTS[name]
    tree, _, _ = golden
    found = wb.compare(spoiled(tree, tmp_path / "target", fault), tree)
    assert found.verdict == "fail"
    first, *others = defects(found)
    assert (first.op_type, first.kind, others) == ("Mul", "own-error", [])
    (row,) = [row for row in found.rows if row.op_type == "Mul" and row.io == "output"]
    assert row.status == "fail"
    assert row.metrics["WorstSliceError"] > 0.1
    told = [one.values for one in first.evidence if one.code == "compare/replay-local"]
    if told:  # what the norm shows by itself is told by it
        assert told[0]["slices"].values.get("axis", -1) == axis
        assert told[0]["slices"].values["count"] == count
        assert first.own_error / first.noise_floor > 8


@pytest.mark.parametrize("name", ["channels flipped", "token replaced", "tile zeroed"])
def test_the_norm_of_the_tensor_does_not_show_it(name, golden, tmp_path):
    tree, _, _ = golden
    found = wb.compare(spoiled(tree, tmp_path / "target", FAULTS[name][0]), tree)
    (row,) = [row for row in found.rows if row.op_type == "Mul" and row.io == "output"]
    assert row.error < 8 * row.noise_floor
    assert any(one.code == "compare/replay-local" for one in defects(found)[0].evidence)


def test_without_a_graph_nobody_is_accused_of_a_slice(golden, tmp_path):
    """Nothing says there what the operator read, and so how much rounding explains of a slice."""
    tree, _, _ = golden
    target = spoiled(tree, tmp_path / "target", FAULTS["token replaced"][0])
    bare = [tmp_path / name for name in ("bare_target", "bare_golden")]
    for source, copy in zip((target, tree), bare, strict=True):
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("graphs", "execution_order"))
    assert not defects(wb.compare(*bare))


@pytest.mark.parametrize("device", ["910a", "a2", "950"])
def test_a_clean_run_with_an_outlier_is_not_accused(device, golden, tmp_path):
    tree, graph, feeds = golden
    if graph.ops[0].outputs[0].dtype == "bfloat16" and device == "910a":
        pytest.skip("the device has no bfloat16")
    target = wb.simulate(graph, feeds, DumpPlan("/x"), tmp_path / "target", device=device)
    found = wb.compare(target, tree)
    assert found.verdict in ("pass", "warn")
    assert not defects(found)


def test_a_sum_that_cancels_is_not_accused(tmp_path):
    """What is left of large terms has an error of their size: its own says nothing."""

    def cancelling(x, y, weight):
        return F.matmul(x, weight) - F.matmul(y, weight)

    graph = trace(
        cancelling, *(TensorSpec("float32", s) for s in ((64, 256), (64, 256), (256, 128)))
    )
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 256))
    y = x + 1e-3 * rng.standard_normal(x.shape)
    feeds = dict(
        zip(
            (one.name for one in graph.parameters),
            (x, y, rng.standard_normal((256, 128))),
            strict=True,
        )
    )
    golden = wb.simulate(graph, feeds, DumpPlan("/x"), tmp_path / "golden")
    target = wb.simulate(
        graph,
        feeds,
        DumpPlan("/x"),
        tmp_path / "target",
        device="a3",
        precision_mode=Precision(hf32=(True, True)),
    )
    found = wb.compare(target, golden)
    assert max(row.metrics.get("WorstSliceError", 0.0) for row in found.rows) > 1 / 32
    assert not defects(found)


def weight_of(root, change):
    """A tree in which all files of the weight of the product with a matrix are changed."""
    for op_type, place in (("MatMul", "input.1"), ("Parameter", "output")):
        for path in files(root, op_type, place):
            array = load(path)
            if array.shape == (CHANNELS, 256):
                change(array)
                save(path, array)
    (read,), (weight,) = (files(root, "MatMul", place) for place in ("input.0", "input.1"))
    product = load(read).astype(np.float64) @ load(weight).astype(np.float64)
    kind = load(read).dtype
    result = product.astype(np.float32).astype(kind)
    bias = load(files(root, "Add", "input.1")[0])
    rewritten(root, ("MatMul", "output.0"), ("Add", "input.0"), value=result)
    rewritten(root, ("Add", "output.0"), ("ReLU", "input.0"), value=result + bias)
    rewritten(root, ("ReLU", "output.0"), value=np.maximum(result + bias, 0))
    return root


def test_a_weight_with_a_wrong_row_is_named(golden, tmp_path):
    tree, _, _ = golden

    def outlier(weight):
        weight[3] = 40

    def wrong(weight):
        outlier(weight)
        weight[11] *= -1

    ours, theirs = (shutil.copytree(tree, tmp_path / name) for name in ("target", "golden"))
    weight_of(ours, wrong)
    weight_of(theirs, outlier)
    found = wb.compare(ours, theirs)
    (first,) = defects(found)
    assert KINDS[first.kind].defect
    assert first.kind in ("parameter", "input")
    told = [one.values for one in first.evidence if one.code == "compare/given-local"]
    assert told[0]["slices"].values["count"] == 1
    assert told[0]["error"] == pytest.approx(2.0, rel=1e-3)
