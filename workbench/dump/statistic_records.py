"""Rows of statistics as records of a run, and records as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.dump.data_types import data_type_of, packed_bytes
from workbench.dump.names import NameParts
from workbench.dump.statistic import StatisticRow

if TYPE_CHECKING:
    from collections.abc import Mapping


def record_of(
    row: StatisticRow,
    *,
    graph_id: int = 0,
    iteration: int = 0,
    rank: int = 0,
    net_name: str = "",
    path: str = "",
) -> TensorRecord:
    """Return a row as a record without data; its place in the run is not in the row."""
    parts = row.parts
    key = TensorKey(
        parts.op_type, parts.op_name, parts.io, parts.slot, graph_id, iteration, rank, net_name
    )
    return TensorRecord(
        key,
        TensorSpec(parts.dtype, row.shape, parts.format),
        statistics=row.statistics,
        timestamp_us=parts.timestamp_us,
        task_id=parts.task_id,
        stream_id=parts.stream_id,
        path=path,
    )


def row_of(
    record: TensorRecord, statistics: Mapping[str, float | str] | None = None
) -> StatisticRow:
    """Return a record as a row; ``statistics`` in place of its own.

    Its size is that of its elements as a file packs them. Raises FormatError if the record states no
    shape, or a number format of unknown size.
    """
    key, label = record.key, record.label
    size = label.size
    if label.shape is None or size is None:
        message = f"record of {key.op_name} must state its shape, got {label.shape}"
        raise FormatError(message)
    parts = NameParts(
        key.op_type, key.op_name, record.task_id, record.stream_id, record.timestamp_us,
        key.io, key.slot, label.format, label.dtype,
    )  # fmt: skip
    nbytes = packed_bytes(data_type_of(label.dtype), size)
    own = record.statistics if statistics is None else statistics
    return StatisticRow(parts, nbytes, label.shape, dict(own or {}))
