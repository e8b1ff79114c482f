"""Attention whose mask adds what float16 cannot hold: a clean run agrees, a faulty one is told."""

from __future__ import annotations

import json
import shutil
from itertools import product

import numpy as np
import pytest

import workbench as wb
from kit.build.onnx_models import model, node
from kit.cases import nightly, pairwise
from workbench.simulation.inputs import networks_with_inputs

pytest.importorskip("onnxruntime")

LENGTH, SIZE = 12, 16
KEEP = np.tril(np.ones((LENGTH, LENGTH), bool))[None]
FAR = {"1e9": -1e9, "least float32": float(np.finfo(np.float32).min), "infinity": -np.inf}
MASKS = {
    "added": lambda far: (
        [node("Add", ["s", "mask"], ["m"], "attn/masked")],
        {"mask": np.where(KEEP, 0, far).astype(np.float32)},
    ),
    "chosen": lambda far: (
        [node("Where", ["keep", "s", "far"], ["m"], "attn/masked")],
        {"keep": KEEP, "far": np.array(far, np.float32)},
    ),
}
"""How scores are masked → nodes and weights."""


def attention(mask, far):
    """A layer of attention: scores, mask, Softmax, values, a residual."""
    draw = np.random.default_rng(8)
    weights = {
        name: (draw.standard_normal((SIZE, SIZE)) / 4).astype(np.float32)
        for name in ("wq", "wk", "wv", "wo")
    }
    nodes, more = MASKS[mask](far)
    return model(
        [
            *(node("MatMul", ["x", f"w{n}"], [n], f"attn/{n}") for n in "qkv"),
            node("Transpose", ["k"], ["kt"], "attn/turn", perm=[0, 2, 1]),
            node("MatMul", ["q", "kt"], ["qk"], "attn/scores"),
            node("Div", ["qk", "root"], ["s"], "attn/scale"),
            *nodes,
            node("Softmax", ["m"], ["p"], "attn/softmax", axis=-1),
            node("MatMul", ["p", "v"], ["c"], "attn/context"),
            node("MatMul", ["c", "wo"], ["o"], "attn/out"),
            node("Add", ["o", "x"], ["y"], "residual"),
        ],
        {"x": np.zeros((2, LENGTH, SIZE), np.float32)},
        ["y"],
        weights | more | {"root": np.array(4, np.float32)},
        opset=17,
    )


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """Folder of a mask's model with its golden data, made when it is asked for."""
    root, made = tmp_path_factory.mktemp("masked"), {}

    def of(mask, far="1e9"):
        place = root / f"{mask} {far}".replace(" ", "_")
        if (mask, far) not in made:
            place.mkdir()
            (place / "net.onnx").write_bytes(attention(mask, FAR[far]).SerializeToString())
            x = np.random.default_rng(9).standard_normal((2, LENGTH, SIZE)).astype(np.float32)
            wb.golden(place / "net.onnx", {"x": x}, place / "golden", engine="onnxruntime")
        return made.setdefault((mask, far), place)

    return of


def compared(place, tree, mode, *, graphs, device, faults=(), precision="force_fp16"):
    """Simulate in float16 and compare, with both graphs or none."""
    fed = {"x": place / "golden/inputs/x.npy"}
    networks, feeds = networks_with_inputs([str(place / "net.onnx")], fed, {}, 0, 1)
    form = tree.with_name("acl.json")
    dump = {"dump_list": [{}], "dump_path": "/dump", "dump_mode": mode}
    form.write_text(json.dumps({"dump": dump}), encoding="utf-8")
    options = {"device": device, "faults": faults, "precision_mode": precision}
    wb.simulate(networks, feeds, form, tree, surface="acl", **options)
    if not graphs:
        shutil.rmtree(tree / "graphs")
    return wb.compare(tree, place / "golden", golden_graph=place / "net.onnx" if graphs else None)


CLEAN = [*product(MASKS, FAR, ("310p", "a2", "a3"), ("all", "output"), (True, False))]


