"""Every kind of fault in every network, operator by operator and compiled, on every device.

A fault changes what its operator leaves and what is computed from that, and nothing else; the same
seed gives the same bytes. Every run takes cells that put every kind into every network and on every
surface, the nightly run puts it into both units of the network, too; all cells with ``GRID=all``.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

from kit.cases import each_once, nightly
from workbench.core.errors import GraphError
from workbench.core.writers import COMPILED_SURFACES, WRITERS
from workbench.graph.graph import Param, Value
from workbench.network.models import MODELS, load_graph
from workbench.npu.faults import FAULTS, parse_fault
from workbench.npu.profiles import PROFILES
from workbench.npu.target import Target
from workbench.simulation.process import prepare

SURFACES = ("mindspore-o0o1", "mindspore-ge", "tensorflow", "torchair", "acl")
"""One that runs operators one by one, then one for every way in which compilers hold weights."""

DEVICES = ("910a", "310p", "a2", "a3", "950")

CUBE = {
    "lenet": "Default/conv2-Conv2d/Conv2D-op0",
    "alexnet": "Default/conv3-Conv2d/Conv2D-op0",
    "mlp": "Default/body-SequentialCell/1-Dense/MatMul-op0",
    "resnet": "Default/layer2-BasicBlock/conv2-Conv2d/Conv2D-op0",
    "transformer": "Default/layer1-EncoderLayer/dense2-Dense/MatMul-op0",
    "lstm": "Default/fc-Dense/MatMul-op0",
}
"""An operator of the cube unit that reads a weight."""

VECTOR = {
    "lenet": "Default/max_pool2d-MaxPool2d/MaxPool-op1",
    "alexnet": "Default/max_pool2d-MaxPool2d/MaxPool-op1",
    "mlp": "Default/relu-ReLU/ReLU-op0",
    "resnet": "Default/ReduceMean-op0",
    "transformer": "Default/layer1-EncoderLayer/attention-Attention/Softmax-op0",
    "lstm": "Default/lstm-LSTM/Transpose-op1",
}
"""An operator of the vector unit, some of them inside fused kernels."""

ATTRIBUTES = {
    "lenet": "Default/conv1-Conv2d/Conv2D-op0:dilation=2",
    "alexnet": "Default/conv4-Conv2d/Conv2D-op0:dilation=2",
    "resnet": "Default/layer2-BasicBlock/bn1-BatchNorm/BatchNorm-op0:epsilon=0.5",
    "transformer": "Default/layer1-EncoderLayer/norm1-Norm/LayerNorm-op0:epsilon=0.5",
    "lstm": "Default/lstm-LSTM/rnn-_DynamicLSTMAscend/DynamicRNN-op0:forget_bias=3.0",
}
FAST = {"transformer": "Default/layer1-EncoderLayer/gelu-GELU/GeLU-op0"}
ANY = dict.fromkeys(("resnet", "transformer", "lstm"), "")
"""The first operator with a tensor behind it that is still needed; in a chain there need not be one."""


class Plant(NamedTuple):
    """Where a kind is planted, by network, and its settings. In other networks it has no place."""

    places: tuple[dict[str, str], ...]
    settings: str = ""


PLANTS = {
    "wrong-attribute": Plant((ATTRIBUTES,)),  # mlp: nothing can differ and its shapes stay
    "half-accumulation": Plant((CUBE,)),  # the vector unit accumulates nothing
    "missing-cast": Plant((CUBE, VECTOR), "value=float8_e5m2"),
    "fast-approximation": Plant((FAST,)),  # Exp, GeLU, Tanh, Rsqrt and divisions have fast kernels
    "aicore-exception": Plant((CUBE, VECTOR)),
    "wrong-weight-element": Plant(
        (CUBE,), "strength=16"
    ),  # what reads no weight has none that is wrong
    "transposed-weight": Plant((CUBE,)),
    "dropped-k-tail": Plant((CUBE,)),
    "scaled-output": Plant((CUBE, VECTOR), "1.5"),
    "wrong-sign": Plant((CUBE, VECTOR)),
    "flush-to-zero": Plant((CUBE, VECTOR), "0.1"),
    "saturated": Plant((CUBE, VECTOR), "0.01"),
    "nan-output": Plant((CUBE, VECTOR), "strength=16"),
    "overwritten-element": Plant((CUBE, VECTOR), "strength=16"),
    "bit-flip": Plant((CUBE, VECTOR), "strength=16"),
    "wrong-layout-lanes": Plant((CUBE, VECTOR)),
    "unwritten-tail-tile": Plant((CUBE, VECTOR)),
    "stale-output": Plant((CUBE, VECTOR)),
    "overrun": Plant((ANY,)),
}

CELLS = [
    (kind, network, place, surface, device)
    for k, (kind, plant) in enumerate(PLANTS.items())
    for n, network in enumerate(MODELS)
    for p, places in enumerate(plant.places)
    if network in places
    for place in [places[network]]
    for s, surface in enumerate(SURFACES)
    for d, device in enumerate(DEVICES)
    if os.environ.get("GRID") == "all"
    or ((k + n + p) % len(SURFACES) == s and (2 * k + n + s) % len(DEVICES) == d)
]


UNITS = [
    (kind, network, "vector" if place == VECTOR.get(network) else "cube", surface, device)
    for kind, network, place, surface, device in CELLS
]
_ROWS = [((kind, unit), network, surface, device) for kind, network, unit, surface, device in UNITS]
_TAKEN = {*each_once(_ROWS)}
DAILY = [cell for cell, row in zip(CELLS, _ROWS, strict=True) if row in _TAKEN]
"""Every kind in every unit that it has a place in, every network, surface and device at least once."""


def test_the_table_has_every_kind_and_device():
    assert PLANTS.keys() == FAULTS.keys()
    assert set(DEVICES) == PROFILES.keys()
    covered, known = SURFACES[1:], COMPILED_SURFACES
    assert {WRITERS[one].weights for one in covered} == {WRITERS[one].weights for one in known}


class Run:
    """One run: the bytes of every tensor by its key, in order, and the program that ran."""

    def __init__(self, network, surface, device, *faults):
        graph = load_graph(network)
        ready = prepare(graph, Target(surface, device, faults=faults))
        self.program = ready.program
        self.tensors = {
            (record.key.op_name, record.key.io, record.key.slot): record.source.array().tobytes()
            for record in ready.run(None)
        }

    @property
    def ops(self):
        return self.program.graph.ops

    def differing(self, other):
        """Keys of tensors that differ from another run's, in order."""
        assert list(self.tensors) == list(other.tensors)
        return [key for key, data in self.tensors.items() if data != other.tensors[key]]


