"""Our rows and figures of offline models against those of msaccucmp, for containers and graphs that we made.

The record comes from `make conformance-msaccucmp`; ``docs/evidence/conformance.md`` says how. The dumps are made
again here; a checksum of every file tells whether another BLAS has rounded otherwise, and only figures of the
same files are compared.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from kit.build import msaccucmp_pairs as pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.comparison.result import Row

ROOT = Path(__file__).parents[3]
RECORD = json.loads((ROOT / "tests/data/conformance/msaccucmp_26.2.0.json").read_text())

STATISTICS = "StandardDeviation"
"""Mean and deviation of both sides in one text: ``(mean;deviation),(mean;deviation)``, three decimals."""

NEW = ("TargetMean", "TargetStd", "GoldenMean", "GoldenStd")
RELATIVE = ("AccumulatedRelativeError", "MeanRelativeError", "MaxRelativeError")
SINGLE = float(np.finfo(np.float32).eps)


class Pair(NamedTuple):
    """What both tools say of one tensor."""

    row: Row
    theirs: dict[str, str]

    def golden(self) -> Any:
        return np.load(self.row.golden_path)


class Compared(NamedTuple):
    """All rows of ours that have a golden by tensor, and those of the record whose files are the same."""

    rows: dict[str, Row]
    golden: Path
    pairs: dict[str, Pair]


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> dict[str, Compared]:
    root = tmp_path_factory.mktemp("msaccucmp")
    return {name: _compare(name, root / str(n)) for n, name in enumerate(pairs.CASES)}


def _compare(name: str, folder: Path) -> Compared:
    pair, record = pairs.build(name, folder), RECORD["pairs"][name]
    found = wb.compare(
        folder / "tree", pair.golden, target_graph=pair.graph, golden_graph=pair.network
    )
    rows = {f"{row.op_name}:{row.io}:{row.slot}": row for row in found.rows if row.match_rule}
    sums = pairs.checksums(pair)
    same = {file for file, checksum in record["sums"].items() if sums[file] == checksum}
    both = {}
    for tensor, _, _, *figures in record["rows"]:
        row = rows.get(tensor)
        if row and {Path(row.target_path).name, Path(row.golden_path).name} <= same:
            both[tensor] = Pair(row, dict(zip(RECORD["figures"], figures, strict=True)))
    return Compared(rows, pair.golden, both)


@pytest.mark.parametrize("name", pairs.CASES)
def test_the_same_tensors_have_a_golden(compared, name):
    assert set(compared[name].rows) == {row[0] for row in RECORD["pairs"][name]["rows"]}


@pytest.mark.parametrize("name", pairs.CASES)
def test_a_tensor_has_the_same_golden_values(compared, name):
    """Not always the same file: of what only reshapes we name the producer, msaccucmp the operator itself."""
    rows, folder = compared[name].rows, compared[name].golden
    other = []
    for tensor, op, slot, *_ in RECORD["pairs"][name]["rows"]:
        [theirs] = folder.glob(f"{re.sub(r'[/.]', '_', op)}.{slot}.*.npy")
        if not np.array_equal(np.load(rows[tensor].golden_path).ravel(), np.load(theirs).ravel()):
            other.append(f"{tensor}: {rows[tensor].golden_path}, theirs {theirs}")
    assert other == []


# --- figures ---------------------------------------------------------------------------------------


def differences(pair: Pair) -> list[str]:
    """Titles of the figures that are not the same."""
    titles = [title for title in pair.theirs if title != STATISTICS and not _agrees(pair, title)]
    return titles + ([] if _statistics_agree(pair) else [STATISTICS])


def _agrees(pair: Pair, title: str) -> bool:
    """msaccucmp computes in float32 and prints six decimals."""
    ours, theirs = pair.row.metrics[title], float(pair.theirs[title])
    size = pair.golden().size if title == RELATIVE[0] else 1
    return abs(ours - theirs) <= 5.1e-7 + SINGLE * (16 * abs(ours) + size)


def _statistics_agree(pair: Pair) -> bool:
    theirs = [
        float(text) for text in pair.theirs[STATISTICS].strip("()").replace("),(", ";").split(";")
    ]
    ours = [pair.row.metrics[title] for title in NEW]
    return all(abs(a - b) <= 5.1e-4 for a, b in zip(ours, theirs, strict=True))


class Explained(NamedTuple):
    titles: tuple[str, ...]
    holds: Callable[[Pair], bool]
    why: str


FIGURES = tuple(RECORD["figures"])

EXPLAINED = {
    "golden is 0": Explained(
        RELATIVE,
        lambda pair: bool(np.any(pair.golden() == 0)),
        "msaccucmp leaves elements out whose golden is 0; we divide by the golden's largest magnitude",
    ),
    "NaN in the target": Explained(
        FIGURES,
        lambda pair: pair.row.metrics["TargetNaN"] > 0,
        "one NaN makes every figure of msaccucmp NaN; we count, fail, and measure the rest",
    ),
    "truth values": Explained(
        FIGURES,
        lambda pair: pair.golden().dtype == np.bool_,
        "msaccucmp has few figures for truth values; we measure them as 0 and 1",
    ),
}
"""Where we disagree with msaccucmp: the figures, the condition under which they may, and why."""


@pytest.fixture(scope="module")
def found(compared) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Every figure that differs, by pair: what both say, and what explains it."""
    return {
        name: [
            (f"{tensor} {title}: {pair.row.metrics.get(title)}, theirs {pair.theirs[title]}", _why(pair, title))
            for tensor, pair in each.pairs.items()
            for title in differences(pair)
        ]
        for name, each in compared.items()
    }  # fmt: skip


def _why(pair: Pair, title: str) -> tuple[str, ...]:
    return tuple(key for key, one in EXPLAINED.items() if title in one.titles and one.holds(pair))


@pytest.mark.parametrize("name", pairs.CASES)
def test_figures_are_msaccucmps_or_the_difference_is_explained(found, name):
    assert [text for text, reasons in found[name] if not reasons] == []


@pytest.mark.parametrize("reason", EXPLAINED)
def test_every_explanation_is_needed(found, reason):
    """Without it, some difference would be unexplained."""
    assert any(reasons == (reason,) for each in found.values() for _, reasons in each)


def test_most_figures_are_compared(compared):
    """Convolutions and products of matrices may round otherwise elsewhere, what copies and rounds cannot."""
    counted = sum(len(each.pairs) for each in compared.values())
    assert counted >= 0.25 * sum(len(one["rows"]) for one in RECORD["pairs"].values())
    assert all(
        math.isfinite(float(p.theirs[FIGURES[0]])) for p in compared["cnn a2"].pairs.values()
    )
