"""The limits that judgement rests on, in one place: their values, units, meanings and who reads them.

A comparison reads them by `limits`; whoever compares may change them (`using`), to see what a verdict hangs on.
What bounds memory and time, sizes of chunks and numbers that a format or a device has stand where they are used.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, field
from typing import TYPE_CHECKING, TypeVar

from workbench._values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_Number = TypeVar("_Number", int, float)

_CLEAN = "every clean pair of real dumps we know"
_UNRECORDED = "not recorded"
_OUTLIERS = "86 clean runs with outlier channels, 61 device modes: no slice above 0.02 but hifloat8"
_ROUNDING = "× expected rounding"
_ERROR = "relative error"


def _row(default: _Number, unit: str, stages: str, measured_on: str, meaning: str) -> _Number:
    """A limit: its default, and as metadata what the others say; ``stages`` are the rooms that read it."""
    about = {"unit": unit, "stages": stages, "measured_on": measured_on, "meaning": meaning}
    return field(default=default, metadata=about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a judgement rests on. The metadata of a field say its unit, meaning, origin and stages.

    Raises ValueError for a limit that is no positive number.
    """

    # fmt: off
    # How much error is expected
    pass_factor: float = _row(
        8.0, _ROUNDING, "measure repeats follow findings results scale", _CLEAN,
        "Measured noise stays below it.",
    )
    steady_factor: float = _row(
        3.0, _ROUNDING, "follow", _UNRECORDED,
        "The same where the conditioning is known.",
    )
    steps_factor: float = _row(
        4.0, _ROUNDING, "follow", "layers of our networks reach 1.3",
        "The same for a layer whose quantization steps are known; the rest is for sums that cancel.",
    )
    named_factor: float = _row(
        2.0, _ROUNDING, "follow", _UNRECORDED,
        "The same where both graphs already differ in the operator's settings.",
    )
    excused_most: float = _row(
        0.3, _ERROR, "measure follow explain", "products of hifloat8 in our networks stay below 0.1",
        "Most that expected rounding excuses after `pass_factor`. Zeros are off by 1, and half as much again by 0.5.",
    )
    masked_most: float = _row(
        1.5, _ERROR, "measure", "derived",
        "Most that noise makes of a gradient that passes elements or not: elsewhere is √2, the other sign 2.",
    )
    sums_least: float = _row(
        2.4e-6, _ERROR, "measure", "a second numeric model: benchmarks/clean.py --noise 4e-6",
        "Expected rounding of a sum in float32 whose order is not known, however few terms it has.",
    )
    amplification: float = _row(
        2.0, "× inherited error", "repeats follow views", _UNRECORDED,
        "Growth of error through one well-conditioned operator that still counts as inherited.",
    )
    envelope_factor: float = _row(
        3.0, "× envelope", "results", "transformers in float32, float16 and bfloat16: 1.6 where nothing is wrong",
        "Error, or that of the worst slice, above which it is no rounding.",
    )
    envelope_slice: int = _row(
        8, "elements", "measure", "derived: the error of a slice of fewer is chance",
        "Fewest elements of a slice that is held against its envelope.",
    )
    repeat_factor_one: float = _row(
        3.0, "× largest error between runs", "repeats", "nothing wrong: 2.5 (benchmarks/repeats.py, 48 targets)",
        "Error that one other run of the target explains.",
    )
    repeat_factor_two: float = _row(
        2.0, "× largest error between runs", "repeats", "nothing wrong: 1.53 (the same 48)",
        "Error that two other runs of the target explain.",
    )
    repeat_factor_three: float = _row(
        1.8, "× largest error between runs", "repeats", "nothing wrong: 1.53 (the same 48)",
        "Error that three or more other runs of the target explain.",
    )
    repeat_elements: int = _row(
        64, "elements", "repeats", "derived: the error of fewer between two runs is chance",
        "Fewest elements of a tensor whose own error between runs counts alone.",
    )
    repeat_least: float = _row(
        50.0, "%", "repeats", "derived: half of another network does not match",
        "Least share of the target's tensors that another run of it has.",
    )
    # What the walk through the data flow concludes
    adapted_step: float = _row(
        3.2, "× learning rate", "follow", "derived: (1 − β₁) / √(1 − β₂) of Adam's defaults",
        "Largest step of an element where the optimizer divides it by its own length.",
    )
    turned_step: float = _row(
        2.0, _ERROR, "follow", "derived",
        "Error of a direction of which every sign is another one.",
    )
    fit_operators: int = _row(
        3, "operators", "follow", _UNRECORDED,
        "Operators reproduced by the forecast before less than the number format is expected.",
    )
    fit_least: float = _row(
        1e-5, _ERROR, "follow", "derived: figures have six digits, summed up in float32",
        "Smallest expected error beside a forecast; from it on an operator shows that the device rounds otherwise.",
    )
    golden_few: float = _row(
        0.01, "share", "follow", _UNRECORDED,
        "Elements of a weight that are few.",
    )
    golden_neighbors: int = _row(
        64, "elements", "follow", _UNRECORDED,
        "Neighbors of a weight that one number may stand in.",
    )
    masking_weight: float = _row(
        2.0**-7, _ERROR, "follow", "derived",
        "Error of a weight that no number format makes but those of 8 bits (after `pass_factor`).",
    )
    flag_largest: int = _row(
        64, "elements", "follow", _UNRECORDED,
        "A flag or a float status has no more.",
    )
    # What an operator adds by itself
    suspect_factor: float = _row(
        3.0, _ROUNDING, "replay follow explain findings", _UNRECORDED,
        "A local error above it is suspect.",
    )
    outlier_factor: float = _row(
        3.0, "× largest of its like", "replay", _UNRECORDED,
        "How suspect an operator is that alone of its like is not reproduced to the bit.",
    )
    bit_share: float = _row(
        1e-3, "share", "replay", _UNRECORDED,
        "Elements that may be another number where an operator counts as reproduced to the bit.",
    )
    coarse_share: float = _row(
        0.3, "× one rounding", "replay", "derived",
        "Error from which an operator is off by a rounding; one rounding at random is 0.58.",
    )
    slice_least: float = _row(
        2.0**-5, _ERROR, "measure replay", "derived: what `pass_factor` roundings of bfloat16 make",
        "A slice (channel, row, tile) that is off by less is left to the norm of its tensor.",
    )
    slice_factor: float = _row(
        8.0, _ROUNDING, "replay", _OUTLIERS,
        "A slice whose local error is beyond it is suspect, whatever the norm of its tensor says.",
    )
    slice_approximation: float = _row(
        2.0**-9, _ERROR, "replay", "derived: GeLU by tanh is off by 2^-10 of its largest input",
        "What a fast approximation may leave in an element, against it and against the mean of the result.",
    )
    peers_exact: int = _row(
        3, "operators", "replay", _UNRECORDED,
        "Operators of the same unit reproduced to the bit before one that is not is suspect for it.",
    )
    kernels_alike: int = _row(
        2, "kernels", "replay", _UNRECORDED,
        "Kernels reproduced to the bit before their steps are known to round nothing inside of others.",
    )
    bias_certainty: float = _row(
        8.0, "standard deviations", "measure findings", "2,000 healthy tensors (benchmarks/bias.py)",
        "A common factor is told from chance.",
    )
    bias_narrow: float = _row(
        0.125, "× spacing at 1", "measure findings", "2,000 healthy tensors (benchmarks/bias.py)",
        "Common factor, less 1, that healthy operators do not reach in formats of 16 bits.",
    )
    bias_wide: float = _row(
        1.0, "× spacing at 1", "measure", "2,000 healthy tensors (benchmarks/bias.py)",
        "The same in float32.",
    )
    bias_alone: float = _row(
        1e-5, _ERROR, "findings", "a scale of 1/√8 in a real IR: 1.1e-6 off",
        "Common factor that is not reported where the golden's operator was not replayed: constants have six digits.",
    )
    cut_share: float = _row(
        0.95, "share", "replay", "2,000 healthy tensors (benchmarks/bias.py)",
        "Elements off by a step toward 0, of all that are off, where bits are cut off instead of rounded.",
    )
    grid_share: float = _row(
        0.1, "share", "replay", "our networks, every operator altered alike",
        "Elements that should not be numbers of a coarser format, where all that were written are.",
    )
    replay_equal: float = _row(
        1e-6, _ERROR, "replay", _UNRECORDED,
        "Below it two models of the device are equally good.",
    )
    otherwise_share: float = _row(
        0.25, "share", "replay", _UNRECORDED,
        "Operators that may do otherwise than the others without telling anything of the unit.",
    )
    forecast_tried: int = _row(
        32, "operators", "replay", _UNRECORDED,
        "Operators with statistics after which only models stay that do as well as the best.",
    )
    forecast_clearly: float = _row(
        20.0, "decades", "replay", _UNRECORDED,
        "Error, summed over all tensors, by which a model that does worse is left before that.",
    )
    forecast_as_well: float = _row(
        1.0, "decades", "replay", _UNRECORDED,
        "Error by which a model may do worse than the best after that.",
    )
    forecast_equal: float = _row(
        1e-8, _ERROR, "replay", _UNRECORDED,
        "Below it two models are equally good.",
    )
    # What belongs together
    links_enough: int = _row(
        256, "links", "bind", _UNRECORDED,
        "Links looked at for one rule: the rules differ in every one they get wrong.",
    )
    evidence_least: float = _row(
        1.4, "weight", "align", _UNRECORDED,
        "Evidence below which two operators are not called the same.",
    )
    evidence_enough: float = _row(
        5.0, "weight", "align", _UNRECORDED,
        "Evidence that leaves no doubt: less is scored as its share of this.",
    )
    score_carried: float = _row(
        0.8, "score", "align", _UNRECORDED,
        "Of casts and the like that are matched because both carry the same value on.",
    )
    score_handed: float = _row(
        0.7, "score", "align", _UNRECORDED,
        "Of casts and the like that are matched because matched operators read both.",
    )
    score_ends: float = _row(
        0.6, "score", "align", _UNRECORDED,
        "Of operators that are matched because both end the same region.",
    )
    group_largest: int = _row(
        16, "pairs", "align", _UNRECORDED,
        "Pairs of operators up to which a group of several on both sides says that they belong together.",
    )
    alike_most: int = _row(
        64, "operators", "align", _UNRECORDED,
        "Operators that compute the same up to which readers, shapes and names tell them apart.",
    )
    hint_most: int = _row(
        64, "operators", "graphs", _UNRECORDED,
        "Operators of one type up to which a common source line, scope or input is a hint that two are the same.",
    )
    graph_likeness: float = _row(
        0.5, "share", "pair", _UNRECORDED,
        "Operators two graphs must have in common to be compared under different ids.",
    )
    graph_sure: float = _row(
        0.95, "share", "pair", _UNRECORDED,
        "Operators in common from which on no other graph is tried: training and evaluation share half.",
    )
    # Why an operator is wrong
    guess_met: float = _row(
        0.9, "share", "explain", _UNRECORDED,
        "Of what was given: a guess that leaves more has nothing of it.",
    )
    grain_share: float = _row(
        0.1, _ROUNDING, "explain", _UNRECORDED,
        "To so much the numbers of an output are described.",
    )
    grain_least: float = _row(
        1e-9, _ERROR, "explain", _UNRECORDED,
        "No number is described more finely.",
    )
    gap_far: float = _row(
        100.0, "× `grain_share`", "explain", _UNRECORDED,
        "From about here on a gap is none of noise.",
    )
    gap_numbers: float = _row(
        3.0, "free numbers", "explain", _UNRECORDED,
        "Counted for an element whose gap is none of noise.",
    )
    element_beyond: float = _row(
        6.0, "× expected noise", "explain", _UNRECORDED,
        "An element that differs by more is off.",
    )
    floor_closer: float = _row(
        4.0, "×", "explain", _UNRECORDED,
        "The expected rounding of a case is lowered by no more.",
    )
    bits_near: float = _row(
        4.0, "last bits", "explain", _UNRECORDED,
        "Elements that differ by no more may be right but for rounding.",
    )
    bits_share: float = _row(
        2 / 3, "share", "explain", _UNRECORDED,
        "Of the elements that are not off, more have to be so near that they tell the noise.",
    )
    rounding_flips: float = _row(
        3.0, "× below a rounding", "explain", _UNRECORDED,
        "Still lets one rounding pass that fell elsewhere.",
    )
    noise_spread: float = _row(
        2.0, "× measured noise", "explain", _UNRECORDED,
        "What of the noise that is measured counts as noise.",
    )
    rare_numbers: float = _row(
        1.0, "free numbers", "explain", _UNRECORDED,
        "Counted for a guess that no device is known for.",
    )
    cause_likely: float = _row(
        0.5, "probability", "explain", _UNRECORDED,
        "Below it a cause is not named.",
    )
    region_share: float = _row(
        0.25, "share", "explain", "planted faults of benchmarks/hypotheses.py, seeds 1000 to 1023",
        "Of a region that has to be off, so that a symptom is said to be there.",
    )
    region_whole: float = _row(
        0.5, "share", "explain", "planted faults of benchmarks/hypotheses.py, seeds 1000 to 1023",
        "Of a tensor from which it is off as a whole.",
    )
    slice_elements: int = _row(
        8, "elements", "explain", "planted faults of benchmarks/hypotheses.py, seeds 1000 to 1023",
        "By which a slice, a factor or a permutation is told from chance.",
    )
    slices_unknown: int = _row(
        4, "slices", "explain", "planted faults of benchmarks/hypotheses.py, seeds 1000 to 1023",
        "That come in from the edge where slices are shifted.",
    )
    format_elements: int = _row(
        32, "elements", "explain", "planted faults of benchmarks/hypotheses.py, seeds 1000 to 1023",
        "Numbers of a coarser format that are no chance.",
    )
    cause_least: float = _row(
        0.5, "share of the error", "explain", _UNRECORDED,
        "What explains less does so by chance.",
    )
    exchanged_most: float = _row(
        0.1, _ERROR, "pair explain", "products of hifloat8 in our networks stay below it",
        "Farther from what the golden has of another tensor a file does not hold that tensor.",
    )
    guess_leaves: float = _row(
        0.8, "share of the error", "explain", _UNRECORDED,
        "A guess that leaves more explains nothing.",
    )
    equal_enough: int = _row(
        32, "elements", "explain", _UNRECORDED,
        "Elements of which all are equal before nothing further is tried.",
    )
    settled_numbers: float = _row(
        2.0, "free numbers", "explain", _UNRECORDED,
        "Most of a guess that ends the search where it explains everything.",
    )
    settled_error: float = _row(
        100.0, _ROUNDING, "explain", _UNRECORDED,
        "Error above which a guess that leaves no more than expected rounding ends the search.",
    )
    rival_numbers: float = _row(
        4.0, "free numbers", "explain", _UNRECORDED,
        "More than the best guess has, up to which another is its rival.",
    )
    unthought_weight: float = _row(
        0.1, "weight", "explain", _UNRECORDED,
        "Of everything that nobody has thought of.",
    )
    elements_few: int = _row(
        64, "elements", "explain", _UNRECORDED,
        "Neighbors that may still be called single elements.",
    )
    runs_few: int = _row(
        2, "runs of neighbors", "explain", "edited outputs of benchmarks/hypotheses.py, seeds 1000 to 1023",
        "More of them are a tile, and no few elements.",
    )
    neighbors_few: int = _row(
        16, "elements", "explain", "edited outputs of benchmarks/hypotheses.py, seeds 1000 to 1023",
        "Neighbors that hold different numbers and may still be called single elements.",
    )
    bits_most: int = _row(
        8, "elements", "explain", "edited outputs of benchmarks/hypotheses.py, seeds 1000 to 1023",
        "Neighbors of which the same bit may be the other way; where it is so of more, a part was multiplied.",
    )
    any_number: float = _row(
        0.9, "free numbers", "explain", _UNRECORDED,
        "Of an element that may be anything, so that what leaves little over is preferred.",
    )
    whole_numbers: float = _row(
        3.0, "free numbers", "explain", _UNRECORDED,
        "Counted besides for a tile which is the whole output.",
    )
    part_most: float = _row(
        0.95, "share", "explain", _UNRECORDED,
        "Of an output that is off in parts: where more is off, nothing was written, and what is right is so by chance.",
    )
    overrun_begins: int = _row(
        64, "bytes", "explain", _UNRECORDED,
        "From the beginning of an output, before which an overrun shows.",
    )
    overrun_ends: int = _row(
        2048, "bytes", "explain", _UNRECORDED,
        "From the beginning of an output, at which an overrun has ended.",
    )
    telling_elements: int = _row(
        8, "elements", "explain", _UNRECORDED,
        "Of which a likeness can be told.",
    )
    choice_numbers: float = _row(
        0.1, "free numbers", "explain", _UNRECORDED,
        "Of which of several operators it is.",
    )
    zero_numbers: float = _row(
        0.5, "free numbers", "explain", _UNRECORDED,
        "Of a zero: it has more causes than a number that is none.",
    )
    factor_nothing: float = _row(
        2.0, _ROUNDING, "explain", _UNRECORDED,
        "A factor below it makes noise of an output, and is no guess.",
    )
    factor_small: float = _row(
        0.05, "factor", "explain", _UNRECORDED,
        "A factor above it is a guess, however much rounding is expected.",
    )
    saturating_peers: int = _row(
        4, "elements", "explain", _UNRECORDED,
        "Of which the largest may be a limit.",
    )
    change_fit: float = _row(
        4.0, "× roundoff", "explain", "noise of 1e-6 in float32 weights is 17",
        "Elements of a changed weight fit a factor or a step within this share of their size.",
    )
    change_uncorrelated: float = _row(
        4.0, "× 1/√elements", "explain", "4 standard deviations of the correlation of unrelated numbers",
        "A correlation below it is none.",
    )
    change_apart: float = _row(
        0.25, "× median size", "explain", "0.67 for unrelated normal numbers, 0.08 for gains with noise of 0.25",
        "By which three quarters of the elements of a weight differ that is called uncorrelated.",
    )
    change_uncorrelated_elements: int = _row(
        1024, "elements", "explain", "a correlation of 0.125 is told from none",
        "Of a weight that is called uncorrelated.",
    )
    weights_nothing: float = _row(
        0.01, "share of the error", "explain", _UNRECORDED,
        "What is left of it is noise.",
    )
    doubted: float = _row(
        0.6, "probability", "explain", _UNRECORDED,
        "Below it another explanation does not stand.",
    )
    left_over: float = _row(
        0.05, "share of the error", "explain", _UNRECORDED,
        "What an explanation by changed inputs may leave over.",
    )
    numbers_close: float = _row(
        0.02, "relative distance", "explain", _UNRECORDED,
        "At which fitted numbers are some others.",
    )
    found_bytes: int = _row(
        8, "bytes", "explain", _UNRECORDED,
        "Enough to be told from chance when memory is searched.",
    )
    written_bytes: int = _row(
        8, "bytes", "explain", _UNRECORDED,
        "Bytes that differ and tell whose they are.",
    )
    writer_between: float = _row(
        0.02, "× chance", "explain", _UNRECORDED,
        "Of whoever would have had to write over something that is as it was.",
    )
    writer_size: float = _row(
        0.02, "× chance", "explain", _UNRECORDED,
        "Of whoever has elements of another size than what is repeated.",
    )
    writer_inserted: float = _row(
        0.3, "× chance", "explain", _UNRECORDED,
        "Of copies that the compiler inserts: they are the same in every network.",
    )
    writer_near: int = _row(
        512, "bytes", "explain", _UNRECORDED,
        "Distance from which on a writer's chance falls; blocks begin at multiples of it.",
    )
    chance_least: float = _row(
        0.01, "probability", "explain", _UNRECORDED,
        "A confidence below it is not stated.",
    )
    writer_unlikely: float = _row(
        0.05, "× likeliest chance", "explain", _UNRECORDED,
        "A writer that is less likely is not named.",
    )
    writer_bytes: float = _row(
        1000.0, "× chance", "explain", _UNRECORDED,
        "Of who wrote just the bytes that were found.",
    )
    writer_other_bytes: float = _row(
        0.01, "× chance", "explain", _UNRECORDED,
        "Of who wrote other bytes than those found.",
    )
    reader_cleared: float = _row(
        0.001, "× chance", "explain", _UNRECORDED,
        "Of an operator that replay reproduces from the overwritten input: it ran later.",
    )
    reader_convicted: float = _row(
        100.0, "× chance", "explain", _UNRECORDED,
        "Of an operator that replay does not reproduce from it: it ran before.",
    )
    # What a whole run has in common
    ambient_share: float = _row(
        0.8, "share", "replay follow findings", "our networks, every operator altered alike",
        "Operators that are off alike, of those that could be, where it is no matter of one operator.",
    )
    ambient_operators: int = _row(
        3, "operators", "follow findings", "our networks, every operator altered alike",
        "Operators of a run that are off alike before the run is said to be.",
    )
    ambient_types: int = _row(
        2, "operator types", "findings", "derived: one type shares more than a run's format",
        "Types among them.",
    )
    ambient_like: int = _row(
        2, "operators", "findings", "our networks, every operator altered alike",
        "Operators of a type that have the same factor before the type is said to have it.",
    )
    ambient_elements: int = _row(
        64, "elements", "replay follow findings", "derived: of fewer nothing is certain to 8 standard deviations",
        "Of a result that tells how it was stored.",
    )
    ambient_alike: float = _row(
        0.1, "relative distance", "findings", "our networks, every operator altered alike",
        "By which common factors, less 1, may differ and still be the same.",
    )
    # What is reported first
    exchange_leaves: float = _row(
        0.05, "share of the error", "findings", _UNRECORDED,
        "What an exchange may leave over where it is the explanation.",
    )
    score_named: float = _row(
        0.7, "score", "findings", _UNRECORDED,
        "A finding from it on names a difference, and comes before unexplained errors.",
    )
    listed_enough: int = _row(
        8, "entries", "findings", _UNRECORDED,
        "Names or scopes from which on nobody writes a dump list for the first operators alone.",
    )
    trust_tainted: float = _row(
        0.75, "× score", "findings", _UNRECORDED,
        "Of a named difference whose operator reads wrong inputs.",
    )
    trust_before: float = _row(
        0.5, "× score", "findings", _UNRECORDED,
        "Of a difference from before the first iteration compared.",
    )
    # How much has to be compared
    coverage_least: float = _row(
        100.0, "percent of tensors", "results", "the contract: everything that counts",
        "Share of each side's tensors that are compared, below which a comparison is incomplete.",
    )
    # fmt: on

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name}: {value!r} is not a positive number")

    @property
    def changed(self) -> Mapping[str, float]:
        """Limits that are not the default, by name."""
        own = asdict(self).items()
        return {name: value for name, value in own if value != getattr(LIMITS, name)}


LIMITS = Limits()
"""The default."""

_LIMITS: ContextVar[Limits] = ContextVar("_LIMITS", default=LIMITS)


def limits() -> Limits:
    """The limits that this thread judges by."""
    return _LIMITS.get()


@contextmanager
def using(chosen: Limits | None) -> Iterator[None]:
    """Inside, on this thread, judge by other limits; ``None``: by the same.

    >>> with using(Limits(pass_factor=4.0)):
    ...     limits().changed
    {'pass_factor': 4.0}
    """
    token = _LIMITS.set(chosen or limits())
    try:
        yield
    finally:
        _LIMITS.reset(token)
