"""Losses and dropout, and their gradients."""

from __future__ import annotations

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    foreign,
    integers,
    output_like,
    reject,
    same_shape,
)
from workbench.ops.gradient import Backward, Entries, Symbol
from workbench.ops.kernels import loss as kernels


def sparse_cross_entropy_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Scores (N, C) and classes (N,): the mean loss, or the gradient of the scores."""
    shape, labels = call.shape(0), call.shape(1)
    integers(call, 1, "labels")
    if len(shape) != 2 or not shape[0] * shape[1]:
        reject("graph/layout", subject="features", expected="(samples, classes)", got=shape)
    if labels != shape[:1]:
        reject("graph/shape", subject="labels", expected=shape[:1], got=labels)
    return output_like(call, shape if call.settings["is_grad"] else ())


def cross_entropy_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Scores and wanted shares (N, C): the loss of every sample, and the gradient of the scores."""
    (spec,) = same_shape(call)
    if spec.shape is None or len(spec.shape) != 2 or not spec.shape[1]:
        reject("graph/layout", subject="features", expected="(samples, classes)", got=spec.shape)
    return (*output_like(call, spec.shape[:1]), spec)


def dropout_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the output and the mask, both like the input."""
    kept = call.settings["keep_prob"]
    if not isinstance(kept, int | float) or not 0 < kept <= 1:
        reject("graph/probability", subject="keep_prob", got=kept)
    for name in ("Seed0", "Seed1"):
        if not isinstance(call.settings[name], int):
            reject("graph/integer-any", subject=name, got=call.settings[name])
    return output_like(call, call.shape()) * 2


def dropout_gradient(b: Backward) -> Entries:
    """Elements that were kept."""
    keep = b.settings["keep_prob"]
    return (lambda: b.record("DropoutGrad", b.dout, b.outputs[1], keep_prob=keep),)


def cross_entropy_gradient(b: Backward) -> Entries:
    """Loss of rows of probabilities; the second output is its gradient by the logits."""

    def logits() -> Symbol:
        return b.record("Mul", b.outputs[1], b.record("ExpandDims", b.dout, -1))

    return logits, None


def sparse_cross_entropy_gradient(b: Backward) -> Entries:
    """Mean loss of classes; the same operator computes its gradient."""
    op_type = b.op.op_type

    def logits() -> Symbol:
        return b.times(b.record(op_type, *b.inputs, is_grad=True), b.dout)

    return logits, None


def class_loss_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Logarithms (N, C), classes (N,) and their weights (C,): the loss and the weight of all samples."""
    shape = call.shape(0)
    integers(call, 1, "labels")
    if len(shape) != 2 or not shape[1]:
        reject("graph/layout", subject="logits", expected="(samples, classes)", got=shape)
    for index, name, wanted in ((1, "labels", shape[:1]), (2, "weight", shape[1:])):
        if call.shape(index) != wanted:
            reject("graph/shape", subject=name, expected=wanted, got=call.shape(index))
    if not isinstance(call.settings["ignore_index"], int):
        reject("graph/integer-any", subject="ignore_index", got=call.settings["ignore_index"])
    single = kernels.reduction_of(call.settings["reduction"]) == "none"
    return (*output_like(call, shape[:1] if single else ()), *output_like(call, ()))


ROWS: dict[str, OpDef] = {
    "SoftmaxCrossEntropyWithLogits": OpDef(
        "features labels",
        cross_entropy_shapes,
        tensors=2,
        kernel=kernels.cross_entropy,
        gradient=cross_entropy_gradient,
        effect="sum",
        libm=True,
        floats=(0, 1),
    ),
    "SparseSoftmaxCrossEntropyWithLogits": OpDef(
        "features labels",
        sparse_cross_entropy_shapes,
        tensors=2,
        defaults={"is_grad": False},
        kernel=kernels.sparse_cross_entropy,
        gradient=sparse_cross_entropy_gradient,
        effect="sum",
        libm=True,
        floats=(0,),
    ),
    "Dropout": OpDef(
        "x keep_prob Seed0 Seed1",
        dropout_shapes,
        defaults={"keep_prob": 0.5, "Seed0": 0, "Seed1": 0},
        kernel=kernels.dropout,
        gradient=dropout_gradient,
        floats=(0,),
    ),
    "DropoutGrad": OpDef(
        "dy mask",
        same_shape,
        tensors=2,
        defaults={"keep_prob": 0.5},
        kernel=kernels.dropout_grad,
        floats=(0, 1),
    ),
    "BCEWithLogitsLoss": foreign("input target weight posWeight reduction"),
    "BinaryCrossEntropy": foreign("input target weight reduction"),
    "L1LossExt": foreign("input target reduction", effect="sum"),
    "MSELossExt": foreign("input target reduction", effect="sum"),
    "NLLLoss": OpDef(
        "logits labels weight reduction ignore_index",
        class_loss_shapes,
        tensors=3,
        defaults={"reduction": "mean", "ignore_index": -100},
        kernel=kernels.class_loss,
        effect="sum",
        floats=(0, 2),
    ),
    "SmoothL1Loss": foreign("prediction target beta reduction"),
}
