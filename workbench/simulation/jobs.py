"""Jobs whose ranks share one network: what is asked for, and the job that comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.core.files import write_text
from workbench.graph.control_flow import graphs_of
from workbench.npu.faults import LINKS, check_faults, check_links, parse_fault
from workbench.run.parallel import Parallel
from workbench.simulation.split import split_network

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from workbench.graph.control_flow import Network
    from workbench.npu.faults import Fault
    from workbench.npu.target import Target
    from workbench.simulation.process import Job


def as_parallel(given: Parallel | str | None, ranks: int = 1) -> Parallel | None:
    """Read how ranks share a network; raises GraphError for other text, and for another number of ranks."""
    if given is None or given == "":
        return None
    found = Parallel.of(given) if isinstance(given, str) else given
    if ranks not in (1, found.ranks):
        raise GraphError("simulation/split-ranks", parallel=str(found), need=found.ranks, got=ranks)
    return found


def split_job(job: Job, parallel: Parallel, target: Target) -> Job:
    """Return a job whose ranks share its one network; raises GraphError for several, or one that cannot be cut.

    How the graph engine exchanges tokens is not simulated: its ``HcomAllToAllV`` takes counts of elements.
    """
    if len(job.networks) > 1:
        raise GraphError("simulation/split-several", names=[one.name for one in job.networks])
    if job.feeds is not None:
        raise GraphError("simulation/split-feeds")
    if parallel.ep > 1 and target.is_compiled:
        raise GraphError("simulation/split-compiled", got=target.surface)
    split = split_network(job.networks[0], parallel)
    ops = [op for graph, _ in split.stages for op in graph.ops]
    check_faults(target.faults, ops, split.graph.name)
    return replace(job, split=split)


def link_faults(faults: Sequence[Fault | str]) -> tuple[list[Fault], tuple[Fault, ...]]:
    """Read faults and part those of devices from those of links; raises GraphError for what is none."""
    parsed = [parse_fault(one) if isinstance(one, str) else one for one in faults]
    links = tuple(one for one in parsed if one.kind in LINKS)
    return [one for one in parsed if one.kind not in LINKS], links


def with_links(job: Job, links: tuple[Fault, ...]) -> Job:
    """Return a job with faults of its links; raises GraphError where one meets no collective."""
    if not links:
        return job
    if job.split is None:
        ops = [op for network in job.networks for graph in graphs_of(network) for op in graph.ops]
    else:
        ops = [op for graph, _ in job.split.stages for op in graph.ops]
    check_links(links, ops if job.ranks > 1 else [], job.networks[0].name)
    return replace(job, links=links)


def write_layouts(network: Network, parallel: Parallel, path: str | Path) -> Path:
    """Write how each tensor of a network lies on the ranks of a job, as `workbench.scale.layouts` reads it."""
    return write_text(path, split_network(network, parallel).layouts_text())
