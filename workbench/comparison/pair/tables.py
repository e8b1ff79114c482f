"""What is left out of a comparison as columns: what the table holds, declared once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.columns import TEXT, Column, Columns
from workbench.dump.dump import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.comparison.columns import Table
    from workbench.comparison.result import Side

SKIPS = Columns(
    Column("side", TEXT, "Side", "", "target or golden"),
    Column("op_name", TEXT, "OpName", "", "operator, parameter or file that is left out"),
    Column("reason", TEXT, "Reason", "", "fixed word of the reason"),
    Column("detail", TEXT, "Detail", "", "what is said of it; empty if the word says all"),
)
"""Tensors that take no part in a comparison, a row a tensor, in the order in which they were left out."""


def skip_table(skips: Iterable[tuple[Side, Skipped]]) -> Table:
    """Return what was left out of either side as columns."""
    told = list(skips)
    return SKIPS.table(
        {
            "side": [side for side, _ in told],
            "op_name": [one.name for _, one in told],
            "reason": [one.reason for _, one in told],
            "detail": [one.detail for _, one in told],
        }
    )


def skipped(table: Table, side: Side) -> tuple[Skipped, ...]:
    """Return what was left out of one side."""
    rows = (row for row in table if row["side"] == side)
    return tuple(Skipped(row["op_name"], row["reason"], row["detail"]) for row in rows)
