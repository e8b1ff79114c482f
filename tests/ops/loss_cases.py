"""Losses and Dropout, by their formulas, and their gradients."""

from __future__ import annotations

import math
import statistics

import numpy as np

from kit.oracle.differences import blamed
from kit.oracle.loops import X, Y, each, filled, numbers, whole
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere
from workbench.network.symbolic import record, record_all


def _losses(x, labels):
    found = []
    for row, shares in zip(x.tolist(), labels.tolist(), strict=True):
        total = math.log(math.fsum(math.exp(v) for v in row))
        found.append(math.fsum(share * (total - v) for v, share in zip(row, shares, strict=True)))
    return [np.array(found)]


def cross_entropy(inputs, settings):
    x, labels = inputs
    ones = np.ones(x.shape[0])
    losses = _losses(x, labels)
    if math.fsum(labels[0].tolist()) != 1.0:  # MindSpore takes for granted that shares sum to 1
        raise ValueError(labels)
    return [*losses, blamed(lambda a: _losses(a, labels), [x], 0, [ones])]


def sparse_cross_entropy(inputs, settings):
    x, labels = inputs
    shares = np.array([[float(k == label) for k in range(x.shape[1])] for label in labels.tolist()])

    def mean(a):
        return [np.array(statistics.fmean(_losses(a, shares)[0].tolist()))]

    return [blamed(mean, [x], 0, [1.0])] if settings.get("is_grad") else mean(x)


def dropout(inputs, settings):
    """Nothing is dropped; `test_backward` looks at what is."""
    assert settings["keep_prob"] == 1
    return [each(float)(inputs, {})[0], each(lambda v: 1.0)(inputs, {})[0]]


def dropout_gradient(inputs, settings):
    dout, mask = inputs
    pairs = zip(dout.ravel().tolist(), mask.ravel().tolist(), strict=True)
    return [filled(dout, [d * m / settings["keep_prob"] for d, m in pairs])]


SCORES, CLASSES = numbers(3, 4), whole(3, low=0, high=4, dtype=np.int32)

SHARES = np.array([[0.25, 0.5, 0.125, 0.125], [0.0, 0.0, 1.0, 0.0], [0.5, 0.5, 0.0, 0.0]])

LABELS = np.array([2, 0, 1], np.int32)

LIKELY = np.array([[0.2, 0.3, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0], [0.25, 0.25, 0.25, 0.25]])


def class_loss(inputs, settings):
    """The negative logarithm of each sample's own class, times the weight of that class."""
    logs, labels, weights = inputs
    ignored = settings.get("ignore_index", -100)
    losses, shares = [], []
    for row, label in zip(logs.tolist(), labels.tolist(), strict=True):
        share = 0.0 if label == ignored else float(weights[label])
        shares.append(share)
        losses.append(0.0 if label == ignored else -share * row[label])
    how = {0: "none", 1: "mean", 2: "sum"}.get(
        settings.get("reduction"), settings.get("reduction", "mean")
    )
    total, whole = math.fsum(shares), math.fsum(losses)
    found = {"none": losses, "sum": whole, "mean": whole / total if total else math.nan}[how]
    return [np.array(found), np.array(total)]


LOGS, WEIGHTS = -numbers(5, 4, low=0.1, high=3.0), numbers(4, low=0.5, high=2.0)

CASES = {
    "SoftmaxCrossEntropyWithLogits": OperatorCase(
        cross_entropy,
        [([SCORES, SHARES], {})],
        by_differences=True,
        gradient=[
            GradientCase(
                lambda x: record_all("SoftmaxCrossEntropyWithLogits", x, LIKELY)[0],
                (anywhere(3, 4),),
            )
        ],
    ),
    "SparseSoftmaxCrossEntropyWithLogits": OperatorCase(
        sparse_cross_entropy,
        [([SCORES, CLASSES], {"is_grad": False}), ([SCORES, CLASSES], {"is_grad": True})],
        by_differences=True,
        gradient=[
            GradientCase(
                lambda x: record("SparseSoftmaxCrossEntropyWithLogits", x, LABELS, is_grad=False),
                (anywhere(3, 4),),
            )
        ],
    ),
    "Dropout": OperatorCase(
        dropout,
        [([X], {"keep_prob": 1.0})],
        by_differences=True,
        gradient=[
            GradientCase(
                lambda x: record_all("Dropout", x, keep_prob=0.5, Seed0=1, Seed1=2)[0],
                (anywhere(4, 4),),
            )
        ],
    ),
    "DropoutGrad": OperatorCase(
        dropout_gradient, [([X, (Y > 0).astype(float)], {"keep_prob": 0.75})], by_differences=True
    ),
    "NLLLoss": OperatorCase(
        class_loss,
        [
            ([LOGS, np.array([2, 0, 1, 1, 3]), WEIGHTS], {}),
            ([LOGS, np.array([2, 0, -100, 1, 3]), WEIGHTS], {"reduction": "sum"}),
            ([LOGS, np.array([2, 0, 1, 1, 3]), WEIGHTS], {"reduction": "none", "ignore_index": 1}),
            ([LOGS, np.array([2, 0, 1, 1, 3]), WEIGHTS], {"reduction": 1, "ignore_index": 0}),
        ],
    ),
}