@pytest.fixture(scope="module")
def clean():
    runs = {}

    def run(*cell):
        if cell not in runs:
            runs[cell] = Run(*cell)
        return runs[cell]

    return run


def kernel(run, fault):
    """Number of the first operator of a program that a fault is in, or in one that it stands for."""
    for number, op in enumerate(run.ops):
        if any(map(fault.matches, (op, *(op.fused.ops if op.fused else ())))):
            return number
    raise AssertionError(fault)


def reached(run, number):
    """Numbers of an operator and of all that read what it has computed, or that lies in its memory."""
    found = {number}
    for later, op in enumerate(run.ops):
        if any(isinstance(one, Value) and one.op in found for one in op.flat_inputs()):
            found.add(later)
    return found


def planted(kind, place):
    return parse_fault(":".join(filter(None, (kind, place, PLANTS[kind].settings))))


@pytest.mark.parametrize(("kind", "network", "place", "surface", "device"), nightly(CELLS, DAILY))
def test_a_fault_changes_its_operator_and_what_reads_it(
    kind, network, place, surface, device, clean
):
    before = clean(network, surface, device)
    if kind == "overrun":
        check_overrun(before, network, surface, device)
        return
    fault = planted(kind, place)
    after = Run(network, surface, device, fault)
    names = [op.name for op in before.ops]
    number = kernel(before, fault)
    name = names[number]
    if kind == "aicore-exception":
        check_end(before, after, name)
        return
    differing = before.differing(after)
    assert (name, "output", 0) in differing
    allowed = {names[one] for one in reached(before, number)}
    weights = {key for key in differing if key[0] not in names}
    if kind == "wrong-weight-element":
        assert len(weights) == 1
        ((weight, *_),) = weights
        index = [one.name for one in before.program.graph.parameters].index(weight)
        readers = [reader for reader, _ in before.program.graph.consumers[Param(index)]]
        allowed |= {names[one] for reader in readers for one in reached(before, reader)}
    elif (
        kind == "wrong-attribute"
    ):  # MindSpore reads it as an input; a compiler makes constants of it
        assert all(key[0].startswith("dynamic_const") for key in weights)
    else:
        assert not weights
        assert {key for key in differing if key[0] == name and key[1] == "input"} == set()
    assert {key[0] for key in differing} - {key[0] for key in weights} <= allowed
    assert after.tensors == Run(network, surface, device, fault).tensors


