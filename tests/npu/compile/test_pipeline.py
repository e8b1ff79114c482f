"""The order of passes: every one is needed, and stands where it does for a reason."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from kit.build.programs import ONE_BY_ONE, target_for
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.writers import COMPILED_SURFACES
from workbench.network import nn
from workbench.network.models import load_graph
from workbench.network.nn import functional as F
from workbench.network.symbolic import record
from workbench.network.tracer import trace
from workbench.npu.compile.fusions import VIRTUAL
from workbench.npu.compile.pipeline import FIRST, OP_BY_OP, PASSES, compile_graph, passes_of
from workbench.npu.compile.quantize import Quantization
from workbench.npu.faults import parse_fault
from workbench.npu.target import Target

INT8 = Quantization("w8a8")


class Checked(nn.Cell):
    """A layer whose results are looked at for overflow."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 3)

    def construct(self, x):
        y = self.fc(x)
        return y, record("AllFinite", (y,))


def side_by_side(x):
    return F.concat((F.exp(x), F.relu(x)), 0)


@cache
def network(name):
    if name == "checked":
        return trace(Checked(), np.ones((2, 4), np.float32))
    if name == "concat":
        return trace(side_by_side, np.ones((8, 16), np.float32))
    return load_graph(name)


SCALE = parse_fault("wrong-attribute:Default/conv1-Conv2d/act_quant/AscendQuant:scale=1")
CASES = {
    "checked": ("checked", target_for("tensorflow", "910a", quantization=INT8)),
    "faulty": ("lenet", target_for("acl", quantization=INT8, faults=(SCALE,))),
    "plain": ("lenet", target_for("acl")),
    "half": ("lenet", target_for("acl", precision="force_fp16")),
    "deep": ("resnet", target_for("acl", precision="force_fp16")),
    "concat": ("concat", target_for("mindspore-ge")),
    "recurrent": ("lstm", target_for("acl")),
}
"""Networks, and what they are compiled for."""

SHOWN = (  # by which pass and the next one, in which case and field of the program their order shows
    ("lower_overflow_check", "quantize_network", "checked", "network"),
    ("quantize_network", "inject_compile_faults", "faulty", "graph"),
    ("inject_compile_faults", "take_over", "plain", FIRST),
    ("take_over", "fold_operators", "plain", "AfterInfershape"),
    ("fold_operators", "constants_to_attributes", "recurrent", "AfterInfershape"),
    ("constants_to_attributes", "fuse_graph", "plain", "graph"),
    ("fuse_graph", "fold_constants", "deep", "graph"),
    ("fold_constants", "insert_casts", "half", "graph"),
    ("insert_casts", "choose_formats", "half", "graph"),
    ("choose_formats", "propagate_formats", "plain", "graph"),
    ("propagate_formats", "insert_transdata", "plain", "graph"),
    ("insert_transdata", "fold_constants", "plain", "constants"),
    ("fold_constants", "fuse_buffers", "plain", "graph"),
    ("fuse_buffers", "mark_no_task", "concat", "PreRunAfterOptimizeSubgraph"),
)  # fmt: skip


def field(case, passes, name):
    model, target = CASES[case]
    program = compile_graph(network(model), target, passes)
    return program.stages[name] if name in program.stages else getattr(program, name)


def test_every_pair_of_neighbors_is_listed():
    names = [one.run.__name__ for one in PASSES]
    assert list(pairwise(names)) == [pair[:2] for pair in SHOWN]


def swapped(place):
    passes = list(PASSES)
    passes[place], passes[place + 1] = passes[place + 1], passes[place]
    return passes


@pytest.mark.parametrize("place", range(len(SHOWN)))
def test_the_order_of_two_neighbors_shows(place):
    *_, case, name = SHOWN[place]
    assert field(case, swapped(place), name) != field(case, PASSES, name)


@pytest.mark.parametrize("place", range(len(PASSES)))
def test_no_pass_can_be_left_out(place):
    passes = [one for n, one in enumerate(PASSES) if n != place]
    assert any(field(case, passes, "graph") != field(case, PASSES, "graph") for case in CASES)


def applied(target):
    return [one.run.__name__ for one in PASSES if one.applies(target)]


@pytest.mark.parametrize(
    ("without", "with_it", "name"),
    [
        (target_for("acl", "a2"), target_for("acl", "910a"), "lower_overflow_check"),
        (target_for("acl"), target_for("acl", quantization=INT8), "quantize_network"),
        (target_for("acl"), target_for("acl", faults=(SCALE,)), "inject_compile_faults"),
        (target_for("acl", "950"), target_for("acl"), "fuse_buffers"),
        (target_for("acl", off=[VIRTUAL]), target_for("acl"), "mark_no_task"),
    ],
)
def test_some_passes_depend_on_the_target(without, with_it, name):
    assert name not in applied(without)
    assert sorted(applied(with_it)) == sorted([*applied(without), name])


@pytest.mark.parametrize("surface", COMPILED_SURFACES)
def test_the_graph_engine_runs_all_passes(surface):
    assert passes_of(network("lenet"), Target(surface)) == PASSES


@pytest.mark.parametrize("surface", [ONE_BY_ONE, "mindspore-cpu"])
def test_where_operators_run_one_by_one_only_their_kernels_are_annotated(surface):
    graph = network("lenet")
    assert passes_of(graph, Target(surface)) == OP_BY_OP
    program = compile_graph(graph, Target(surface, precision="force_fp16"))
    assert (program.stages, program.constants) == ({}, {})
    assert [op.op_type for op in program.graph.ops] == [op.op_type for op in graph.ops]
    assert {spec.dtype for op in program.graph.ops for spec in op.device_outputs} == {"float16"}


@pytest.mark.parametrize(("surface", "device"), [(ONE_BY_ONE, "a2"), ("acl", "reference")])
def test_only_what_is_compiled_can_be_quantized(surface, device):
    with refused("run/quantize-surface", GraphError, got=surface, device=device):
        Target(surface, device, quantization=INT8)
