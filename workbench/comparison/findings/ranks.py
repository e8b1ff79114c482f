"""Ranks of a job that do not hold alike what they must: what is behind a collective, and trained weights.

Ranks start with the same weights and read batches of their own; the gradients that they have summed, and the
weights that these update, are the same on all of them, bit for bit.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.bind.binding import Binding
from workbench.comparison.findings.material import Place, finding, place_of_row
from workbench.comparison.follow.ranks import OWN_BATCH, is_replicated, other_ranks, updated_alike
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.dump.dump import Note
from workbench.ops import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.findings.material import Found, Material
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph


class Outlier(NamedTuple):
    """A tensor that ranks do not hold alike; ``ranks`` are those that differ from most, or all of them."""

    run: OperatorRun
    io: str
    slot: int
    name: str | Message
    ranks: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def said(self) -> Message:
        """Who differs from whom."""
        code = "rank-apart-from" if len(self.ranks) == 1 else "ranks-apart-from"
        place = {"name": self.name, "iteration": self.run.block.iteration}
        if not self.others:
            return Message("compare/ranks-apart", ranks=self.ranks, **place)
        return Message(f"compare/{code}", ranks=self.ranks, others=self.others, **place)


def find_outlier(binding: Binding) -> Outlier | None:
    """Return the first tensor that not all ranks hold alike; ``None`` if there is none, or one rank alone."""
    if not any(op.op_type in COLLECTIVES for graph in binding.graphs.values() for op in graph.ops):
        return None
    groups: dict[tuple[int, ...], list[Execution]] = {}
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


def _alike(graph: Graph) -> Iterator[tuple[int, str, int, str | Message]]:
    """Tensors of a graph that all ranks hold alike: operator, slot, name."""
    for number, op in enumerate(graph.ops):
        if op.op_type in COLLECTIVES and is_replicated(graph, op):
            for slot in range(len(op.outputs)):
                name = Message("compare/output-of", slot=slot, op_name=op.name)
                yield number, "output", slot, name
        for slot, updated in updated_alike(graph, op):
            yield number, "input", slot, updated


def _compared(
    binding: Binding,
    blocks: Sequence[Execution],
    op_name: str,
    key: tuple[str, int],
    name: str | Message,
) -> Outlier | None:
    """Compare a tensor on all ranks that dumped it."""
    found: dict[int, tuple[OperatorRun, bytes]] = {}
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
    from hashlib import sha256

    return sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).digest()


def golden_outlier(material: Material) -> Iterator[Note]:
    """Ranks of the golden that differ from their peers, which is an anomaly of it."""
    odd = find_outlier(material.pairing.golden) if material.flow.job is None else None
    if odd is not None:
        yield Note("rank", odd.run.op_name, odd.said)


def tell_of_outlier(found: Sequence[Found], material: Material) -> list[Found]:
    """Tell which rank differs from its peers at its first defect; it is a defect of its own if there is none.

    Two ranks of one job are looked at as the one job that they are.
    """
    pairing, job = material.pairing, material.flow.job
    jobs = _both(pairing.target, pairing.golden) if job is not None else pairing.target
    outlier = find_outlier(jobs)
    if outlier is None:
        return list(found)
    for number, one in enumerate(found):
        if one.defect and (job is not None or one.finding.rank in outlier.ranks):
            told = one.told(outlier.said)
            if job is not None:
                told = _of_job(told, outlier, job)
            return [*found[:number], told, *found[number + 1 :]]
    run = outlier.run
    place = Place(
        run.op_name, run.op_type, run.block.graph_id, run.block.iteration, outlier.ranks[0],
        outlier.io, outlier.slot,
    )  # fmt: skip
    return [*found, finding("rank", place, (outlier.said,), group="ranks")]


def _both(one: Binding, other: Binding) -> Binding:
    """Return all ranks of a job of which there are two trees, or the same one twice."""
    return Binding(one.dump, {**other.graphs, **one.graphs}, {**other.runs, **one.runs})


def _of_job(one: Found, outlier: Outlier, job: tuple[int, ...]) -> Found:
    """Return a defect between two ranks of a job, at the rank that others say is wrong.

    Where nothing names its cause, that they differ at all is what is known.
    """
    known = one.finding
    wrong = [rank for rank in job if rank in outlier.ranks]
    if known.kind == "own-error" and known.op_name == outlier.run.op_name:
        one = one.renamed("rank", (outlier.said, *known.evidence[:-1]))
    return one.changed(rank=wrong[0]) if len(wrong) == 1 else one


def tell_of_two_jobs(found: Sequence[Found], material: Material) -> list[Found]:
    """Say of inputs that differ that ranks of two jobs should not be held together."""
    ranks = other_ranks(material.pairing) if material.flow.job is None else None
    if ranks is None:
        return list(found)
    said = Message("compare/two-jobs", target=ranks[0], golden=ranks[1])
    return [one.told(said) if one.finding.kind == "input" else one for one in found]


def by_design(material: Material) -> Iterator[Found]:
    """What differs between two ranks of a job by design: what comes of batches of their own."""
    job = material.flow.job
    own = [row for row in material.pairs if row.reason == OWN_BATCH]
    if job is None or not own:
        return
    first = min(own, key=lambda row: row.order)
    fed = [name for name in material.flow.rank_local_feeds if name]
    ours, theirs = sorted(job)
    batches = Message("compare/own-batches", target=ours, golden=theirs)
    if fed:
        batches = Message("compare/own-batches-fed", target=ours, golden=theirs, names=fed)
    evidence = (batches, Message("compare/own-batch-rows", count=len(own)))
    yield finding("info", place_of_row(first), evidence)
