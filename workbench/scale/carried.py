"""Weights that differ at the start of an iteration as the one before left them: that one has judged them.

An iteration is compared alone, so that a weight which differs in it from the first on looks wrong. Where both sides
hold to the bit what they held at the end of the iteration before, the difference is that one's: of gradients that are
rounding alone, say, of which Adam makes whole steps.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from workbench.comparison.result import UNDECIDED
from workbench.core.errors import WorkbenchError
from workbench.graph.graph import Param
from workbench.scale.reading import index_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.comparison.result import Finding, Result, Row
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.scale.layouts import Job
    from workbench.scale.reading import Place, UnitSides

_OF_WEIGHTS = ("parameter", UNDECIDED)
"""Kinds of findings that a weight may be behind which differs from the start."""


_UPDATED = "compare/after-update"
"""Code of the reason of an input that shows what its operator has made of it."""


def carried_findings(result: Result, sides: UnitSides) -> tuple[Finding, ...]:
    """Return the findings that are about weights as the iteration before left them, on both sides.

    All of those kinds, or none: where a single weight is not as it was left, nothing is said of the others.
    """
    asked = tuple(one for one in result.findings if one.kind in _OF_WEIGHTS)
    if not asked or sides.jobs is None:
        return ()
    records = [index_records(dump) for dump in (sides.target, sides.golden)]
    looks = [_Before(job) for job in sides.jobs]
    for rows in (*(_inputs(result, one) for one in asked), _weights(result, sides)):
        places = [
            (_key(records[0], row, row.target_path), _key(records[1], row, row.golden_path))
            for row in rows
        ]
        known = [one for one in places if None not in one]
        if not known or not all(
            looks[0].has(ours) and looks[1].has(theirs) for ours, theirs in known
        ):
            return ()
    return asked


def _inputs(result: Result, finding: Finding) -> list[Row]:
    """Inputs of the operator of a finding that differ the most."""
    rows = [
        row
        for row in result.rows
        if row.op_name == finding.op_name and row.io == "input" and row.error
    ]
    worst = max((row.error or 0.0 for row in rows), default=0.0)
    return [row for row in rows if (row.error or 0.0) >= worst / 2]


def _weights(result: Result, sides: UnitSides) -> list[Row]:
    """Inputs that fail and are weights, as far as a graph tells; otherwise those of the findings again."""
    graphs = {**sides.golden.graphs, **sides.target.graphs}
    ops = {op.name: op for graph in graphs.values() for op in graph.ops}
    found = []
    for row in result.rows:
        op = ops.get(row.op_name) if row.io == "input" and row.status == "fail" else None
        updated = row.reason_code == _UPDATED
        if op is not None and not updated and isinstance(op.operand(row.slot), Param):
            found.append(row)
    return found or [
        row for one in result.findings if one.kind in _OF_WEIGHTS for row in _inputs(result, one)
    ]


def _key(records: Mapping[Place, TensorRecord], row: Row, path: str) -> TensorKey | None:
    found = records.get((path, row.io, row.slot))
    return None if found is None else found.key


class _Before:
    """What every rank of a job held an iteration earlier."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._known: dict[tuple[int, int, Any], set[bytes]] = {}

    def has(self, key: TensorKey | None) -> bool:
        """Whether all ranks hold what they held an iteration earlier under some name."""
        one = self._job.tensors.get(key._replace(rank=0)) if key is not None else None
        if one is None:
            return False
        try:
            return all(
                _digest(record) in self._digests(rank, record)
                for rank, record in one.records.items()
            )
        except WorkbenchError:
            return False

    def _digests(self, rank: int, record: TensorRecord) -> set[bytes]:
        """Digests of all tensors of a rank an iteration earlier that have the form of one."""
        iteration, spec = record.key.iteration - 1, record.spec
        place = rank, iteration, spec
        if place not in self._known:
            self._known[place] = {
                _digest(other) for other in self._earlier(rank, iteration) if other.spec == spec
            }
        return self._known[place]

    def _earlier(self, rank: int, iteration: int) -> Iterator[TensorRecord]:
        for key, one in self._job.tensors.items():
            record = one.records.get(rank) if key.iteration == iteration else None
            if record is not None and record.source is not None:
                yield record


def _digest(record: TensorRecord) -> bytes:
    return sha256(record.source.array().tobytes()).digest() if record.source is not None else b""
