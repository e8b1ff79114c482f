"""Runs of the workbench's own executors, and what tests read of them.

The arrays of a run and its dump in memory; a rehearsal whole; the replay of a pair of dumps; and trials of operators
with planted faults: what they read, gave and should have given.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import workbench as wb
from kit.build.small_dumps import file_name, held
from workbench.comparison.bind.binding import is_npu
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.replay.kernel import (
    Trial,
    cast_like,
    compute_kernel,
    distance,
    plain_kernel,
)
from workbench.comparison.replay.replay import replay
from workbench.core.dtypes import roundoff
from workbench.core.errors import GraphError
from workbench.graph.constants import constant
from workbench.graph.graph import Param, Value
from workbench.network.models import load_graph
from workbench.npu.arithmetic import EXACT, Arithmetic
from workbench.npu.faults import FAULTS, Fault
from workbench.npu.numerics import numeric_model
from workbench.npu.runner import run_npu
from workbench.ops import op_def
from workbench.run.reference import run_reference
from workbench.simulation.pair import dump_both

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.core.tensors import TensorRecord
    from workbench.dump.dump import Dump
    from workbench.graph.graph import Graph


def arrays_of(run: Iterable[TensorRecord]) -> dict[str, dict[tuple[str, int], Any]]:
    """Inputs and outputs, by (io, slot), of every operator and parameter, in order."""
    found: dict[str, dict[tuple[str, int], Any]] = {}
    for record in run:
        key = record.key
        found.setdefault(key.op_name, {})[key.io, key.slot] = record.source.array()
    return found


def results(graph: Graph, feeds: dict[str, Any], run: Any = run_reference) -> list[Any]:
    """Values of a graph's outputs, in their order."""
    found = arrays_of(one for one in run(graph, feeds) if one.key.io == "output")

    def value_of(operand: Any) -> Any:
        if isinstance(operand, Value):
            return found[graph.ops[operand.op].name]["output", operand.slot]
        if isinstance(operand, Param):
            return found[graph.parameters[operand.index].name]["output", 0]
        return constant(operand)

    return [value_of(operand) for operand in graph.outputs]


def dumped(run: Iterable[TensorRecord], graph: Graph, info: dict[str, str]) -> Dump:
    """Dump of records, in memory."""
    named = [
        replace(record, key=record.key._replace(op_name=file_name(record.key.op_name)))
        for record in run
    ]
    return held(named, graph, info=info)


def on_device(graph: Graph, profile: str, mode: str, **more: Any) -> Dump:
    """Dump of a run of a simulated NPU, in memory."""
    run = run_npu(graph, profile=profile, precision_mode=mode, **more)
    return dumped(run, graph, {"device_target": "Ascend"})


def on_reference(graph: Graph, **more: Any) -> Dump:
    """Dump of the reference, in memory."""
    return dumped(run_reference(graph, **more), graph, {"device_target": "CPU"})


def rehearse(graph: Any, config: Any, **options: Any) -> Any:
    """Dump both trees as `dump_both` does, compare them, and leave nothing behind."""
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
        target, golden = dump_both(graph, config, Path(root), **options)
        return wb.compare(target, golden)


# ---------------- replay: the steps of a comparison up to it, and no further


def paired(target: Dump, golden: Dump) -> Any:
    """The pairing of two dumps."""
    return pair_tensors(*bind_both(target, golden))


def replayed(target: Dump, golden: Dump | None = None) -> Any:
    """Replay of a target, on the device that its metadata name."""
    golden = target if golden is None else golden
    return replay(paired(target, golden), npu=is_npu(target))


def by_name(found: Any) -> dict[tuple[str, int], Any]:
    """Own errors of a replay by operator name and iteration."""
    return _named(found, found.own_errors)


def reasons(found: Any) -> dict[tuple[str, int], Any]:
    """Reasons of a replay by operator name and iteration."""
    return _named(found, found.reasons)


