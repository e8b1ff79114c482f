"""Faults of the computing units: an operator computed with less precision, approximately, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.case import FAILURES, FORMATS, Candidate, recomputed
from workbench.comparison.limits import limits
from workbench.comparison.replay.kernel import Change, compute_kernel
from workbench.core.dtypes import roundoff
from workbench.core.words import Message
from workbench.npu.approximations import (
    exp,
    exp_quadratic,
    reciprocal,
    reciprocal_estimate,
    rsqrt,
    rsqrt_estimate,
)
from workbench.npu.arithmetic import EXACT
from workbench.npu.cube import CUBE
from workbench.npu.ops_info import APPROXIMATIONS
from workbench.npu.profiles import HF32, HF32_AWAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation
    from workbench.graph.graph import Op
    from workbench.npu.arithmetic import Arithmetic

    Array = NDArray[Any]
    Function = Callable[..., Array]

_ROUNDOFF = {
    "": 2.0**-24,
    "float32": 2.0**-24,
    HF32: 2.0**-12,
    HF32_AWAY: 2.0**-12,
    "hifloat8": 2.0**-4,
}
_COARSER = ("float16", "bfloat16", HF32, "float8_e4m3fn", "hifloat8", "float8_e5m2")


def half_accumulation(case: Evaluation) -> Iterator[Candidate]:
    """The cube unit keeps its running sums in float16."""
    for part, op in case.parts(CUBE):
        own = case.trial.arithmetic._replace(precision="cube")
        for inputs, output in _believed(case):
            believed = own._replace(inputs=inputs, output=output)
            guess = case.computed(part, believed._replace(accumulator="float16"), 2.0)
            if guess is not None:
                said = Message("compare/fault-accumulation", op_type=op.op_type)
                if inputs:
                    code = "compare/fault-accumulation-read"
                    said = Message(code, op_type=op.op_type, dtype=inputs)
                yield Candidate("half-accumulation", guess, said, 0.0)


def _believed(case: Evaluation) -> Iterator[tuple[str, str]]:
    """Formats of inputs and outputs: those of the arithmetic, or any if it says nothing."""
    own = case.trial.arithmetic
    if own.precision != "float64" or own.inputs or own.output:
        yield own.inputs, own.output
    else:
        yield from FORMATS


def missing_cast(case: Evaluation) -> Iterator[Candidate]:
    """The operator is computed in a coarser format than the one it should be."""
    own = case.trial.arithmetic
    kept = {case.trial.given.dtype.name}
    if own.inputs == own.output:
        kept.add(own.output)
    for part, op in case.parts():
        for name in _COARSER:
            if name in kept or case.error * 1e3 < _roundoff(name):
                continue
            coarse = own._replace(precision="cube", inputs=name, output=name)
            said = Message("compare/fault-cast", op_type=op.op_type, dtype=name)
            for guess in (case.computed(part, coarse), _and_stored(case, part, coarse)):
                if guess is not None:
                    yield Candidate("missing-cast", guess, said, 0.25)


def _and_stored(case: Evaluation, part: int, coarse: Arithmetic) -> Array | None:
    """Return the output of a kernel of several operators that stores what it gives as coarsely, too."""
    if len(case.trial.kernel.ops) == 1:
        return None
    case.budget.spend(case.cost)
    whole = case.trial.arithmetic._replace(output=coarse.output)
    return recomputed(replace(case.trial, arithmetic=whole), Change(part, arithmetic=coarse))


def _roundoff(name: str) -> float:
    return _ROUNDOFF.get(name) or roundoff(name)


def fast_approximation(case: Evaluation) -> Iterator[Candidate]:
    """A transcendental function is computed by a fast formula."""
    for part, op in case.parts():
        for name, function in _formulas(op):
            guess = case.recomputed(computed_by(part, function))
            if guess is not None:
                said = Message("compare/fault-formula", op_type=op.op_type, formula=name)
                yield Candidate("fast-approximation", guess, said, 0.25)


def _formulas(op: Op) -> Iterator[tuple[str, Function]]:
    for mode, row in APPROXIMATIONS.items():
        if op.op_type in row:
            yield mode, row[op.op_type].compute
    yield from _OTHERS.get(op.op_type, {}).items()


def computed_by(part: int, function: Function) -> Change:
    """Return the change that computes an operator by another function of its tensors."""
    read: list[Array] = []

    def load(tensors: list[Array]) -> list[Array]:
        read[:] = tensors
        return tensors

    def store(outputs: list[Array]) -> list[Array]:
        return [np.asarray(function(*read)), *outputs[1:]]

    return Change(part, load=load, store=store)


def missing_step(case: Evaluation) -> Iterator[Candidate]:
    """An operator of the kernel was left out: it hands on an input as it is."""
    for part, op in case.parts():
        tensors = case.tensors(part)
        for place in range(min(len(tensors), 2)):
            guess = case.recomputed(computed_by(part, lambda *read, place=place: read[place]))
            if guess is not None:
                said = Message("compare/fault-missing", op_type=op.op_type, slot=place)
                yield Candidate("missing-step", guess, said, limits().rare_numbers)


def integer_wrap(case: Evaluation) -> Iterator[Candidate]:
    """An integer that is too large was wrapped around and not cut, or cut and not wrapped."""
    kind = case.trial.given.dtype
    limits = np.iinfo(kind)
    case.budget.spend(case.cost)
    wider = {
        slot: array.astype(np.int64) if array.dtype.kind in "iu" else array
        for slot, array in case.trial.inputs.items()
    }
    try:
        outputs = compute_kernel(case.trial.kernel, wider, EXACT)
    except FAILURES:
        return
    exact = outputs[case.trial.slot]
    if exact.shape != case.shape or not np.isfinite(exact).all():
        return
    wide = np.rint(exact).astype(np.float64)
    span = float(limits.max) - float(limits.min) + 1
    wrapped = (wide - limits.min) % span + limits.min
    cut = np.clip(wide, limits.min, limits.max)
    for output, code in ((wrapped, "compare/fault-wrapped"), (cut, "compare/fault-clipped")):
        yield Candidate("integer-wrap", output.astype(kind), Message(code, dtype=kind.name))


def _logistic(power: Function, inverse: Function) -> Function:
    return lambda x: inverse(1 + power(-x))


def _gelu_tanh(x: Array) -> Array:
    """The formula with tanh where the one with erf belongs, or the exact value of it."""
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def _gelu_erf(x: Array) -> Array:
    from math import erf

    whole = np.frompyfunc(lambda v: 0.5 * (1 + erf(v / 2**0.5)), 1, 1)
    return np.asarray(x * whole(x).astype(x.dtype))


_RECIPROCAL: dict[str, Function] = {"one Newton step": reciprocal, "estimate": reciprocal_estimate}
_OTHERS: dict[str, dict[str, Function]] = {
    "Sigmoid": {
        "polynomial": _logistic(exp, reciprocal),
        "parabola": _logistic(exp_quadratic, reciprocal_estimate),
    },
    "SiLU": {
        "polynomial": lambda x: x * reciprocal(1 + exp(-x)),
        "parabola": lambda x: x * reciprocal_estimate(1 + exp_quadratic(-x)),
    },
    "Reciprocal": _RECIPROCAL,
    "Sqrt": {
        "one Newton step": lambda x: x * rsqrt(x),
        "estimate": lambda x: x * rsqrt_estimate(x),
    },
    "GeLU": {"formula with tanh": _gelu_tanh, "formula with erf": _gelu_erf},
}
"""Formulas that units without a mode for them may use."""

TRANSCENDENTAL = frozenset((*_OTHERS, *(name for row in APPROXIMATIONS.values() for name in row)))
"""Operators that have a fast formula."""
