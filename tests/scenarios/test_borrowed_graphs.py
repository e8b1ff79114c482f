"""What is said of two runs of which one has no graph: the other's is lent, with its mark."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.foreign_files import PAIRS
from kit.build.runs import on_device, on_reference
from kit.build.small_dumps import Net, in_memory, shoot
from kit.evidence import defects
from workbench.comparison.engine import compare_dumps
from workbench.comparison.trust import BORROWED, OWN
from workbench.core.words import Message
from workbench.dump.index import index_of
from workbench.graph.graph import Const
from workbench.network.models import load_graph
from workbench.npu.faults import Fault

MEMORY = {"overwritten"}
SIDES = ("target", "golden")


def without(dump):
    return replace(dump, graphs={})


@pytest.fixture(scope="module")
def lent(real_pairs):
    """Every real pair, compared without the graph of one side; by pair and that side."""
    found = {}
    for name, pair in real_pairs.items():
        dumps = {"target": wb.load(pair.target), "golden": wb.load(pair.golden)}
        for side in SIDES:
            some = {**dumps, side: without(dumps[side])}
            found[name, side] = compare_dumps(some["target"], some["golden"]).result
    return found


def first(result):
    return next((one for one in result.findings if one.defect), None)


# pair → the operator that differs; of the other pairs nothing is wrong
GUILTY = {
    "alexnet_padmode": "Default/conv3-Conv2d/Conv2D-op0",
    "kernels_partial": "Default/conv4-Conv2d/Conv2D-op0",
    "transformer_ln_eps": "Default/layers-CellList/1-EncoderLayer/norm1-LayerNorm/LayerNorm-op0",
    "optimizer_lr": "Default/optimizer-Momentum/ApplyMomentum-op0",
}


# a dump of chosen operators looks as if a kernel did the work of those behind: nobody can tell which
UNDECIDED = ("kernels_partial", "target")
CASES = [(name, side) for name in PAIRS for side in SIDES if (name, side) != UNDECIDED]


@pytest.mark.parametrize(("name", "side"), CASES)
def test_a_lent_graph_leads_to_the_same_operator_and_says_that_it_is_lent(lent, name, side):
    found = first(lent[name, side])
    if name not in GUILTY:
        assert found is None
        return
    assert (found.op_name, found.trust) == (GUILTY[name], BORROWED)
    assert "compare/trust-borrowed" in {one.code for one in found.evidence}


def test_where_a_kernel_may_do_more_than_its_name_says_nothing_is_decided(lent):
    result = lent[UNDECIDED]
    assert (result.verdict, first(result)) == ("inconclusive", None)
    said = next(one for one in result.findings if one.kind == "undecided")
    assert said.evidence[0].code == "compare/undecided-may-be-fused"


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", PAIRS)
def test_nothing_is_called_overwritten_on_lent_wiring(lent, name, side):
    assert not {one.kind for one in lent[name, side].findings} & MEMORY


@pytest.mark.parametrize("name", PAIRS)
def test_no_source_line_of_the_lender_is_the_borrowers(lent, name):
    result = lent[name, "target"]
    of_golden = ("unmatched", "incomplete")  # what the golden alone has: the golden's own line
    assert {one.source for one in result.findings if one.kind not in of_golden} <= {None}
    assert {row.source for row in result.rows if row.match_rule} <= {None}
    found = first(result)
    assert found is None or "compare/golden-line" in {one.code for one in found.evidence}


def test_a_golden_of_which_nobody_knows_the_attributes_is_not_called_wrong(lent):
    codes = {one.code for one in first(lent["alexnet_padmode", "golden"]).evidence}
    assert "compare/golden-unlike" in codes
    assert not codes & {"compare/golden-error", "compare/golden-error-by"}


@pytest.mark.parametrize("name", GUILTY)
def test_with_graphs_of_their_own_findings_rest_on_these(real_pairs, name):
    pair = real_pairs[name]
    assert first(wb.compare(pair.target, pair.golden).result).trust == OWN


# --- programs that are wired differently ---------------------------------------------------------


def program(second):
    """Two branches of one feed; the last operator reads the first and ``second``."""
    net = Net()
    feed = net.feed("x")
    branches = {"tanh": net.op("Tanh", feed), "sigmoid": net.op("Sigmoid", feed)}
    net.op("Mul", branches["tanh"], branches[second])
    return net.graph()


GRAPHS = {name: program(name) for name in ("tanh", "sigmoid")}
SHOTS = {name: shoot(graph, small.given(graph)) for name, graph in GRAPHS.items()}


@pytest.mark.parametrize("borrower", SIDES)
@pytest.mark.parametrize("wired", GRAPHS)
def test_bytes_that_contradict_a_lent_edge_say_that_the_programs_are_wired_differently(
    wired, borrower
):
    other = next(name for name in GRAPHS if name != wired)
    names = {borrower: wired, next(s for s in SIDES if s != borrower): other}
    dumps = {
        side: in_memory(SHOTS[name], *([GRAPHS[name]] if side != borrower else []))
        for side, name in names.items()
    }
    result = compare_dumps(dumps["target"], dumps["golden"]).result
    (found,) = [one for one in result.findings if one.defect]
    assert (found.kind, found.op_name) == ("structure", "Default/Mul-op0")
    said = next(one for one in found.evidence if one.code == "compare/wired-to")
    assert (said.values["slot"], said.values["instead"], said.values["producer"]) == (
        1, f"Default/{wired.title()}-op0", f"Default/{other.title()}-op0",
    )  # fmt: skip


def test_an_own_graph_still_tells_that_memory_was_overwritten_though_it_is_lent():
    """The golden borrows, and its bytes agree with the graph: the target's contradict its own."""
    graph = GRAPHS["sigmoid"]
    damaged = [
        shot._replace(data=shot.data + 1)
        if (shot.op_type, shot.io, shot.slot) == ("Mul", "input", 1)
        else shot
        for shot in SHOTS["sigmoid"]
    ]
    result = compare_dumps(in_memory(damaged, graph), in_memory(SHOTS["sigmoid"])).result
    (found,) = [one for one in result.findings if one.defect]
    reader = Message(
        "compare/error-none", where="Default/Mul-op0: output.0"
    )  # took nothing of it up
    assert found.kind == "overwritten"
    assert reader in found.evidence