def _named(found: Any, table: dict[Any, Any]) -> dict[tuple[str, int], Any]:
    graphs = found.target_inputs.binding.graphs
    return {
        (graphs[block.rank, block.graph_id].ops[number].name, block.iteration): value
        for (block, number), value in table.items()
    }


# ---------------- trials with planted faults

_VISIBLE = 4.0
DEVICES = (
    ("910a", "allow_fp32_to_fp16"),
    ("910a", "force_fp16"),
    ("910a", "force_fp32"),
    ("310p", "force_fp16"),
    ("a2", "must_keep_origin_dtype"),
    ("a2", "allow_mix_precision"),
    ("a2", "allow_fp32_to_bf16"),
    ("a2", "force_fp16"),
    ("950", "must_keep_origin_dtype"),
    ("950", "allow_mix_precision_bf16"),
)
KINDS = tuple(kind for kind, row in FAULTS.items() if not row.ends_run)
MODELS = ("lenet", "mlp", "resnet", "transformer", "lstm", "mlp_train", "lenet_train")
_SETTINGS = {
    "Conv2D": (
        {"pad_mode": "same"}, {"pad_mode": "pad", "pad": 1}, {"pad_mode": "pad", "pad": 2}, {"stride": 1},
        {"dilation": 2, "pad_mode": "pad", "pad": 2}, {"dilation": 2, "pad_mode": "same"},
        {"pad_mode": "pad", "pad": (2, 0, 2, 0)}, {"pad_mode": "pad", "pad": (0, 2, 0, 2)},
        {"pad_mode": "pad", "pad": (3, 1, 3, 1)}, {"pad_mode": "pad", "pad": (0, 1, 0, 1)},
        {"pad_mode": "pad", "pad": (1, 0, 1, 0)},
    ),
    "MaxPool": ({"pad_mode": "same"}, {"kernel_size": 1}, {"kernel_size": 2}, {"kernel_size": 3}, {"strides": 1}),
    "LayerNorm": ({"epsilon": 1e-12}, {"epsilon": 1e-3}, {"epsilon": 1e-2}, {"epsilon": 0.1}, {"epsilon": 0.0371},
                  {"begin_norm_axis": 1}),
    "BatchNorm": ({"epsilon": 1e-3}, {"epsilon": 1e-2}, {"epsilon": 0.2}, {"epsilon": 0.0123}, {"is_training": True}),
    "Softmax": ({"axis": (1,)}, {"axis": (2,)}, {"axis": (0,)}),
    "MatMul": ({"transpose_b": False}, {"transpose_a": True}),
    "BatchMatMul": ({"transpose_b": False}, {"transpose_a": True}, {"transpose_b": True}),
    "Transpose": ({"dims": (0, 1, 2, 3)}, {"dims": (2, 0, 1, 3)}, {"dims": (0, 3, 2, 1)}),
    "StridedSlice": ({"begin": (0, 0, 0)},),
    "Split": (),
}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A trial and the kind of fault that it has; how its floor and inputs came about; where.

    ``right`` are the kinds that may be said of it, none if nobody knows a name for it.
    """

    kind: str
    trial: Trial
    mode: str
    place: str
    right: frozenset[str] = frozenset()

    @property
    def visible(self):
        """How many floors an error must have that can be told from noise; one on replay always has three."""
        return 2.9 if self.mode == "replay" else _VISIBLE


@cache
def network(model, seed):
    return load_graph(model, seed)


@cache
def clean_run(model, seed, profile, precision):
    return arrays_of(run_npu(network(model, seed), profile=profile, precision_mode=precision))


@cache
def golden_run(model, seed):
    return arrays_of(run_reference(network(model, seed)))


def planted(kind, seed, model=None, mode=None):
    """Yield trials with a fault of a kind, chosen by a seed; none if the operator cannot have it or shows nothing."""
    rng = random.Random(f"{kind} {seed}")
    model = model or rng.choice(MODELS)
    weights = seed % 7
    profile, precision = rng.choice(DEVICES)
    graph = network(model, weights)
    fault = _chosen_fault(kind, graph, rng)
    if fault is None:
        return
    try:
        faulty = arrays_of(
            run_npu(graph, profile=profile, precision_mode=precision, faults=[fault])
        )
    except GraphError:
        return
    name = fault.op_name
    if kind == "overrun":
        name = _victim(graph, faulty)
        if name is None:
            return
    right = clean_run(model, weights, profile, precision)
    formats = dict(
        zip(
            (op.name for op in graph.ops),
            numeric_model(profile, precision).formats(graph),
            strict=True,
        )
    )[name]
    op = graph.op(name)
    modes = (mode,) if mode else ("model", "replay", "exact", "golden")
    for how in modes:
        trial = trial_of(
            op, kind, how, faulty, right, golden_run(model, weights), formats, rng, graph
        )
        if trial is not None:
            place = f"{model} {weights} {profile} {precision} {fault}"
            names = frozenset((kind, *_same(fault, trial)))
            yield Planted(kind, _as_dumped(trial, kind, how, seed), how, place, names)


def _same(fault, trial):
    """Other names of the same fact: a last tile that is all there is, and a product's flag for a transposed weight."""
    if fault.kind == "unwritten-tail-tile" and not np.any(trial.given == trial.expected):
        yield "stale-output"
    if (
        fault.kind == "wrong-attribute"
        and isinstance(fault.value, dict)
        and "transpose_b" in fault.value
    ):
        yield "transposed-weight"


