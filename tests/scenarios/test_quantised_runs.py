"""Networks in int8 against runs in floats: nothing is blamed that is not wrong, and what is, is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import workbench as wb
from kit import commands
from kit.cases import nightly, pairwise
from kit.evidence import codes, defects, the
from kit.trees import foretold, sizes
from kit.words import check_said, refused
from workbench.core.errors import GraphError
from workbench.core.plan import DumpPlan
from workbench.forecast.preview import preview
from workbench.graph.graph import Value
from workbench.graph_files.formats import read_graph
from workbench.network.models import load_graph
from workbench.npu.compile.quantize import MODES, Quantization
from workbench.run.reference import run_reference
from workbench.simulation.simulate import simulate

PLAN = DumpPlan("/d")
QUANTIZED = ["lenet", "alexnet", "mlp", "transformer"]


def target(model, root, surface="acl", mode="w8a8", device="a2", **more):
    graph = load_graph(model)
    return simulate(
        graph, None, PLAN, root, surface=surface, device=device, quantization=mode, **more
    )


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """Trees of a CPU by the model's name."""
    root = tmp_path_factory.mktemp("golden")
    return {
        name: simulate(load_graph(name), None, PLAN, root / name, surface="mindspore-cpu")
        for name in (*QUANTIZED, "resnet")
    }


def agrees(found, parameters):
    assert found.verdict in ("pass", "warn"), found.sentence
    assert [f.kind for f in defects(found)] == []
    assert found.coverage.unmatched_target == 0
    assert found.coverage.unmatched_golden == parameters  # files of parameters
    assert found.coverage.skipped["target:quantised"] > 0


@pytest.mark.parametrize(
    "fault", ["dropped-k-tail:*fc2*/MatMul-op0:3", "wrong-sign:*fc2*/MatMul-op0"]
)
def test_a_fault_between_integers_is_named_itself(tmp_path, golden, fault):
    tree = target("lenet", tmp_path / "t", "torchair", fusion="off", faults=[fault])
    first = wb.compare(tree, golden["lenet"]).findings[0]
    assert (first.kind, first.op_name) == ("own-error", f"{FC2}/MatMul-op0")
    assert first.fault == fault.partition(":")[0]


HEALTHY = [*product(QUANTIZED, ("acl", "torchair"), MODES, ("on", "off"))]


@pytest.mark.parametrize(
    ("model", "surface", "mode", "fusion"), nightly(HEALTHY, pairwise(HEALTHY))
)
def test_a_healthy_run_agrees(tmp_path, golden, model, surface, mode, fusion):
    found = wb.compare(target(model, tmp_path / "t", surface, mode, fusion=fusion), golden[model])
    agrees(found, len(load_graph(model).parameters))
    if mode == "w8a8":
        assert any(row.op_name.endswith("AscendDequant") for row in found.rows if row.error)


@pytest.mark.parametrize("device", ["910a", "310p", "a3", "950"])
def test_every_device_computes_in_int8(tmp_path, golden, device):
    found = wb.compare(
        target("lenet", tmp_path / "t", "mindspore-ge", device=device), golden["lenet"]
    )
    agrees(found, 9)


@pytest.mark.parametrize("surface", ["mindspore-o2", "tensorflow"])
def test_residuals_and_normalizations_stay_floats(tmp_path, golden, surface):
    found = wb.compare(target("resnet", tmp_path / "t", surface), golden["resnet"])
    agrees(found, len(load_graph("resnet").parameters))


def test_what_rounding_explains_is_told(tmp_path, golden):
    found = wb.compare(target("lenet", tmp_path / "t", fusion="off"), golden["lenet"])
    (precision,) = (f for f in found.findings if f.kind == "precision")
    told = the(precision.evidence, "int8-layers", count=5)
    x = [r for r in run_reference(load_graph("lenet")) if r.key.io == "input"]
    layers = {}
    for name in (
        "conv1-Conv2d/Conv2D",
        "conv2-Conv2d/Conv2D",
        *(f"fc{n}-Dense/MatMul" for n in (1, 2, 3)),
    ):
        array = next(r.source.array() for r in x if name in r.key.op_name)
        step = np.abs(array).max() / 127
        layers[name] = step / 12**0.5 / np.sqrt(np.mean(array.astype(float) ** 2))
    name = max(layers, key=layers.get)
    assert f"Default/{name.partition('/')[0]}/dequant/AscendDequant" in told.values["op_name"]
    assert told.values["steps"].values["error"] == pytest.approx(layers[name], rel=0.01)


FC2 = "Default/fc2-Dense"