def test_a_graph_of_another_network_is_noted_and_the_other_sides_is_lent():
    graph, shots = GRAPHS["sigmoid"], SHOTS["sigmoid"]
    wrong = small.chain("MatMul", "ReLU", "Exp", "Neg")
    spoilt = shoot(
        graph, small.given(graph), alter={"Default/Sigmoid-op0": lambda x: x + x.dtype.type(0.1)}
    )
    result = compare_dumps(in_memory(spoilt, wrong), in_memory(shots, graph)).result
    assert ("target", "graph-mismatch") in {(one.side, one.kind) for one in result.anomalies}
    (found,) = [one for one in result.findings if one.defect]
    assert (found.op_name, found.trust, found.source) == ("Default/Sigmoid-op0", BORROWED, None)


def test_two_programs_that_agree_pass_on_a_lent_graph():
    graph, shots = GRAPHS["tanh"], SHOTS["tanh"]
    result = compare_dumps(in_memory(shots), in_memory(shots, graph)).result
    assert result.verdict == "pass"
    assert not defects(result)


# --- number formats that a lent graph does not tell ------------------------------------------------


MLP = load_graph("mlp")
PRODUCTS = [op.name for op in MLP.ops if op.op_type == "MatMul"]


def outputs_of(device, mode, *faults):
    """A run of which nobody kept the graph, and outputs alone were dumped."""
    run = on_device(MLP, device, mode, faults=list(faults))
    records = [
        one for one in run.records if one.key.io == "output" and one.key.op_type != "Parameter"
    ]
    return replace(run, index=index_of(records), graphs={})


