"""Kernels of losses that give their own gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def _log_shares(x: Array) -> Array:
    """Logarithm of the softmax along the last axis."""
    scaled = x - np.max(x, axis=-1, keepdims=True)
    return np.asarray(scaled - np.log(np.sum(np.exp(scaled), axis=-1, keepdims=True)))


def cross_entropy(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """-Σ labels · log softmax of every sample, and softmax - labels."""
    x, labels = inputs
    logs = _log_shares(x)
    return [np.asarray(-np.sum(labels * logs, axis=-1)), np.exp(logs) - labels]


def sparse_cross_entropy(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Mean of -log softmax at the samples' classes; with ``is_grad`` its gradient.

    Raises GraphError for a class that does not exist.
    """
    x, labels = inputs
    outside = (labels < 0) | (labels >= x.shape[1])
    if outside.any():
        got = int(labels[outside][0])
        raise GraphError("run/out-of-range", subject="labels", low=0, high=x.shape[1], got=got)
    logs, samples = _log_shares(x), np.arange(x.shape[0])
    if not settings["is_grad"]:
        return [np.asarray(-np.mean(logs[samples, labels]))]
    shares = np.exp(logs)
    shares[samples, labels] -= x.dtype.type(1)
    return [shares / x.dtype.type(x.shape[0])]