@pytest.mark.parametrize(
    ("fault", "fusion", "name"),
    [
        ("scaled-output:*fc2*/AscendDequant:1.3", "off", f"{FC2}/dequant/AscendDequant"),
        (
            "scaled-output:*fc2*/AscendDequant:0.8",
            "on",
            f"{FC2}/MatMul-op0{FC2}/dequant/AscendDequantDefault/relu-ReLU/ReLU-op3",
        ),
        ("wrong-attribute:*fc2*/AscendQuant:scale=20.0", "off", f"{FC2}/dequant/AscendDequant"),
    ],
)
def test_a_fault_in_int8_is_named_where_the_layer_ends(tmp_path, golden, fault, fusion, name):
    found = wb.compare(
        target("lenet", tmp_path / "t", "torchair", fusion=fusion, faults=[fault]), golden["lenet"]
    )
    assert found.verdict == "fail"
    first = found.findings[0]
    assert (first.kind, first.op_name) == ("own-error", name)
    assert first.source.code.strip() == "x = self.fc2(x)"
    assert "steps" in codes(first.evidence)
    names = the(first.evidence, "stands-for").values["names"]
    assert names[:2] == (f"{FC2}/MatMul-op0", f"{FC2}/BiasAdd-op0")


@pytest.mark.parametrize("fusion", ["on", "off"])
def test_a_wrong_scale_of_a_weight_is_told_at_the_layer_that_reads_it(tmp_path, golden, fusion):
    fault = "scaled-output:*conv2*/AscendAntiQuant:1.2"
    tree = target("alexnet", tmp_path / "t", mode="w8a16", fusion=fusion, faults=[fault])
    first = wb.compare(tree, golden["alexnet"]).findings[0]
    assert (first.kind, first.op_type) == ("parameter", "Conv2D")
    assert first.op_name.startswith("Default/conv2-Conv2d/Conv2D-op0")
    check_said(first.evidence[0], "compare/given")
    assert "anti_quant/AscendAntiQuant" in first.evidence[0].values["name"]
    assert first.evidence[0].values["error"] == pytest.approx(0.2, rel=0.01)


def test_two_runs_in_int8_are_compared_integer_by_integer(tmp_path):
    ours = target("lenet", tmp_path / "a", device="a2", fusion="off")
    theirs = target("lenet", tmp_path / "b", device="a3", fusion="off")
    found = wb.compare(ours, theirs)
    assert found.verdict == "pass"
    assert "target:quantised" not in found.coverage.skipped
    rows = [row for row in found.rows if row.op_type == "AscendQuant" and row.io == "output"]
    assert len(rows) == 5
    assert {row.status for row in rows} == {"equal"}


def test_a_graph_file_shows_integers_and_scales(tmp_path):
    tree = target("lenet", tmp_path / "t", fusion="off", env={"DUMP_GE_GRAPH": "1"})
    first, *_, build = sorted(tree.parent.rglob("ge_proto_*.txt"))
    for path in (first, build):
        graph = read_graph(path)
        ops = {op.name: op for op in graph.ops}
        quant = ops["Default/conv2-Conv2d/act_quant/AscendQuant"]
        conv = ops["Default/conv2-Conv2d/Conv2D-op0"]
        last = ops["Default/conv2-Conv2d/dequant/AscendDequant"]
        assert [spec.dtype for spec in conv.device_inputs] == ["int8", "int8"]
        assert [spec.dtype for spec in (*conv.device_outputs, *last.device_inputs)] == [
            "int32",
            "int32",
            "uint64",
        ]
        assert quant.device_outputs[0].dtype == "int8"
        kinds = {
            "scale": float,
            "offset": float,
            "sqrt_mode": bool,
            "round_mode": str,
            "dst_type": int,
        }
        assert {key: type(quant.attrs[key]) for key in kinds} == kinds
        assert (last.attrs["sqrt_mode"], last.attrs["relu_flag"]) == (False, False)
        factor = graph.ops[list(last.flat_inputs())[1].op]
        assert (factor.op_type, factor.outputs[0].shape) == ("Const", (16,))
    words = np.frombuffer(factor.attrs["value"]["data"], np.uint64)
    assert (words >> np.uint64(32) == 1 << 14).all()  # bit 46, and no offset
    assert conv.device_inputs[0].shape == (2, 1, 14, 14, 32)
    assert conv.device_outputs[0].shape == (2, 1, 10, 10, 16)
    assert conv.device_inputs[1].format == "FRACTAL_Z"
    assert last.attrs["dtype"] == 1  # float16, which ATC chooses


