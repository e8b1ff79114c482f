"""One arithmetic: what a device computes of an operator, and what a replay computes of its dump, bit for bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from ops.cases import CASES

from kit.build.programs import target_for
from workbench.comparison.replay.attempt import cast_like
from workbench.comparison.replay.kernel import compute_kernel
from workbench.comparison.replay.models import arithmetic_of
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Graph, Kernel, Op, Param, Parameter, Value
from workbench.npu.compile.pipeline import OP_BY_OP, compile_graph
from workbench.npu.numerics import numeric_model
from workbench.npu.runner import run_program
from workbench.ops import COLLECTIVES, OPS, infer_outputs

DEVICES = [
    ("a2", None),
    ("910a", None),
    ("a2", "force_fp16"),
    ("950", "must_keep_origin_dtype"),
    ("a2", "allow_mix_precision_bf16"),
]
ALONE = {"NPUGetFloatStatusV2", "NPUClearFloatStatusV2", *COLLECTIVES}
"""What a replay does not compute: the register of the device, and what needs the other ranks."""


def operator(name, arrays, settings):
    """One operator on parameters, its settings as attributes."""
    row = OPS[name]
    specs = tuple(TensorSpec(one.dtype.name, one.shape) for one in arrays)
    params = tuple(Param(slot) for slot in range(len(arrays)))
    inputs = (Bundle(params),) if row.tensors < 0 else params
    if row.places:
        tensors = dict(zip(row.places, params, strict=True))
        known = {**row.defaults, **settings}
        inputs = tuple(
            tensors.get(place, Const(known.get(argument), ""))
            for place, argument in enumerate(row.arguments[: max(row.places) + 1])
        )
    return Op("x", name, inputs, dict(settings), infer_outputs(name, specs, settings), specs)


def graph_of(op, arrays):
    pairs = zip(op.input_specs, arrays, strict=True)
    parameters = tuple(
        Parameter(f"p{slot}", spec, False, default=array)
        for slot, (spec, array) in enumerate(pairs)
    )
    return Graph("g", parameters, (op,), tuple(Value(0, slot) for slot in range(len(op.outputs))))


def flat(op):
    """The operator on its own flat inputs, as a replay has them, and which parameter each is."""
    operands = list(op.flat_inputs())

    def place(operand):
        if isinstance(operand, Bundle):
            return Bundle(tuple(map(place, operand.items)))
        return Param(operands.index(operand)) if isinstance(operand, Param) else operand

    kernel_op = Op(
        "x", op.op_type, tuple(map(place, op.inputs)), op.attrs, op.outputs, op.input_specs
    )
    return kernel_op, {n: one.index for n, one in enumerate(operands) if isinstance(one, Param)}


def as_a_kernel(graph, device, mode):
    """The program of an operator itself, even where the framework would ask a register in its place."""
    return compile_graph(graph, target_for(device=device, precision=mode), OP_BY_OP[1:])


@pytest.mark.parametrize("name", sorted(CASES.keys() - ALONE))
def test_device_and_replay_give_the_same_bits(name):
    for (device, mode), (given, settings) in itertools.product(DEVICES, CASES[name].examples):
        model = numeric_model(device, mode)
        arrays = [np.asarray(one) for one in given]
        arrays = [one.astype(np.float32) if one.dtype == np.float64 else one for one in arrays]
        op = operator(name, arrays, settings)
        graph = graph_of(op, arrays)
        dumped = {
            one.key.slot: one.source.array()
            for one in run_program(as_a_kernel(graph, device, mode))
            if (one.key.op_name, one.key.io) == ("x", "output")
        }
        assert dumped
        kernel_op, places = flat(op)
        how = arithmetic_of(model, graph, 0, model.formats(graph)[0])
        read = {slot: arrays[place] for slot, place in places.items()}
        results = compute_kernel(Kernel((kernel_op,), graph.outputs), read, how)
        for slot, array in dumped.items():
            again = cast_like(results[slot], array, saturates=how.saturates)
            assert again.tobytes() == array.tobytes(), (device, mode, slot, again, array)
