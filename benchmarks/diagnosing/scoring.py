"""Judge answers: which fault is visible, which answer hits, what the simple rules of the field would say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from diagnosing.runs import readers
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from diagnosing.runs import Run
    from workbench.comparison.result import Finding, Row
    from workbench.core.tensors import TensorRecord
    from workbench.npu.faults import Fault

VISIBLE = 4
"""A fault is visible whose results differ from the clean run's by more than so many times what these
differ from the reference."""

GOOD = 0.99
"""Cosine similarity from which on the rules of the field call a tensor good."""


def difference(results: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> float:
    """How far results are from others: root mean square of each one's relative Euclidean distance.

    Infinite if an element is NaN or Inf on one side and not the same on the other.
    """
    total = 0.0
    for one, other in zip(results, others, strict=True):
        total += _distance(one, other) ** 2
    return math.sqrt(total / len(results)) if results else 0.0


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    one, other = (np.asarray(x).astype(np.float64).reshape(-1) for x in (one, other))
    odd = ~(np.isfinite(one) & np.isfinite(other))
    if not np.array_equal(one[odd], other[odd], equal_nan=True):
        return math.inf
    one, other = one[~odd], other[~odd]
    size, off = float(np.linalg.norm(other)), float(np.linalg.norm(one - other))
    if off == 0:
        return 0.0
    return off / size if size else math.inf


def visible(faulty: float, clean: float) -> bool:
    """Whether results that differ by ``faulty`` from the clean run's show a fault."""
    return faulty > VISIBLE * clean


def hits(run: Run, fault: Fault) -> set[str]:
    """Names of the operators that are right answers: the planted one, or what holds it."""
    found = {
        op.name
        for op in run.graph.ops
        if any(map(fault.matches, (op, *(op.fused.ops if op.fused else ()))))
    }
    return found | readers(run, found) if fault.kind == "wrong-weight-element" else found


def victims(run: Run, clean: Run, fault: Fault) -> set[str]:
    """Who suffers from an overrun: whose output is damaged, and who reads it first.

    Inputs are dumped when their operator is done, so that one of the writer's own may show the damage.
    """
    if fault.kind != "overrun":
        return set()
    writer = hits(run, fault)
    for own, other in zip(run.records, clean.records, strict=True):
        key = own.key
        if key.op_name not in writer and _bytes(own) != _bytes(other):
            operand = [*run.graph.op(key.op_name).flat_inputs()][key.slot]
            hurt = key.io == "input" and isinstance(operand, Value)
            return {key.op_name} | ({run.graph.ops[operand.op].name} if hurt else set())
    return set()


def _bytes(record: TensorRecord) -> bytes:
    return record.source.array().tobytes()


def operators(findings: Iterable[Finding]) -> list[str]:
    """Operators of the defects, best first, each once."""
    return [*dict.fromkeys(one.op_name for one in findings if one.defect)]


def place(answers: Sequence[str], right: set[str]) -> int | None:
    """Where the first right answer stands, 0 for the first; ``None`` if there is none."""
    return next((n for n, one in enumerate(answers) if one in right), None)


def guess(finding: Finding) -> tuple[str, float | None]:
    """The kind of fault that a finding names, and how sure it is; its own kind if it names none."""
    return (finding.fault, finding.probability) if finding.fault else (finding.kind, None)


def _cosine(row: Row) -> float:
    return row.metrics.get("CosineSimilarity", math.nan)


def _error(row: Row) -> float:
    return row.metrics.get("RelativeEuclideanDistance", math.nan)


def _bad(row: Row) -> bool:
    return not _cosine(row) >= GOOD or _odd(row)


def _off(row: Row, limit: float) -> bool:
    return not _error(row) <= limit or _odd(row)


def _odd(row: Row) -> bool:
    """Whether NaN or Inf stand where the other side has none: in the field's own figures they make NaN."""
    return row.metrics.get("NonFiniteMismatch", 0) > 0


def _first(rows: Sequence[Row], is_bad: Callable[[Row], bool]) -> str:
    """The operator of the first output in execution order that is bad."""
    return next((row.op_name for row in rows if row.io == "output" and is_bad(row)), "")


def _good_then_bad(rows: Sequence[Row]) -> str:
    """The first operator whose inputs are all good and of whose outputs one is bad."""
    spoilt = {_run_of(row) for row in rows if row.io == "input" and _bad(row)}
    return _first(rows, lambda row: _bad(row) and _run_of(row) not in spoilt)


def _run_of(row: Row) -> tuple[Any, ...]:
    return row.op_name, row.graph_id, row.iteration, row.turn, row.rank


RULES: dict[str, Callable[[Sequence[Row]], str]] = {
    "first cosine < 0.99": lambda rows: _first(rows, _bad),
    "first relative error > 0.05": lambda rows: _first(rows, lambda row: _off(row, 0.05)),
    "first relative error > 0.01": lambda rows: _first(rows, lambda row: _off(row, 0.01)),
    "input good, output bad": _good_then_bad,
}
"""The simple rules of the field: the operator that each blames, ``""`` for none."""


def simple_answers(rows: Iterable[Row]) -> dict[str, str]:
    """What every rule says of the same pairs; those that were not measured are left out."""
    measured = [row for row in rows if row.match_rule and "CosineSimilarity" in row.metrics]
    ordered = sorted(measured, key=lambda row: (row.iteration, row.order))
    return {name: rule(ordered) for name, rule in RULES.items()}
