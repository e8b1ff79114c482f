"""Kernels of losses and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def _log_shares(x: Array) -> Array:
    """Logarithm of the softmax along the last axis."""
    scaled = x - np.max(x, axis=-1, keepdims=True)
    return np.asarray(scaled - np.log(np.sum(np.exp(scaled), axis=-1, keepdims=True)))


def cross_entropy(x: Array, labels: Array) -> list[Array]:
    """-Σ labels · log softmax of every sample, and softmax - labels."""
    logs = _log_shares(x)
    return [np.asarray(-np.sum(labels * logs, axis=-1)), np.exp(logs) - labels]


def sparse_cross_entropy(x: Array, labels: Array, *, is_grad: Any) -> Array:
    """Mean of -log softmax at the samples' classes; with ``is_grad`` its gradient.

    Raises GraphError for a class that does not exist.
    """
    outside = (labels < 0) | (labels >= x.shape[1])
    if outside.any():
        got = int(labels[outside][0])
        raise GraphError("run/out-of-range", subject="labels", low=0, high=x.shape[1], got=got)
    logs, samples = _log_shares(x), np.arange(x.shape[0])
    if not is_grad:
        return np.asarray(-np.mean(logs[samples, labels]))
    shares = np.exp(logs)
    shares[samples, labels] -= x.dtype.type(1)
    return np.asarray(shares / x.dtype.type(x.shape[0]))


REDUCTIONS = {0: "sum", 1: "mean", 2: "none"}
"""How MindSpore numbers the reductions of losses."""


def reduction_of(value: Any) -> str:
    """Return the name of a reduction that a graph may hold as a number; raises GraphError."""
    name = REDUCTIONS.get(value, value)
    if name not in REDUCTIONS.values():
        known = sorted(REDUCTIONS.values())
        raise GraphError("core/choice", subject="reduction", got=value, known=known)
    return str(name)


def class_loss(
    logs: Array, labels: Array, weight: Array, *, reduction: Any, ignore_index: Any
) -> list[Array]:
    """-weight · logarithm at the classes of the samples, and the weight of all; one class may count nothing.

    Raises GraphError for a class that does not exist.
    """
    counted = labels != ignore_index
    outside = counted & ((labels < 0) | (labels >= logs.shape[1]))
    if outside.any():
        got = int(labels[outside][0])
        raise GraphError("run/out-of-range", subject="labels", low=0, high=logs.shape[1], got=got)
    places = np.where(counted, labels, 0)
    shares = weight[places] * counted
    loss, total = -shares * logs[np.arange(len(logs)), places], np.sum(shares)
    name = reduction_of(reduction)
    if name == "none":
        return [loss, np.asarray(total)]
    whole = np.sum(loss)
    return [np.asarray(whole / total if name == "mean" else whole), np.asarray(total)]


def dropout(x: Array, *, keep_prob: Any, Seed0: Any, Seed1: Any) -> list[Array]:
    """Keep each element with probability ``keep_prob``, scaled by its inverse; return the mask, too.

    The two seeds decide, and nothing else: also the seeds 0, by which MindSpore chooses anew every
    time. So two runs of a network drop the same elements and can be compared.
    """
    kept = float(keep_prob)
    seeds = [abs(int(Seed0)), abs(int(Seed1))]
    mask = (np.random.default_rng(seeds).random(x.shape) < kept).astype(x.dtype)
    return [x * (mask / x.dtype.type(kept)), mask]


def dropout_grad(dout: Array, mask: Array, *, keep_prob: Any) -> Array:
    """Gradient · mask / ``keep_prob``."""
    return np.asarray(dout * (mask / dout.dtype.type(keep_prob)))
