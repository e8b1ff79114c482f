"""Kernels of language models: attention, rotary positions and the choice of experts.

Inside an attention tensors are ordered (batch, head, position, element of the head).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Mask = NDArray[np.bool_]

STATISTICS = 8
"""How often FlashAttentionScore repeats the maximum and the sum of a row."""


class Layout(NamedTuple):
    """Order of a tensor's axes, and the order of axes that makes (B, N, S, D) of it.

    ``joined``: the last axis holds all heads, one after the other.
    """

    order: tuple[int, int, int, int]
    joined: bool


LAYOUTS: Mapping[str, Layout] = {
    "BSH": Layout((0, 2, 1, 3), True),
    "SBH": Layout((1, 2, 0, 3), True),
    "BSND": Layout((0, 2, 1, 3), False),
    "BNSD": Layout((0, 1, 2, 3), False),
}
"""Layouts of queries, keys and values, by the name that ``input_layout`` has for them."""


NUMBERED_LAYOUTS = ("BSH", "BNSD", "SBH", "BSND", "TND")
"""Orders of axes of an attention, by the number that MindSpore gives them (`FASInputLayoutMode`)."""


def layout_name(value: Any) -> Any:
    """Return the name of a layout that a graph may hold as a number."""
    return NUMBERED_LAYOUTS[value] if value in range(len(NUMBERED_LAYOUTS)) else value


def split_heads(x: Array, layout: Layout, width: int) -> Array:
    """Return a tensor as (B, N, S, D); ``width`` is D where the heads are joined."""
    if layout.joined:
        x = x.reshape(*x.shape[:2], -1, width)
    return x.transpose(layout.order)


def join_heads(x: Array, layout: Layout) -> Array:
    """Return a tensor (B, N, S, D) in a layout."""
    x = x.transpose(np.argsort(layout.order))
    return x.reshape(*x.shape[:2], -1) if layout.joined else x


class Sparse(NamedTuple):
    """Which keys a query may look at, apart from the mask: see CANN's ``sparse_mode``."""

    mode: int
    before: int
    after: int
    prefix: tuple[int, ...] = ()


def forbidden(mask: Any, sparse: Sparse, shape: tuple[int, int, int, int]) -> Mask | None:
    """Return where scores of a shape (B, N, queries, keys) do not count; ``None``: all of them do.

    Without a mask the sparse mode has no effect; from mode 2 on the mask is a compressed triangle, and the
    mode says where it lies.
    """
    if mask is None:
        return None
    queries, keys = shape[2:]
    row, column = np.arange(queries)[:, None], np.arange(keys)
    last = row + keys - queries  # the key of the query's own position, where both end together
    match sparse.mode:
        case 0:
            return _in_band(np.asarray(mask).astype(bool), sparse, column - row)
        case 1:
            return np.asarray(mask).astype(bool)
        case 2:
            return np.asarray(column > row)
        case 3:
            return np.asarray(column > last)
        case 4:
            return np.asarray((column < last - sparse.before) | (column > last + sparse.after))
        case 5 | 6 if len(sparse.prefix) == shape[0]:
            ends = np.asarray(sparse.prefix)[:, None, None, None]
            return np.asarray((column > last) & (column >= ends))
        case _:
            raise GraphError(
                "core/choice", subject="sparse_mode", got=sparse.mode, known=list(range(7))
            )


def _in_band(mask: Mask, sparse: Sparse, offset: Array) -> Mask:
    """Return the mask itself; raises GraphError if it allows what lies outside of the band of keys.

    What the device makes of that depends on its tiles.
    """
    outside = (offset < -sparse.before) | (offset > sparse.after)
    if mask.shape[-2:] == outside.shape and bool((outside & ~mask).any()):
        raise GraphError(
            "core/choice", subject="next_tokens", got=sparse.after, known=["as the mask"]
        )
    return mask


