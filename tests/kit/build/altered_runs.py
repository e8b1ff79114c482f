"""Runs of a network whose operators store something else than they should: a factor, a coarser format, fewer bits.

What an operator gives is changed before it is rounded to the dtype of the graph, so that whatever reads it
reads what was stored, as on a device.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from kit.build.small_dumps import START, file_name, held
from workbench.core.dtypes import dtype
from workbench.ops import CHOOSING
from workbench.run.executor import execute, feeds_at
from workbench.run.plan import plan_execution
from workbench.run.reference import compute

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorRecord
    from workbench.dump.dump import Dump
    from workbench.graph.graph import Graph, Op
    from workbench.run.plan import PlannedOp

    Array = NDArray[Any]
    Change = Callable[[Op, Array], Array]

KEPT = {"bfloat16": 16, "hf32": 12}
"""Bits at the end of a float32 that are zero in a number of the format."""


def in_format(graph: Graph, name: str) -> Graph:
    """Return the graph with all float32 tensors in another format."""

    def changed(specs: Any) -> Any:
        return tuple(
            one if one is None or one.dtype != "float32" else one._replace(dtype=name)
            for one in specs
        )

    ops = [
        replace(op, outputs=changed(op.outputs), input_specs=changed(op.input_specs))
        for op in graph.ops
    ]
    specs = changed(one.spec for one in graph.parameters)
    parameters = [
        replace(one, spec=spec, default=_cast(one.default, spec))
        for one, spec in zip(graph.parameters, specs, strict=True)
    ]
    return replace(graph, ops=tuple(ops), parameters=tuple(parameters))


def _cast(array: Any, spec: Any) -> Any:
    return None if array is None else np.asarray(array).astype(dtype(spec.dtype).storage)


def run(graph: Graph, change: Change | None = None) -> Dump:
    """Return the dump of a run; ``change`` is told of every float result in float64, before it is rounded."""

    def computed(planned: PlannedOp, tensors: Any, settings: Any) -> list[Array]:
        op = planned.op
        if change is None or op.op_type in CHOOSING:
            return compute(op, tensors, settings)
        wide = replace(op, outputs=tuple(map(_widened, op.outputs)))
        found = compute(wide, tensors, settings)
        return [_stored(change, op, slot, array) for slot, array in enumerate(found)]

    records = execute(plan_execution(graph), feeds_at(graph, None, 0), computed)
    return held([_as_filed(one, place) for place, one in enumerate(records)], graph)


def _as_filed(record: TensorRecord, place: int) -> TensorRecord:
    """Name and time of a record as files of a CPU have them."""
    name = file_name(record.key.op_name)
    key = record.key._replace(op_name=name, net_name="Net")
    return replace(record, key=key, timestamp_us=START + place)


def _widened(spec: Any) -> Any:
    return spec._replace(dtype="float64") if spec.dtype.startswith(("float", "bfloat")) else spec


def _stored(change: Change, op: Op, slot: int, array: Array) -> Array:
    storage = dtype(op.outputs[slot].dtype).storage
    return np.asarray(change(op, array) if array.dtype == np.float64 else array).astype(storage)


def scaled(factor: float, *types: str) -> Change:
    """Multiply what operators of some types give (none named: all)."""
    return lambda op, x: x * factor if not types or op.op_type in types else x


def truncated(name: str) -> Change:
    """Cut off the bits that a format has no room for, instead of rounding to it."""
    return lambda op, x: cut(x, name)


def rounded(name: str) -> Change:
    """Round to a format; the file goes on holding float32."""
    if name == "float16":
        return lambda op, x: x.astype(np.float16).astype(np.float64)
    return lambda op, x: _round(x.astype(np.float32), KEPT[name])


def cut(x: Array, name: str) -> Array:
    """Return numbers of a format no larger in magnitude than those given."""
    near = x.astype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    beyond = np.abs(near.astype(np.float64)) > np.abs(x)
    toward = np.nextafter(near, np.zeros_like(near))
    return np.where(beyond, toward, near).astype(np.float64)


def _round(x: Array, bits: int) -> Array:
    """Round to nearest, ties to even, by the bits of float32."""
    whole = x.view(np.uint32)
    half = np.uint32((1 << (bits - 1)) - 1) + ((whole >> np.uint32(bits)) & np.uint32(1))
    mask = np.uint32(0xFFFFFFFF ^ ((1 << bits) - 1))
    return ((whole + half) & mask).view(np.float32).astype(np.float64)
