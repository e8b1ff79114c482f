"""Operators in which the ranks of a job meet: MindSpore's, and those that the graph engine makes of them."""

from __future__ import annotations

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import Call, OpDef, one_axis, output_like, reject
from workbench.ops.kernels import collective as kernels

REDUCTIONS = ("sum", "max", "min", "prod")
"""What ranks may reduce by."""


def reduced_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the input's shape: every rank has the result."""
    _reduction(call)
    return output_like(call, call.shape())


def gathered_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """As many rows for every rank, one rank after the other."""
    rows, *rest = _rows(call)
    return output_like(call, (rows * _ranks(call), *rest))


def scattered_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """An equal part of the rows for every rank."""
    _reduction(call)
    (rows, *rest), ranks = _rows(call), _ranks(call)
    if rows % ranks:
        reject("graph/multiple", subject="rows of the input", of=ranks, got=rows)
    return output_like(call, (rows // ranks, *rest))


def exchanged_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Fewer along ``split_dim``, and more along ``concat_dim``: a part of every rank."""
    shape, ranks = [*_rows(call)], _ranks(call, "split_count")
    given, taken = (
        one_axis(call.settings[name], len(shape), name) for name in ("split_dim", "concat_dim")
    )
    if shape[given] % ranks:
        reject("graph/multiple", subject=f"size of dimension {given}", of=ranks, got=shape[given])
    shape[given] //= ranks
    shape[taken] *= ranks
    return output_like(call, tuple(shape))


def same_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Every input as it lies on the root."""
    root = call.settings["root_rank"]
    if isinstance(root, bool) or not isinstance(root, int) or root < 0:
        reject("graph/integer", subject="root_rank", least=0, got=root)
    return call.tensors


def same_as_input(call: Call) -> tuple[TensorSpec, ...]:
    """What is sent, as it is."""
    return output_like(call, call.shape())


def received_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """The shape and dtype that the operator says of what it receives."""
    return (TensorSpec(str(call.settings["dtype"]), call.sizes("shape")),)


def _reduction(call: Call) -> None:
    name = "op" if "op" in call.settings else "reduction"
    if call.settings[name] not in REDUCTIONS:
        reject("core/choice", subject=name, got=call.settings[name], known=[*REDUCTIONS])


def _rows(call: Call) -> tuple[int, ...]:
    if not call.shape():
        reject("graph/rank", subject="input", least=1, got=call.shape())
    return call.shape()


def _ranks(call: Call, name: str = "rank_size") -> int:
    ranks = call.settings[name]
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        reject("graph/integer", subject=name, least=1, got=ranks)
    return int(ranks)


WORLD = "hccl_world_group"
"""Group of all ranks."""

_OWN = {"group": WORLD, "fusion": 0, "no_eliminate": True}


_HCOM = {"group": WORLD, "fusion": 0}


ROWS: dict[str, OpDef] = {
    "AllReduce": OpDef(
        "x", reduced_shapes, defaults={"op": "sum", "index": 0, **_OWN}, kernel=kernels.all_reduce
    ),
    "AllGather": OpDef(
        "x", gathered_shapes, defaults={"rank_size": 1, **_OWN}, kernel=kernels.all_gather
    ),
    "ReduceScatter": OpDef(
        "x",
        scattered_shapes,
        defaults={"op": "sum", "rank_size": 1, **_OWN},
        kernel=kernels.reduce_scatter,
    ),
    "AlltoAll": OpDef(
        "input_x",
        exchanged_shapes,
        defaults={"split_count": 1, "split_dim": 0, "concat_dim": 0, "group": WORLD},
        kernel=kernels.all_to_all,
    ),
    "Broadcast": OpDef(
        "x",
        same_shapes,
        tensors=-1,
        defaults={"root_rank": 0, "group": WORLD, "no_eliminate": True},
        kernel=kernels.broadcast,
    ),
    "Send": OpDef(
        "x",
        same_as_input,
        defaults={"sr_tag": 0, "dest_rank": 0, "group": WORLD},
        kernel=kernels.send,
    ),
    "Receive": OpDef(
        "",
        received_shapes,
        tensors=0,
        defaults={"sr_tag": 0, "src_rank": 0, "shape": (), "dtype": "float32", "group": WORLD},
        kernel=kernels.receive,
    ),
    "HcomAllReduce": OpDef(
        "x", reduced_shapes, defaults={"reduction": "sum", **_HCOM}, kernel=kernels.all_reduce
    ),
    "HcomAllGather": OpDef(
        "x", gathered_shapes, defaults={"rank_size": 1, "group": WORLD}, kernel=kernels.all_gather
    ),
    "HcomReduceScatter": OpDef(
        "x",
        scattered_shapes,
        defaults={"reduction": "sum", "rank_size": 1, "group": WORLD},
        kernel=kernels.reduce_scatter,
    ),
    "HcomBroadcast": OpDef(
        "x",
        same_shapes,
        tensors=-1,
        defaults={"root_rank": 0, "group": WORLD},
        kernel=kernels.broadcast,
    ),
}
