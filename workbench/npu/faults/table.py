"""The kinds of faults: one row each."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError, check_seed
from workbench.core.words import Message
from workbench.graph.graph import Param
from workbench.npu.compile.no_task import NO_TASK
from workbench.npu.cube import CUBE
from workbench.npu.faults import inputs, memory, outputs, units
from workbench.npu.faults.attributes import wrong_attribute
from workbench.npu.faults.fault import OpExecution
from workbench.npu.faults.links import LINKS
from workbench.npu.numerics import UNTOUCHED
from workbench.npu.ops_info import APPROXIMATIONS, INTEGERS
from workbench.ops import op_def

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from workbench.graph.graph import Graph, Op, Parameter
    from workbench.npu.faults.fault import Fault, Step
    from workbench.npu.numerics import Formats


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: when it strikes, what it does, what its strength and its value mean.

    ``types`` are the operator types that it can be in (none: all), ``floats``: it is about floats.
    ``ends_run`` says that nothing is computed after it, ``alters`` that the graph shows it, ``computed`` that the
    unit itself makes the wrong numbers, so that its float status shows an overflow.
    """

    step: Step
    apply: Callable[[Fault, OpExecution], OpExecution]
    strength: str = ""
    value: str = ""
    types: frozenset[str] = frozenset()
    floats: bool = False
    ends_run: bool = False
    alters: bool = False
    computed: bool = False


_CUBE = frozenset(CUBE)
_FAST = frozenset(APPROXIMATIONS["super_performance"])
_TEN = "what is written (10 times the largest)"

FAULTS: dict[str, Kind] = {
    # what is compiled
    "wrong-attribute": Kind("compile", wrong_attribute, value="attributes by name", alters=True),
    "half-accumulation": Kind("compile", units.half_accumulation, types=_CUBE, floats=True),
    "missing-cast": Kind(
        "compile", units.missing_cast, value="format it computes in (next coarser)", floats=True
    ),
    "fast-approximation": Kind(
        "compile", units.fast_approximation, value="mode (super_performance)", types=_FAST
    ),
    "aicore-exception": Kind("compile", units.aicore_exception, ends_run=True),
    # what is read
    "wrong-weight-element": Kind("upload", inputs.wrong_weight_element, "elements (1)", _TEN),
    "transposed-weight": Kind(
        "load", inputs.transposed_weight, value="two axes (the last ones)", types=INTEGERS
    ),
    "dropped-k-tail": Kind("load", inputs.dropped_k_tail, "blocks of 16 (1)", types=INTEGERS),
    # what is written
    "scaled-output": Kind("store", outputs.scaled_output, "factor (1.01)", computed=True),
    "wrong-sign": Kind("store", outputs.wrong_sign),
    "flush-to-zero": Kind("store", outputs.flush_to_zero, "least magnitude that stays (2^-14)"),
    "saturated": Kind("store", outputs.saturated_output, "largest magnitude (65504)"),
    "nan-output": Kind("store", outputs.nan_output, "elements (1)", floats=True, computed=True),
    "overwritten-element": Kind("store", outputs.overwritten_element, "elements (1)", _TEN),
    "bit-flip": Kind("store", outputs.bit_flip, "elements (1)", "bit (highest of the exponent)"),
    "wrong-layout-lanes": Kind("store", outputs.wrong_layout_lanes, "distance of lanes (1)"),
    # where it is written
    "unwritten-tail-tile": Kind(
        "memory", memory.unwritten_tail_tile, value="what shows there (what memory held)"
    ),
    "stale-output": Kind("memory", memory.stale_output),
    "overrun": Kind(
        "memory",
        memory.overrun,
        "bytes behind its end (256 of the next tensor)",
        "number that is written (its output again)",
    ),
}
"""Kind by name. `tests/npu/faults/test_kinds.py` checks every one."""


