"""Measure one seed: draw its pairs of graphs, align them and count."""

from __future__ import annotations

from typing import Any

from aligning.cases import NETWORKS, draw
from aligning.scoring import score

MISTAKES = 12
"""Mistakes of one pair that are kept in words."""


def measure_seed(seed: int, networks: tuple[str, ...] = NETWORKS) -> list[dict[str, Any]]:
    """The counts of every pair of a seed, as JSON has them."""
    found = []
    for case in draw(seed, networks):
        counts, wrong = score(case)
        found.append(
            {
                "seed": seed,
                "network": case.network,
                "row": case.row,
                "hints": case.hints,
                "done": list(case.done),
                **counts.to_json(),
                "mistakes": wrong[:MISTAKES],
            }
        )
    return found