def attend(
    query: Array, key: Array, value: Array, scale: float, shift: Any, hidden: Mask | None
) -> tuple[Array, Array, Array]:
    """Return softmax(scale · (q·kᵀ + shift)) · v, the largest score and the sum of exponentials of each row.

    All are (B, N, S, D); keys and values may have fewer heads, each for as many queries' heads in a row.
    Where ``hidden`` is true nothing counts; a row of which nothing counts is zero.
    """
    group, keys = query.shape[1] // key.shape[1], key.shape[2]
    shape = (*query.shape[:3], keys)
    shifts = None if shift is None else np.broadcast_to(np.asarray(shift, query.dtype), shape)
    covered = None if hidden is None else np.broadcast_to(hidden, shape)
    out = np.empty((*query.shape[:3], value.shape[-1]), query.dtype)
    largest, total = np.empty((2, *query.shape[:3], 1), query.dtype)
    rows = max(_SCORES // max(keys, 1), 1)
    for batch, head, first in np.ndindex(*query.shape[:2], -(-query.shape[2] // rows)):
        some = (batch, head, slice(first * rows, (first + 1) * rows))
        scores = query[some] @ key[batch, head // group].T
        if shifts is not None:
            scores += shifts[some]
        scores *= query.dtype.type(scale)
        if covered is not None:
            scores[covered[some]] = -np.inf
        largest[some] = scores.max(axis=-1, keepdims=True)
        scores -= np.where(np.isfinite(largest[some]), largest[some], 0)
        np.exp(scores, out=scores)
        total[some] = scores.sum(axis=-1, keepdims=True)
        out[some] = scores @ value[batch, head // group]
        out[some] /= np.where(total[some] == 0, 1, total[some])
    return out, largest, total


_SCORES = 1 << 22
"""Scores of one head that are held at a time."""


def flash_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    real_shift: Any,
    padding_mask: Any,
    attn_mask: Any,
    prefix: Any,
    actual_seq_qlen: Any,
    actual_seq_kvlen: Any,
    head_num: Any,
    keep_prob: Any,
    scale_value: Any,
    pre_tokens: Any,
    next_tokens: Any,
    input_layout: Any,
    sparse_mode: Any,
) -> list[Array]:
    """Return maximum and sum of each row, eight times, a reserved output, and the attention.

    Raises GraphError for what cannot be computed again: dropout, of whose mask the order of bits is not
    documented, and the reserved padding mask.
    """
    refuse_given(padding_mask=padding_mask)
    if keep_prob != 1:
        raise GraphError("core/choice", subject="keep_prob", got=keep_prob, known=[1.0])
    sparse = Sparse(int(sparse_mode), int(pre_tokens), int(next_tokens), _integers(prefix))
    name = layout_name(input_layout)
    if name == "TND":
        ends = _integers(actual_seq_qlen), _integers(actual_seq_kvlen)
        refuse_given(real_shift=real_shift)
        out, largest, total = _of_lengths((query, key, value), ends, attn_mask, scale_value, sparse)
    else:
        layout = _layout(name)
        width = query.shape[-1] // int(head_num) if layout.joined else query.shape[-1]
        q, k, v = (split_heads(one, layout, width) for one in (query, key, value))
        shape = (*q.shape[:3], k.shape[2])
        hidden = forbidden(attn_mask, sparse, shape)
        out, largest, total = attend(q, k, v, scale_value, real_shift, hidden)
        out = join_heads(out, layout)
    repeated = (np.repeat(one, STATISTICS, axis=-1) for one in (largest, total))
    return [*repeated, np.zeros(1, query.dtype), out]


def _of_lengths(
    tensors: tuple[Array, Array, Array],
    ends: tuple[tuple[int, ...], tuple[int, ...]],
    mask: Any,
    scale: float,
    sparse: Sparse,
) -> tuple[Array, Array, Array]:
    """Attention of sequences of several lengths, one behind the other: (position, head, element)."""
    parts = []
    for (a, b), (c, d) in zip(_spans(ends[0]), _spans(ends[1]), strict=True):
        q, k, v = (
            one[None, start:end].transpose(0, 2, 1, 3)
            for one, start, end in zip(tensors, (a, c, c), (b, d, d), strict=True)
        )
        own = mask
        if mask is not None and sparse.mode < 2:
            own = np.asarray(mask)[..., : b - a, : d - c]  # one mask for the longest sequence
        hidden = forbidden(own, sparse, (1, q.shape[1], b - a, d - c))
        found = attend(q, k, v, scale, None, hidden)
        parts.append([one[0].transpose(1, 0, 2) for one in found])
    out, largest, total = (np.concatenate(some) for some in zip(*parts, strict=True))
    return out, largest, total


def _spans(ends: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    return zip((0, *ends[:-1]), ends, strict=True)


def inference_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    heads: int,
    kv_heads: int,
    layout: str,
    scale: float,
    hidden: Mask | None,
) -> Array:
    """Attention as inference calls it: heads are counted, and it gives nothing but its result."""
    order = _layout(layout)
    width = query.shape[-1] // heads if order.joined else query.shape[-1]
    q, k, v = (split_heads(one, order, width) for one in (query, key, value))
    if k.shape[1] != (kv_heads or heads):
        raise GraphError(
            "graph/shape", subject="key", expected=(kv_heads or heads,), got=(k.shape[1],)
        )
    return join_heads(attend(q, k, v, scale, None, hidden)[0], order)


def prompt_attention(query: Array, key: Array, value: Array, **settings: Any) -> Array:
    """Attention of a whole prompt; raises GraphError for int8, a shift and sequences of several lengths."""
    refuse_given(**{name: settings[name] for name in PROMPT_OPEN})
    layout, heads = layout_name(settings["input_layout"]), int(settings["num_heads"])
    order = _layout(layout)
    axis = {"SBH": 0, "BNSD": 2}.get(layout, 1)
    batch = query.shape[order.order[0]]
    shape = (batch, heads, query.shape[axis], key.shape[axis])
    sparse = Sparse(
        int(settings["sparse_mode"]), int(settings["pre_tokens"]), int(settings["next_tokens"])
    )
    return inference_attention(
        query,
        key,
        value,
        heads=heads,
        kv_heads=int(settings["num_key_value_heads"]),
        layout=layout,
        scale=settings["scale_value"],
        hidden=forbidden(settings["attn_mask"], sparse, shape),
    )


PROMPT_OPEN = (
    "actual_seq_lengths",
    "actual_seq_lengths_kv",
    "pse_shift",
    "deq_scale1",
    "quant_scale1",
    "deq_scale2",
    "quant_scale2",
    "quant_offset2",
)
"""Arguments of PromptFlashAttention that are not computed."""


def incremental_attention(query: Array, key: Array, value: Array, **settings: Any) -> Array:
    """Attention of one new position; raises GraphError for int8, a shift and a cache in pages."""
    refuse_given(**{name: settings[name] for name in INCREMENTAL_OPEN})
    layout, mask = layout_name(settings["input_layout"]), settings["attn_mask"]
    keys = key.shape[2 if layout == "BNSD" else 1]
    hidden = None
    if mask is not None:
        hidden = np.asarray(mask).astype(bool).reshape(len(query), 1, 1, keys)
    lengths = _integers(settings["actual_seq_lengths"])
    if lengths:
        behind = np.arange(keys) >= np.asarray(lengths).reshape(-1, 1, 1, 1)
        hidden = behind if hidden is None else hidden | behind
    return inference_attention(
        query,
        key,
        value,
        heads=int(settings["num_heads"]),
        kv_heads=int(settings["num_key_value_heads"]),
        layout=layout,
        scale=settings["scale_value"],
        hidden=hidden,
    )


INCREMENTAL_OPEN = (
    "pse_shift",
    "dequant_scale1",
    "quant_scale1",
    "dequant_scale2",
    "quant_scale2",
    "quant_offset2",
    "antiquant_scale",
    "antiquant_offset",
    "block_table",
    "kv_padding_size",
)
"""Arguments of IncreFlashAttention that are not computed."""


def refuse_given(**arguments: Any) -> None:
    """Refuse optional arguments that nobody has told us how to compute."""
    given = sorted(name for name, value in arguments.items() if value is not None)
    if given:
        raise GraphError("core/choice", subject=given[0], got="a tensor", known=["None"])


def _layout(name: Any) -> Layout:
    if name not in LAYOUTS:
        raise GraphError("core/choice", subject="input_layout", got=name, known=[*LAYOUTS, "TND"])
    return LAYOUTS[name]


def _integers(value: Any) -> tuple[int, ...]:
    return () if value is None else tuple(int(one) for one in np.ravel(value))


def rotary(x: Array, cos: Array, sin: Array, *, mode: Any) -> Array:
    """X · cos + turned x · sin; the mode says which elements of a head turn about each other.

    0: the halves, 1: neighbors, 2: the quarters of each half, 3: neighbors, given as halves.
    """
    if mode == 1:
        pairs = x.reshape(*x.shape[:-1], -1, 2)
        turned = np.stack((-pairs[..., 1], pairs[..., 0]), axis=-1).reshape(x.shape)
    elif mode in (0, 2, 3):
        if mode == 3:
            x = np.concatenate((x[..., ::2], x[..., 1::2]), axis=-1)
        parts = np.split(x, 4 if mode == 2 else 2, axis=-1)
        turned = np.concatenate(
            [one for a, b in zip(parts[::2], parts[1::2], strict=True) for one in (-b, a)], axis=-1
        )
    else:
        raise GraphError("core/choice", subject="mode", got=mode, known=[0, 1, 2, 3])
    return np.asarray(x * cos + turned * sin)


def choose_experts(
    x: Array,
    *,
    bias: Any,
    k: Any,
    k_group: Any,
    group_count: Any,
    group_select_mode: Any,
    renorm: Any,
    norm_type: Any,
    routed_scaling_factor: Any,
    eps: Any,
) -> list[Array]:
    """Return weights and numbers of the k experts of each row, and all weights before the choice.

    The bias decides who is chosen, not how much they weigh. Of equal ones the first is chosen.
    """
    if renorm:
        raise GraphError("core/choice", subject="renorm", got=renorm, known=[0])
    if norm_type == 1:
        shares = 1 / (1 + np.exp(-x))
    else:
        shares = np.exp(x - x.max(axis=-1, keepdims=True))
        shares = shares / shares.sum(axis=-1, keepdims=True)
    ranked = shares if bias is None else shares + np.asarray(bias, x.dtype)
    groups = ranked.reshape(*x.shape[:-1], int(group_count), -1)
    if int(group_count) > 1:
        best = np.sort(groups, axis=-1)[..., -2 if group_select_mode == 1 else -1 :].sum(axis=-1)
        rank = np.argsort(np.argsort(-best, axis=-1, kind="stable"), axis=-1)
        groups = np.where((rank < int(k_group))[..., None], groups, -np.inf)
    chosen = np.argsort(-groups.reshape(x.shape), axis=-1, kind="stable")[..., : int(k)]
    weights = np.take_along_axis(shares, chosen, axis=-1)
    if norm_type == 1:
        weights = weights / (weights.sum(axis=-1, keepdims=True) + x.dtype.type(eps))
    weights = weights * x.dtype.type(routed_scaling_factor)
    return [weights, chosen.astype(np.int32), shares]


def softmax_experts(x: Array, *, finished: Any, k: Any) -> list[Array]:
    """Return the k largest shares of each row, and the numbers of their experts."""
    refuse_given(finished=finished)
    weights, chosen, _ = choose_experts(
        x,
        bias=None,
        k=k,
        k_group=1,
        group_count=1,
        group_select_mode=0,
        renorm=0,
        norm_type=0,
        routed_scaling_factor=1.0,
        eps=0.0,
    )
    return [weights, chosen]
