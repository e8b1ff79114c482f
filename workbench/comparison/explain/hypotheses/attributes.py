"""Faults of settings: the operator computes with another one than it was asked for."""

from __future__ import annotations

import math
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.case import FAILURES, Candidate
from workbench.comparison.explain.hypotheses.outputs import round_numbers_near
from workbench.comparison.replay.kernel import Change
from workbench.core.words import Message
from workbench.ops import bind
from workbench.ops.kernels.window import pair, window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation
    from workbench.graph.graph import Op

    Array = NDArray[Any]
    from workbench.ops.kernels.window import Window

FIXED = frozenset((
    "dtype", "output_type", "dst_type", "shape", "size", "input_size", "filter_size", "size_splits",
    "output_num", "num", "depth", "k", "format", "hidden_size", "num_layers", "proj_size", "num_proj",
    "group", "rank_size", "index", "root_rank", "fusion", "Seed0", "Seed1", "kernel_size", "ksize",
    "data_format", "use_locking", "no_eliminate", "num_segments", "cell_depth", "seq_length",
))  # fmt: skip
"""Settings that other shapes would follow from, or nothing at all."""

_AXES = frozenset(
    ("axis", "dim", "begin_norm_axis", "begin_params_axis", "seq_dim", "batch_dim", "split_dim")
)

_COMMON: dict[str, tuple[float, ...]] = dict.fromkeys(
    ("epsilon", "eps"), (1e-5, 1e-6, 1e-7, 1e-8, 1e-12, 1e-3, 1e-2, 1e-4, 0.1, 0.0)
)
"""Numbers that settings often are; others are tried at 0, 1 and what fits best."""

_WORDS: dict[str, tuple[Any, ...]] = {
    "round_mode": ("Round", "Floor", "Ceil", "Trunc"),
    "mode": ("constant", "reflect", "edge", "circular"),
    "op": ("sum", "max", "min", "prod"),
    "reduction": ("sum", "max", "min", "prod"),
    "reduce": ("none", "add"),
    "norm_region": ("ACROSS_CHANNELS", "WITHIN_CHANNEL"),
    "gate_order": ("rzh", "zrh"),
    "direction": ("UNIDIRECTIONAL", "REVERSE", "REDIRECTIONAL"),
}

_CONVOLUTION = ("pad_mode", "pad", "pad_list", "stride", "dilation")
_POOLING = ("kernel_size", "strides", "pad_mode")

WINDOWS: dict[str, tuple[str, ...]] = {
    "Conv2D": _CONVOLUTION,
    "Conv2DTranspose": _CONVOLUTION,
    "Conv2DBackpropInput": _CONVOLUTION,
    "Conv2DBackpropFilter": _CONVOLUTION,
    "MaxPool": _POOLING,
    "AvgPool": _POOLING,
}
"""Settings of the window of an operator, by type."""

_LARGEST = 4  # stride and dilation
_KERNELS = 5
_STEPS = 4  # of Gauss and Newton
_WINDOWS = 4  # that are computed whole, if few channels can tell
_MOST = 24  # orders of axes


def wrong_attribute(case: Evaluation) -> Iterator[Candidate]:
    """One setting is another: discrete ones are tried, numbers are solved for."""
    for part, op in case.parts():
        settings = _settings(op)
        if op.op_type in WINDOWS:
            windows = list(other_windows(op, settings, case, part))
            for said, changed in _likely(case, part, windows):
                yield from _changed(case, part, changed, said, 0.5)
        for name, value in settings.items():
            if name in FIXED or (op.op_type in WINDOWS and name in WINDOWS[op.op_type]):
                continue
            for other in _others(name, value, case):
                said = _setting(op, name, repr(other), repr(value))
                yield from _changed(case, part, {name: other}, said, 0.25)
            if _is_number(value):
                yield from _solved_setting(case, part, op, name, float(value))
        yield from _solved_scalars(case, part, op)


def _likely(
    case: Evaluation, part: int, windows: list[tuple[Message, dict[str, Any]]]
) -> list[tuple[Message, dict[str, Any]]]:
    """The windows that come nearest in one image and few channels; all, where that tells nothing."""
    thin = case.thin() if len(windows) > _WINDOWS else None
    if thin is None:
        return windows
    found = []
    for number, (_, changed) in enumerate(windows):
        case.budget.spend(thin.cost)
        output = thin.recomputed(Change(part, settings=changed))
        if output is not None:
            found.append((thin.remains(output), number))
    return [windows[number] for _, number in sorted(found)[:_WINDOWS]] or windows


def _settings(op: Op) -> dict[str, Any]:
    try:
        return dict(bind(op).settings)
    except FAILURES:
        return {}


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _changed(
    case: Evaluation, part: int, settings: Mapping[str, Any], said: Message, parameters: float
) -> Iterator[Candidate]:
    guess = case.recomputed(Change(part, settings=settings))
    if guess is not None:
        yield Candidate("wrong-attribute", guess, said, parameters)