@pytest.mark.parametrize(
    ("device", "mode"),
    [("950", "cube_hif8"), ("950", "force_lowerprecision"), ("a2", "force_lowerprecision")],
)
def test_formats_of_the_borrower_that_replay_recognizes_accuse_nobody(device, mode):
    result = compare_dumps(outputs_of(device, mode), on_reference(MLP)).result
    assert (defects(result), result.verdict) == ([], "warn")


@pytest.mark.parametrize("device", ["950", "a2"])
def test_but_an_operator_that_no_format_explains_is_named(device):
    fault = Fault("scaled-output", PRODUCTS[1], 1.25)
    target = outputs_of(device, "force_lowerprecision", fault)
    found = first(compare_dumps(target, on_reference(MLP)).result)
    assert found.op_name == PRODUCTS[1]


NARROW = small.chain("Tanh", "Sigmoid", "Neg")


def half(array):
    return array.astype(np.float16)


@pytest.mark.parametrize("label", [np.float16, np.float32])
def test_formats_that_the_borrowers_files_are_labelled_with_count(label):
    """Every operator stores float16, and replay cannot tell, for nobody dumped what was read first."""
    values = small.given(NARROW)
    shots = [
        one._replace(data=half(one.data).astype(label))
        for one in shoot(NARROW, values)
        if one.io == "output" and one.op_type != "Tanh"
    ]
    golden = in_memory(shoot(NARROW, values), NARROW)
    result = compare_dumps(in_memory(shots), golden).result
    assert bool(defects(result)) == (label is np.float32)


DEEP = small.chain(*("MatMul", "Neg") * 4)


def off(by, seed):
    """A change by noise of a relative size."""
    rng = np.random.default_rng(seed)
    return lambda x: x * (1 + by * rng.standard_normal(x.shape))


def products(*errors):
    """Outputs of a run on an NPU whose products are off by noise that no known format has."""
    names = [op.name for op in DEEP.ops if op.op_type == "MatMul"]
    rng = np.random.default_rng(7)
    values = {name: rng.standard_normal((32, 32)).astype(np.float32) for name in small.given(DEEP)}
    ways = {name: off(by, n) for n, (name, by) in enumerate(zip(names, errors, strict=True))}
    shots = [one for one in shoot(DEEP, values, alter=ways) if one.io == "output"]
    golden = in_memory(shoot(DEEP, values), DEEP)
    return compare_dumps(in_memory(shots, info={"device_target": "Ascend"}), golden).result


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [((0.03, 0.03, 0.03, 0.03), "inconclusive"), ((0.25, 0.001, 0.001, 0.001), "fail")],
)
def test_products_that_are_all_as_far_off_accuse_nobody(errors, verdict):
    """Weights are assumed to be the golden's, so that replay convicts nobody."""
    result = products(*errors)
    assert (result.verdict, bool(defects(result))) == (verdict, verdict == "fail")


SCALE = np.float32(0.25015)  # float16 has 0.25 and, nearer, 0.25024


def scaling(scale):
    """Two products with one constant, of which files of float16 hold what came in and out."""
    net = Net()
    feeds = [net.feed(name, (64, 64)) for name in "ab"]
    for feed in feeds:
        net.op("Mul", feed, Const(float(scale), "float32"), shape=(64, 64))
    graph = net.graph()
    narrow = {name: half(value) for name, value in small.given(graph).items()}
    shots = [
        one._replace(data=half(one.data))
        for one in shoot(graph, {name: value.astype("f4") for name, value in narrow.items()})
        if (one.io, one.slot) != ("input", 1)  # no file has the constant
    ]
    return graph, shots


@pytest.mark.parametrize(
    ("scale", "kinds"), [(half(SCALE), []), (SCALE * 1.002, ["common-factor"])]
)
def test_a_constant_of_the_lender_that_the_borrower_may_have_rounded_is_no_factor_of_its_own(
    scale, kinds
):
    graph, right = scaling(SCALE)
    _, shots = scaling(scale)
    info = {"device_target": "Ascend"}
    result = compare_dumps(in_memory(shots, info=info), in_memory(right, graph)).result
    assert [one.kind for one in defects(result)] == kinds