def apply_faults(faults: Sequence[Fault], execution: OpExecution, step: Step) -> OpExecution:
    """Return the site after every fault of a step that meets its operator, in order."""
    for fault in faults:
        kind = FAULTS[fault.kind]
        if kind.step == step and _applies(fault, execution.op):
            execution = kind.apply(fault, execution)
    return execution


def _applies(fault: Fault, op: Op) -> bool:
    """Whether a fault is in an operator: of those that a pattern meets, in those that can have it."""
    return fault.matches(op) and not (fault.is_pattern and _unable(fault, op) is not None)


def ends_run(faults: Iterable[Fault]) -> bool:
    """Whether a run with these faults does not reach its end."""
    return any(fault.kind in FAULTS and FAULTS[fault.kind].ends_run for fault in faults)


def in_memory(faults: Iterable[Fault]) -> bool:
    """Whether a run with these faults needs a memory of bytes."""
    return any(fault.kind in FAULTS and FAULTS[fault.kind].step == "memory" for fault in faults)


def compiled_executions(
    ops: Iterable[Op], faults: Sequence[Fault], formats: Mapping[str, Formats]
) -> dict[str, OpExecution]:
    """Return how the faulty device computes operators of a graph `with_compile_faults`, by their names.

    ``formats`` are those of the operators by name. Raises GraphError for a fault that cannot work.
    """
    others = [fault for fault in faults if not FAULTS[fault.kind].alters]
    executions = (OpExecution(op, formats.get(op.name, UNTOUCHED)) for op in ops)
    return {
        execution.op.name: apply_faults(others, execution, "compile") for execution in executions
    }


def with_compile_faults(graph: Graph, faults: Sequence[Fault]) -> Graph:
    """Return the graph with the settings that faults change; those that meet nothing are left alone."""
    altering = [f for f in faults if f.kind in FAULTS and FAULTS[f.kind].alters]
    if not altering:
        return graph
    executions = (apply_faults(altering, OpExecution(op), "compile") for op in graph.ops)
    return replace(graph, ops=tuple(execution.op for execution in executions))


def uploaded(graph: Graph, feeds: Mapping[str, Any], faults: Sequence[Fault]) -> Mapping[str, Any]:
    """Return the feeds with the weights as they lie in the memory of a faulty device.

    Raises GraphError if no operator of a fault reads a weight, or, without a pattern, if one does not.
    """
    found = dict(feeds)
    for fault in faults:
        if FAULTS[fault.kind].step == "upload":
            ops = [op for op in graph.ops if fault.matches(op)]
            weights = [(op, _weight(op, graph)) for op in ops]
            idle = [op for op, weight in weights if weight is None]
            if idle and not (fault.is_pattern and len(idle) < len(ops)):
                raise GraphError("run/fault-no-weight", fault=fault.kind, op=idle[0].name)
            for op, weight in weights:
                if weight is not None:
                    _upload(fault, op, weight, found)
    return found


def _weight(op: Op, graph: Graph) -> Parameter | None:
    read = [graph.parameters[o.index] for o in op.flat_inputs() if isinstance(o, Param)]
    return next((one for one in read if one.is_weight), None)


def _upload(fault: Fault, op: Op, weight: Parameter, feeds: dict[str, Any]) -> None:
    given = feeds.get(weight.name, weight.default)
    if given is not None:
        array = np.asarray(given).astype(dtype_row(weight.spec.dtype).storage)
        feeds[weight.name] = (
            FAULTS[fault.kind].apply(fault, OpExecution(op, inputs=(array,))).inputs[0]
        )