def _setting(op: Op, name: str, used: str, value: str) -> Message:
    """Say which value of a setting was used instead of which, both as Python writes them."""
    return Message("compare/fault-setting", op_type=op.op_type, name=name, used=used, value=value)


def _others(name: str, value: Any, case: Evaluation) -> Iterator[Any]:
    """Other values of a setting that are worth a try."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, str):
        known = _WORDS.get(name, ())
        yield from (word for word in known if word.lower() != value.lower() and value in known)
    elif isinstance(value, int):
        yield from _other_integers(name, value, max(len(case.shape), 1))
    elif isinstance(value, tuple) and value and all(isinstance(v, int) for v in value):
        yield from _other_tuples(name, value, max(len(case.shape), 1))
    elif value is None and name in _AXES:
        yield from range(len(case.shape) + 1)


def _other_integers(name: str, value: int, dims: int) -> Iterator[int]:
    if name in _AXES:
        yield from (axis for axis in range(dims + 1) if axis not in (value, value + dims))
    else:
        near_by = (value + 1, value - 1, value + 2, value - 2, 2 * value, value // 2, 0, 1)
        yield from (number for number in dict.fromkeys(near_by) if number != value)


def _other_tuples(name: str, value: tuple[int, ...], dims: int) -> Iterator[tuple[int, ...]]:
    if name in _AXES:
        sizes = range(dims + 1)
        yield from ((axis,) for axis in sizes if (axis,) != value and len(value) == 1)
        yield from ((a, b) for a in sizes for b in range(a) if len(value) == 2)
    elif sorted(value) == list(range(len(value))):
        orders = (order for order in permutations(value) if order != value)
        yield from (order for order, _ in zip(orders, range(_MOST), strict=False))
    else:
        for place in range(len(value)):
            for step in (1, -1):
                yield (*value[:place], value[place] + step, *value[place + 1 :])


def _solved_setting(
    case: Evaluation, part: int, op: Op, name: str, value: float
) -> Iterator[Candidate]:
    """Find the number that a setting must have had."""

    def compute(number: float) -> Array | None:
        return case.recomputed(Change(part, settings={name: number}))

    def say(used: str) -> Message:
        return _setting(op, name, used, f"{value:g}")

    yield from _solved(case, compute, value, say, _COMMON.get(name, (0.0, 1.0)))


def _solved_scalars(case: Evaluation, part: int, op: Op) -> Iterator[Candidate]:
    """Find the number that a tensor of one element must have held."""
    for place, tensor in enumerate(case.tensors(part)):
        if tensor.size != 1 or tensor.dtype.kind in "biu" or case.given.size == 1:
            continue

        def compute(number: float, place: int = place) -> Array | None:
            def load(tensors: list[Array]) -> list[Array]:
                other = np.full_like(tensors[place], number)
                return [other if n == place else t for n, t in enumerate(tensors)]

            return case.recomputed(Change(part, load=load))

        value = float(tensor.reshape(-1)[0])
        if math.isfinite(value):
            yield from _solved(case, compute, value, partial(_scalar, op, place, f"{value:g}"), ())


def _scalar(op: Op, place: int, value: str, used: str) -> Message:
    op_type = op.op_type
    return Message("compare/fault-scalar", op_type=op_type, used=used, value=value, slot=place)


def _solved(
    case: Evaluation,
    compute: Callable[[float], Array | None],
    value: float,
    say: Callable[[str], Message],
    common: tuple[float, ...],
) -> Iterator[Candidate]:
    """Yield guesses for one number: those that are common, then what Gauss and Newton make of the best."""
    best = case.error, value
    for number in common:
        output = compute(number) if number != value else None
        if output is None:
            continue
        yield Candidate("wrong-attribute", output, say(f"{number:g}"), 0.5)
        best = min(best, (case.remains(output), number))
    solved = fit_number(case, compute, best[1], best[0])
    if solved is None or solved == value or not math.isfinite(solved):
        return
    for number in dict.fromkeys((*round_numbers_near(solved), solved)):
        output = compute(number)
        if output is not None:
            yield Candidate("wrong-attribute", output, say(f"{number:.4g}"), 1.0)


def fit_number(
    case: Evaluation, compute: Callable[[float], Array | None], start: float, error: float
) -> float | None:
    """Return the number that fits best, by Gauss and Newton's steps from ``start``; ``None``: it changes nothing."""
    number, least = start, error
    for _ in range(_STEPS):
        here = compute(number)
        step = 1e-2 * abs(number) or 1e-3
        there = compute(number + step)
        if here is None or there is None:
            return None
        move = _step(case, here, there)
        if move is None:
            return None
        after = compute(number + move * step)
        remains = math.inf if after is None else case.remains(after)
        if not remains < least:
            break
        done = remains > 0.9 * least
        number, least = number + move * step, remains
        if done:
            break
    return number if number != start or least < error else None


