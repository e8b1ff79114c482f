"""A job as parquet: a row for every unit, for anyone's pandas."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from workbench._values import NamedTuple
from workbench.session.parquet import load_pyarrow, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.scale.job import JobResult
    from workbench.scale.summary import FirstDivergence, UnitSummary

METADATA = b"workbench.job"
"""Key of the file's metadata under which the rest of the result stands as JSON."""


class JobColumn(NamedTuple):
    """A column: name, kind, unit, meaning, and what it holds of a unit."""

    name: str
    kind: Literal["int64", "float64", "string"]
    unit: str
    meaning: str
    read: Callable[[UnitSummary], Any]


def _of(name: str) -> Callable[[UnitSummary], Any]:
    return lambda one: getattr(one, name)


def _of_divergence(which: str, name: str) -> Callable[[UnitSummary], Any]:
    def read(one: UnitSummary) -> Any:
        divergence: FirstDivergence | None = getattr(one, which)
        return None if divergence is None else getattr(divergence, name)

    return read


COLUMNS: tuple[JobColumn, ...] = (
    JobColumn("rank", "int64", "", "rank", _of("rank")),
    JobColumn("iteration", "int64", "", "iteration", _of("iteration")),
    JobColumn("state", "string", "", "done, failed or waiting", _of("state")),
    JobColumn("verdict", "string", "", "verdict of the unit among its peers", _of("verdict")),
    JobColumn("tensors", "int64", "tensors", "pairs", _of("tensors")),
    JobColumn("equal", "int64", "tensors", "pairs that are equal", _of("equal")),
    JobColumn("passed", "int64", "tensors", "pairs that pass", _of("passed")),
    JobColumn("warned", "int64", "tensors", "pairs with a warning", _of("warned")),
    JobColumn("failing", "int64", "tensors", "pairs that fail", _of("failing")),
    JobColumn("uncompared", "int64", "tensors", "pairs without a figure", _of("uncompared")),
    JobColumn("unmatched", "int64", "tensors", "tensors without a partner", _of("unmatched")),
    JobColumn("nonfinite", "int64", "elements", "positions that differ in NaN, Inf or finite", _of("nonfinite")),
    JobColumn("error", "float64", "1", "worst relative error of all pairs", _of("error")),
    JobColumn("worst", "string", "", "operator that has it", _of("worst")),
    JobColumn("first", "string", "", "first divergent operator of the rank's own", _of_divergence("first", "op_name")),
    JobColumn("first_type", "string", "", "its type", _of_divergence("first", "op_type")),
    JobColumn("first_kind", "string", "", "kind of the finding", _of_divergence("first", "kind")),
    JobColumn("first_order", "int64", "", "its place in data-flow order", _of_divergence("first", "order")),
    JobColumn("first_error", "float64", "1", "its error", _of_divergence("first", "error")),
    JobColumn("first_source", "string", "", "line of the network's source", _of_divergence("first", "source")),
    JobColumn("received", "string", "", "first of those in which ranks meet", _of_divergence("received", "op_name")),
    JobColumn("reason", "string", "", "why the unit failed", _of("reason")),
)  # fmt: skip


def parquet_of(job: JobResult) -> bytes:
    """Return a job as a file of parquet; raises WorkbenchError without pyarrow."""
    pa = load_pyarrow()
    rest = job.to_json() | {"units": []}
    kinds = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string()}
    fields = [
        pa.field(one.name, kinds[one.kind], metadata={"unit": one.unit, "meaning": one.meaning})
        for one in COLUMNS
    ]
    values = [
        pa.array([_storable(one.read(unit)) for unit in job.units], kinds[one.kind])
        for one in COLUMNS
    ]
    schema = pa.schema(fields, {METADATA: json.dumps(rest, allow_nan=False).encode()})
    out = pa.BufferOutputStream()
    pa.parquet.write_table(pa.Table.from_arrays(values, schema=schema), out, compression="zstd")
    found: bytes = out.getvalue().to_pybytes()
    return found


def _storable(value: Any) -> Any:
    return plain_text(value) if isinstance(value, str) else value
