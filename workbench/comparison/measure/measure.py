"""Measure every pair of a pairing; what cannot be measured becomes a reason, never an exception."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison import measure as by_figures
from workbench.comparison.bind.anomalies import MISLABELLED, NO_MATTER, REWRITTEN
from workbench.comparison.columns import Figures, FigureTable
from workbench.comparison.limits import limits
from workbench.comparison.measure.metrics import (
    CANCELLED,
    METRIC_TITLES,
    SIZES,
    Divergence,
    unmeasured,
)
from workbench.comparison.measure.noise import expected_rounding, spec_roundoff
from workbench.comparison.measure.tensors import kernel_name, measure, measure_arrays
from workbench.comparison.pair.pairing import Sides, with_records
from workbench.comparison.threads import in_order, is_worth_thread
from workbench.core.dtypes import dtype, is_exact
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, read_format
from workbench.core.tensors import ArraySource
from workbench.core.words import Message
from workbench.dump import payload
from workbench.dump import statistics as tables
from workbench.dump.formats.npy import payload_as
from workbench.dump.payload.blocks import FileSource
from workbench.dump.payload.extent import HostLayout
from workbench.ops.dont_care import REGIONAL, STRUCK_OUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Kinds = tuple[str, ...]
    """What is odd about a record, by `ANOMALY_RULES`; ``()``: nothing."""

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pair, Pairing
    from workbench.comparison.pair.undefined.find import LeftOut, Regions
    from workbench.comparison.pair.undefined.masked import MaskedScores
    from workbench.comparison.pair.undefined.unchosen import UnchosenElements
    from workbench.core.tensors import TensorRecord, TensorSpec

    Progress = Callable[[int, int, str], None]
    Cancelled = Callable[[], bool]
    from workbench.core.tensors import Source


NO_FORECAST: Mapping[int, float] = MappingProxyType({})


class Measured(NamedTuple):
    """A pair and how far apart its tensors are.

    ``reason`` says why the figures must not decide a verdict: unreadable, distrusted, of different
    size. ``salvaged`` figures of a distrusted pair come from the part of it that is right; they may
    serve to find where an error begins, and nothing else; ``whole`` says that this part is every element.
    ``forecast`` is the relative error against what the target should have given, where only its statistics
    were dumped and that could be computed; ``spread`` how far that is from the golden's tensor, element by element.
    ``between_runs`` and ``between_slices`` are the relative errors of the whole and of its worst slice that other runs
    of the target explain; 0 where they agree, or nobody gave any. ``left_out`` are elements that mean nothing,
    ``left_count`` of them: the figures are those of the others.
    """

    pair: Pair
    divergence: Divergence
    reason: Message | None = None
    salvaged: bool = False
    rewritten: bool = False
    forecast: float | None = None
    whole: bool = False
    spread: float = 0.0
    between_runs: float = 0.0
    between_slices: float = 0.0
    left_out: LeftOut | None = None
    left_count: int = 0

    @property
    def within_runs(self) -> bool:
        """Whether runs of the target differ by as much as it is off, here and in its worst slice."""
        if not 0.0 < self.error <= self.between_runs:
            return False
        return self.divergence.slice_error <= max(self.between_slices, limits().slice_least)

    @property
    def usable(self) -> bool:
        """Whether the figures say anything about the tensors."""
        return not self.divergence.reason and (not self.reason or self.salvaged)

    @property
    def exact(self) -> bool:
        """Whether both sides hold whole tensors of integers or truth values: rounding explains no difference."""
        ours, theirs = self.pair.target, self.pair.golden
        if ours.source is None or theirs.source is None:
            return False
        return is_exact(ours.label.dtype) and is_exact(theirs.label.dtype)

    @property
    def differs_locally(self) -> bool:
        """Whether a slice of it is off by more than is left to the norm of the whole."""
        return self.divergence.slice_error > limits().slice_least

    def arrays(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """What target and golden hold, zero on both sides where it means nothing; ``None``: of one nobody knows.

        Raises FormatError if a file cannot be read.
        """
        ours, theirs = self.pair.target.source, self.pair.golden.source
        if ours is None or theirs is None:
            return None
        target, golden = ours.array(), theirs.array()
        if self.left_out is None:
            return target, golden
        return self.left_out.zeroed(target), self.left_out.zeroed(golden)

    @property
    def sizes_differ(self) -> bool:
        """Whether the tensors are trusted but have different numbers of elements."""
        found = self.divergence.reason
        return found is not None and found.code == SIZES and self.reason == found

    @property
    def error(self) -> float:
        """Relative error, the smaller one if there is a forecast; infinite where finite and non-finite values meet."""
        found = self.divergence
        if found.mismatch:
            return math.inf
        return found.error if self.forecast is None else min(found.error, self.forecast)


class Measures(NamedTuple):
    """All pairs as they were measured, in data-flow order.

    ``pairing`` is the one that was measured; records in it that lie as a device has them know the shape on the
    host where their partners told it. ``figures`` (pairs, metrics) are those of METRICS in order, which the
    divergences of ``items`` show; NaN where there are none.
    """

    pairing: Pairing
    items: tuple[Measured, ...]
    figures: NDArray[np.float64]


def measure_pairs(
    pairing: Pairing,
    forecast: Mapping[int, float] = NO_FORECAST,
    spreads: Mapping[int, float] = NO_FORECAST,
    *,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    threads: int = 0,
) -> Measures:
    """Measure all pairs in data-flow order; ``forecast`` has errors against a forecast by pair (its identity).

    ``spreads`` says likewise how far the forecast is from the golden. ``threads`` is how many are used where the
    kernel is compiled, 0 for one a core, up to four; the result does not depend on it.

    Once ``cancelled`` is true, or the user interrupts, what is done stays and the rest carries the
    reason `CANCELLED`.
    """
    pairs = sorted(pairing.pairs, key=_order)
    table, found = FigureTable(METRIC_TITLES), list[Measured]()
    each = _EachPair(pairing, _regions(pairing), _Useless(pairing), table, cancelled)
    threads = threads if kernel_name() == "compiled" else 1
    steps = in_order(pairs, each.measure, _pays_in_thread, threads)
    try:
        for number, pair in enumerate(pairs):
            if cancelled is not None and cancelled():
                break
            item = each.finish_pair(next(steps), number)
            told = forecast.get(id(pair))
            spread = spreads.get(id(pair), 0.0)
            found.append(item if told is None else item._replace(forecast=told, spread=spread))
            table.fill(number + 1)
            if progress is not None:
                progress(number + 1, len(pairs), pair.op_name)
    except KeyboardInterrupt:
        pass
    finally:
        steps.close()
    rest = pairs[len(found) :]
    table.fill(len(found))
    found += [Measured(pair, unmeasured(CANCELLED), CANCELLED) for pair in rest]
    table.fill(len(found))
    return Measures(*_as_laid(pairing, pairs, found), table.to_array())


class _EachPair(NamedTuple):
    """What every pair of a pairing is measured with; ``table`` has a row a pair, in order."""

    pairing: Pairing
    regions: Regions | None
    useless: _Useless
    table: FigureTable
    cancelled: Cancelled | None

    def measure(self, pair: Pair, stopped: Cancelled | None) -> Measured:
        """Measure a pair at its turn, or in a thread before it: then its figures are not in the table yet."""
        kinds = self.kinds(pair)
        left = self.regions.left_out.get(id(pair)) if self.regions is not None else None
        if stopped is None:
            return measure_pair(pair, kinds, self.cancelled, self.table, left)
        return measure_pair(pair, kinds, stopped, None, left, threads=1)

    def kinds(self, pair: Pair) -> tuple[Kinds, Kinds]:
        """What is odd about the two records of a pair."""
        ours, theirs = self.pairing.target.oddities, self.pairing.golden.oddities
        return ours.get(id(pair.target), ()), theirs.get(id(pair.golden), ())

    def finish_pair(self, item: Measured, number: int) -> Measured:
        """Put the figures of a pair into the table, without scores that a mask strikes out.

        A pair that differs, and may depend on values that mean nothing, has that as its reason.
        """
        pair, figures = item.pair, item.divergence.metrics
        struck = self.useless.of(item) if item.left_out is None else None
        if struck is not None:
            self.table.fill(number)  # its figures are taken back
            item = measure_pair(pair, self.kinds(pair), self.cancelled, self.table, struck)
        elif isinstance(figures, Figures) and figures:
            taken = self.table.take(figures)
            if taken is not figures:  # measured in a thread
                item = item._replace(divergence=item.divergence._replace(metrics=taken))
        reads = self.regions is not None and id(pair) in self.regions.readers
        if reads and _is_beyond_rounding(item):
            return item._replace(reason=READS, left_out=None, left_count=0)
        return item


def _pays_in_thread(pair: Pair) -> bool:
    """Whether measuring a pair is reading and summing above all, and not so much that it takes threads itself."""
    ours, theirs = pair.target, pair.golden
    if ours.source is None or theirs.source is None or not (ours.path and theirs.path):
        return False
    try:
        size = os.stat(ours.path).st_size
    except OSError:  # told where it is read
        return False
    # both sides hold about as much: asking for the golden's size costs more than it tells
    return is_worth_thread(2 * size)


def local_differences(measured: Iterable[Measured]) -> dict[tuple[Execution, int], list[int]]:
    """Return the outputs of which a slice differs, by execution and operator."""
    found: dict[tuple[Execution, int], list[int]] = {}
    for item in measured:
        run = item.pair.run
        if run is not None and item.pair.io == "output" and item.usable and item.differs_locally:
            found.setdefault((run.block, run.op), []).append(item.pair.slot)
    return found


def counting_elements(
    measured: Iterable[Measured],
) -> dict[tuple[Execution, int], dict[int, NDArray[np.bool_]]]:
    """Return which elements of outputs count, where not all do, by execution, operator and slot."""
    found: dict[tuple[Execution, int], dict[int, NDArray[np.bool_]]] = {}
    for item in measured:
        run = item.pair.run
        if run is not None and item.pair.io == "output" and item.left_out is not None:
            found.setdefault((run.block, run.op), {})[item.pair.slot] = item.left_out.care
    return found


def _order(pair: Pair) -> int:
    return pair.order


def _as_laid(
    pairing: Pairing, pairs: Sequence[Pair], measured: Sequence[Measured]
) -> tuple[Pairing, tuple[Measured, ...]]:
    """Let the pairing have the records as they were measured, so that whoever reads them reads the same."""
    laid: Sides[dict[int, TensorRecord]] = Sides({}, {})
    for pair, item in zip(pairs, measured, strict=True):
        for changed, before, after in zip(
            laid, (pair.target, pair.golden), (item.pair.target, item.pair.golden), strict=True
        ):
            if before is not after:
                changed[id(before)] = after
    if not any(laid):
        return pairing, tuple(measured)
    found = with_records(pairing, laid)
    again = zip(measured, sorted(found.pairs, key=_order), strict=True)
    return found, tuple(item._replace(pair=pair) for item, pair in again)


def distance_from(pair: Pair, expected: NDArray[np.generic]) -> float | None:
    """Relative error of what was dumped of the target against another tensor than the golden's.

    ``None`` if they cannot be compared.
    """
    golden = replace(pair.golden, source=ArraySource(expected), statistics=None)
    try:
        found = _measure(pair.target, golden, None, None)
    except FormatError:
        return None
    if found.reason or math.isnan(found.error):
        return None
    return math.inf if found.mismatch else found.error


def measure_pair(
    pair: Pair,
    kinds: tuple[Kinds, Kinds],
    cancelled: Cancelled | None = None,
    table: FigureTable | None = None,
    left: LeftOut | None = None,
    threads: int = 0,
) -> Measured:
    """Measure one pair; ``kinds`` are the oddities of its two records (``()``: none).

    ``table`` is where the metrics of many pairs stand together, ``left`` what of the tensors means nothing.
    """
    reason, rewritten = _distrusted(*kinds), any(REWRITTEN in one for one in kinds)
    try:
        if any(MISLABELLED in one for one in kinds):
            found, whole = _salvage(pair, kinds, table)
            return Measured(pair, found, reason, salvaged=True, rewritten=rewritten, whole=whole)
        laid, apart = _laid(pair)
        if left is not None and apart is None and reason is None:
            return _measure_in_part(laid, left, table)._replace(rewritten=rewritten)
        found = (
            _measure(laid.target, laid.golden, cancelled, table, threads)
            if apart is None
            else unmeasured(apart)
        )
    except FormatError as error:
        why = Message("compare/unreadable", why=error.message)
        return Measured(pair, unmeasured(why), why)
    return Measured(laid, found, reason or found.reason, rewritten=rewritten)


def _regions(pairing: Pairing) -> Regions | None:
    """Return what of the pairs means nothing; a look at the type of every pair where nothing does."""
    types = {pair.run.op_type for pair in pairing.pairs if pair.run is not None}
    if types.isdisjoint(REGIONAL) and not pairing.overrides.dont_care:
        return None
    from workbench.comparison.pair.undefined.find import find_dont_care

    return find_dont_care(pairing)


class _Useless:
    """Elements of which nothing comes; whoever has none is not asked for what it costs to find them."""

    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing

    @cached_property
    def _scores(self) -> MaskedScores:
        from workbench.comparison.pair.undefined.masked import MaskedScores

        return MaskedScores(self._pairing)

    @cached_property
    def _unchosen(self) -> UnchosenElements:
        from workbench.comparison.pair.undefined.unchosen import UnchosenElements

        return UnchosenElements(self._pairing)

    def of(self, item: Measured) -> LeftOut | None:
        """Return which elements of a pair nothing comes of, where these may be why it differs."""
        if item.divergence.equal or item.reason is not None:
            return None
        masked = self._struck_out(item)
        if masked is None and item.divergence.mismatch:
            return self._unchosen.left_out(item.pair)
        return masked

    def _struck_out(self, item: Measured) -> LeftOut | None:
        """Scores that a mask strikes out."""
        figures, mismatch = item.divergence.metrics, item.divergence.mismatch
        if not _reaches_below(figures, "Golden"):
            return None
        ours = mismatch or _reaches_below(figures, "Target")
        return self._scores.left_out(item.pair) if ours and _is_beyond_rounding(item) else None


def _reaches_below(figures: Mapping[str, float], side: str) -> bool:
    """Whether a tensor has scores that a mask may have struck out; its least number is that of the finite ones."""
    least, infinite = figures.get(f"{side}Min", 0.0), figures.get(f"{side}NegInf", 0.0)
    return least <= STRUCK_OUT or infinite > 0


def _measure_in_part(pair: Pair, left: LeftOut, table: FigureTable | None) -> Measured:
    """Measure the elements that count of a pair; both sides hold whole tensors of the same shape."""
    ours, theirs = (_whole(one) for one in (pair.target, pair.golden))
    kept, others = left.kept(ours), left.kept(theirs)
    if not kept.size:
        return Measured(pair, unmeasured(_MEANS_NOTHING, ours.size), _MEANS_NOTHING)
    found = measure_arrays(kept, others, table=table)
    return Measured(pair, found, found.reason, left_out=left, left_count=int(ours.size - kept.size))


READS = Message("compare/reads-left-out")
"""Reason of a tensor that differs, and may depend on values that mean nothing."""

_MEANS_NOTHING = Message("compare/distrusted-alike", target=NO_MATTER, golden=NO_MATTER)
"""Reason of a pair of which no element counts."""


def _whole(record: TensorRecord) -> NDArray[np.generic]:
    assert record.source is not None
    return record.source.array()


def _is_beyond_rounding(item: Measured) -> bool:
    """Whether a pair differs by more than the number formats of its own two tensors explain."""
    if item.reason is not None or item.divergence.reason is not None:
        return False
    records = (item.pair.target, item.pair.golden)
    unit = 0.0 if item.exact else max(spec_roundoff(one.spec) for one in records)
    floor = 0.0 if item.exact else expected_rounding(None, unit)
    return item.error > limits().pass_factor * floor or item.differs_locally


def _laid(pair: Pair) -> tuple[Pair, Message | None]:
    """Return a pair whose records are laid over each other, and why they are not alike even so."""
    target, golden = pair.target, pair.golden
    if target.source is None or golden.source is None:
        return pair, None
    laid = lay_over(target.source, golden.source)
    if laid.target is not target.source:
        pair = pair._replace(target=replace(target, source=laid.target))
    if laid.golden is not golden.source:
        pair = pair._replace(golden=replace(golden, source=laid.golden))
    return pair, laid.mismatch


@cache
def _distrusted(target: Kinds, golden: Kinds) -> Message | None:
    """Say of which side the tensor is not what its label says, and what it is."""
    kinds = {"target": target, "golden": golden}
    named = {side: some[0] for side, some in kinds.items() if some and some[0] != REWRITTEN}
    if not named:
        return None
    alike = "alike" if len({*named.values()}) == 1 else "both"
    sides = alike if len(named) == 2 else next(iter(named))
    return Message(f"compare/distrusted-{sides}", **named)


def _measure(
    target: TensorRecord,
    golden: TensorRecord,
    cancelled: Cancelled | None,
    table: FigureTable | None = None,
    threads: int = 0,
) -> Divergence:
    if target.source is not None and golden.source is not None:
        sources = target.source, golden.source
        return measure(*sources, cancelled=cancelled, threads=threads, table=table)
    ours, theirs = _statistics(target, golden), _statistics(golden, target)
    size, other = _spec(target).size, _spec(golden).size
    if size is not None and other is not None and size != other:
        if _is_padded(target, golden):
            theirs = by_figures.with_padding(theirs, other, size)
        elif _is_padded(golden, target):
            ours = by_figures.with_padding(ours, size, other)
        else:
            return unmeasured(Message(SIZES, target=size, golden=other), size)
    return by_figures.measure_statistics(ours, theirs, size or 0)


def _spec(record: TensorRecord) -> TensorSpec:
    return record.spec


def _is_padded(record: TensorRecord, other: TensorRecord) -> bool:
    """Whether statistics are those of the other tensor as it lies on the device, padding included."""
    there, shape = record.label, _spec(other).shape
    if record.source is not None or there.shape is None or shape is None:
        return False
    try:
        device = read_format(there.format)
    except FormatError:
        return False
    return payload.find_layout(device, there.shape, shape, there.dtype) is not None


def _statistics(record: TensorRecord, other: TensorRecord) -> Mapping[str, float | str]:
    """Statistics of a record; those of a full tensor are computed if the other side has only them."""
    if record.statistics is not None:
        return record.statistics
    if record.source is None or other.statistics is None:
        return {}
    wanted = [name for name, title in tables.TITLES.items() if title in other.statistics]
    return tables.statistics_of(record.source.array(), wanted)


def _salvage(
    pair: Pair, kinds: tuple[Kinds, Kinds], table: FigureTable | None
) -> tuple[Divergence, bool]:
    """Measure a pair of which a file holds a wider buffer than its header says, as far as it goes.

    Also return whether that is every element.
    """
    ours, theirs = _real(pair.target, kinds[0]), _real(pair.golden, kinds[1])
    count = min(ours.size, theirs.size)
    if not count:
        return unmeasured(Message("compare/not-recovered")), False
    found = measure_arrays(ours[:count], theirs[:count], table=table)
    return found, ours.size == theirs.size


def _real(record: TensorRecord, kinds: Kinds) -> NDArray[np.generic]:
    """Flat elements; those of a mislabelled file in the type its kernel wrote.

    Such files hold the whole wider buffer behind a header for the narrower type (real dumps of 2.0.0
    and 2.10.0), or its first half where a tool has cut them to what the header claims.
    """
    if record.source is None:
        return np.empty(0, np.float32)
    stated = record.source.spec()
    if MISLABELLED not in kinds:
        return record.source.array().ravel()
    wide = _WIDER.get(stated.dtype)
    if wide is None or not record.path:
        return np.empty(0, np.float32)
    return payload_as(record.path, dtype(wide).storage)[: stated.size]


_WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
"""What CPU kernels write behind a header for a narrower type; of integers it is not known."""


class Laid(NamedTuple):
    """Two tensors laid over each other, and why elements still have other places (``None``: they have the same)."""

    target: Source
    golden: Source
    mismatch: Message | None


def lay_over(target: Source, golden: Source) -> Laid:
    """Return sources of two tensors whose elements have the same places, where that can be had.

    A tensor that lies as its device has it takes the other's shape on the host, which serves where no graph
    stated it; that is a source of its own, and the given ones stay as they are. Raises FormatError if a
    source cannot be read.
    """
    there = _device_format(target), _device_format(golden)
    if there[0] == there[1]:
        return Laid(target, golden, None)
    if there[0] and not there[1]:
        target = _with_host(target, golden.spec())
    elif there[1] and not there[0]:
        golden = _with_host(golden, target.spec())
    if _device_format(target) == _device_format(golden):
        return Laid(target, golden, None)
    a, b = target.spec(), golden.spec()
    why = Message(
        "compare/layouts-differ", target_shape=a.shape, target_format=a.format, golden_shape=b.shape,
        golden_format=b.format,
    )  # fmt: skip
    return Laid(target, golden, why)


def _with_host(source: Source, host: TensorSpec) -> Source:
    """Return a source that gives its tensor in the layout that the other side has on the host."""
    if not isinstance(source, FileSource):
        return source
    return source.with_host(HostLayout(host.shape, host.format))


def _device_format(source: Source) -> str:
    """Device format that a source's elements come in; ``""`` for those in a host format."""
    if not isinstance(source, FileSource) or not source.is_device_format:
        return ""
    name = source.spec().format
    try:
        return name if FORMATS[read_format(name).name].device else ""
    except FormatError:
        return ""
