"""Two training runs part: the comparison says in which iteration, in which part of it, and at which operator.

Every run takes most faults and trainings without one once, in modes and goldens by turns; the others
are for the nightly run.
"""

from __future__ import annotations

from itertools import product

import pytest

import workbench as wb
from kit.cases import nightly
from kit.evidence import clauses, defects, diverges, the, within
from kit.words import check_said
from workbench.config import new
from workbench.network.models import load_graph

STEPS = 5
SURFACES = {
    "mindspore-cpu": "common_dump_settings.iteration",
    "mindspore-o0o1": "common_dump_settings.iteration",
    "tensorflow": "dump.dump_step",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Dump all iterations of a training; every run is made once."""
    root, trees = tmp_path_factory.mktemp("runs"), {}

    def run(graph, surface, device, mode=None, fault=""):
        key = graph, surface, device, mode, fault
        if key not in trees:
            steps = "all" if surface.startswith("mindspore") else "|".join(map(str, range(STEPS)))
            form = new(surface).set(SURFACES[surface], steps)
            trees[key] = wb.simulate(
                load_graph(graph), None, form, root / str(len(trees)), device=device,
                surface=surface, precision_mode=mode, iterations=STEPS, faults=[fault] * bool(fault),
            )  # fmt: skip
        return trees[key]

    return run


HEAD = "Gradients/Default/network-WithLossCell/_backbone-"
LENET, MLP = f"{HEAD}LeNet", f"{HEAD}MLP"
MOMENTUM, ATTENTION = (
    "Default/optimizer-Momentum",
    f"{HEAD}Transformer/layer1-EncoderLayer/attention-Attention",
)

FAULTS = [
    ("mlp_train", "wrong-sign", f"{MLP}/body-SequentialCell/1-Dense/Grad_MatMul/MatMul-op1"),
    ("mlp_train", "scaled-output:1.5", f"{MLP}/head-Dense/Grad_BiasAdd/BiasAddGrad-op0"),
    ("mlp_train", "wrong-sign", "Default/optimizer-SGD/SGD-op2"),
    ("lenet_train", "wrong-sign", f"{LENET}/relu-ReLU/Grad_ReLU/ReluGrad-op2"),
    ("lenet_train", "stale-output", f"{LENET}/conv2-Conv2d/Grad_Conv2D/Conv2DBackpropInput-op0"),
    ("lenet_train", "nan-output", f"{LENET}/fc1-Dense/Grad_MatMul/MatMul-op1"),
    ("lenet_train", "scaled-output:1.5", f"{MOMENTUM}/ApplyMomentum-op5"),
    ("resnet_train", "wrong-sign", f"{MOMENTUM}/ApplyMomentum-op3"),
    ("transformer_train", "wrong-sign", f"{ATTENTION}/value-Dense/Grad_MatMul/MatMul-op1"),
    ("transformer_train", "scaled-output:1.5", "Default/optimizer-Adam/Adam-op3"),
]
GOLDEN = {"reference": ("mindspore-cpu", "reference"), "device": ("mindspore-o0o1", "a2")}
WAYS = [*product((None, "force_fp16"), GOLDEN)]
CASES = [(*fault, *way) for fault in FAULTS for way in WAYS]
NIGHTLY = [
    ("transformer_train", "wrong-sign"),
    ("transformer_train", "scaled-output:1.5"),
    ("resnet_train", "wrong-sign"),
    ("lenet_train", "wrong-sign"),
    ("lenet_train", "stale-output"),
]
"""What takes longest and strikes as another one does."""
DAILY = [
    (*fault, *WAYS[number % len(WAYS)])
    for number, fault in enumerate(fault for fault in FAULTS if fault[:2] not in NIGHTLY)
]


def slow(cases):
    """The cases, those of the large networks marked."""
    large = ("resnet_train", "transformer_train")
    return [
        pytest.param(*case, marks=pytest.mark.slow) if case[0] in large else case for case in cases
    ]


NAMES = [
    f"{graph} {fault} {name.rpartition('/')[2]} {mode} {against}"
    for graph, fault, name, mode, against in CASES
]


@pytest.mark.parametrize(
    ("graph", "fault", "name", "mode", "against"), nightly(slow(CASES), DAILY), ids=NAMES
)
def test_a_fault_of_one_iteration_is_found_where_and_when_it_strikes(
    tree, graph, fault, name, mode, against
):
    kind, _, strength = fault.partition(":")
    text = f"{kind}:{name}:{strength}{',' * bool(strength)}iteration=3"
    target = tree(graph, "mindspore-o0o1", "a2", mode, text)
    golden = tree(graph, *GOLDEN[against], None if against == "reference" else mode)
    found = wb.compare(target, golden)
    assert found.verdict == "fail"
    (defect,) = defects(found)
    assert (defect.op_name, defect.iteration) == (name, 3)
    part = "backward" if name.startswith("Gradients/") else "optimizer"
    before, where, start = the(defect.evidence, "divergence").values["parts"]
    check_said(before.values["iterations"], "compare/iterations-range", first=0, last=2)
    check_said(where, "compare/divergence-at", iteration=3, part=part)
    check_said(start, ("compare/start-agrees", "compare/start-equal"))
    steps = found.iterations
    assert set(steps["Iteration"]) == set(range(STEPS))
    assert not steps[steps["Iteration"] < 3]["Failed"].any()
    operator = within(clauses(found.result)[0], "operator-iteration")
    check_said(operator, "compare/operator-iteration", iteration=3)


def test_a_fault_in_every_iteration_is_told_once(tree):
    name = f"{LENET}/fc2-Dense/Grad_MatMul/MatMul-op1"
    target = tree("lenet_train", "mindspore-o0o1", "a2", None, f"wrong-sign:{name}")
    found = wb.compare(target, tree("lenet_train", "mindspore-cpu", "reference"))
    (defect,) = defects(found)
    assert (defect.op_name, defect.iteration) == (name, 0)
    assert diverges(defect, 0, "backward")
    first = found.iterations.set_index(["Iteration", "Part"])
    assert first.loc[(0, "parameters"), "Status"] == "equal"
    assert first.loc[(0, "forward"), "Failed"] == 0
    assert first.loc[(0, "backward"), "Operator"] == name


def test_iterations_that_are_not_dumped_leave_the_later_ones_wrong_from_the_start(tmp_path):
    """Parameters that differ when the first common iteration begins are said to."""
    graph = load_graph("mlp_train")
    form = new("mindspore-o0o1").set("common_dump_settings.iteration", "3-4")
    options = {"surface": "mindspore-o0o1", "device": "a2", "iterations": STEPS}
    fault = "scaled-output:Default/optimizer-SGD/SGD-op2:1.5,iteration=1"
    golden = wb.simulate(graph, None, form, tmp_path / "g", **options)
    target = wb.simulate(graph, None, form, tmp_path / "t", faults=[fault], **options)
    found = wb.compare(target, golden)
    (defect,) = defects(found)
    assert (defect.kind, defect.iteration) == ("parameter", 3)
    check_said(defect.evidence[0], "compare/differs-at-start", iteration=3)


MODES = (None, "force_fp16", "allow_mix_precision_bf16")
CLEAN = [
    *product(("mlp_train", "lenet_train"), ("mindspore-o0o1", "tensorflow"), MODES),
    *product(("resnet_train", "transformer_train"), ("tensorflow",), MODES),
]
CLEAN_DAILY = [
    ("mlp_train", "mindspore-o0o1", None),
    ("mlp_train", "tensorflow", "force_fp16"),
    ("lenet_train", "mindspore-o0o1", "allow_mix_precision_bf16"),
]


@pytest.mark.parametrize(("graph", "surface", "mode"), nightly(slow(CLEAN), CLEAN_DAILY))
def test_noise_that_grows_from_step_to_step_is_not_blamed(tree, graph, surface, mode):
    target = tree(graph, surface, "a2", mode)
    goldens = [tree(graph, "mindspore-cpu", "reference")]
    if mode is not None:  # else it is the target itself
        goldens.append(tree(graph, surface, "a2"))
    for golden in goldens:
        found = wb.compare(target, golden)
        assert found.verdict in ("pass", "warn"), found.sentence
        assert not defects(found)
        assert not found.iterations["Failed"].any()
