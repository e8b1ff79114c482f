"""Which elements of a pair nobody has to compare: the regions of `workbench.ops.dont_care`, and what reads them.

A region is left out where both dumps hold the tensor that defines it, agree on it, and differ inside of the region.
Otherwise every element counts. Operators that treat elements or rows alone hand a region on to what they give. What
others make of it depends on values that mean nothing: a difference there is no fault, and no agreement either.
masked.py and unchosen.py leave out besides what nothing comes of.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.graphs.roles import rewritten_slots
from workbench.comparison.pair.undefined.spread import spread
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.ops.dont_care import REGIONAL, MaskedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pair, Pairing
    from workbench.comparison.pair.undefined.regions import Definitions
    from workbench.graph.graph import Graph, Op
    from workbench.ops.dont_care import Region

    Care = NDArray[np.bool_]
    Tensors = Mapping[tuple[str, int], Pair]
    Shows = Literal["nothing", "region", "anything"]


class LeftOut(NamedTuple):
    """Elements that are left out: ``care`` is false there; an axis of one entry stands for all of a tensor's.

    ``said`` is the reason, ``name`` how the ledger counts it.
    """

    care: Care
    said: Message
    name: str

    def kept(self, array: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return the elements that count: rows along the axes by which they are chosen, and the other axes."""
        return _elements(array, self.care)

    def zeroed(self, array: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return the array with zeros in what is left out."""
        return where_it_counts(array, self.care)


class Regions(NamedTuple):
    """What is left out of pairs, and pairs that depend on what means nothing; both by identity of the pair."""

    left_out: Mapping[int, LeftOut] = MappingProxyType({})
    readers: frozenset[int] = frozenset()


def find_dont_care(pairing: Pairing) -> Regions:
    """Return what of the pairs means nothing."""
    left_out: dict[int, LeftOut] = {}
    blocks: dict[Execution, dict[Value, LeftOut | None]] = {}
    for (block, number), tensors in _operators(pairing).items():
        for slot, found in _of_operator(pairing, tensors).items():
            left_out[id(tensors["output", slot])] = found
            blocks.setdefault(block, {})[Value(number, slot)] = found
    readers: set[int] = set()
    for block, values in blocks.items():
        graph = pairing.target.graph(block)
        if graph is not None:
            _hand_on(graph, _pairs_of(pairing, block), values, Reach(left_out, readers))
    return Regions(MappingProxyType(left_out), frozenset(readers))


def _operators(pairing: Pairing) -> dict[tuple[Execution, int], dict[tuple[str, int], Pair]]:
    """Pairs of the operators that a row or an entry of the map file is about."""
    found: dict[tuple[Execution, int], dict[tuple[str, int], Pair]] = {}
    for pair in pairing.pairs:
        if pair.run is not None and next(_rows(pairing, pair), None) is not None:
            place = pair.run.block, pair.run.op
            found.setdefault(place, {})[pair.io, pair.slot] = pair
    return found


class _Row(NamedTuple):
    """A region of an output, the reason and how the ledger counts it."""

    slot: int
    region: Region
    said: Message
    name: str


def _rows(pairing: Pairing, pair: Pair) -> Iterator[_Row]:
    """What is known of the operator of a pair: by us, then by the user."""
    op_type = pair.run.op_type if pair.run is not None else ""
    for row in REGIONAL.get(op_type, ()):
        said = Message(f"compare/left-out-{row.reason}", op_type=op_type, slot=row.slot)
        yield _Row(row.slot, row.region, said, row.reason)
    for entry in pairing.overrides.dont_care:
        if entry.fits(pair.op_name, op_type):
            yield _Row(entry.slot, entry.region, entry.said, "map-file")


def _of_operator(pairing: Pairing, tensors: Tensors) -> dict[int, LeftOut]:
    """Outputs of one operator, by slot, of which a part means nothing and differs."""
    odd = pairing.target.oddities, pairing.golden.oddities
    trusted = {
        place: pair
        for place, pair in tensors.items()
        if id(pair.target) not in odd[0] and id(pair.golden) not in odd[1]
    }
    first = next(iter(tensors.values()))
    op = pairing.target.operator(first.run) if first.run is not None else None
    from workbench.comparison.pair.undefined.regions import Definitions

    known, found = Definitions(trusted, op), dict[int, LeftOut]()
    for row in _rows(pairing, first):
        left = _left_out(row, known)
        if left is not None:
            before = found.get(row.slot)
            found[row.slot] = (
                left
                if before is None
                else before._replace(care=freeze_care(before.care & left.care))
            )
    return found


def _left_out(row: _Row, known: Definitions) -> LeftOut | None:
    pair = known.pairs.get(("output", row.slot))
    if pair is None:
        return None
    from workbench.comparison.pair.undefined.regions import care_of

    try:
        care = care_of(row.region, known.shape("output", row.slot), known)
    except FormatError:
        return None
    left = None if care is None else LeftOut(freeze_care(care), row.said, row.name)
    return left if left is not None and _shows(pair, left) == "region" else None


def freeze_care(care: Care) -> Care:
    """Return a condition that nobody can change."""
    found = care.view()
    found.setflags(write=False)
    return found


def _shows(pair: Pair, left: LeftOut | None) -> Shows:
    """Whether a pair differs in a region that is left out; of one that nobody knows, whether it differs at all."""
    if pair.target.source is None or pair.golden.source is None:
        return "anything"
    try:
        ours, theirs = pair.target.source.array(), pair.golden.source.array()
    except FormatError:
        return "nothing"  # that is told as it is
    if left is None or ours.shape != theirs.shape or not _fits(left.care, ours.shape):
        return "nothing" if np.array_equal(ours, theirs) else "anything"
    there, theirs_there = _elements(ours, ~left.care), _elements(theirs, ~left.care)
    return "nothing" if np.array_equal(there, theirs_there) else "region"


def _fits(care: Care, shape: tuple[int, ...]) -> bool:
    sizes = zip(care.shape, shape, strict=False)
    return care.ndim == len(shape) and all(size in (1, whole) for size, whole in sizes)


def where_it_counts(array: NDArray[Any], care: Care | None) -> NDArray[Any]:
    """Return an array with zeros where its values mean nothing, so that they weigh nothing in any norm."""
    if care is None or care.ndim != array.ndim:
        return array
    return np.where(care, array, np.zeros((), array.dtype))


def _elements(array: NDArray[np.generic], chosen: Care) -> NDArray[np.generic]:
    axes = [axis for axis, size in enumerate(chosen.shape) if size > 1]
    places = chosen.reshape([chosen.shape[axis] for axis in axes])
    return np.moveaxis(array, axes, range(len(axes)))[places]


def _pairs_of(pairing: Pairing, block: Execution) -> dict[int, dict[tuple[str, int], Pair]]:
    """Pairs of an execution by operator, and by direction and slot."""
    found: dict[int, dict[tuple[str, int], Pair]] = {}
    for pair in pairing.pairs:
        if pair.run is not None and pair.run.block == block and pair.run.op >= 0:
            found.setdefault(pair.run.op, {})[pair.io, pair.slot] = pair
    return found


# --- what is made of it -----------------------------------------------------------------------


class Reach(NamedTuple):
    """What was found of pairs while regions are followed, by identity of the pair."""

    left_out: dict[int, LeftOut]
    readers: set[int]

    def note(self, pair: Pair | None, left: LeftOut | None) -> bool:
        """Take down what a pair shows of a region (``None``: nobody knows where it is); whether it shows any."""
        shown = "anything" if pair is None else _shows(pair, left)
        if pair is not None and shown == "region" and left is not None:
            self.left_out[id(pair)] = left
        elif pair is not None and shown == "anything":
            self.readers.add(id(pair))
        return shown != "nothing"

    def note_own(self, pair: Pair, own: LeftOut, made: LeftOut | None) -> LeftOut:
        """Take down that a region of an operator's own is also made of another."""
        if made is None:
            self.readers.add(id(pair))
            return own
        both = own._replace(care=freeze_care(own.care & made.care))
        self.left_out[id(pair)] = both
        return both


def _hand_on(
    graph: Graph,
    pairs: Mapping[int, Tensors],
    values: dict[Value, LeftOut | None],
    found: Reach,
) -> None:
    """Follow regions through one execution.

    ``values`` are those that hold something that means nothing; ``None``: nobody knows where. What shows none of it
    in either dump ends there.
    """
    for number, op in enumerate(graph.ops):
        reads = {
            slot: values[operand]
            for slot, operand in enumerate(op.flat_inputs())
            if isinstance(operand, Value) and operand in values
        }
        if not reads:
            continue
        tensors = pairs.get(number, {})
        for slot, left in reads.items():
            found.note(tensors.get(("input", slot)), left)
        for slot in rewritten_slots(op):
            found.note(tensors.get(("input", slot)), None)
        for slot in range(max(len(op.outputs), 1)):
            value, pair = Value(number, slot), tensors.get(("output", slot))
            made, own = _made_of(op, slot, reads, tensors), values.get(value)
            if own is not None and pair is not None:
                values[value] = found.note_own(pair, own, made)
            elif found.note(pair, made):
                values[value] = made


def _made_of(
    op: Op, slot: int, reads: Mapping[int, LeftOut | None], tensors: Tensors
) -> LeftOut | None:
    """Return what of an output means nothing, where that is known."""
    pair = tensors.get(("output", slot))
    shape = pair.target.spec.shape if pair is not None else None
    if shape is None and slot < len(op.outputs):
        shape = op.outputs[slot].shape
    cares = {place: left.care for place, left in reads.items() if left is not None}
    if len(cares) < len(reads) or not shape or any(size < 0 for size in shape):
        return None
    care = _spread_attention(op, slot, cares, shape, tensors)
    care = spread(op, slot, cares, shape) if care is None else care
    first = next(left for left in reads.values() if left is not None)
    return None if care is None else first._replace(care=freeze_care(care))


def _spread_attention(
    op: Op, slot: int, cares: Mapping[int, Care], shape: tuple[int, ...], tensors: Tensors
) -> Care | None:
    from workbench.comparison.pair.undefined.regions import Definitions, attention_care

    for row in REGIONAL.get(op.op_type, ()):
        if row.slot == slot and isinstance(row.region, MaskedRows):
            try:
                return attention_care(row.region, shape, Definitions(tensors, op), cares)
            except FormatError:
                return None
    return None


# --- what others of this folder ask, too -------------------------------------------------------


def readers_of(graph: Graph, value: Value) -> list[int] | None:
    """Operators that read a value; ``None`` if the network gives it."""
    if value in graph.outputs:
        return None
    return [reader for reader, _ in graph.consumers.get(value, ())]


def both_arrays(pair: Pair) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """What both sides hold, if that is numbers of one shape."""
    if pair.target.source is None or pair.golden.source is None:
        return None
    try:
        ours, theirs = pair.target.source.array(), pair.golden.source.array()
    except FormatError:
        return None  # that is told as it is
    return (ours, theirs) if ours.shape == theirs.shape else None
