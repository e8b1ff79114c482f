"""Trees of small jobs: a training of a few ranks, and one of them wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import workbench as wb
from workbench.network.models import load_graph

if TYPE_CHECKING:
    from pathlib import Path

SURFACE = "mindspore-o0o1"
PRODUCT = "Gradients/Default/network-WithLossCell/_backbone-MLP/head-Dense/Grad_MatMul/MatMul-op0"
"""An operator of the backward part, before ranks meet."""

MEETING = "Default/grad_reducer-DistributedGradReducer/AllReduce-op0"
"""Where ranks meet first."""


def write_job(
    out: Path,
    *,
    ranks: int = 3,
    iterations: int = 2,
    device: str = "a2",
    faults: tuple[str, ...] = (),
) -> Path:
    """Write the tree of a training of ``mlp_train``; every iteration is dumped."""
    graph = load_graph("mlp_train", 0, ranks)
    form = wb.config.new(SURFACE, common_dump_settings__iteration="all")
    return wb.simulate(
        graph, None, form, out, device=device, surface=SURFACE, ranks=ranks,
        iterations=iterations, faults=faults,
    )  # fmt: skip