def _as_dumped(trial, kind, how, seed):
    """What of a trial lies in the dump: a wrong element of a weight shows only where the weight does not."""
    whole = kind != "wrong-weight-element" and how != "golden" and seed % 2 == 0
    return replace(
        trial, dumped=frozenset(trial.inputs if whole else ()), read_later=kind == "overrun"
    )


def trial_of(op, kind, how, faulty, right, reference, formats, rng, graph):
    arithmetic = (
        Arithmetic("cube", formats.inputs, formats.output) if how in ("model", "replay") else EXACT
    )
    # an uploaded weight is dumped as it is: only the golden inputs show it as the operator's own error
    own = right if kind == "wrong-weight-element" else faulty
    source = reference if how == "golden" else own
    if op.name not in source or ("output", 0) not in faulty[op.name]:
        return None
    inputs = _inputs(source, op.name)
    kernel = plain_kernel(op)
    given = faulty[op.name]["output", 0]
    if kind == "overrun":
        given = _read_again(graph, faulty, op.name)
    try:
        expected = cast_like(compute_kernel(kernel, inputs, arithmetic)[0], given)
        believed = compute_kernel(
            kernel, _inputs(reference if how == "golden" else right, op.name), arithmetic
        )
    except GraphError:
        return None
    if expected.shape != given.shape:
        return None
    noise = distance(right[op.name]["output", 0], cast_like(believed[0], given))
    if not np.isfinite(noise):
        return None
    least = 2.0**-24 if given.dtype.kind not in "biu" else 0.0
    floor = max(noise * rng.uniform(1.1, 3.0), least)
    if (
        how == "replay" and least
    ):  # what is known of the formats and the condition, nothing of this very noise
        unit = roundoff(formats.output) or roundoff(given.dtype.name)
        floor = max(floor, min(unit * rng.uniform(1.0, 10.0), distance(given, expected) / 3))
    return Trial(
        kernel,
        inputs,
        0,
        given,
        expected,
        floor,
        arithmetic,
        _earlier(graph, faulty, op.name, kind),
    )


def _inputs(found, name):
    return {slot: array for (io, slot), array in found[name].items() if io == "input"}


def _earlier(graph, found, name, kind):
    """Outputs of the operators before one, latest first; of all others for what is overwritten later."""
    names = [op.name for op in graph.ops]
    before = names[: names.index(name)]
    if kind == "overrun":
        before += names[len(before) + 1 :]
    return tuple(
        array
        for other in reversed(before)
        for (io, _), array in found.get(other, {}).items()
        if io == "output"
    )


def _readers(graph, name):
    number = graph.by_name[name]
    for value, places in graph.consumers.items():
        if getattr(value, "op", None) == number and value.slot == 0:
            yield from ((graph.ops[reader].name, slot) for reader, slot in places)


