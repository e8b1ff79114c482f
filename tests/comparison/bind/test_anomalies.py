"""Tensors that are not what they say: each rule on the smallest graph that shows it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import Net, Shot, in_memory, on_disk, shoot
from workbench.comparison.bind import anomalies
from workbench.comparison.bind.bind import bind
from workbench.comparison.graphs.roles import rewritten_slots
from workbench.core.tensors import TensorSpec
from workbench.dump.formats.npy import npy_header
from workbench.dump.reader import load
from workbench.graph.graph import Const, Value

HALF, FULL, DOUBLE = (TensorSpec(name, (4, 4)) for name in ("float16", "float32", "float64"))
NPU = {"device_target": "Ascend"}


def oddities(graph, shots=None, info=small.CPU) -> set[tuple[str, str, str, int]]:
    """``(kind, operator, io, slot)`` of every distrusted tensor."""
    binding = bind(in_memory(shots or shoot(graph, small.given(graph)), graph, info=info))
    return {
        (kind, run.op_name.rpartition("/")[2], io, slot)
        for runs in binding.runs.values()
        for run in runs.values()
        for (io, slot), record in run.tensors.items()
        for kind in binding.oddities.get(id(record), ())
    }


def shot(op_type, io, slot=0, data=None):
    data = np.zeros((4, 4), np.float32) if data is None else data
    return Shot(op_type, f"Default_{op_type}-op0", io, slot, data)


def wide(host, device):
    """Tanh computes in ``device`` where the graph says ``host``; a Cast reads it."""
    net = Net()
    net.op("Tanh", net.feed("x"), dtype=host.dtype, device_outputs=(device,))
    net.op("Cast", Value(0))
    return net.graph()


def widened(graph):
    """Files that say what the kernel wrote."""
    shots = shoot(graph, small.given(graph))
    return [one._replace(data=one.data.astype(np.float32)) for one in shots]


def pair(*results, reader=None):
    """An operator with two outputs; ``reader`` reads one of them."""
    net = Net()
    net.op("Pair", net.feed("x"), outputs=2)
    if reader is not None:
        net.op("Tanh", Value(0, reader))
    return net.graph(*results)


def single():
    """Two operators with one output each, of which one is a result."""
    net = Net()
    net.op("Tanh", net.feed("x"))
    net.op("Exp", net.feed("y"))
    return net.graph(Value(1))


def norm(training: bool):
    net = Net()
    x = net.feed("x")
    others = [net.weight(name, (4,)) for name in ("gamma", "beta", "mean", "variance")]
    value = net.op("BatchNorm", x, *others, Const(training, "bool"), outputs=5)
    net.op("Tanh", value)
    net.op("Exp", Value(0, 1))
    return net.graph(Value(1), Value(2), *(Value(0, n) for n in (2, 3, 4)))


NORM_SHOTS = [
    *(shot("BatchNorm", "input", n) for n in range(6)),
    *(shot("BatchNorm", "output", n) for n in range(5)),
    shot("Exp", "input"),
]
MISLABELLED = {("mislabelled", "Tanh-op0", "output", 0), ("mislabelled", "Cast-op0", "input", 0)}
BEYOND = [shot("Tanh", "output", 7), shot("Exp", "input")]
UNUSED_0, UNUSED_1 = ({("unused-output", "Pair-op0", "output", slot)} for slot in (0, 1))
UNWRITTEN = {
    ("unwritten-output", "BatchNorm-op0", "output", 1),
    ("unwritten-output", "BatchNorm-op0", "output", 2),
    ("unwritten-output", "Exp-op0", "input", 0),
}
REWRITTEN = {("rewritten-in-place", "BatchNorm-op0", "input", n) for n in (3, 4)}


def attention(*, reader=True):
    """Four outputs, of which the third is reserved; all are results, or it is read."""
    net = Net()
    net.op("FlashAttentionScore", net.feed("x"), outputs=4)
    net.op("Tanh", Value(0, 2 if reader else 3))
    return net.graph(Value(1), *(Value(0, slot) for slot in range(4)))


RESERVED = ("dont-care", "FlashAttentionScore-op0", "output", 2)
ATTENTION_SHOTS = [*(shot("FlashAttentionScore", "output", n) for n in range(4)), shot("Tanh", "input")]  # fmt: skip

CASES = {
    "reserved memory, whoever reads it": (
        attention(),
        ATTENTION_SHOTS,
        {RESERVED, ("dont-care", "Tanh-op0", "input", 0)},
    ),
    "reserved memory that nobody reads": (attention(reader=False), ATTENTION_SHOTS, {RESERVED}),
    "a kernel wrote float32 for float16": (wide(HALF, FULL), None, MISLABELLED),
    "a kernel wrote float64 for float32": (wide(FULL, DOUBLE), None, MISLABELLED),
    "host and device type are equal": (wide(FULL, FULL), None, set()),
    "the device type is narrower": (wide(FULL, HALF), None, set()),
    "the device type is unknown": (wide(FULL, TensorSpec("x", ())), None, set()),
    "the graph knows no such output": (wide(HALF, FULL), BEYOND, set()),
    "the file says what was written": (wide(HALF, FULL), widened(wide(HALF, FULL)), set()),
    "nobody reads the second output": (pair(Value(1), reader=0), None, UNUSED_1),
    "nobody reads the first output": (pair(Value(1), reader=1), None, UNUSED_0),
    "both outputs are results": (pair(Value(0, 0), Value(0, 1)), None, set()),
    "one output is read, one a result": (pair(Value(0, 1), reader=0), None, set()),
    "a single output that nobody reads": (single(), None, set()),
    "the kernel leaves outputs as they were": (norm(False), NORM_SHOTS, UNWRITTEN),
    "statistics are updated in training": (norm(True), NORM_SHOTS, UNWRITTEN | REWRITTEN),
}
"""What was dumped on a CPU → graph, files where they are not those of the graph, distrusted tensors."""


@pytest.mark.parametrize("name", CASES)
def test_a_tensor_is_distrusted_where_it_is_not_what_it_says(name):
    graph, shots, expected = CASES[name]
    assert oddities(graph, shots) == expected


def test_an_npu_writes_all_outputs():
    assert oddities(norm(False), NORM_SHOTS, NPU) == set()


def test_without_device_types_the_length_of_a_file_tells_what_the_kernel_wrote(tmp_path):
    net = Net()
    net.op("Tanh", net.feed("x"), dtype="float16")
    net.op("Cast", Value(0))
    net.op("Exp", Value(1), dtype="float16")
    graph = net.graph()
    assert not any(op.device_outputs for op in graph.ops)
    on_disk(tmp_path, shoot(graph, small.given(graph)))
    for path in tmp_path.rglob("*.Float16.npy"):
        if not path.name.startswith("Exp."):
            path.write_bytes(path.read_bytes() + bytes(np.load(path).nbytes))
    notes = bind(load(tmp_path), {(0, 0): graph}).notes
    assert [(n.kind, n.name, n.detail.values["where"]) for n in notes] == [
        ("mislabelled", "Default/Tanh-op0", "output.0"),
        ("mislabelled", "Default/Cast-op0", "input.0"),
    ]


@pytest.mark.parametrize(("form", "expected"), [("ND", ["mislabelled"]), ("FRACTAL_NZ", [])])
def test_padding_of_a_device_format_is_no_wider_buffer(tmp_path, form, expected):
    leaf = tmp_path / "0/20240101000000/0/kernel_graph1/1/0"
    leaf.mkdir(parents=True)
    header = npy_header("float16", (8, 16))  # 16 rows on the device
    name = f"MatMul.mm.1.1.17.output.0.{form}.float16.npy"
    (leaf / name).write_bytes(header + bytes(2 * 16 * 16))
    assert [note.kind for note in bind(load(tmp_path / "0")).notes] == expected


def slots(op_type, *inputs, attrs=None):
    net = Net()
    net.op(op_type, *(inputs or [net.weight(f"w{n}") for n in range(5)]), attrs=attrs)
    return rewritten_slots(net.ops[0])


@pytest.mark.parametrize(
    ("op_type", "expected"),
    [("ApplyMomentum", (0, 1)), ("Adam", (0, 1, 2)), ("AssignAdd", (0,)), ("MatMul", ())],
)
def test_optimizers_rewrite_their_state(op_type, expected):
    assert slots(op_type) == expected


def test_an_unknown_operator_with_memory_effects_rewrites_parameters_of_its_results_shape():
    net = Net()
    w, step, x = net.weight("w"), net.weight("step", (1,)), net.feed("x")
    net.op("MyOptimizer", w, step, net.op("Tanh", x), attrs={"side_effect_mem": True})
    assert rewritten_slots(net.ops[1]) == (0,)


# --- which rule comes first ------------------------------------------------------------------


def unread_and_wider(_):
    """Nobody reads the second output, and a wider kernel wrote it."""
    graph = pair(Value(1), reader=0)
    first = replace(graph.ops[0], outputs=(FULL, HALF), device_outputs=(FULL, FULL))
    graph = replace(graph, ops=(first, *graph.ops[1:]))
    return graph, shot("Pair", "output", 1, np.zeros((4, 4), np.float16))


def unread_and_unwritten(_):
    """Nobody reads the second output, and the CPU kernel does not write it."""
    graph = norm(False)
    return replace(graph, ops=graph.ops[:2], outputs=(Value(1),)), shot("BatchNorm", "output", 1)


def unwritten_and_reserved(patch):
    """Reserved memory that the CPU kernel does not write."""
    patch.setitem(anomalies.UNWRITTEN_ON_CPU, "FlashAttentionScore", (2,))
    return attention(), shot("FlashAttentionScore", "output", 2)


def reserved_and_rewritten(patch):
    """An optimizer writes over reserved memory."""
    graph = attention()
    first, second = graph.ops
    return replace(graph, ops=(first, replace(second, op_type="AssignAdd"))), shot(
        "AssignAdd", "input"
    )._replace(name="Default_Tanh-op0")


def unwritten_and_wider(_):
    """The CPU kernel does not write an output, and the graph says that it computes in a wider type."""
    graph = norm(False)
    wider = replace(
        graph.ops[0], outputs=(FULL, HALF, *graph.ops[0].outputs[2:]), device_outputs=(FULL,) * 5
    )
    graph = replace(graph, ops=(wider, *graph.ops[1:]))
    return graph, shot("BatchNorm", "output", 1, np.zeros((4, 4), np.float16))


def wider_and_rewritten(_):
    """A wider kernel wrote state that an optimizer writes over."""
    graph = wide(HALF, FULL)
    read = replace(graph.ops[1], op_type="AssignAdd")
    return replace(graph, ops=(graph.ops[0], read)), shot(
        "AssignAdd", "input", data=np.zeros((4, 4), np.float16)
    )._replace(name="Default_Cast-op0")


def reserved_and_wider(_):
    """A wider kernel wrote reserved memory."""
    graph = attention()
    first = graph.ops[0]
    narrow = [HALF if slot == 2 else spec for slot, spec in enumerate(first.outputs)]
    first = replace(first, outputs=tuple(narrow), device_outputs=(FULL,) * 4)
    graph = replace(graph, ops=(first, *graph.ops[1:]))
    return graph, shot("FlashAttentionScore", "output", 2, np.zeros((4, 4), np.float16))


NEIGHBORS = {
    ("unused-output", "unwritten-output"): unread_and_unwritten,
    ("unwritten-output", "dont-care"): unwritten_and_reserved,
    ("dont-care", "mislabelled"): reserved_and_wider,
    ("mislabelled", "rewritten-in-place"): wider_and_rewritten,
}
"""Neighboring rules → a tensor that both distrust."""

BOTH = {
    **NEIGHBORS,
    ("unused-output", "mislabelled"): unread_and_wider,
    ("unwritten-output", "mislabelled"): unwritten_and_wider,
    ("dont-care", "rewritten-in-place"): reserved_and_rewritten,
}


def test_every_two_neighboring_rules_have_a_case():
    assert [*pairwise(rule.kind for rule in anomalies.ANOMALY_RULES)] == [*NEIGHBORS]


def kinds_of(graph, seen):
    """Everything that is odd about the one tensor of a dump, in the order in which it is told."""
    (kinds,) = bind(in_memory([seen], graph, info=small.CPU)).oddities.values()
    return kinds


@pytest.mark.parametrize("kinds", BOTH, ids=" before ".join)
def test_all_that_is_odd_about_a_tensor_is_kept_in_the_order_of_the_rules(kinds, monkeypatch):
    graph, seen = BOTH[kinds](monkeypatch)
    assert [kind for kind in kinds_of(graph, seen) if kind in kinds] == [*kinds]
    monkeypatch.setattr(anomalies, "ANOMALY_RULES", anomalies.ANOMALY_RULES[::-1])
    assert [kind for kind in kinds_of(graph, seen) if kind in kinds] == [*kinds[::-1]]


def test_every_oddity_is_noted_once_with_its_slot():
    graph = wide(HALF, FULL)
    notes = bind(in_memory(shoot(graph, small.given(graph)), graph)).notes
    assert [(n.kind, n.name, n.detail.values["where"]) for n in notes] == [
        ("mislabelled", "Default/Tanh-op0", "output.0"),
        ("mislabelled", "Default/Cast-op0", "input.0"),
    ]
