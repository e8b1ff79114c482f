"""Where the elements of a region lie: rows of `workbench.ops.dont_care` on the tensors of one operator.

Whatever does not fit (a shape, a number beyond the tensor, a setting that nobody knows) leaves nothing out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.ops import argument_name, settings
from workbench.ops.dont_care import BehindCount, BehindGroups, MaskedRows, WhereZero

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.pair.pairing import Pair
    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Op
    from workbench.ops.dont_care import Region

    Care = NDArray[np.bool_]
    Shape = tuple[int, ...]


class Definitions(NamedTuple):
    """The tensors of one operator that may define a region: pairs by direction and slot, trusted on both sides."""

    pairs: Mapping[tuple[str, int], Pair]
    op: Op | None

    def array(self, io: str, slot: int) -> NDArray[Any] | None:
        """Return a tensor that both sides hold alike, ``None`` if they do not. May raise FormatError."""
        pair = self.pairs.get((io, slot))
        if pair is None or pair.target.source is None or pair.golden.source is None:
            return None
        ours, theirs = pair.target.source.array(), pair.golden.source.array()
        return ours if np.array_equal(ours, theirs) else None

    def shape(self, io: str, slot: int) -> Shape | None:
        """Shape of a tensor of the target."""
        pair = self.pairs.get((io, slot))
        return pair.target.spec.shape if pair is not None else None

    def setting(self, name: str) -> object:
        """What the graph says of a setting; ``None`` if it says nothing."""
        return settings(self.op).get(name) if self.op is not None else None

    def named(self, name: str) -> int | None:
        """Slot of the input that is an argument of that name."""
        if self.op is None:
            return None
        slots = (slot for io, slot in self.pairs if io == "input")
        return next((slot for slot in slots if argument_name(self.op, slot) == name), None)


def care_of(region: Region, shape: Shape | None, known: Definitions) -> Care | None:
    """Return which elements of a tensor count, in a shape that spreads over its own; ``None``: nobody can say.

    May raise FormatError where a tensor that defines it cannot be read.
    """
    rule = _RULES.get(type(region))
    found = rule(region, shape, known) if rule is not None and shape else None
    if found is None or not shape or found.ndim != len(shape):
        return None
    fits = all(size in (1, whole) for size, whole in zip(found.shape, shape, strict=True))
    return found if fits else None


def _behind_count(region: BehindCount, shape: Shape, known: Definitions) -> Care | None:
    counts, axis = known.array(region.io, region.slot), region.axis
    if counts is None or counts.dtype.kind not in "iu" or axis >= len(shape):
        return None
    first = shape[:axis]
    if counts.size != np.prod(first, dtype=int) or not _within(counts, shape[axis]):
        return None
    places = np.arange(shape[axis])
    care = places < counts.reshape(*first, 1).astype(np.int64)
    return _spread_out(care, len(shape))


def _within(counts: NDArray[Any], most: int) -> bool:
    return bool(counts.size) and int(counts.min()) >= 0 and int(counts.max()) <= most


def _behind_groups(_: BehindGroups, shape: Shape, known: Definitions) -> Care | None:
    rows = known.shape("input", 0)
    if len(shape) > 2 or rows is None or len(rows) != 2 or rows[0] != shape[0]:
        return None  # of several outputs each has the rows of one group, and sums over groups have no rows
    if known.setting("group_type") not in (0, None):
        return None
    groups = _only_vector(known)
    valid = None if groups is None else _valid_rows(groups, known, shape[0])
    return None if valid is None else _spread_out(np.arange(shape[0]) < valid, len(shape))


def _only_vector(known: Definitions) -> NDArray[Any] | None:
    """The operator's one input of int64 with one axis; ``None`` if it has several or none, dumped or not."""
    stated = [spec for spec in known.op.input_specs if _is_vector(spec)] if known.op else []
    slots = [
        slot
        for (io, slot), pair in known.pairs.items()
        if io == "input" and _is_vector(pair.target.spec)
    ]
    return known.array("input", slots[0]) if len(slots) == 1 and len(stated) <= 1 else None


def _is_vector(spec: TensorSpec | None) -> bool:
    return (
        spec is not None
        and spec.dtype == "int64"
        and spec.shape is not None
        and len(spec.shape) == 1
    )


def _valid_rows(groups: NDArray[Any], known: Definitions, most: int) -> int | None:
    """How many rows the groups have; where nobody says whether they are sizes or ends, as many as may be."""
    kind = known.setting("group_list_type")
    if kind not in (0, 1, None) or not _within(groups, most):
        return None
    ends, sizes = int(groups[-1]), int(groups.sum())
    rising = bool((np.diff(groups) >= 0).all())
    if kind == 0 or (kind is None and sizes > most):
        return ends if rising else None
    return sizes if sizes <= most else None


