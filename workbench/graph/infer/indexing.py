"""Rules of operators that read or write where another tensor says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph.infer import Call, integers, like, one_axis, refuse

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec


def gather(call: Call) -> tuple[TensorSpec, ...]:
    """Replace the axis by the shape of the indices."""
    shape, indices = call.shape(0), call.shape(1)
    integers(call, 1, "the indices")
    batch = call.settings["batch_dims"]
    if batch:
        refuse("graph/only", subject="batch_dims", expected=0, got=batch)
    axis = one_axis(call.settings["axis"], len(shape))
    return like(call, (*shape[:axis], *indices, *shape[axis + 1 :]))


def gather_d(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the indices, which are as large as the input on the other axes at most."""
    shape, index = call.shape(0), call.shape(1)
    integers(call, 1, "index")
    axis = one_axis(call.settings["dim"], len(shape), "dim")
    inside = len(index) == len(shape) and all(
        i <= n for k, (i, n) in enumerate(zip(index, shape, strict=True)) if k != axis
    )
    if not inside:
        refuse("graph/index-shape", subject="index", whole=shape, axis=axis, got=index)
    return like(call, index)


def _rest(call: Call, indices: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Axes that the rows of indices leave: the shape of what one row names."""
    rows = call.shape(indices)
    integers(call, indices, "the indices")
    if not rows or not 1 <= rows[-1] <= len(shape):
        refuse("graph/index-rows", most=len(shape), got=rows)
    return shape[rows[-1] :]


def gather_nd(call: Call) -> tuple[TensorSpec, ...]:
    """Every row of indices is replaced by what it names."""
    shape = call.shape()
    return like(call, (*call.shape(1)[:-1], *_rest(call, 1, shape)))


def scatter_nd_update(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; an update for every row of indices."""
    shape, updates = call.shape(), call.shape(2)
    wanted = (*call.shape(1)[:-1], *_rest(call, 1, shape))
    if updates != wanted:
        refuse("graph/shape", subject="updates", expected=wanted, got=updates)
    if call.tensors[2].dtype != call.tensors[0].dtype:
        refuse(
            "graph/dtype",
            subject="updates",
            expected=[call.tensors[0].dtype],
            got=call.tensors[2].dtype,
        )
    return like(call, shape)


def scatter_elements(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the data; indices and updates have one shape, inside the data's."""
    shape, index, updates = call.shape(0), call.shape(1), call.shape(2)
    integers(call, 1, "the indices")
    axis = one_axis(call.settings["axis"], len(shape))
    if call.settings["reduce"] not in REDUCTIONS:
        refuse(
            "core/choice",
            subject="reduce",
            got=call.settings["reduce"],
            known=sorted(map(str, REDUCTIONS)),
        )
    inside = len(index) == len(shape) and all(
        i <= n for k, (i, n) in enumerate(zip(index, shape, strict=True)) if k != axis
    )
    if index != updates or not inside:
        refuse("graph/index-updates", whole=shape, axis=axis, indices=index, updates=updates)
    return like(call, shape)


REDUCTIONS = {"none": "none", "add": "add", 0: "none", 1: "add"}
"""Ways of `TensorScatterElements` to combine: MindSpore's words and numbers."""


def one_hot(call: Call) -> tuple[TensorSpec, ...]:
    """A new axis of size ``depth``; the output has the dtype of both values."""
    shape, depth = call.shape(), call.settings["depth"]
    integers(call, 0, "the indices")
    if not isinstance(depth, int) or depth < 0:
        refuse("graph/integer", subject="depth", least=0, got=depth)
    if call.tensors[1].dtype != call.tensors[2].dtype:
        got = (call.tensors[1].dtype, call.tensors[2].dtype)
        refuse("graph/dtypes-differ", subject="on_value and off_value", got=got)
    axis = one_axis(call.settings["axis"], len(shape) + 1)
    return like(call, (*shape[:axis], depth, *shape[axis:]), 1)