def faults_in(graph: Graph, faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults that are in operators of one graph of several."""
    return [fault for fault in faults if any(_is_in(fault, op, graph) for op in graph.ops)]


def _is_in(fault: Fault, op: Op, graph: Graph) -> bool:
    if not _applies(fault, op):
        return False
    uploads = FAULTS[fault.kind].step == "upload" and fault.is_pattern
    return not uploads or _weight(op, graph) is not None


def check_faults(
    faults: Iterable[Fault], ops: Sequence[Op], name: str, folded: Collection[str] = ()
) -> None:
    """Raise GraphError for a fault of unknown kind, one that meets no operator, or not of its kind.

    ``folded`` names operators that the compiler has computed: no fault of the device is in them.
    """
    for fault in faults:
        _check(fault, ops, name, folded)


def _check(fault: Fault, ops: Sequence[Op], name: str, folded: Collection[str]) -> None:
    if fault.kind not in FAULTS:
        raise GraphError("core/choice", subject="fault", got=fault.kind, known=sorted(FAULTS))
    check_settings(fault)
    met = [op for op in ops if fault.matches(op)]
    refused = [why for why in (_unable(fault, op) for op in met) if why is not None]
    if refused and not (fault.is_pattern and len(refused) < len(met)):
        raise GraphError(refused[0].code, **refused[0].values)
    idle = {op.name for op in ops if op.attrs.get(NO_TASK) is True} | set(folded)
    if met and not FAULTS[fault.kind].alters and all(op.name in idle for op in met):
        raise GraphError("run/fault-not-run", fault=fault.kind, op=met[0].name)
    if not met:
        names = [op.name for op in ops]
        close = difflib.get_close_matches(fault.op_name, names, 3, 0.3) or names[:3]
        code = "run/fault-colon" if "=" in fault.op_name else "run/fault-nowhere"
        raise GraphError(code, graph=name, got=fault.op_name, close=close)


def check_settings(fault: Fault) -> None:
    """Raise GraphError for a setting that faults of this kind do not have, or a strength that is none."""
    kind = FAULTS[fault.kind] if fault.kind in FAULTS else LINKS[fault.kind]
    check_seed(fault.seed, f"seed of {fault.kind}")
    by_name = isinstance(kind, Kind) and kind.alters
    later = "" if isinstance(kind, Kind) and _is_early(kind) else "when"
    known = {"strength": kind.strength, "value": kind.value, "seed": "where", "iteration": later}
    if isinstance(fault.value, dict) and not by_name:
        given = [*fault.value]
    else:
        given = [name for name in ("strength", "value") if getattr(fault, name) is not None]
    for name in given:
        if not known.get(name):
            names = [name for name, meaning in known.items() if meaning]
            if by_name:
                raise GraphError("run/fault-attributes-only", fault=fault.kind, got=name)
            raise GraphError(
                "run/fault-choice", name="setting", fault=fault.kind, got=name, known=names
            )
    for name in ("iteration", "since"):
        if getattr(fault, name) is not None:
            _check_iteration(fault, name, getattr(fault, name), early=not later)
    if fault.strength is not None and not isfinite(fault.strength):
        raise GraphError("run/fault-finite", fault=fault.kind, got=fault.strength)


def _is_early(kind: Kind) -> bool:
    """Whether a fault is there before the first iteration: in the graph, or in weights that were copied."""
    return kind.alters or kind.step == "upload"


def _check_iteration(fault: Fault, name: str, number: int, *, early: bool) -> None:
    """What is compiled into the graph or copied to the device before it runs is there in every iteration."""
    if early:
        raise GraphError("run/fault-iteration", fault=fault.kind, name=name, got=number)
    if number < 0:
        raise GraphError("run/fault-least", name=name, fault=fault.kind, least=0, got=number)


def _unable(fault: Fault, op: Op) -> Message | None:
    """Say why an operator cannot have a fault; ``None`` if it can."""
    kind = FAULTS[fault.kind]
    place = {"fault": fault.kind, "op": op.name, "type": op.op_type}
    if kind.step == "memory" and op_def(op.op_type).engine == "none":
        return Message("run/fault-renames", **place)
    if kind.types and op.op_type not in kind.types:
        return Message("run/fault-type", **place, known=sorted(kind.types))
    dtype = op.outputs[0].dtype if op.outputs else ""
    if kind.floats and (dtype not in DTYPES or not dtype_row(dtype).is_float):
        return Message("run/fault-floats", **place, dtype=dtype or None)
    return None