@pytest.mark.parametrize(
    ("mask", "far", "device", "mode", "graphs"), nightly(CLEAN, pairwise(CLEAN))
)
def test_a_clean_run_accuses_nobody(tmp_path, golden, mask, far, device, mode, graphs):
    found = compared(golden(mask, far), tmp_path / "t", mode, graphs=graphs, device=device)
    assert [one.op_name for one in found.findings if one.defect] == []
    assert found.verdict != "fail"
    struck = 2 * int((~KEEP).sum())  # of each of two sequences
    both_infinite = far == "infinity" and device != "310p"
    expected = {} if both_infinite else {"masked-scores": struck * (2 if mode == "all" else 1)}
    assert found.coverage.dont_care == expected
    said = {str(row.reason) for row in found.rows if row.dont_care}
    assert all("scores that the mask strikes out" in one for one in said)
    assert bool(said) is not both_infinite


def test_float32_holds_them_and_nothing_is_left_out(tmp_path, golden):
    options = {"graphs": True, "device": "a2", "precision": "must_keep_origin_dtype"}
    found = compared(golden("added"), tmp_path / "t", "all", **options)
    assert (found.verdict in ("pass", "warn"), found.coverage.dont_care) == (True, {})


def scaled_mask(place):
    """A network that makes its mask of one that it reads, as exporters of encoders do: (1 - keep) · least."""
    least = np.array(np.finfo(np.float32).min)
    nodes = [
        node("Sub", ["one", "x"], ["away"], "away"),
        node("Mul", ["away", "least"], ["mask"], "mask"),
        node("Add", ["scores", "mask"], ["m"], "masked"),
        node("Softmax", ["m"], ["y"], "softmax", axis=-1),
    ]
    keep = np.array([[1, 1, 1, 0, 0]], np.float32)
    scores = np.random.default_rng(3).standard_normal((4, 5)).astype(np.float32)
    weights = {"one": np.array(1, np.float32), "least": least, "scores": scores}
    (place / "net.onnx").write_bytes(model(nodes, {"x": keep}, ["y"], weights).SerializeToString())
    wb.golden(place / "net.onnx", {"x": keep}, place / "golden", engine="onnxruntime")


@pytest.mark.parametrize("mode", ["all", "output"])
def test_a_mask_that_becomes_nan_is_told_as_beyond_the_format(tmp_path, mode):
    """0 · -Inf: on a device with infinity the whole network is lost, and no weight of it is another."""
    scaled_mask(tmp_path)
    found = compared(tmp_path, tmp_path / "t", mode, graphs=True, device="a2")
    assert (found.verdict, found.findings[0].op_name) == ("fail", "mask")
    codes = {one.code for one in found.findings[0].evidence}
    assert "compare/other-weights" not in codes
    assert codes & {"compare/weight-beyond-range", "compare/beyond-range"}


@pytest.mark.parametrize("graphs", [True, False])
def test_where_it_saturates_such_a_mask_does_what_it_shall(tmp_path, graphs):
    scaled_mask(tmp_path)
    found = compared(tmp_path, tmp_path / "t", "all", graphs=graphs, device="310p")
    assert [one.op_name for one in found.findings if one.defect] == []


FAULTS = (
    "scaled-output:attn/masked:1.05", "wrong-sign:attn/masked", "nan-output:attn/masked",
    "overwritten-element:attn/masked", "scaled-output:attn/scores:1.05", "stale-output:attn/scores",
    "scaled-output:attn/softmax:1.05",
)  # fmt: skip


@pytest.mark.parametrize("device", ["310p", "a2"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_attention_is_still_found(tmp_path, golden, fault, device):
    place = golden("added")
    found = compared(place, tmp_path / "t", "output", graphs=True, device=device, faults=[fault])
    assert (found.verdict, found.findings[0].op_name) == ("fail", fault.split(":")[1])


@pytest.mark.parametrize("fault", ["wrong-sign:attn/masked", "nan-output:attn/masked"])
def test_without_graphs_nobody_else_is_accused(tmp_path, golden, fault):
    place = golden("added")
    found = compared(place, tmp_path / "t", "output", graphs=False, device="a2", faults=[fault])
    accused = [one.op_name for one in found.findings if one.defect]
    assert accused[:1] in ([], ["attn_masked"])
