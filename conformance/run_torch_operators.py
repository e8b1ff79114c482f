"""Has PyTorch compute on a CPU what operators of NPU dumps compute, and records inputs and results.

``run_torch_operators.py RECORD``; needs PyTorch and nothing of ours. The operators are those that MindSpore
and CANN have under names of their own: each case names the type and its operands as a graph has them, and
the function of PyTorch that computes the same. Attention, rotary positions and the choice of experts are
written down here from CANN's documents, step by step, in float64.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

Tensor = torch.Tensor
LONG = 2147483647
SUM, MEAN, NONE = 0, 1, 2
HALVES = (torch.float32, torch.float16, torch.bfloat16)


class Case(NamedTuple):
    """An operator, its operands in order (tensors, or constants), attributes, and what computes it.

    ``outputs`` says which of its outputs ``compute`` gives, in order; ``shapes`` are stated shapes of all.
    """

    op: str
    operands: tuple[Any, ...]
    compute: Callable[..., Any]
    attrs: dict[str, Any] | None = None
    outputs: tuple[int, ...] = (0,)


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Normal numbers that a seed decides."""
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.to(dtype)


def between(low: float, high: float, *shape: int, seed: int = 0) -> Tensor:
    """Return even numbers between two bounds, which a seed decides."""
    made = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (low + (high - low) * made).float()


def bits(*shape: int, seed: int = 0) -> Tensor:
    """Return a mask of which two fifths are true."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.4


def elementwise() -> list[Case]:
    """Return sums with a factor, clamps and activations."""
    x, y = numbers(3, 4), numbers(3, 4, seed=1)
    found = [
        Case(op, (numbers(3, 4, dtype=one), numbers(3, 4, seed=1, dtype=one), alpha), rule)
        for one in HALVES
        for op, alpha, rule in (
            ("AddExt", 2, lambda a, b, k: torch.add(a, b, alpha=k)),
            ("SubExt", -3, lambda a, b, k: torch.sub(a, b, alpha=k)),
            ("InplaceAddExt", 5, lambda a, b, k: torch.add(a, b, alpha=k)),
        )
    ]
    return [
        *found,
        Case("L2Loss", (x,), lambda a: F.mse_loss(a, torch.zeros_like(a), reduction="sum") / 2),
        Case("SoftmaxGrad", (x.softmax(1), y), softmax_grad, {"axes": (1,)}),
        Case("View", (x, (2, -1)), torch.Tensor.view),
        Case("Muls", (x, 2), torch.mul),
        Case("Muls", (x,), lambda a: torch.mul(a, 0.375), {"value": 0.375}),
        Case("Adds", (x,), lambda a: torch.add(a, -1.5), {"value": -1.5}),
        Case("ClampTensor", (x, y - 1, y + 1), torch.clamp),
        Case("ClampTensor", (x, None, y), torch.clamp),
        Case("ClampTensor", (x, y, None), torch.clamp),
        Case("SoftplusExt", (20 * x, 1, 20), F.softplus),
        Case("SoftplusExt", (3 * x, 2, 0.5), F.softplus),
        *(
            Case(name, (numbers(2, 3, 8, seed=7, dtype=one), dim), swiglu)
            for name, one, dim in (
                ("Swiglu", torch.float32, -1),
                ("SwiGlu", torch.bfloat16, 2),
                ("Swiglu", torch.float16, 0),
            )
        ),
    ]


def softmax_grad(out: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient of a softmax along its last axis."""
    return torch.ops.aten._softmax_backward_data(grad, out, 1, torch.float32)


def swiglu(x: Tensor, dim: int) -> Tensor:
    """Return SiLU of one half times the other."""
    a, b = x.double().chunk(2, dim)
    return (F.silu(a) * b).to(x.dtype)


