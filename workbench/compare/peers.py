"""Ranks of a job that do not hold alike what they must: what is behind a collective, and trained weights.

Ranks start with the same weights and read batches of their own; the gradients that they have summed, and the
weights that these update, are the same on all of them, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from workbench.compare.carried import updates
from workbench.compare.findings import ADVICE, CERTAINTY
from workbench.compare.result import Finding
from workbench.core.errors import WorkbenchError
from workbench.dump.tree import Note
from workbench.graph.table.collectives import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.compare.binding import Binding, Block, OpRun
    from workbench.compare.pairs import Pairing
    from workbench.core.tensors import TensorRecord
    from workbench.graph.nodes import Graph

_PARTS = ("ReduceScatter", "HcomReduceScatter")
_OWN = ("BatchNorm", "BatchNormExt", "BNTrainingUpdate")
"""Their moments are those of a rank's own batches."""


class Outlier(NamedTuple):
    """A tensor that ranks do not hold alike; ``ranks`` are those that differ from most, or all of them."""

    run: OpRun
    io: str
    slot: int
    name: str
    ranks: tuple[int, ...]
    others: tuple[int, ...]

    def __str__(self) -> str:
        place = f"{self.name} of iteration {self.run.block.iteration}"
        shown = ", ".join(map(str, self.ranks))
        if not self.others:
            return f"ranks {shown} differ from each other in {place}, which all must hold alike"
        rest = ", ".join(map(str, self.others))
        word, peers = ("ranks", "differ") if len(self.ranks) > 1 else ("rank", "differs")
        return f"{word} {shown} {peers} from {rest} in {place}, which all must hold alike"


def find_outlier(binding: Binding) -> Outlier | None:
    """Return the first tensor that not all ranks hold alike; ``None`` if there is none, or one rank alone."""
    groups: dict[tuple[int, ...], list[Block]] = {}
    for block in binding.runs:
        groups.setdefault((block.iteration, block.graph_id, block.turn), []).append(block)
    for place in sorted(groups):
        blocks = sorted(groups[place])
        graph = binding.graph(blocks[0])
        if len(blocks) < 2 or graph is None:
            continue
        for number, io, slot, name in _alike(graph):
            found = _compared(binding, blocks, graph.ops[number].name, (io, slot), name)
            if found is not None:
                return found
    return None


def _alike(graph: Graph) -> Iterator[tuple[int, str, int, str]]:
    """Tensors of a graph that all ranks hold alike: operator, slot, name."""
    meet = any(op.op_type in COLLECTIVES for op in graph.ops)
    for number, op in enumerate(graph.ops) if meet else ():
        if op.op_type in COLLECTIVES and op.op_type not in _PARTS:
            for slot in range(len(op.outputs)):
                yield number, "output", slot, f"output.{slot} of {op.name}"
        for slot, name in updates(graph, op) if op.op_type not in _OWN else ():
            yield number, "input", slot, name


def _compared(
    binding: Binding, blocks: Sequence[Block], op_name: str, key: tuple[str, int], name: str
) -> Outlier | None:
    """Compare a tensor on all ranks that dumped it."""
    found: dict[int, tuple[OpRun, bytes]] = {}
    for block in blocks:
        graph = binding.graph(block)
        number = graph.by_name.get(op_name) if graph is not None else None
        run = binding.runs[block].get(-1 if number is None else number)
        record = run.tensors.get(key) if run is not None else None
        digest = _digest(record) if record is not None else None
        if run is not None and digest is not None:
            found[block.rank] = run, digest
    counts = Counter(digest for _, digest in found.values())
    if len(counts) < 2:
        return None
    (most, count), (_, second) = counts.most_common(2)
    others = tuple(rank for rank, (_, digest) in found.items() if digest == most)
    others = others if count > second else ()
    ranks = tuple(rank for rank in found if rank not in others)
    return Outlier(found[ranks[0]][0], *key, name, ranks, others)


def _digest(record: TensorRecord) -> bytes | None:
    """Return a digest of a tensor's values; ``None`` if they cannot be read."""
    if record.source is None:
        return None
    try:
        array = record.source.array()
    except (WorkbenchError, OSError):
        return None
    return hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).digest()


def with_outlier(findings: Sequence[Finding], pairing: Pairing) -> list[Finding]:
    """Tell which rank differs from its peers at its first defect; it is a defect of its own if there is none.

    On the golden side it is an anomaly.
    """
    odd = find_outlier(pairing.golden)
    if odd is not None:
        pairing.notes.append(("golden", Note("rank", odd.run.op_name, str(odd))))
    found, outlier = list(findings), find_outlier(pairing.target)
    if outlier is None:
        return found
    for place, finding in enumerate(found):
        if finding.defect and finding.rank in outlier.ranks:
            evidence = (*finding.evidence, str(outlier))
            return [*found[:place], replace(finding, evidence=evidence), *found[place + 1 :]]
    run = outlier.run
    own = Finding(
        "rank", run.op_name, run.op_type, run.block.graph_id, run.block.iteration,
        outlier.io, outlier.slot, CERTAINTY["rank"], None, None, None, (str(outlier),), ADVICE["rank"], None,
        rank=outlier.ranks[0],
    )  # fmt: skip
    return [*(one for one in found if one.defect), own, *(one for one in found if not one.defect)]
