"""Explain the origins of errors: one row for every way, the surest first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.comparison.explain.explain import UNEXPLAINED, Explanation, explain
from workbench.comparison.explain.origins import Origin, Origins, own_trial, trial_beside
from workbench.comparison.explain.overwrites import blame_writers, infer_writers
from workbench.comparison.replay.attempt import TROUBLE

if TYPE_CHECKING:
    from workbench.comparison.follow.flow import Trace
    from workbench.comparison.follow.states import Assessment
    from workbench.comparison.replay.replay import Replay

MOST = 12
"""Origins that are explained; behind the first few come consequences."""


def explain_origins(flow: Trace) -> Origins:
    """Return where errors begin with what explains them; the walk stays as it is."""
    origins = tuple(Origin(event) for event in flow.guilty)
    origins = blame_writers(flow, origins)
    origins = explain_errors(flow, origins)
    return Origins(infer_writers(flow, origins))


def explain_errors(flow: Trace, origins: tuple[Origin, ...]) -> tuple[Origin, ...]:
    """Explain origins without a named difference by what they gave; the first ones, in order."""
    replayed = flow.replayed
    if replayed is None:
        return origins
    asked = [n for n, one in enumerate(origins) if not one.event.differences][:MOST]
    found = {n: _explanation(replayed, origins[n].event) for n in asked}
    return tuple(replace(one, explanation=found.get(n)) for n, one in enumerate(origins))


def _explanation(replayed: Replay, event: Assessment) -> Explanation | None:
    """The best explanation of what an operator gave; beside the golden where its inputs are not known."""
    known = event.replayed is not None and event.replayed.suspect
    try:
        trial = (
            own_trial(replayed, event, with_earlier=True)
            if known
            else trial_beside(replayed, event)
        )
        return None if trial is None else _first(explain(trial))
    except TROUBLE:
        return None


def _first(found: list[Explanation]) -> Explanation | None:
    """The best explanation, one with a name before none at all."""
    return next((one for one in found if one.kind != UNEXPLAINED or one is found[0]), None)