def losses() -> list[Case]:
    """Return losses with each reduction."""
    x, y, weight = numbers(4, 5), numbers(4, 5, seed=1), between(0.1, 2, 4, 5, seed=2)
    share, target = between(0, 1, 4, 5, seed=3), between(0, 1, 4, 5, seed=4)
    share[0, 0], share[0, 1] = 0.0, 1.0
    words = {SUM: "sum", MEAN: "mean", NONE: "none"}
    found = []
    for reduction in words:
        word = words[reduction]
        found += [
            Case("L1LossExt", (x, y, reduction), _with(F.l1_loss, reduction=word)),
            Case("MSELossExt", (x, y, reduction), _with(F.mse_loss, reduction=word)),
            *(
                Case(
                    "SmoothL1Loss", (x, y, beta, reduction),
                    _with(F.smooth_l1_loss, reduction=word, beta=beta),
                )
                for beta in (1.0, 0.25)
            ),
            Case(
                "BinaryCrossEntropy", (share, target, weight, reduction),
                _with(F.binary_cross_entropy, weight=weight, reduction=word),
            ),
            Case(
                "BCEWithLogitsLoss", (9 * x, target, weight, 1 + share[0], reduction),
                _with(
                    F.binary_cross_entropy_with_logits, weight=weight, pos_weight=1 + share[0],
                    reduction=word,
                ),
            ),
        ]  # fmt: skip
    found.append(
        Case("BinaryCrossEntropy", (share, target, None, 1), _with(F.binary_cross_entropy))
    )
    found.append(
        Case(
            "BCEWithLogitsLoss", (x, target, None, None, 1),
            _with(F.binary_cross_entropy_with_logits),
        )
    )  # fmt: skip
    logs, labels = torch.log_softmax(x, 1), torch.tensor([0, 4, 2, 1], dtype=torch.int32)
    for reduction, word in words.items():
        for ignored in (-100, 2):
            found.append(
                Case(
                    "NLLLoss", (logs, labels, weight[0], reduction, ignored),
                    _with(
                        lambda a, b, **more: F.nll_loss(a, b.long(), **more), weight=weight[0],
                        reduction=word, ignore_index=ignored,
                    ),
                )
            )  # fmt: skip
    return found