def _read_again(graph, found, name):
    """What the last reader of an output read."""
    for reader, slot in _readers(graph, name):
        if reader in found and ("input", slot) in found[reader]:
            array = found[reader]["input", slot]
            if not np.array_equal(array, found[name]["output", 0], equal_nan=True):
                return array
    return found[name]["output", 0]


def _victim(graph, found):
    """An operator whose output is not what its reader read."""
    for op in graph.ops:
        outputs = found.get(op.name, {})
        if ("output", 0) in outputs:
            mine = outputs["output", 0]
            if not np.array_equal(_read_again(graph, found, op.name), mine, equal_nan=True):
                return op.name
    return None


def _chosen_fault(kind, graph, rng):
    row = FAULTS[kind]
    ops = [op for op in graph.ops if not row.types or op.op_type in row.types]
    ops = [op for op in ops if row.step != "memory" or op_def(op.op_type).engine != "none"]
    ops = [op for op in ops if op_def(op.op_type).engine != "none"]
    if kind == "wrong-attribute":
        ops = [op for op in ops if _SETTINGS.get(op.op_type)]
    if kind == "wrong-weight-element":
        ops = [op for op in ops if any(s is not None for s in op.input_specs[1:2])]
    if not ops:
        return None
    op = rng.choice(ops)
    strength, value = _STRENGTHS.get(kind, lambda rng, op: (None, None))(rng, op)
    return Fault(kind, op.name, strength=strength, value=value, seed=rng.randrange(1000))


_STRENGTHS = {
    "wrong-attribute": lambda rng, op: (None, rng.choice(_SETTINGS[op.op_type])),
    "wrong-weight-element": lambda rng, op: (rng.choice((1, 1, 4, 16)), rng.choice((None, 5.0, None))),
    "dropped-k-tail": lambda rng, op: (rng.choice((1, 1, 2, 3)), None),
    "scaled-output": lambda rng, op: (rng.choice((1.01, 0.5, 2.0, 0.9, 1.05, 1.1, 0.125, 1.37)), None),
    "flush-to-zero": lambda rng, op: (rng.choice((None, 1e-3, 1e-2, 0.05, 0.1)), None),
    "saturated": lambda rng, op: (rng.choice((0.1, 0.5, 1.0, 2.0)), None),
    "nan-output": lambda rng, op: (rng.choice((1, 1, 3, 16)), None),
    "overwritten-element": lambda rng, op: (rng.choice((1, 1, 4, 16)), rng.choice((None, 3.7, None))),
    "bit-flip": lambda rng, op: (rng.choice((1, 1, 2)), rng.choice((None, None, 29, 27, 31))),
    "wrong-layout-lanes": lambda rng, op: (rng.choice((1, 1, 2, 4, 8, 15)), None),
    "unwritten-tail-tile": lambda rng, op: (None, rng.choice((None, None, 0.0))),
    "missing-cast": lambda rng, op: (None, rng.choice((None, None, "float16", "bfloat16"))),
    "fast-approximation": lambda rng, op: (None, rng.choice((None, "high_performance"))),
}  # fmt: skip


def clean_trials(model, seed):
    """Trials of every operator of a network on devices without a fault, with floors that noise stays within."""
    graph = network(model, seed)
    for profile, precision in DEVICES[:6:2]:
        right = clean_run(model, seed, profile, precision)
        formats = numeric_model(profile, precision).formats(graph)
        for op, own in zip(graph.ops, formats, strict=True):
            yield from _clean_of(op, own, right)


def _clean_of(op, formats, right):
    inputs, given = _inputs(right, op.name), right[op.name]["output", 0]
    kernel = plain_kernel(op)
    for arithmetic in (EXACT, Arithmetic("cube", formats.inputs, formats.output)):
        expected = cast_like(compute_kernel(kernel, inputs, arithmetic)[0], given)
        noise = distance(given, expected)
        yield Trial(kernel, inputs, 0, given, expected, 1.2 * noise, arithmetic)
