"""Pairs and skips as columns: what each table holds, declared once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.columns import TEXT, Column, Columns
from workbench.dump.tree import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.columns import Table
    from workbench.comparison.pair.pairing import Pair, Pairing
    from workbench.comparison.result import Side

PAIRS = Columns(
    Column("execution", "i4", "Execution", "", "number of the target's execution in time; -1: a Parameter file"),
    Column("op", "i4", "Operator", "", "number in the target's graph; below 0: no graph knows it, or a Parameter file"),
    Column("golden_op", "i4", "GoldenOperator", "", "the same on the golden's side"),
    Column("io", TEXT, "Io", "", "input or output of the target's operator"),
    Column("slot", "i4", "Slot", "", "place among the inputs or outputs of the target's operator"),
    Column("golden_slot", "i4", "GoldenSlot", "", "place that the golden's record states"),
    Column("rule", TEXT, "MatchRule", "", "rule that made the pair"),
    Column("score", "f8", "MatchScore", "1", "how sure the pair is, 0 to 1"),
    Column("op_name", TEXT, "OpName", "", "name of the target's operator or parameter"),
    Column("order", "i8", "Order", "", "place of the target's operator in data-flow order over the whole run"),
    Column("target_path", TEXT, "NPUDumpFile", "", "file of the target's tensor"),
    Column("golden_path", TEXT, "GroundTruthFile", "", "file of the golden's tensor"),
)  # fmt: skip
"""Two records that stand for the same tensor, a row a pair."""

SKIPS = Columns(
    Column("side", TEXT, "Side", "", "target or golden"),
    Column("op_name", TEXT, "OpName", "", "operator, parameter or file that is left out"),
    Column("reason", TEXT, "Reason", "", "fixed word of the reason"),
    Column("detail", TEXT, "Detail", "", "what is said of it; empty if the word says all"),
)
"""Tensors that take no part in a comparison, a row a tensor, in the order in which they were left out."""


def pair_table(pairing: Pairing) -> Table:
    """Return the pairs of a pairing as columns."""
    numbers = {block: number for number, block in enumerate(pairing.block_order)}
    pairs = pairing.pairs
    return PAIRS.table(
        {
            "execution": [_execution(pair, numbers) for pair in pairs],
            "op": [-1 if pair.run is None else pair.run.op for pair in pairs],
            "golden_op": [-1 if pair.golden_run is None else pair.golden_run.op for pair in pairs],
            "golden_slot": [pair.golden.key.slot for pair in pairs],
            "target_path": [pair.target.path for pair in pairs],
            "golden_path": [pair.golden.path for pair in pairs],
            **{
                name: [getattr(pair, name) for pair in pairs]
                for name in ("io", "slot", "rule", "score", "op_name", "order")
            },
        }
    )


def _execution(pair: Pair, numbers: Mapping[Execution, int]) -> int:
    return -1 if pair.run is None else numbers[pair.run.block]


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
