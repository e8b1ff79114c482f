"""Training: the example networks learn on the reference and on every device, and steps are dumped as any."""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from kit.build.runs import rehearse
from kit.cases import asked, nightly
from kit.evidence import defects
from kit.trees import foretold, sizes
from kit.words import refused
from workbench import nn
from workbench.cli import app
from workbench.config import new
from workbench.core.errors import GraphError
from workbench.core.writers import SIMULATED_SURFACES
from workbench.forecast.preview import preview
from workbench.network.models import TRAININGS, load_graph
from workbench.network.tracer import trace
from workbench.npu.profiles import PROFILES
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference

REFERENCE = "reference"
STEPS = 20
DEVICES = [REFERENCE, *PROFILES]


def losses_of(name, device, steps=STEPS):
    graph = load_graph(name)
    (loss,) = graph.outputs
    run, options = (run_reference, {}) if device == REFERENCE else (run_npu, {"profile": device})
    state, found = {}, []
    for step in range(steps):
        found += [
            float(record.source.array())
            for record in run(graph, iteration=step, state=state, **options)
            if (record.key.op_name, record.key.io) == (graph.ops[loss.op].name, "output")
        ]
    return found


FAST = [("mlp_train", device) for device in DEVICES] + [("lenet_train", REFERENCE)]
CASES = [
    pytest.param(name, device, marks=() if (name, device) in FAST else pytest.mark.slow)
    for name in TRAININGS
    for device in DEVICES
]
DAILY = dict.fromkeys(
    [
        *FAST,
        *zip(TRAININGS, cycle(PROFILES), strict=False),
    ]
)
"""Every training on a device of its own, the smallest on all and another one on the reference."""


@pytest.mark.parametrize(("name", "device"), nightly(CASES, DAILY))
def test_the_loss_falls(name, device):
    losses = losses_of(name, device)
    assert len(losses) == STEPS
    assert np.mean(losses[-4:]) < 0.5 * np.mean(losses[:4])


TRAINED = [surface for surface in SIMULATED_SURFACES if surface != "acl"]


@pytest.mark.parametrize("surface", TRAINED)
def test_steps_are_dumped_as_foretold_and_those_between_run(tmp_path, surface):
    graph, form = load_graph("mlp_train"), asked(surface, "0|2")
    device = REFERENCE if surface in ("mindspore-cpu", "mindspore-gpu") else "a2"
    foreseen = preview(form, graph, iterations=3, seed=5)
    wb.simulate(graph, None, form, tmp_path, device=device, surface=surface, iterations=3, seed=5)
    assert foretold(foreseen.forecast) == sizes(tmp_path)
    assert foreseen.exact
    dump = wb.load(tmp_path)
    steps = {record.key.iteration for record in dump.records} - {-1}
    assert steps == {0, 2}
    counts = {
        record.key.iteration: int(record.source.array().reshape(()))
        for record in dump.records
        if record.key.op_type == "AssignAdd" and (record.key.io, record.key.slot) == ("output", 0)
    }
    assert counts == {0: 1, 2: 3}


def test_the_first_iteration_is_where_the_form_begins_to_count(tmp_path):
    form = asked("mindspore-cpu", "5")
    form = form.set("common_dump_settings.initial_iteration", 4)
    wb.simulate(load_graph("mlp_train"), None, form, tmp_path, iterations=3)
    state = {}
    for step in (4, 5):
        list(run_reference(load_graph("mlp_train"), iteration=step, state=state))
    found = {
        record.key.op_name: record.source.array()
        for record in wb.load(tmp_path).records
        if record.key.op_type == "Parameter"
    }
    assert {record.key.iteration for record in wb.load(tmp_path).records} == {5}
    assert int(found["global_step"].item()) == 2
    for name, value in state.items():
        np.testing.assert_array_equal(found[name.replace(".", "_")], value, err_msg=name)


def test_parameters_of_a_step_are_what_it_leaves(tmp_path):
    graph, form = load_graph("mlp_train"), asked("mindspore-cpu", "0|2")
    wb.simulate(graph, None, form, tmp_path, iterations=3)
    state = {}
    for step in range(3):
        list(run_reference(graph, iteration=step, state=state))
    found = {
        record.key.op_name: record.source.array()
        for record in wb.load(tmp_path).records
        if (record.key.op_type, record.key.iteration) == ("Parameter", 2)
    }
    for name, value in state.items():
        np.testing.assert_array_equal(found[name.replace(".", "_")], value, err_msg=name)


@pytest.mark.parametrize("surface", ["mindspore-o0o1", "mindspore-o2", "tensorflow", "torchair"])
def test_a_device_without_a_defect_is_not_blamed(surface):
    comparison = rehearse(load_graph("mlp_train"), asked(surface, "0|2"), iterations=3)
    assert comparison.verdict in ("pass", "warn"), comparison.sentence
    assert not defects(comparison)