def _with(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    """Call a function with the first two operands alone, and settings by name."""
    return lambda a, b, *_: function(a, b, **more)


def products() -> list[Case]:
    """Return products, convolutions and their gradients."""
    x, w = numbers(2, 3, 6), numbers(4, 6, seed=1)
    image, kernel = numbers(1, 4, 6, 5), numbers(6, 2, 3, 2, seed=1)
    solid, block = numbers(1, 4, 4, 5, 3), numbers(2, 2, 2, 3, 2, seed=1)
    turned = numbers(4, 3, 3, 2, seed=1)
    found = [
        Case("Dense", (x, w, numbers(4, seed=2)), F.linear),
        Case("Dense", (x, w, None), F.linear),
        Case("MatMulExt", (x, numbers(6, 5, seed=1)), torch.matmul),
        Case("MatMulExt", (x, numbers(2, 6, 5, seed=1)), torch.matmul),
    ]
    convolved = (
        (image, kernel, numbers(6, seed=2), (1, 2), (2, 1), (1, 1), False, (0, 0), 2),
        (image, kernel, None, (2, 1), (0, 0), (2, 1), False, (0, 0), 2),
        (image, turned, numbers(3, seed=2), (2, 1), (1, 0), (1, 1), True, (1, 0), 1),
        (solid, block, numbers(2, seed=2), (1, 2, 1), (1, 0, 1), (1, 1, 1), False, (0, 0, 0), 2),
    )
    found += [Case("Convolution", one, torch.ops.aten.convolution) for one in convolved]
    found.append(
        Case(
            "Conv3D", (solid, block), lambda a, b: F.conv3d(a, b, None, (1, 2, 1), (1, 0, 1), 1, 2),
            {
                "group": 2, "pad_mode": "pad", "pad": (1, 1, 0, 0, 1, 1),
                "stride": (1, 1, 1, 2, 1), "dilation": (1, 1, 1, 1, 1),
            },
        )
    )  # fmt: skip
    settings = ((1, 2), (2, 1), (1, 1), False, (0, 0), 2)
    dout = torch.ops.aten.convolution(image, kernel, None, *settings)
    dout = numbers(*dout.shape, seed=5)
    found.append(
        Case(
            "ConvolutionGrad",
            (dout, image, kernel, numbers(6, seed=2), *settings, (True, True, True)),
            lambda d, a, b, c, *more: torch.ops.aten.convolution_backward(
                d, a, b, [6], *more[:-1], [True] * 3
            ),
            outputs=(0, 1, 2),
        )
    )
    return found


def normalizations() -> list[Case]:
    """Return normalizations with their statistics."""
    found = []
    for one in HALVES:
        x1, x2 = numbers(2, 3, 8, dtype=one), numbers(2, 3, 8, seed=1, dtype=one)
        gamma = numbers(8, seed=2, dtype=one)
        found.append(Case("AddRmsNorm", (x1, x2, gamma, 1e-5), add_rms_norm, outputs=(0, 1, 2)))
        found.append(
            Case("RmsNorm", (x1, gamma, 0.25), lambda a, g, e: rms_norm(a, g, e), outputs=(0, 1))
        )
    image = numbers(3, 4, 2, 5)
    scale, shift = numbers(4, seed=1), numbers(4, seed=2)
    mean, variance = numbers(4, seed=3), between(0.5, 2, 4, seed=4)
    found += [
            Case(
                "BatchNormExt", (image, scale, shift, mean, variance, training, 0.1, 1e-3),
                lambda x, w, b, m, v, t, k, e: torch.native_batch_norm(
                    x, w, b, m.clone(), v.clone(), t, k, e
                ),
                outputs=(0, 1, 2) if training else (0,),
            )
            for training in (True, False)
        ]  # fmt: skip
    found.append(
        Case(
            "BatchNormExt", (image, None, None, mean, variance, False, 0.1, 1e-3),
            lambda x, w, b, m, v, t, k, e: F.batch_norm(x, m, v, eps=e),
        )
    )  # fmt: skip
    rows = numbers(2, 3, 4, 5)
    found += [
            Case(
                "LayerNormExt", (rows, (4, 5), *weights, 1e-3),
                lambda x, s, w, b, e: torch.native_layer_norm(x, s, w, b, e), outputs=(0, 1, 2),
            )
            for weights in ((numbers(4, 5, seed=1), numbers(4, 5, seed=2)), (None, None))
        ]  # fmt: skip
    found.append(
        Case(
            "LayerNormV3", (rows, numbers(4, 5, seed=1), numbers(4, 5, seed=2)),
            lambda x, w, b: torch.native_layer_norm(x, (4, 5), w, b, 1e-3),
            {"begin_norm_axis": 2, "begin_params_axis": 2, "epsilon": 1e-3}, outputs=(0, 1, 2),
        )
    )  # fmt: skip
    return found


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Return the normalized rows and their factors."""
    wide = x.double()
    factor = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return F.rms_norm(wide, gamma.shape, gamma.double(), epsilon).to(x.dtype), factor.float()


def add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, ...]:
    """Return RmsNorm of a sum, its factors and the sum."""
    total = x1.double() + x2.double()
    normal, factor = rms_norm(total, gamma, epsilon)
    return normal.to(x1.dtype), factor, total.to(x1.dtype)


def places() -> list[Case]:
    """Return lookups, resizing and pooling."""
    image, table = numbers(2, 3, 5, 4), numbers(5, 4)
    ids = torch.tensor([[0, 4], [2, 2]], dtype=torch.int32)
    found = [
        Case("Embedding", (ids, table, None, None, 2.0, False), lambda i, t, *_: F.embedding(i, t)),
        Case("Embedding", (ids, table, 2, None, 2.0, False), lambda i, t, *_: F.embedding(i, t, 2)),
        Case("GatherV2", (image, ids[0] % 3, 1), lambda x, i, _: x[:, i.long()]),
        Case("GatherV2D", (image, ids[0] % 3), lambda x, i: x[:, i.long()], {"axis": 1}),
        Case(
            "StridedSliceD", (image,), lambda x: x[1:2, :2, ::3],
            {"begin": (1, 0, 0), "end": (2, 2, 5), "strides": (1, 1, 3)},
        ),
        Case("Pad", (image,), lambda x: F.pad(x, (0, 3, 1, 2)),
             {"paddings": ((0, 0), (0, 0), (1, 2), (0, 3))}),
        Case("UpsampleNearest2D", (image, (9, 4), None), lambda x, s, _: F.interpolate(x, s)),
        Case("UpsampleNearest2D", (image, None, (2.0, 3.0)),
             lambda x, _, s: F.interpolate(x, scale_factor=s)),
        Case("LinSpace", (torch.tensor(-1.5), torch.tensor(3.0), 7), torch.linspace),
        Case("LinSpace", (torch.tensor(2.0), torch.tensor(3.0), 1), torch.linspace),
        Case("Range", (torch.tensor(1.0), torch.tensor(4.0), torch.tensor(0.75), 1000), _arange),
        Case("Range", (torch.tensor(9), torch.tensor(1), torch.tensor(-3), 1000), _arange),
        Case("MeanExt", (image, (1, 3), True, None), lambda x, d, k, _: x.mean(d, k)),
        Case("MeanExt", (image, None, False, None), lambda x, *_: x.mean()),
        Case("SumExt", (image, -1, False, None), lambda x, d, k, _: x.sum(d, k)),
        *(
            Case("ArgMaxExt", (image, dim, keep), torch.argmax)
            for dim, keep in ((None, False), (2, False), (-1, True))
        ),
    ]  # fmt: skip
    for size, stride, pad, ceil, counts in (
        ((3, 2), (2, 1), (1, 0), False, True),
        ((3, 2), (2, 2), (1, 1), False, False),
        ((2, 2), (2, 2), (0, 0), True, False),
        ((3, 3), None, (1, 1), False, False),
    ):
        found.append(
            Case(
                "AvgPool2D", (image, size, stride, pad, ceil, counts, None),
                lambda x, *more: F.avg_pool2d(x, *more),
            )
        )  # fmt: skip
    for size, stride, pad, ceil in (
        ((3, 2), (2, 1), (1, 0), False),
        ((2, 2), (2, 2), (0, 0), True),
    ):
        found.append(
            Case(
                "MaxPoolWithMask", (image, size, stride, pad, (1, 1), ceil, 35),
                lambda x, k, s, p, d, c, _: F.max_pool2d(x, k, s, p, d, c),
            )
        )  # fmt: skip
    return found


def _arange(start: Tensor, end: Tensor, step: Tensor, _: int) -> Tensor:
    return torch.arange(start.item(), end.item(), step.item())


def updates() -> list[Case]:
    """Return what optimizers leave."""
    var, state, grad = numbers(3, 4), between(0.1, 2, 3, 4, seed=1), numbers(3, 4, seed=2)
    rate = torch.tensor(0.125)

    def adagrad(v: Tensor, s: Tensor, r: Tensor, g: Tensor) -> tuple[Tensor, ...]:
        weight = torch.nn.Parameter(v.clone())
        optimizer = torch.optim.Adagrad([weight], lr=float(r), eps=0.0)
        optimizer.state[weight]["sum"] = s.clone()
        weight.grad = g
        optimizer.step()
        return weight.detach(), optimizer.state[weight]["sum"]

    def adam(*given: Any) -> Tensor:
        """PyTorch's third step, where the moments carry two steps."""
        v, m, s, _, _, r, b1, b2, e, g = given
        weight = torch.nn.Parameter(v.clone())
        scale = float(torch.sqrt(1 - b2**3))  # the epsilon stands beside the root as it is
        optimizer = torch.optim.Adam(
            [weight], lr=float(r), betas=(float(b1), float(b2)), eps=float(e) / scale
        )
        state = {"step": torch.tensor(2.0), "exp_avg": m.clone(), "exp_avg_sq": s.clone()}
        optimizer.state[weight].update(state)
        weight.grad = g
        optimizer.step()
        return weight.detach()

    def rms_prop(*given: Any) -> Tensor:
        """MindSpore's formula: the epsilon stands inside the root."""
        v, s, m, r, g, decay, momentum, epsilon = given
        s = torch.lerp(g * g, s, decay)
        return v - torch.addcdiv(momentum * m, r * g, (s + epsilon).sqrt())

    return [
        Case("ApplyAdagrad", (var, state, rate, grad), adagrad, outputs=(0, 1)),
        Case(
            "ApplyAdam",
            (
                var, numbers(3, 4, seed=3), state, *map(torch.tensor, (0.729, 0.729, 0.125)),
                *map(torch.tensor, (0.9, 0.9, 1e-4)), grad,
            ),
            adam,
        ),
        Case(
            "ApplyRMSProp", (var, state, numbers(3, 4, seed=3), rate, grad, 0.75, 0.5, 0.25),
            rms_prop,
        ),
    ]  # fmt: skip


# --- attention -----------------------------------------------------------------------------------

ORDER = {"BSND": (0, 2, 1, 3), "BNSD": (0, 1, 2, 3), "BSH": (0, 2, 1, 3), "SBH": (1, 2, 0, 3)}


def laid(x: Tensor, layout: str) -> Tensor:
    """(B, N, S, D) as a network holds it."""
    order = ORDER[layout]
    x = x.permute(*(order.index(axis) for axis in range(4)))
    return x.reshape(*x.shape[:2], -1).contiguous() if layout.endswith("H") else x.contiguous()


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    hidden: Tensor | None,
    shift: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """PyTorch's own attention in float64, and the statistics of its scores."""
    wide = [one.double() for one in (q, k, v)]
    bias = torch.zeros(1, dtype=torch.float64) if shift is None else shift.double() * scale
    if hidden is not None:
        bias = torch.where(hidden, float("-inf"), bias)
    full = (*q.shape[:3], k.shape[2])
    out = F.scaled_dot_product_attention(
        *wide, attn_mask=bias.broadcast_to(full), scale=scale, enable_gqa=q.shape[1] != k.shape[1]
    )
    keys = wide[1].repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = torch.einsum("bnsd,bntd->bnst", wide[0], keys) * scale + bias
    largest = scores.amax(-1, keepdim=True)
    total = torch.exp(scores - largest).sum(-1, keepdim=True)
    return largest.float(), total.float(), out.to(q.dtype)


def triangle(queries: int, keys: int, diagonal: int) -> Tensor:
    """Keys behind a diagonal are hidden."""
    return torch.ones(queries, keys, dtype=torch.bool).triu(diagonal + 1)


def flash(
    layout: str = "BNSD", heads: tuple[int, int] = (2, 2), lengths: tuple[int, int] = (5, 5),
    dtype: torch.dtype = torch.float32, mask: Tensor | None = None, mode: int = 0,
    tokens: tuple[int, int] = (LONG, LONG), hidden: Tensor | None = None, shift: Any = None,
    prefix: Any = None, dropped: Any = None,
) -> Case:  # fmt: skip
    """FlashAttentionScore; ``hidden`` is what the mask and the mode hide, by the documents."""
    queries, keys = lengths
    q = numbers(2, heads[0], queries, 4, dtype=dtype)
    k, v = (numbers(2, heads[1], keys, 4, seed=seed, dtype=dtype) for seed in (1, 2))
    scale = 0.25

    def compute(*_: Any) -> tuple[Tensor, ...]:
        largest, total, out = attention(q, k, v, scale, mask if hidden is None else hidden, shift)
        eight = [one.expand(*one.shape[:-1], 8) for one in (largest, total)]
        return *eight, laid(out, layout)

    optional = (shift, dropped, None, mask, prefix, None, None)
    settings = (heads[0], 1.0, scale, *tokens, 0, layout, mode)
    operands = (*(laid(one, layout) for one in (q, k, v)), *optional, *settings)
    return Case("FlashAttentionScore", operands, compute, outputs=(0, 1, 3))


def flash_of_lengths() -> Case:
    """Sequences of 3 and 4 queries, 4 and 5 keys, one behind the other; causal from the right."""
    ends, key_ends = (3, 7), (4, 9)
    q, k, v = numbers(7, 4, 4), numbers(9, 2, 4, seed=1), numbers(9, 2, 4, seed=2)

    def compute(*_: Any) -> tuple[Tensor, ...]:
        parts = []
        for (a, b), (c, d) in (((0, 3), (0, 4)), ((3, 7), (4, 9))):
            some = [one.permute(1, 0, 2)[None] for one in (q[a:b], k[c:d], v[c:d])]
            hidden = triangle(b - a, d - c, (d - c) - (b - a))
            found = attention(*some, 0.25, hidden)
            parts.append([one[0].permute(1, 0, 2) for one in found])
        largest, total, out = (torch.cat(some) for some in zip(*parts, strict=True))
        return largest.expand(-1, -1, 8), total.expand(-1, -1, 8), out

    small = torch.ones(8, 8, dtype=torch.bool).triu(1)
    optional = (None, None, None, small, None, ends, key_ends)
    settings = (4, 1.0, 0.25, LONG, LONG, 0, "TND", 3)
    return Case("FlashAttentionScore", (q, k, v, *optional, *settings), compute, outputs=(0, 1, 3))


def attentions() -> list[Case]:
    """Return attention in every layout and sparse mode."""
    compressed = torch.ones(8, 8, dtype=torch.bool).triu(1)  # 2048 x 2048 on a device
    found = [flash(layout=one) for one in ORDER]
    found += [flash(dtype=one, heads=(4, 2), layout="BSH") for one in HALVES]
    found += [flash(heads=(4, 1), layout=one) for one in ORDER]
    whole, single, one_each = bits(5, 5, seed=8), bits(2, 1, 5, 5, seed=9), bits(2, 2, 5, 5, seed=6)
    for mask in (whole, single, one_each):
        mask[..., 0] = False  # no row is hidden as a whole
        found.append(flash(mask=mask))
        found.append(flash(mask=mask.to(torch.uint8), hidden=mask, mode=1, layout="SBH"))
    causal = triangle(5, 5, 0)
    found.append(flash(mask=causal, tokens=(LONG, 0)))
    band = triangle(5, 5, 1) | ~triangle(5, 5, -3)
    found.append(flash(mask=band, tokens=(2, 1)))
    for queries, keys in ((5, 5), (3, 6), (6, 6)):
        shape, end = (queries, keys), keys - queries
        found += [
            flash(lengths=shape, mask=compressed, mode=2, hidden=triangle(*shape, 0)),
            flash(lengths=shape, mask=compressed, mode=3, hidden=triangle(*shape, end)),
            flash(
                lengths=shape, mask=compressed, mode=4, tokens=(2, 1),
                hidden=triangle(*shape, end + 1) | ~triangle(*shape, end - 3),
            ),
        ]  # fmt: skip
    columns = torch.arange(5)
    ends = torch.tensor([3, 4])[:, None, None, None]
    hidden = (triangle(5, 5, 0) & (columns >= ends)).expand(2, 1, 5, 5)
    found.append(flash(mask=hidden, mode=5, prefix=(3, 4)))
    found.append(flash(mask=compressed, mode=6, prefix=(3, 4), hidden=hidden))
    found.append(flash(shift=numbers(2, 2, 5, 5, seed=4)))
    found.append(flash(shift=numbers(1, 2, 5, 5, seed=4), mask=causal, layout="BSND"))
    found.append(flash(dropped=torch.full((2, 2, 5, 1), 255, dtype=torch.uint8)))
    found.append(flash_of_lengths())
    return [*found, *inference()]


def inference() -> list[Case]:
    """Return attention as inference calls it."""
    found = []
    for layout, heads, keys in (("BSH", 2, 2), ("BNSD", 4, 2), ("BSND", 4, 1)):
        q = numbers(2, heads, 5, 4, dtype=torch.float16)
        k, v = (numbers(2, keys, 5, 4, seed=seed, dtype=torch.float16) for seed in (1, 2))
        for mask, mode, hidden in (
            (None, 0, None),
            (triangle(5, 5, 0), 0, triangle(5, 5, 0)),
            (torch.ones(8, 8, dtype=torch.bool).triu(1), 3, triangle(5, 5, 0)),
        ):
            settings = (heads, 0.25, LONG, 0, layout, keys, mode, 1)
            found.append(
                Case(
                    "PromptFlashAttention",
                    (*(laid(one, layout) for one in (q, k, v)), mask, *(None,) * 8, *settings),
                    lambda *_, a=(q, k, v), h=hidden, to=layout: laid(
                        attention(*a, 0.25, h)[2], to
                    ),
                )
            )
        one = numbers(2, heads, 1, 4, seed=3, dtype=torch.float16)
        lengths = (4, 2)
        behind = torch.arange(5) >= torch.tensor(lengths)[:, None, None, None]
        for given, hidden in ((None, None), (lengths, behind)):
            settings = (heads, layout, 0.25, keys, 0, 1, None)
            operands = tuple(laid(x, layout) for x in (one, k, v))
            found.append(
                Case(
                    "IncreFlashAttention", (*operands, None, given, *(None,) * 9, *settings),
                    lambda *_, a=(one, k, v), h=hidden, to=layout: laid(
                        attention(*a, 0.25, h)[2], to
                    ),
                )
            )  # fmt: skip
    return found


def rotary() -> list[Case]:
    """Return rotary positions in every mode."""

    def compute(x: Tensor, cos: Tensor, sin: Tensor, mode: int) -> Tensor:
        wide, c, s = x.double(), cos.double(), sin.double()
        if mode == 0:
            a, b = wide.chunk(2, -1)
            other = torch.cat((-b, a), -1)
        elif mode == 1:
            turned = torch.view_as_real(torch.view_as_complex(wide.unflatten(-1, (-1, 2))) * 1j)
            other = turned.flatten(-2)
        elif mode == 2:
            a, b, e, f = wide.chunk(4, -1)
            other = torch.cat((-b, a, -f, e), -1)
        else:
            a, b = wide[..., ::2], wide[..., 1::2]
            wide, other = torch.cat((a, b), -1), torch.cat((-b, a), -1)
        return (wide * c + other * s).to(x.dtype)

    return [
        Case(
            "RotaryPositionEmbedding",
            (
                numbers(2, 3, 2, 8, dtype=one),
                numbers(1, 3, 1, 8, seed=1, dtype=one),
                numbers(1, 3, 1, 8, seed=2, dtype=one),
                mode,
            ),
            compute,
        )
        for mode in range(4)
        for one in HALVES
    ]


def experts() -> list[Case]:
    """The choice of experts as torch_npu's own test states it: the bias chooses, and does not weigh."""

    def compute(x: Tensor, bias: Any, k: int, some: int, groups: int, mode: int, *more: Any) -> Any:
        _, kind, _, factor, epsilon = more
        shares = torch.sigmoid(x.double()) if kind else torch.softmax(x.double(), -1)
        ranked = shares if bias is None else shares + bias.double()
        each = ranked.unflatten(-1, (groups, -1))
        best = each.topk(2, -1)[0].sum(-1) if mode else each.amax(-1)
        kept = torch.zeros_like(best, dtype=torch.bool).scatter(-1, best.topk(some, -1)[1], True)
        each = each.masked_fill(~kept[..., None], float("-inf"))
        chosen = each.flatten(-2).topk(k, -1)[1]
        weights = shares.gather(-1, chosen)
        if kind:
            weights = weights / (weights.sum(-1, keepdim=True) + epsilon)
        return (weights * factor).to(x.dtype), chosen.int()

    def of_softmax(x: Tensor, _: Any, k: int) -> Any:
        weights, chosen = torch.softmax(x.double(), -1).topk(k, -1)
        return weights.to(x.dtype), chosen.int()

    x, bias = numbers(3, 16), numbers(16, seed=1)
    return [
        *(
            Case(
                "MoeGatingTopK", (x, some_bias, 3, kept, groups, mode, 0, kind, False, 2.5, 1e-20),
                compute, outputs=(0, 1),
            )
            for some_bias in (None, bias)
            for kept, groups in ((1, 1), (2, 4))
            for mode in (0, 1)
            for kind in (0, 1)
        ),
        Case("MoeGatingTopKSoftmax", (x, None, 4), of_softmax, outputs=(0, 1)),
    ]  # fmt: skip


def packed(value: Any) -> Any:
    """Return an operand as JSON: tensors by their bytes, constants as they are."""
    if not isinstance(value, Tensor):
        return {"constant": list(value) if isinstance(value, tuple) else value}
    name = str(value.dtype).removeprefix("torch.")
    plain = value.contiguous()
    raw = (plain.view(torch.int16) if name == "bfloat16" else plain).numpy().tobytes()
    return {"dtype": name, "shape": list(value.shape), "data": base64.b64encode(raw).decode()}


def outcome(case: Case) -> dict[str, Any]:
    """Return what is recorded of a case."""
    given = [one.clone() if isinstance(one, Tensor) else one for one in case.operands]
    found = case.compute(*given)
    found = found if isinstance(found, tuple | list) else (found,)
    return {
        "op": case.op,
        "operands": [packed(one) for one in case.operands],
        "attrs": case.attrs or {},
        "outputs": {str(n): packed(one) for n, one in zip(case.outputs, found, strict=False)},
    }


def main() -> None:
    """Compute the cases and write the record."""
    torch.set_num_threads(1)
    groups = (
        elementwise, losses, products, normalizations, places, updates, attentions, rotary, experts,
    )  # fmt: skip
    found = [outcome(case) for group in groups for case in group()]
    lines = ",\n".join(json.dumps(one, sort_keys=True) for one in found)
    version = torch.__version__.partition("+")[0]
    text = f'{{"torch": "{version}", "cases": [\n{lines}\n]}}\n'
    Path(sys.argv[1]).write_text(text, encoding="utf-8")
    print(len(found), "cases,", len({one["op"] for one in found}), "types,", len(text), "bytes")


if __name__ == "__main__":
    main()