def check_end(before, after, name):
    """The run ends with the operator's outputs, which it has not written."""
    keys = list(before.tensors)
    last = max(place for place, key in enumerate(keys) if key[:2] == (name, "output"))
    assert list(after.tensors) == keys[: last + 1]
    for key, data in after.tensors.items():
        unwritten = key[:2] == (name, "output")
        assert data == (bytes(len(data)) if unwritten else before.tensors[key])


def check_overrun(before, network, surface, device):
    """What lies behind is damaged, as its readers find it, and nothing that was read before."""
    names = [op.name for op in before.ops]
    for number, name in enumerate(names):
        fault = parse_fault(f"overrun:{name}:value=100")
        try:
            after = Run(network, surface, device, fault)
        except GraphError:
            continue
        differing = before.differing(after)
        assert {key[0] for key in differing} & set(names[number + 1 :])
        assert {key[0] for key in differing} <= set(names[number:])
        assert (name, "output", 0) not in differing
        assert after.tensors == Run(network, surface, device, fault).tensors
        return
    raise AssertionError("no operator has a tensor behind it")


SEEDED = ("wrong-weight-element", "nan-output", "overwritten-element", "bit-flip")
TURNS = [*zip((*SEEDED, SEEDED[0]), SURFACES, strict=True)]
"""Every kind and every surface, by turns; all of all in the nightly run."""


@pytest.mark.parametrize(("kind", "surface"), nightly([*product(SEEDED, SURFACES)], TURNS))
def test_another_seed_is_another_place(kind, surface, clean):
    network = "transformer"
    fault = planted(kind, CUBE[network])
    before = clean(network, surface, "a2")
    name = before.ops[kernel(before, fault)].name
    outputs = [
        Run(network, surface, "a2", replace(fault, seed=seed)).tensors[name, "output", 0]
        for seed in range(3)
    ]
    assert len(set(outputs)) == len(outputs)


@pytest.mark.parametrize("surface", SURFACES[1:])
def test_a_missing_cast_shows_inside_a_kernel_too(surface, clean):
    """The activation of a product computes in eight bits; what the kernel writes are such numbers."""
    fault = planted("missing-cast", VECTOR["mlp"])
    before = clean("mlp", surface, "a2")
    name = before.ops[kernel(before, fault)].name
    assert name != VECTOR["mlp"]
    after = Run("mlp", surface, "a2", fault)
    (dtype,) = (op.outputs[0].dtype for op in before.ops if op.name == name)
    numbers = np.frombuffer(after.tensors[name, "output", 0], dtype).astype(np.float32)
    np.testing.assert_array_equal(numbers.astype(ml_dtypes.float8_e5m2), numbers)
    assert numbers.any()