class Normalized(nn.Cell):
    """A network whose statistics begin as a checkpoint may have left them."""

    def __init__(self, begin):
        self.norm = nn.BatchNorm2d(3)
        self.norm.moving_mean = nn.Parameter(np.full(3, begin, np.float32), requires_grad=False)
        self.flatten, self.head = nn.Flatten(), nn.Dense(48, 2)

    def construct(self, x):
        return self.head(self.flatten(self.norm(x)))


@pytest.mark.parametrize("begin", [0.0, 2.0])
def test_statistics_of_batches_are_not_blamed_in_the_first_step(tmp_path, begin):
    network = Normalized(begin)
    cell = nn.WithLossCell(network, nn.MSELoss())
    step = nn.TrainOneStepCell(cell, nn.SGD(network.trainable_params(), 0.01)).set_train()
    rng = np.random.default_rng(0)
    batch = rng.standard_normal((8, 3, 4, 4)).astype(np.float32) * 3, np.zeros((8, 2), np.float32)
    graph = trace(step, *batch)
    golden, target = (
        wb.simulate(graph, None, new(surface), tmp_path / device, device=device, surface=surface)
        for surface, device in (("mindspore-cpu", "reference"), ("mindspore-o0o1", "a2"))
    )
    found = wb.compare(target, golden)
    assert defects(found) == [], found.sentence


GRADIENT = (
    "Gradients/Default/network-WithLossCell/_backbone-MLP/head-Dense/Grad_BiasAdd/BiasAddGrad-op0"
)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("scaled-output", GRADIENT), ("wrong-sign", "Default/optimizer-SGD/SGD-op1")],
)
def test_a_fault_behind_the_loss_is_found_in_the_first_step(kind, name):
    form = new("mindspore-o0o1").set("common_dump_settings.iteration", "0-1")
    comparison = rehearse(load_graph("mlp_train"), form, faults=[f"{kind}:{name}"], iterations=2)
    assert comparison.verdict == "fail"
    assert defects(comparison)[0].op_name == name


@pytest.mark.parametrize("first", [0, 4])
def test_a_fault_in_an_iteration_that_does_not_run_is_refused(tmp_path, first):
    form = new("mindspore-o0o1").set("common_dump_settings.initial_iteration", first)
    fault = f"scaled-output:{GRADIENT}:3,iteration={first + 2}"
    graph, options = load_graph("mlp_train"), {"device": "a2", "faults": [fault]}
    span = {"first": first, "last": first + 1, "got": first + 2}
    with refused("simulation/fault-iteration", GraphError, **span):
        wb.simulate(graph, None, form, tmp_path / "out", iterations=2, **options)
    assert not (tmp_path / "out").exists()
    wb.simulate(graph, None, form, tmp_path / "out", iterations=3, **options)


def test_offline_models_do_not_train_and_say_so(tmp_path):
    with refused("run/offline-training", GraphError, surface="acl"):
        wb.simulate(
            load_graph("mlp_train"), None, new("acl"), tmp_path / "o", surface="acl", device="a2"
        )


UNDER_O2 = [*product(("lenet_train", "resnet_train"), ("910a", "a2"))]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "device"), nightly(UNDER_O2, UNDER_O2[:1]))
def test_steps_with_one_between_agree_under_o2(name, device):
    comparison = rehearse(
        load_graph(name), asked("mindspore-o2", "0|2"), device=device, iterations=3
    )
    assert comparison.verdict in ("pass", "warn"), comparison.sentence
    assert not defects(comparison)


def test_a_training_in_a_file_gets_a_new_batch_in_every_iteration(tmp_path):
    (tmp_path / "net.py").write_text(SCRIPT)
    form = tmp_path / "dump.json"
    new("mindspore-cpu").set("common_dump_settings.iteration", "all").save(form)
    arguments = ["simulate", "--graph", f"{tmp_path}/net.py:train", "--config", str(form)]
    arguments += ["--out", str(tmp_path / "out"), "--iterations", "3", "--seed", "4"]
    result = CliRunner().invoke(app, arguments, standalone_mode=False)
    assert result.exception is None, result.exception
    losses = [
        float(record.source.array())
        for record in wb.load(tmp_path / "out").records
        if (record.key.op_type, record.key.io) == ("ReduceMean", "output")
    ]
    # data 4, 14, 24 · weight: 1, then 1 - 0.1 · 2 · mean(x · x · w) and so on; labels are 0
    weight, want = 1.0, []
    for step in range(3):
        x = 0.1 * (4 + 10 * step)
        want.append((x * weight) ** 2)
        weight -= 0.1 * 2 * x * x * weight
    np.testing.assert_allclose(losses, want, rtol=1e-5)


SCRIPT = """
import numpy as np
from workbench import nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(np.ones(1, np.float32))

    def construct(self, x):
        return x * self.weight


net = Net()
optimizer = nn.SGD(net.trainable_params(), 0.1)
train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)


def inputs(seed, iteration):
    return np.float32([0.1 * (seed + 10 * iteration)]), np.zeros(1, np.float32)
"""
