"""Explain the origins of errors: one row for every way, the surest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.explain.exchanged import blame_files, is_exchanged
from workbench.comparison.explain.explain import UNEXPLAINED, Explanation, explain
from workbench.comparison.explain.inferred import may_be_overwritten
from workbench.comparison.explain.origins import (
    Origin,
    Origins,
    earlier_runs,
    own_trial,
    pair_beside,
    trial_beside,
)
from workbench.comparison.explain.overwrites import blame_writers, infer_writers
from workbench.comparison.explain.symptoms import describe_symptom
from workbench.comparison.replay.attempt import TROUBLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.replay.replay import Replay

    Explain = Callable[[Trace, tuple[Origin, ...], Sequence[int]], tuple[Origin, ...]]


class Explainer(NamedTuple):
    """One way to explain origins.

    Attributes
    ----------
    name : str
        What it goes by.
    first : int
        Origins that it may ask about: behind the first few come consequences.
    among : function
        Which origins count as these.
    applies : function
        Whether it has anything to say about one of them: by what the rows before have left open.
    explain : function
        Gives the origins anew: with an explanation, or with writers in the place of readers. Takes the walk,
        the origins, and the places of those it is asked about.
    why : str
        Why it stands here.
    """

    name: str
    first: int
    among: Callable[[Origin], bool]
    applies: Callable[[Trace, Origin], bool]
    explain: Explain
    why: str


def any_origin(_: Origin) -> bool:
    """Every origin counts."""
    return True


def is_unnamed(origin: Origin) -> bool:
    """No difference says by name what it is."""
    return not origin.event.differences


def always(_: Trace, __: Origin) -> bool:
    """Nothing is needed."""
    return True


def is_of_one_file(_: Trace, origin: Origin) -> bool:
    """Its file and another one do not hold each other's values."""
    return not is_exchanged(origin)


def was_replayed(flow: Trace, _: Origin) -> bool:
    """Operators were computed again."""
    return flow.replayed is not None


def explain_errors(
    flow: Trace, origins: tuple[Origin, ...], asked: Sequence[int]
) -> tuple[Origin, ...]:
    """Explain what operators gave."""
    replayed = flow.replayed
    assert replayed is not None
    found = list(origins)
    for n in asked:
        found[n] = _explained(flow, replayed, origins[n])
    return tuple(found)


def _explained(flow: Trace, replayed: Replay, origin: Origin) -> Origin:
    """An origin with what is certain of what was given, and the best explanation.

    Beside the golden where its inputs are not known. No explanation where what it read is not known, or beside a
    golden of which nobody knows what it was told to compute, or that is off from what it read as well.
    """
    event = origin.event
    known = event.replayed is not None and event.replayed.suspect
    other = flow.pairing.blocks.get(event.block)
    lent = other is not None and other.graph_key in flow.pairing.golden.borrowed
    try:
        trial = own_trial(replayed, event) if known else trial_beside(replayed, event)
        if trial is None:
            return origin
        before = earlier_runs(replayed, event, trial.slot)
        symptom = describe_symptom(trial.given, trial.expected, trial.floor, before)
        silent = event.open_inputs or (not known and (lent or _is_golden_off(replayed, event)))
        found = None if silent else _first(explain(trial))
        return origin._replace(symptom=symptom, explanation=found)
    except TROUBLE:
        return origin


def _is_golden_off(replayed: Replay, event: Assessment) -> bool:
    """Whether the golden's counterpart did not give what it had to."""
    golden = replayed.golden(event.block, event.op)
    return golden is not None and bool(golden.suspect)


def lacks_symptom(_: Trace, origin: Origin) -> bool:
    """Nothing certain is known of what was given."""
    return origin.symptom is None and origin.writer is None


def see_symptoms(_: Trace, origins: tuple[Origin, ...], asked: Sequence[int]) -> tuple[Origin, ...]:
    """Say what is certain of outputs beside the golden's."""
    found = list(origins)
    for n in asked:
        event = origins[n].event
        noise = event.tolerance_factor * (event.expected_error or event.rounding_floor or 0.0)
        try:
            pair = pair_beside(event)
            symptom = None if pair is None else describe_symptom(*pair, noise)
        except TROUBLE:
            continue
        found[n] = origins[n]._replace(symptom=symptom)
    return tuple(found)


def _first(found: list[Explanation]) -> Explanation | None:
    """The best explanation, one with a name before none at all."""
    return next((one for one in found if one.kind != UNEXPLAINED or one is found[0]), None)


EXPLAINERS = (
    Explainer(
        "exchanged files", 12, any_origin, always, blame_files,
        "first: what two files show of each other denies that memory was written over, and any fault of an operator",
    ),
    Explainer(
        "snapshots differ", 12, any_origin, is_of_one_file, blame_writers,
        "two files of one tensor say it without computing anything, and whoever read what lay there did what it "
        "had to: its result needs no explanation, nor does a difference in its settings",
    ),
    Explainer(
        "what was given", 12, is_unnamed, was_replayed, explain_errors,
        "a fault of the operator itself, from what it read, or from what the golden read: more often right, and "
        "cheaper, than an input that nobody has dumped",
    ),
    Explainer(
        "inputs as they must have been", 6, any_origin, may_be_overwritten, infer_writers,
        "free to choose what lay over an input, it fits much: only where no input was dumped and nothing else is "
        "likely. It takes many times as long as to compute the operator",
    ),
    Explainer(
        "symptoms", 12, is_unnamed, lacks_symptom, see_symptoms,
        "last: of what was put on trial it is known, and nothing is certain of what a writer wrote over",
    ),
)  # fmt: skip
"""Ways to explain an origin, in order: the first that decides about it leaves nothing to those behind it.

The first two exclude each other: whoever read damage that two files show has a named difference from the walk, and
of a producer whose readers alone were dumped nothing is known that was given."""


def explain_origins(flow: Trace, explainers: Sequence[Explainer] = EXPLAINERS) -> Origins:
    """Return where errors begin with what explains them; the walk stays as it is."""
    origins = tuple(Origin(event) for event in flow.origins)
    for row in explainers:
        counted = [n for n, one in enumerate(origins) if row.among(one)][: row.first]
        asked = [n for n in counted if row.applies(flow, origins[n])]
        if asked:
            origins = row.explain(flow, origins, asked)
    return Origins(origins)
