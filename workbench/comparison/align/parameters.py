"""Which parameters of two graphs are the same: by names, else by what is computed with them, and where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.view import Origin

if TYPE_CHECKING:
    from workbench.comparison.graphs.view import GraphView
    from workbench.graph.graph import Parameter

WRAPPERS = frozenset(("_backbone", "network", "_network", "net", "backbone"))
"""Parts of names that wrappers add (``_backbone.``, ``network.``)."""


def match_parameters(target: GraphView, golden: GraphView) -> dict[int, int]:
    """Match parameters: by name, by a name without the wrapper's prefix, then by kind and position.

    Weights whose names say nothing are matched by all that leads to who reads them. If then as many are left on both
    sides, with the same shapes in the same order, their order tells.
    """
    ours, theirs = target.graph.parameters, golden.graph.parameters
    pairs: dict[int, int] = {}
    _claim(pairs, [p.name for p in ours], [p.name for p in theirs])
    _claim(pairs, [_bare(p.name) for p in ours], [_bare(p.name) for p in theirs])
    left_t, left_g = _left(pairs, ours, theirs, weights=False)
    alone = len(left_t) == len(left_g)
    pairs |= {
        t: g
        for t, g in zip(left_t, left_g, strict=False)
        if alone or ours[t].spec.shape == theirs[g].spec.shape
    }
    if all(_left(pairs, ours, theirs, weights=True)):
        _claim_weights(pairs, target, golden)
    return pairs


def _claim_weights(pairs: dict[int, int], target: GraphView, golden: GraphView) -> None:
    """Match weights without their names."""
    ours, theirs = target.graph.parameters, golden.graph.parameters
    named = {t: f"p{t}" for t in pairs}, {g: f"p{t}" for t, g in pairs.items()}
    _claim(pairs, _uses(target, named[0]), _uses(golden, named[1]))
    left_t, left_g = _left(pairs, ours, theirs, weights=True)
    if [ours[t].spec.shape for t in left_t] == [theirs[g].spec.shape for g in left_g]:
        pairs |= dict(zip(left_t, left_g, strict=True))


def _uses(view: GraphView, names: dict[int, str]) -> list[object]:
    """What is computed with every weight that has no partner: who reads it, and what else leads there."""
    parameters = view.graph.parameters
    shapes = {n: f"shape {parameter.spec.shape}" for n, parameter in enumerate(parameters)}
    digests = view.ancestry({**shapes, **names})
    found: list[object] = []
    for number, parameter in enumerate(parameters):
        readers = view.readers(Origin("param", number))
        known = sorted((digests[n], slot) for n, slot in readers if n in digests)
        use = (shapes[number], tuple(known)) if known and parameter.is_weight else None
        found.append(None if number in names else use)
    return found


def _left(
    pairs: dict[int, int],
    ours: tuple[Parameter, ...],
    theirs: tuple[Parameter, ...],
    *,
    weights: bool,
) -> tuple[list[int], list[int]]:
    """Parameters of both sides without a partner: weights, or feeds."""
    taken = set(pairs.values())
    return (
        [t for t, p in enumerate(ours) if t not in pairs and p.is_weight == weights],
        [g for g, p in enumerate(theirs) if g not in taken and p.is_weight == weights],
    )


def _claim(pairs: dict[int, int], keys: list[object], others: list[object]) -> None:
    """Pair what has the same key, if as many on both sides have it."""
    taken = set(pairs.values())
    index: dict[object, list[int]] = {}
    for g, key in enumerate(others):
        if key and g not in taken:
            index.setdefault(key, []).append(g)
    counts: dict[object, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    for t, key in enumerate(keys):
        candidates = index.get(key) if key and t not in pairs else None
        if candidates and counts[key] == len(candidates):
            counts[key] -= 1
            pairs[t] = candidates.pop(0)


def _bare(name: str) -> str:
    """Name without the prefixes that wrappers add."""
    parts = name.split(".")
    while len(parts) > 1 and parts[0] in WRAPPERS:
        parts.pop(0)
    return ".".join(parts)
