"""A healthy device that sums in another order is never blamed, and what is wrong beyond that is found."""

import math
from itertools import product

import pytest
from clearing.other_device import computing_otherwise
from diagnosing.cases import Setting
from diagnosing.runs import device_run, reference_run, write_tree

import workbench as wb
from kit.cases import each_once, nightly
from kit.evidence import defects
from workbench.core.plan import DumpPlan
from workbench.network.models import load_graph

GRAPHS = {name: load_graph(name) for name in ("mlp", "resnet", "transformer", "lenet_train")}
MODES = {
    "mlp": ("a2", "must_keep_origin_dtype"),
    "resnet": ("950", "cube_fp16in_fp32out"),
    "transformer": ("a3", "must_keep_origin_dtype"),
    "lenet_train": ("910a", "force_fp32"),
}


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """Trees of the reference, by network; each is written once."""
    trees = {}

    def tree(name):
        if name not in trees:
            out = tmp_path_factory.mktemp("golden") / name
            trees[name] = wb.simulate(GRAPHS[name], None, DumpPlan("/x"), out)
        return trees[name]

    return tree


FULL = DumpPlan("/x")


def compared(name, noise, golden, root, *, plan=FULL, faults=()):
    device, mode = MODES[name]
    settings = {"device": device, "precision_mode": mode, "faults": faults}
    with computing_otherwise(noise, 7):
        target = wb.simulate(GRAPHS[name], None, plan, root / "target", **settings)
    return wb.compare(target, golden(name))


ORDERS = [*product(GRAPHS, (0.0, 1e-6, 2e-6, 4e-6))]


@pytest.mark.parametrize(("name", "noise"), nightly(ORDERS, each_once(ORDERS)))
def test_sums_in_another_order_are_not_blamed(name, noise, golden, tmp_path):
    found = compared(name, noise, golden, tmp_path)
    assert (found.verdict, defects(found)) == ("warn", [])


@pytest.mark.parametrize("name", ["resnet", "transformer"])
def test_nor_where_only_outputs_were_dumped(name, golden, tmp_path):
    plan = DumpPlan("/x", io=frozenset(("output",)))
    found = compared(name, 4e-6, golden, tmp_path, plan=plan)
    assert (found.verdict, defects(found)) == ("warn", [])


STATISTICS = DumpPlan("/x", saved="statistic", statistics=("max", "min", "avg", "l2norm"))
COARSE = {
    "transformer": ("910a", "allow_fp32_to_fp16"),
    "lenet_train": ("310p", "allow_mix_precision_fp16"),
}


BY_STATISTICS = [*product(COARSE, (1e-7, 1e-6, 4e-6))]


@pytest.mark.parametrize(("name", "noise"), nightly(BY_STATISTICS, each_once(BY_STATISTICS)))
def test_nor_by_statistics_where_roundings_to_float16_fall_otherwise(
    name, noise, golden, tmp_path, monkeypatch
):
    """Figures of six digits are those of the forecast until one rounding falls otherwise, and shows whole."""
    monkeypatch.setitem(MODES, name, COARSE[name])
    found = compared(name, noise, golden, tmp_path, plan=STATISTICS)
    assert (found.verdict, defects(found)) == ("warn", [])


def cell(setting, noise, way, root):
    """What is said of one clean run of the matrix."""
    reference = reference_run(setting.model, setting.seed, setting.iterations)
    place = setting.surface, setting.files, setting.device
    golden = write_tree(reference, "full", root / "golden", "mindspore-cpu", "npy", "reference")
    with computing_otherwise(noise, setting.seed):
        run = device_run(setting)
    return wb.compare(write_tree(run, way, root / "target", *place), golden)


def test_nor_where_a_gradient_passes_another_element(tmp_path):
    """A figure of six digits does not show that one element of many passes that did not before."""
    setting = Setting("mlp_train", 29227, "a3", "mindspore-ge", "bin", "allow_fp32_to_fp16", 2)
    found = cell(setting, 1e-7, "statistics", tmp_path)
    assert (found.verdict, defects(found)) == ("warn", [])


def test_nor_where_a_model_is_believed_that_rounds_more_than_the_device(tmp_path):
    """Of what outputs alone leave open HiFloat8 explains most; the last product is what exact arithmetic makes it."""
    setting = Setting("transformer", 44149, "a3", "mindspore-o2", "bin", "allow_mix_precision", 1)
    assert defects(cell(setting, 4e-6, "outputs", tmp_path)) == []


@pytest.mark.parametrize(
    ("setting", "noise"),
    [
        (Setting("lenet_train", 26789, "950", "torchair", "bin", "allow_mix_precision_bf16", 3), 4e-6),
        (Setting("lenet_train", 25380, "a3", "tensorflow", "bin", "force_lowerprecision", 3), 1e-6),
    ],
    ids=["950", "a3"],
)  # fmt: skip
def test_nor_by_statistics_behind_operators_that_have_none(setting, noise, tmp_path):
    """Devices have no statistics of bfloat16: how far a gradient has come nobody sees, and nobody is named."""
    found = cell(setting, noise, "statistics", tmp_path)
    assert (found.verdict, defects(found)) == ("inconclusive", [])


FAULTS = [
    ("transformer", "scaled-output:Default/layer1-EncoderLayer/norm1-Norm/LayerNorm-op0:1.01"),
    ("transformer", "dropped-k-tail:Default/layer2-EncoderLayer/attention-Attention/query-Dense/MatMul-op0"),
    ("resnet", "stale-output:Default/layer2-BasicBlock/conv1-Conv2d/Conv2D-op0"),
    ("mlp", "wrong-sign:Default/head-Dense/MatMul-op0"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_what_is_wrong_beyond_that_is_found(name, fault, golden, tmp_path):
    found = compared(name, 4e-6, golden, tmp_path, faults=[fault])
    assert found.verdict == "fail"
    assert found.findings[0].op_name == fault.split(":")[1]
    ratios = [
        one.own_error / one.noise_floor
        for one in found.findings
        if one.defect and one.kind == "own-error" and one.noise_floor and one.own_error is not None
    ]
    assert all(ratio >= 1 or math.isnan(ratio) for ratio in ratios)
