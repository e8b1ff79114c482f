"""Has PyTorch lay tensors out on the ranks of a job, all in one process, and records what every rank holds.

``run_torch_layouts.py RECORD``; needs PyTorch and nothing of ours. ``LocalTensorMode`` runs DTensor for every rank of a
fake process group: each has its real shard, and products leave the real parts of sums. The order of ranks is that of
the mesh, its last dimension fastest. Zigzag order is that of PyTorch's own context parallel load balancer where it has
one, else written down here.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.distributed._local_tensor import LocalTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

Tensor = torch.Tensor
R, P = Replicate(), Partial("sum")


class Case(NamedTuple):
    """A tensor on a mesh: ``mesh`` are names and sizes, the slowest first; ``placements`` one a dimension of it.

    ``zigzag`` is the dimension that lies in zigzag order of ``cp``; ``stage`` the only pipeline stage that has it;
    ``parts`` are the shapes in a flat buffer.
    """

    name: str
    mesh: dict[str, int]
    placements: tuple[Any, ...]
    layout: str
    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    zigzag: int | None = None
    stage: int | None = None
    parts: tuple[tuple[int, ...], ...] = ()


def case(
    name: str, mesh: str, placements: tuple[Any, ...], layout: str, *shape: int, **more: Any
) -> Case:
    """Make a case of names and sizes of a mesh: ``dp=2,tp=2``."""
    sizes = dict(part.split("=") for part in mesh.split(","))
    return Case(name, {k: int(v) for k, v in sizes.items()}, placements, layout, shape, **more)


S0, S1, S2 = Shard(0), Shard(1), Shard(2)
FLAT = ((6, 4), (6,), (3, 5))

CASES = [
    case("column weight", "tp=4", (S0,), "h[tp] d", 8, 3),
    case("row weight", "tp=4", (S1,), "h d[tp]", 3, 8),
    case("column weight, tp=2", "tp=2", (S0,), "h[tp] d", 8, 3),
    case("row weight in bfloat16", "tp=2", (S1,), "h d[tp]", 3, 8, dtype=torch.bfloat16),
    case("bias", "tp=4", (S0,), "h[tp]", 8),
    case("norm", "tp=4", (R,), "h", 8),
    case("heads", "tp=2", (S2,), "b s (heads*d)[tp]", 2, 3, 8),
    case("partial sum", "tp=4", (P,), "b h[tp:partial]", 2, 5),
    case("partial sum in float64", "tp=2", (P,), "b h[tp:partial]", 2, 5, dtype=torch.float64),
    case("sequence parallel", "tp=4", (S1,), "b s[sp] h # ", 2, 8, 3),
    case("sequence first", "tp=2", (S0,), "s[sp] b h", 8, 2, 3),
    case("context", "cp=4", (S1,), "b s[cp] h", 2, 8, 3),
    case("context in zigzag order", "cp=4", (S1,), "b s[cp:zigzag] h", 2, 16, 3, zigzag=1),
    case("context in zigzag order, two", "cp=2", (S0,), "s[cp:zigzag] h", 8, 3, zigzag=0),
    case("zigzag and heads", "cp=2,tp=2", (S1, S2), "b s[cp:zigzag] h[tp]", 2, 8, 4, zigzag=1),
    case("zigzag, then sequence parallel", "cp=2,tp=2", (S0, S0), "s[cp:zigzag,sp] h", 16, 3, zigzag=0),
    case("batch", "dp=4", (S0,), "b[dp] h", 8, 3),
    case("batch and columns", "dp=2,tp=2", (S0, S1), "b[dp] h[tp]", 4, 6),
    case("batch and partial sum", "dp=2,tp=2", (S0, P), "b[dp] h[tp:partial]", 4, 3),
    case("gradient before its reduction", "dp=2,tp=2", (P, S0), "h[tp] d[dp:partial]", 4, 3),
    case("weight on data parallel ranks", "dp=4", (R,), "h d", 3, 4),
    case("weight cut on tp, replicated on dp", "dp=2,tp=2", (R, S0), "h[tp] d # dp:replicated", 4, 3),
    case("experts", "dp=2,ep=2", (R, S0), "e[ep] h d", 4, 2, 3),
    case("experts on all", "ep=4", (S0,), "e[ep] h d", 8, 2, 3),
    case("experts and rows", "ep=2,tp=2", (S0, S2), "e[ep] h d[tp]", 4, 2, 6),
    case("experts, flat over their replicas", "dp=2,ep=2", (S0, R), "f[edp] # ep:replicated", 12),
    case("stage 0 of a pipeline", "pp=2,tp=2", (R, S0), "h[tp] d", 4, 3, stage=0),
    case("stage 1 of a pipeline", "pp=2,tp=2", (R, S1), "b h[tp]", 3, 4, stage=1),
    case("all axes", "pp=2,dp=2,cp=2,tp=2", (R, S0, S1, S2), "b[dp] s[cp:zigzag] h[tp]", 4, 8, 4, zigzag=1, stage=1),
    case("flat buffer of ZeRO", "dp=4", (S0,), "f[dp]", 0, parts=FLAT),
    case("flat buffer of ZeRO and tp", "dp=2,tp=2", (S0, R), "f[dp] # tp:replicated", 0, parts=FLAT),
    case("integers", "dp=2,tp=2", (S0, R), "b[dp] s", 4, 6, dtype=torch.int32),
]  # fmt: skip


def parallel_of(one: Case) -> str:
    """Sizes as Megatron counts them: experts are dealt out over data parallel ranks; sp uses those of tp."""
    sizes = dict(one.mesh)
    if "ep" in sizes:
        sizes["dp"] = sizes.get("dp", 1) * sizes["ep"]
    if "sp" in one.layout:
        sizes["sp"] = sizes["tp"]
    return ",".join(f"{axis}={size}" for axis, size in sizes.items())


def values(one: Case, generator: torch.Generator) -> tuple[Tensor, list[Tensor]]:
    """The whole tensor, and those that a flat buffer holds."""
    if one.parts:
        parts = [torch.randn(shape, generator=generator) for shape in one.parts]
        flat = torch.cat([part.reshape(-1) for part in parts])
        ranks = one.mesh["dp"]
        return torch.nn.functional.pad(flat, (0, -len(flat) % ranks)), parts
    if not one.dtype.is_floating_point:
        return torch.randint(-99, 99, one.shape, generator=generator, dtype=one.dtype), []
    return torch.randn(one.shape, generator=generator, dtype=torch.float64).to(one.dtype), []


def zigzag(whole: Tensor, dim: int, ranks: int) -> Tensor:
    """Put a dimension in the order in which context parallel ranks hold it: the first and the last piece together."""
    try:
        from torch.distributed.tensor.experimental._context_parallel._load_balancer import (
            _HeadTailLoadBalancer,
        )

        order = _HeadTailLoadBalancer(
            whole.shape[dim], ranks, torch.device("cpu")
        )._generate_indices()
        return whole.index_select(dim, order.reshape(-1))
    except ImportError:
        pieces = whole.chunk(2 * ranks, dim)
        return torch.cat([pieces[n] for r in range(ranks) for n in (r, 2 * ranks - 1 - r)], dim)


def split_sum(
    whole: Tensor, mesh: Any, placements: tuple[Any, ...], generator: torch.Generator
) -> Any:
    """A product whose inner dimension an axis cuts: DTensor leaves the parts of the sums on its ranks."""
    summed = next(n for n, one in enumerate(placements) if one.is_partial())
    inner = 4 * mesh.size(summed)
    left = torch.randn((whole.shape[0], inner), generator=generator, dtype=torch.float64).to(
        whole.dtype
    )
    right = torch.randn((inner, whole.shape[1]), generator=generator, dtype=torch.float64).to(
        whole.dtype
    )
    rows = [
        Shard(1) if n == summed else one if one == S0 else R for n, one in enumerate(placements)
    ]
    columns = [Shard(0) if n == summed else R for n, one in enumerate(placements)]
    found = distribute_tensor(left, mesh, rows) @ distribute_tensor(right, mesh, columns)
    assert tuple(found.placements) == placements, found.placements
    return found


def shards_of(local: Tensor, ranks: int) -> dict[int, Tensor]:
    """What every rank holds; a plain tensor is the same on all of them."""
    held = getattr(local, "_local_tensors", None) or dict.fromkeys(range(ranks), local)
    return {rank: shard.detach().clone() for rank, shard in held.items()}


def text(array: Tensor) -> str:
    """Bytes in base64; bfloat16 as float32, as dumps hold it."""
    array = array.float() if array.dtype == torch.bfloat16 else array
    return base64.b64encode(array.contiguous().numpy().tobytes()).decode()


def record(one: Case, seed: int) -> dict[str, Any]:
    """What every rank holds of a tensor."""
    generator = torch.Generator().manual_seed(seed)
    whole, parts = values(one, generator)
    ranks = 1
    for size in one.mesh.values():
        ranks *= size
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    with LocalTensorMode(ranks):
        mesh = init_device_mesh("cpu", tuple(one.mesh.values()), mesh_dim_names=tuple(one.mesh))
        if any(placement.is_partial() for placement in one.placements):
            laid = split_sum(whole, mesh, one.placements, generator)
            whole = shards_of(laid.full_tensor(), ranks)[0]
        else:
            given = whole if one.zigzag is None else zigzag(whole, one.zigzag, one.mesh["cp"])
            laid = distribute_tensor(given, mesh, one.placements)
        held = shards_of(laid.to_local(), ranks)
    dist.destroy_process_group()
    per_stage = ranks // one.mesh.get("pp", 1)
    if one.stage is not None:
        held = {rank: shard for rank, shard in held.items() if rank // per_stage == one.stage}
    stored = torch.float32 if one.dtype == torch.bfloat16 else one.dtype
    return {
        "name": one.name,
        "parallel": parallel_of(one),
        "layout": one.layout.removesuffix(" # "),
        "dtype": str(one.dtype).removeprefix("torch."),
        "stored": str(stored).removeprefix("torch."),
        "whole": {"shape": list(whole.shape), "data": text(whole)},
        "shards": {
            str(rank): {"shape": list(shard.shape), "data": text(shard)}
            for rank, shard in held.items()
        },
        "parts": [{"shape": list(part.shape), "data": text(part)} for part in parts],
    }


def main(path: str) -> None:
    """Write the record."""
    found = {"torch": torch.__version__, "cases": [record(one, n) for n, one in enumerate(CASES)]}
    Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{len(CASES)} layouts")


if __name__ == "__main__":
    main(sys.argv[1])