def _step(case: Evaluation, here: Array, there: Array) -> float | None:
    """How many times what changed between two outputs makes up for what is missing in the first."""
    with np.errstate(all="ignore"):
        first = here.reshape(-1).astype(np.float64)
        change = there.reshape(-1).astype(np.float64) - first
        rest = case.given - first
        usable = np.isfinite(change) & np.isfinite(rest)
        change, rest = np.where(usable, change, 0.0), np.where(usable, rest, 0.0)
        below = float(change @ change)
        return float(rest @ change) / below if below > 0 else None


def other_windows(
    op: Op, settings: Mapping[str, Any], case: Evaluation, part: int
) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Other windows of equal output shape, as a message and as settings; the likely ones first."""
    tensors = case.tensors(part)
    place = _image(op.op_type)
    if len(tensors) <= place:
        return
    convolves = op.op_type.startswith("Conv")
    try:
        size = _size(op, settings, tensors[place].shape)
        kernel = _kernel(op, settings, [t.shape for t in tensors])
        stride = settings["stride" if convolves else "strides"]
        now = window(settings, size, kernel, stride)
        found = sorted(_windows(now, size, fixed=convolves), key=lambda one: _unlike(one, now))
    except FAILURES:
        return
    for one in dict.fromkeys(found):
        steps = {"stride": one.stride, "dilation": one.dilation, "pads": one.pads}
        said = Message("compare/fault-window", op_type=op.op_type, kernel=one.kernel, **steps)
        if convolves:
            said = Message("compare/fault-convolution", op_type=op.op_type, **steps)
            other = {"stride": one.stride, "dilation": one.dilation}
        else:
            other = {"kernel_size": one.kernel, "strides": one.stride}
        yield said, {**other, "pad_mode": "pad", "pad_list": one.pads}


def _image(op_type: str) -> int:
    return 1 if op_type == "Conv2DBackpropFilter" else 0


def _size(op: Op, settings: Mapping[str, Any], image: tuple[int, ...]) -> tuple[int, int]:
    """Height and width of what the window slides over."""
    if op.op_type in ("Conv2DTranspose", "Conv2DBackpropInput"):
        image = tuple(settings["input_size"])
    return image[2], image[3]


def _kernel(op: Op, settings: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> tuple[int, int]:
    if not op.op_type.startswith("Conv"):
        return pair(settings["kernel_size"])
    if op.op_type == "Conv2DBackpropFilter":
        return pair(settings["filter_size"])
    return pair(shapes[1])


def _windows(now: Window, size: tuple[int, int], *, fixed: bool) -> Iterator[Window]:
    """Windows with an output of the same shape; ``fixed``: the kernel stays."""
    out = now.output(*size)
    kernels = [now.kernel] if fixed else [(n, n) for n in range(1, _KERNELS + 1)] + [now.kernel]
    for kernel in dict.fromkeys(kernels):
        for step in range(1, _LARGEST + 1):
            for gap in range(1, _LARGEST + 1 if fixed and max(kernel) > 1 else 2):
                yield from _padded(now, size, out, kernel, (step, gap))


def _padded(
    now: Window,
    size: tuple[int, int],
    out: tuple[int, int],
    kernel: tuple[int, int],
    by: tuple[int, int],
) -> Iterator[Window]:
    """Paddings with which a kernel of a stride and a dilation gives the shape."""
    step, gap = by
    high = _pads(size[0], out[0], (kernel[0] - 1) * gap + 1, step)
    wide = _pads(size[1], out[1], (kernel[1] - 1) * gap + 1, step)
    for down in high:
        for right in wide:
            alike = high.index(down) == wide.index(right) or down == right
            moved = (step, gap) == (now.stride[0], now.dilation[0]) and (
                down == now.pads[:2] or right == now.pads[2:]
            )
            one = type(now)(kernel, (step, step), (gap, gap), (*down, *right))
            if (alike or moved) and one != now:
                yield one


def _pads(size: int, out: int, reach: int, step: int) -> list[tuple[int, int]]:
    """Paddings before and behind that give ``out`` windows of a reach."""
    least = (out - 1) * step + reach - size
    found: dict[tuple[int, int], None] = {}
    for total in range(max(least, 0), least + step):
        half = total // 2
        for first in (half, total - half, half - 1, total - half + 1, 0, total):
            if 0 <= first <= total and max(first, total - first) < max(reach, 2) * 2:
                found[first, total - first] = None
    return list(found)


def _unlike(one: Window, now: Window) -> tuple[int, int]:
    """How many things differ between two windows, and how much."""
    pairs = ((one.kernel, now.kernel), (one.stride, now.stride), (one.dilation, now.dilation))
    differing = sum(a != b for a, b in pairs)
    moved = sum(abs(a - b) for a, b in zip(one.pads, now.pads, strict=True))
    return differing, moved