DUMPABLE = {"tensorflow": "run.quant_dumpable", "torchair": "dump_config.quant_dumpable"}
FORESEEN = [
    *product(("acl", "mindspore-o2"), (None,), MODES),
    *product(("tensorflow",), ("1",), MODES),
    *product(("torchair",), (True, False), MODES),
]
"""Surface, whether quantized kernels are dumped, mode; every run takes each mode where it can make a difference."""


@pytest.mark.parametrize(
    ("surface", "dumpable", "mode"),
    nightly(FORESEEN, [case for case in FORESEEN if case[2] == "w8a8" or case[0] == "acl"]),
)
def test_a_preview_knows_the_files_of_a_quantized_network(tmp_path, surface, dumpable, mode):
    form = wb.config.new(surface)
    if dumpable is not None:
        form = form.set(DUMPABLE[surface], dumpable)
    graph = load_graph("alexnet")
    foreseen = preview(form, graph, seed=5, quantization=mode)
    simulate(graph, None, form, tmp_path, device="a2", seed=5, quantization=mode)
    assert foretold(foreseen.forecast) == sizes(tmp_path)
    assert foreseen.exact
    if mode == "w8a8" and surface in ("torchair", "tensorflow"):
        build = max(tmp_path.rglob("*_Build.txt"), key=lambda path: path.stat().st_size)
        swallowed = [
            op.name for op in read_graph(build).ops
            if op.name.endswith("AscendQuant") and op.op_type != "AscendQuant"
        ]  # fmt: skip
        assert bool(swallowed) is not (dumpable in ("1", True))


def test_models_of_ascendcl_may_be_quantized():
    acl = wb.AscendCL("a2")
    acl.init()
    plain, _ = acl.mdl.load_from_file("mlp")
    int8, code = acl.mdl.load_from_file("mlp", quantization="w8a8")
    assert code == 0
    ours, theirs = [], []
    acl.mdl.execute(int8, output=ours)
    acl.mdl.execute(plain, output=theirs)
    error = np.linalg.norm(ours[0] - theirs[0]) / np.linalg.norm(theirs[0])
    assert 1e-3 < error < 5e-2


def test_only_the_graph_engine_quantizes(tmp_path):
    graph = load_graph("mlp")
    for surface, device in (("mindspore-o0o1", "a2"), ("acl", "reference")):
        with refused("run/quantize-surface", GraphError, got=surface, device=device):
            simulate(
                graph, None, PLAN, tmp_path / surface, surface=surface, device=device,
                quantization=Quantization("w8a8"),
            )  # fmt: skip


def test_values_that_calibration_has_not_seen_are_cut(tmp_path):
    graph = load_graph("mlp")
    (x,) = (p.default for p in graph.parameters if not p.is_weight)
    calibrated = Quantization("w8a8", {"x": np.asarray(x) / 4})
    tree = simulate(
        graph, None, PLAN, tmp_path / "t", surface="acl", device="a2", quantization=calibrated
    )
    golden = simulate(graph, None, PLAN, tmp_path / "g", surface="mindspore-cpu")
    found = wb.compare(tree, golden)
    assert found.verdict == "fail"
    assert found.findings[0].op_name.startswith("Default/body-SequentialCell/0-Dense/")
    graph = read_graph(next(tmp_path.rglob("*_Build.txt")))
    assert Value(0) in graph.consumers


def test_integers_have_no_sums_of_half_precision(tmp_path):
    fault = f"half-accumulation:{FC2}/MatMul-op0"
    with refused("run/fault-floats", GraphError, op=f"{FC2}/MatMul-op0", dtype="int32"):
        target("lenet", tmp_path / "t", faults=[fault])
    target("lenet", tmp_path / "u", mode="w8a16", faults=[fault])


def test_the_commands_quantize(tmp_path, capsys):
    form = tmp_path / "acl.json"
    form.write_text(wb.config.new("acl").to_text())
    network = ["--graph", "mlp", "--quantization", "w8a8"]
    asked = ["simulate", *network, "--config", str(form), "--surface", "acl", "--out"]
    for device, status in (("a2", 0), ("reference", 2)):
        assert commands.status(*asked, tmp_path / device, "--device", device) == status
    assert "'acl' on 'reference'" in capsys.readouterr().err
    shown = commands.run(capsys, "config", "preview", form, "--surface", "acl", *network)
    assert shown.status == 0
    assert "AscendQuant" in shown.out
    written = {path.name for path in (tmp_path / "a2").rglob("AscendQuant*")}
    assert len(written) == 3
