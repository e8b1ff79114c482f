"""Operators in which the ranks of a job meet: MindSpore's, and those that the graph engine makes of them."""

from __future__ import annotations

from workbench.graph.infer import collectives
from workbench.graph.opdef import OpDef

WORLD = "hccl_world_group"
"""Group of all ranks."""

_OWN = {"group": WORLD, "fusion": 0, "no_eliminate": True}
_HCOM = {"group": WORLD, "fusion": 0}

COLLECTIVES: dict[str, OpDef] = {
    "AllReduce": OpDef("x", collectives.reduced, defaults={"op": "sum", "index": 0, **_OWN}),
    "AllGather": OpDef("x", collectives.gathered, defaults={"rank_size": 1, **_OWN}),
    "ReduceScatter": OpDef(
        "x", collectives.scattered, defaults={"op": "sum", "rank_size": 1, **_OWN}
    ),
    "Broadcast": OpDef(
        "x",
        collectives.same,
        tensors=-1,
        defaults={"root_rank": 0, "group": WORLD, "no_eliminate": True},
    ),
    "HcomAllReduce": OpDef("x", collectives.reduced, defaults={"reduction": "sum", **_HCOM}),
    "HcomAllGather": OpDef("x", collectives.gathered, defaults={"rank_size": 1, "group": WORLD}),
    "HcomReduceScatter": OpDef(
        "x", collectives.scattered, defaults={"reduction": "sum", "rank_size": 1, "group": WORLD}
    ),
    "HcomBroadcast": OpDef(
        "x", collectives.same, tensors=-1, defaults={"root_rank": 0, "group": WORLD}
    ),
}
"""Rows of the operator table."""
