"""The simulated NPU: runs a graph with the numerics of a device, and with planted faults.

Matrix products and convolutions go to the cube unit (`workbench.run.cube`), everything else to the
vector unit, which computes in float32 and rounds its result to the format in use. Which formats
these are says the precision mode (`workbench.run.modes`):

======================== ======================= ============================ ===================
precision mode           cube reads (float32)    cube writes                  vector unit
======================== ======================= ============================ ===================
must_keep_origin_dtype   910A, 310P: float32     float32                      float32
                         (scalar unit); others:
                         HF32 in convolutions,
                         else float32
cube_fp16in_fp32out,     float16                 float32                      float32
force_fp32
allow_fp32_to_fp16,      float16                 float16                      float32
…_to_lowprecision
allow_mix_precision,     float16, if white       float16                      float16 behind a
…_fp16                                                                        float16 producer
force_fp16               float16                 float16                      float16
*_bf16                   bfloat16                bfloat16                     as above
force_lowerprecision     bfloat16, else float16  the same                     the same
cube_hif8 (950)          hifloat8                float16                      float32
mixed_hif8 (950)         hifloat8, if white      float16                      float16 behind a
                                                                              float16 producer
======================== ======================= ============================ ===================

Without a mode a device uses its own for training (`workbench.run.profiles`): 910A and 310P
``allow_fp32_to_fp16``, the others ``must_keep_origin_dtype``. Tensors keep the dtypes of the graph.
910A and 310P saturate (largest finite value, 0 for NaN), the others give Inf and NaN.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import dtype
from workbench.core.errors import GraphError
from workbench.core.events import DeviceEvent
from workbench.graph.ops import op_def
from workbench.run.cube import CUBE
from workbench.run.executor import execute
from workbench.run.faults import apply_faults, compiled_sites
from workbench.run.kernels import KERNELS
from workbench.run.numeric import Formats, numeric_model
from workbench.run.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorRecord, TensorSpec
    from workbench.graph.nodes import Graph, Op
    from workbench.run.faults import Fault, Site
    from workbench.run.numeric import NumericModel
    from workbench.run.precision import Precision

    Array = NDArray[Any]


def run_npu(
    graph: Graph,
    feeds: Mapping[str, Any] | None = None,
    *,
    profile: str = "a2",
    precision_mode: str | Precision | None = None,
    faults: Sequence[Fault] = (),
    seed: int = 0,
    iteration: int = 0,
) -> Iterator[TensorRecord]:
    """Yield every tensor of one run on the simulated device, as `run_reference` does.

    Outputs carry what the device reported of their operator. A run in which an operator fails ends with
    the outputs of that operator, as they lie in memory that it has not written: zeros.

    Parameters
    ----------
    profile : str
        A key of `workbench.run.profiles.PROFILES`.
    precision_mode : str or Precision, optional
        A name of ``precision_mode`` or ``precision_mode_v2``, or all that is asked of the compiler;
        the device's own mode for training if left out.
    faults : sequence of Fault
        Each must meet an operator of the graph.
    seed : int
        Added to the seed of every fault.

    Raises
    ------
    GraphError
        Unknown profile, mode or fault, or an input that does not fit.
    """
    model = numeric_model(profile, precision_mode)
    seeded = [replace(fault, seed=fault.seed + seed) for fault in faults]
    sites = compiled_sites(graph, seeded)
    compiled = replace(graph, ops=tuple(site.op for site in sites))
    device = Device(model, compiled, sites, seeded)
    records = execute(compiled, feeds or {}, device.compute, iteration)
    return _reported(records, device.events)


def _reported(
    records: Iterator[TensorRecord], events: Mapping[str, DeviceEvent]
) -> Iterator[TensorRecord]:
    """Yield records with the events of their operators, up to the end of one that failed."""
    failed = ""
    for record in records:
        key = record.key
        if failed and (key.op_name, key.io) != (failed, "output"):
            return
        if key.io == "output":
            record.event = events.get(key.op_name)
            if record.event is not None and record.event.kind == "failure":
                failed = key.op_name
        yield record


class Device:
    """The units of a device, set up for one graph; ``events`` are those of operators by name."""

    def __init__(
        self, model: NumericModel, graph: Graph, sites: Sequence[Site], faults: Sequence[Fault]
    ) -> None:
        self._model = model
        self._faults = tuple(faults)
        names = [op.name for op in graph.ops]
        self._sites = dict(zip(names, sites, strict=True))
        self._formats = dict(zip(names, model.formats(graph), strict=True))
        self.events: dict[str, DeviceEvent] = {}

    def compute(self, op: Op, tensors: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
        """Return the outputs of one operator as the device stores them."""
        for tensor in tensors:
            self._check(op, tensor)
        formats = self._formats[op.name]
        site = self._sites[op.name]
        status = Status(op, "cube" if op_def(op.op_type).engine == "cube" else "vector")
        if site.fails:
            self.events[op.name] = DeviceEvent(op.name, "failure", status.unit)
            return [_unwritten(spec) for spec in op.outputs]
        with np.errstate(all="ignore"):
            inputs = [self._load(tensor, formats, status) for tensor in tensors]
            results = self._results(op, inputs, settings, site.accumulator, status)
            status.computed(inputs, settings, results)
            outputs = tuple(
                self._store(result, op, slot, formats, status)
                for slot, result in enumerate(results)
            )
            site = apply_faults(self._faults, replace(site, outputs=outputs), "store")
        if status.causes:
            self.events[op.name] = DeviceEvent(op.name, "overflow", status.unit, status.causes)
        return list(site.outputs)

    def _results(
        self,
        op: Op,
        inputs: Sequence[Array],
        settings: Mapping[str, Any],
        accumulator: str,
        status: Status,
    ) -> list[Array]:
        if op.op_type in CUBE and all(array.dtype == np.float32 for array in inputs):
            rounding = None
            if accumulator != "float32":
                rounding = partial(self._sum, name=accumulator, status=status)
            return CUBE[op.op_type](inputs, settings, rounding)
        if op.op_type not in KERNELS:
            message = f"operator {op.name} must be one of {sorted(KERNELS)}, got {op.op_type!r}"
            raise GraphError(message)
        return KERNELS[op.op_type](inputs, settings)

    def _check(self, op: Op, tensor: Array) -> None:
        if tensor.dtype.name == "bfloat16" and "bfloat16" not in self._model.profile.vector:
            title = self._model.profile.title
            message = f"dtypes of {op.name} must be known to {title}, got 'bfloat16'"
            raise GraphError(message)

    def _load(self, array: Array, formats: Formats, status: Status) -> Array:
        """Return an input as its unit reads it: float32, rounded to the input format."""
        if array.dtype.kind in "biu" or array.dtype == np.float64:
            return array
        wide = array.astype(np.float32, copy=False)
        status.loaded(wide, formats.inputs)
        return self._model.round(wide, formats.inputs)

    def _sum(self, sums: Array, name: str, status: Status) -> Array:
        status.summed(sums, name)
        return self._model.round(sums, name)

    def _store(self, array: Array, op: Op, slot: int, formats: Formats, status: Status) -> Array:
        if slot >= len(op.outputs):
            return array
        name = op.outputs[slot].dtype
        status.stored(array, formats.output or name)
        if array.dtype == np.float32:
            array = self._model.round(array, formats.output)
        return self._model.store(array, name)


def _unwritten(spec: TensorSpec) -> Array:
    """Memory of a tensor that nobody has written."""
    return np.zeros(spec.shape or (), dtype(spec.dtype).storage)
