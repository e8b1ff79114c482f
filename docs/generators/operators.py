"""Operators of the table: where they are computed, their gradients, and the ONNX operators that become them."""

from __future__ import annotations

import inspect
from collections import defaultdict

from generators.markdown import code, codes, page, table
from workbench.network.onnx.lower import OPSETS
from workbench.network.onnx.table import CONVERTERS
from workbench.ops import OPS
from workbench.ops.aliases import ALIASES
from workbench.ops.decompositions import DECOMPOSITIONS
from workbench.ops.not_computed import NOT_COMPUTED

UNITS = {
    "cube": "cube",
    "vector": "vector",
    "mixed": "cube and vector",
    "none": "none (renames data)",
}

INTRODUCTION = """\
The workbench can trace and simulate these {count} operators. It can replay them, except random operators, operators
across ranks and those that read the overflow status. Names, arguments and their order are those of MindSpore 2.10;
operators that only the graph engine has are spelled as in CANN.

* **Unit**: the unit of the NPU that computes it.
* **Kernel**: all operators have one in NumPy, for the reference and for replay; independent oracles test the kernels.
* **Gradient**: whether a training step can go backward through it; gradients and operators of integers have none.
* **ONNX**: ONNX operators that become this one operator. Others are [built from several](#onnx-operators)."""

ONNX = """\
{count} ONNX operators are converted, opsets {first} to {last}. The column *Operator* is empty if several
operators replace one.

Functions of the model and operators that the standard defines by others (`Attention`, `RotaryEmbedding`, losses) are
expanded first. Not supported: control flow (`If`, `Loop`, `Scan`), outputs whose size depends on values (`NonZero`,
`NonMaxSuppression`, `Unique`), strings, sequences, 3-D windows, dilated pooling, cubic resizing and training modes.
One error lists every unsupported operator with its nodes."""


OTHERS = """\
`compare` also replays these types of other dialects: each is an operator above under another name, or is
computed as several of them. Results of PyTorch on a CPU (`make conformance-torch`) or closed formulas check them.

An operator is not replayed with settings that documents leave open: dropout in attention (`keep_prob` below 1),
a shift of scores in inference, sequences of several lengths in `PromptFlashAttention`, a cache in pages, quantized
inputs, `max_norm` of `Embedding`, `divisor_override`, dilated pooling."""

REASONS = {
    "end": "Data enter or leave the graph here",
    "hands-on": "Its output is its input",
    "order-open": "Documents leave open which of equal elements comes first",
    "no-oracle": "No reference results are recorded yet",
}


def _not_computed() -> list[tuple[str, str]]:
    """Reasons with their types."""
    return [
        (words, codes(sorted(name for name, one in NOT_COMPUTED.items() if one == reason)))
        for reason, words in REASONS.items()
    ]


def operators() -> str:
    """Return the page."""
    imported = _imported()
    others: dict[str, list[str]] = defaultdict(list)
    for name, op_type in imported.items():
        others[op_type].append(name)
    rows = [
        (
            code(name),
            codes(one.arguments),
            UNITS[one.engine],
            _gradient(name),
            codes(sorted(others[name])),
        )
        for name, one in sorted(OPS.items())
    ]
    converted = [(code(name), code(imported[name])) for name in sorted(CONVERTERS)]
    first, last = OPSETS
    return page(
        "Operators",
        INTRODUCTION.format(count=len(OPS)),
        table(("Operator", "Arguments", "Unit", "Gradient", "ONNX"), rows),
        "## Other names",
        OTHERS,
        codes(sorted({*ALIASES, *DECOMPOSITIONS})),
        "Not replayed:",
        table(("Reason", "Types"), _not_computed()),
        "## ONNX operators",
        ONNX.format(count=len(converted), first=first, last=last),
        table(("ONNX operator", "Operator"), converted),
    )


def _gradient(name: str) -> str:
    return "yes" if OPS[name].gradient else "no"


DIRECT = ("renamed", "joined", "reduced")
"""Makers of converters that record one operator."""


def _imported() -> dict[str, str]:
    """ONNX operator → the one operator that it becomes; empty if there are several."""
    found = {}
    for name, converter in CONVERTERS.items():
        maker = converter.__qualname__.partition(".")[0]
        bound = inspect.getclosurevars(converter).nonlocals if maker in DIRECT else {}
        found[name] = bound.get("op_type", "")
    return found
