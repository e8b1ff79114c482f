"""Tell the axes of a job from what its ranks run: stages have operators of their own, collectives name who meets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.ops import COLLECTIVES
from workbench.run.parallel import Parallel

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from workbench.graph.graph import Op
    from workbench.scale.layouts.files import LayoutTable

_BETWEEN = ("Send", "Receive")
_EXCHANGE = "alltoall"
"""Part of the names of collectives by which ranks of ep exchange tokens, without regard of case."""

_OF_GRADIENTS = ("grad", "Grad")
"""Parts of the names of collectives that data parallel ranks meet in."""

Group = tuple[str, tuple[int, ...]]
"""Name of a collective, and the ranks that meet in it."""


def group_of_op(op: Op) -> Group | None:
    """Return who meets in a collective, where its graph says it; `None` for other operators and for pairs of stages."""
    if op.op_type not in COLLECTIVES or op.op_type in _BETWEEN:
        return None
    known = (op.attrs.get(name) for name in ("group_rank_ids", "rank_list", "group_ranks"))
    ranks: Any = next((one for one in known if one), ())
    if isinstance(ranks, str):
        ranks = [int(one) for one in ranks.split("-") if one.isascii() and one.isdecimal()]
    if not isinstance(ranks, list | tuple) or not all(isinstance(one, int) for one in ranks):
        return None
    return (op.name, tuple(sorted(ranks))) if len(ranks) > 1 else None


def tell_parallel(
    names: Mapping[int, Collection[str]], groups: Collection[Group]
) -> Parallel | None:
    """Return the axes of a job, counted in the usual order; `None` where several ways to share it are left.

    Parameters
    ----------
    names : mapping of rank to names
        What each rank has run: ranks of one stage of a pipeline have run the same.
    groups : collection of (name, ranks)
        Who meets in collectives. Without any, one axis is taken if the number of ranks of a stage is prime.
    """
    ranks = len(names)
    if ranks < 2 or sorted(names) != [*range(ranks)]:
        return None
    left = [
        one
        for one in _ways(ranks)
        if _has_experts(one, groups) and _has_stages(one, names) and _has_groups(one, groups)
    ]
    met = {ranks for _, ranks in groups}
    left = [
        one for one in left if all(_is_met(one, axis, met) for axis in one.axes() if axis != "pp")
    ]
    if not groups and any(one.tp > 1 and one.dp > 1 for one in left):
        return None
    by_data = bool(groups) and all(any(w in name for w in _OF_GRADIENTS) for name, _ in groups)
    left.sort(key=lambda one: (one.tp if by_data else one.dp, one.tp))
    return left[0] if left else None


def _ways(ranks: int) -> Iterator[Parallel]:
    for tp in range(1, ranks + 1):
        for dp in range(1, ranks // tp + 1):
            if ranks % (tp * dp) == 0:
                for ep in (one for one in range(1, dp + 1) if dp % one == 0):
                    yield Parallel(tp=tp, dp=dp, pp=ranks // (tp * dp), ep=ep)


def _has_experts(parallel: Parallel, groups: Collection[Group]) -> bool:
    """Whether those that exchange tokens are the ranks along ep, if anybody does."""
    met = {ranks for name, ranks in groups if _EXCHANGE in name.lower()}
    if parallel.ep == 1 or not met:
        return parallel.ep == 1 and not met
    return all(
        ranks[-1] < parallel.ranks and parallel.group(ranks[0], "ep") == ranks for ranks in met
    )


def _has_stages(parallel: Parallel, names: Mapping[int, Collection[str]]) -> bool:
    """Whether ranks have run the same exactly where they are of one stage."""
    stages: dict[int, set[frozenset[str]]] = {}
    for rank, held in names.items():
        stages.setdefault(parallel.coordinates(rank)["pp"], set()).add(frozenset(held))
    alone = [next(iter(one)) for one in stages.values() if len(one) == 1]
    return len(alone) == len(stages) == len(set(alone))


def _has_groups(parallel: Parallel, groups: Collection[Group]) -> bool:
    """Whether every group is all ranks along one axis or two."""
    ways = [("tp",), ("dp",), ("tp", "dp")]
    ways += [("ep",), ("edp",)] if parallel.ep > 1 else []
    try:
        return all(
            any(parallel.group(ranks[0], *axes) == ranks for axes in ways) for _, ranks in groups
        )
    except GraphError:
        return False


def _is_met(parallel: Parallel, axis: str, met: Collection[tuple[int, ...]]) -> bool:
    """Whether ranks along an axis meet, if anybody does."""
    return not met or parallel.group(0, axis) in met


def are_proven(table: LayoutTable) -> bool:
    """Whether layouts that were told show that ranks hold parts: of one tensor at least they join to the whole."""
    parallel = table.parallel or Parallel()
    return any(
        row.agreed and (parallel.pp > 1 or any(not cut.partial for _, cut in row.layout.cuts))
        for row in table.rows
    )
