"""Operators of the table: where they are computed, their gradients, and the ONNX operators that become them."""

from __future__ import annotations

import inspect
from collections import defaultdict

from generators.markdown import code, codes, page, table
from workbench.network.onnx.lower import OPSETS
from workbench.network.onnx.table import CONVERTERS
from workbench.ops import OPS

UNITS = {"cube": "cube", "vector": "vector", "none": "none (renames data)"}

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