def _masked_rows(region: MaskedRows, shape: Shape, known: Definitions) -> Care | None:
    mask, layout = _whole_mask(region, known), _layout_of(region, known)
    if mask is None or not layout:
        return None
    found = _as_laid(np.asarray(mask.all(-1)), layout, shape)
    return None if found is None else ~found


def attention_care(
    region: MaskedRows, shape: Shape, known: Definitions, reads: Mapping[int, Care]
) -> Care | None:
    """Return which elements of an attention's output count, where not all that it reads does; ``None``: unknown.

    ``reads`` are parts of query, key and value by slot. A row depends on its own query and on keys that the mask lets
    it look at.
    """
    mask, laid = _whole_mask(region, known), _layout(known.setting(region.layout or _LAYOUT))
    names = {slot: argument_name(known.op, slot) for slot in reads} if known.op is not None else {}
    if mask is None or not laid or not {*names.values()} <= {"query", *_KEYS}:
        return None
    lost = mask.all(-1)
    for slot, care in reads.items():
        bad = _sequences(~care, laid)
        if bad is None:
            return None
        looks = (
            bad[:, None, :] if names[slot] == "query" else (~mask & bad[:, None, None, :]).any(-1)
        )
        lost = lost | looks
    found = _as_laid(np.asarray(lost), _layout_of(region, known), shape)
    return None if found is None else ~found


_KEYS = ("key", "value")
_LAYOUT = "input_layout"


def _whole_mask(region: MaskedRows, known: Definitions) -> Care | None:
    """The mask as (batch, head, row, key), the first two of which may be one; ``None``: nobody knows it as a whole."""
    if known.op is None or any(
        known.setting(name) not in some for name, some in region.open_if.items()
    ):
        return None
    slot, key = known.named(region.mask), known.named("key")
    mask = None if slot is None else known.array("input", slot)
    if mask is None or mask.ndim not in (2, 4) or not _is_mask(mask) or key is None:
        return None
    keys, laid = known.shape("input", key), _layout(known.setting(_LAYOUT))
    if (
        keys is None
        or len(laid) != len(keys)
        or "B" not in laid
        or mask.shape[-1] != keys[laid.index("S")]
    ):
        return None
    return np.asarray(mask.reshape((1,) * (4 - mask.ndim) + mask.shape) != 0)


def _layout_of(region: MaskedRows, known: Definitions) -> str:
    return _layout(known.setting(region.layout)) if region.layout else "BNS?"


def _sequences(chosen: Care, layout: str) -> Care | None:
    """Lay a condition on (batch, row) so, of a tensor of that layout; ``None`` if it is one on other axes, too."""
    sizes = dict(zip(layout, chosen.shape, strict=False))
    if chosen.ndim != len(layout) or any(n > 1 for axis, n in sizes.items() if axis not in "BS"):
        return None
    order = sorted(range(len(layout)), key=lambda at: ("BS" + layout).index(layout[at]))
    return chosen.transpose(order).reshape(sizes["B"], sizes["S"])


def _is_mask(mask: NDArray[Any]) -> bool:
    return mask.dtype.kind in "biu" and bool(((mask == 0) | (mask == 1)).all())


def _layout(said: object) -> str:
    from workbench.ops.kernels.transformer import NUMBERED_LAYOUTS

    if isinstance(said, int) and not isinstance(said, bool):
        return NUMBERED_LAYOUTS[said] if 0 <= said < len(NUMBERED_LAYOUTS) else ""
    return str(said) if said in NUMBERED_LAYOUTS else ""


def _as_laid(rows: Care, layout: str, shape: Shape) -> Care | None:
    """Lay a condition on (batch, head, row) as an output has them.

    Where heads share an axis with numbers, it must be the same for all of them. ``None`` if it does not fit.
    """
    if len(layout) != len(shape) or "B" not in layout or rows.shape[2] != shape[layout.index("S")]:
        return None
    if "N" not in layout:
        same = rows.all(1, keepdims=True)
        if (same != rows).any():
            return None
        rows = np.asarray(same)
    order = ["BNS".index(axis) for axis in layout if axis in "BNS"]
    order += [axis for axis in range(3) if axis not in order]  # that of the heads has one entry
    laid = rows.transpose(order)
    laid = laid if "N" in layout else laid[..., 0]
    return laid.reshape(*laid.shape, *(1,) * (len(shape) - laid.ndim))


def _where_zero(region: WhereZero, shape: Shape, known: Definitions) -> Care | None:
    held = known.array(region.io, region.slot)
    if held is None or held.ndim > len(shape) or held.shape != shape[: held.ndim]:
        return None
    return _spread_out(held != 0, len(shape))


def _spread_out(care: Care, axes: int) -> Care:
    """Give a condition on the first axes an entry for all along the others."""
    return care.reshape(*care.shape, *(1,) * (axes - care.ndim))


_RULES: dict[type, Callable[[Any, Shape, Definitions], Care | None]] = {
    BehindCount: _behind_count,
    BehindGroups: _behind_groups,
    MaskedRows: _masked_rows,
    WhereZero: _where_zero,
}
