"""Our operators against what MindSpore 2.10 computed with the same inputs on a CPU, and how it spells them.

The record is made by ``make conformance-operators``; nothing here needs MindSpore.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from ops.cases import CASES

from workbench.core.tensors import TensorSpec
from workbench.graph_files.mindspore.write_text import write_ms_text
from workbench.network.symbolic import record, record_all
from workbench.network.tracer import trace
from workbench.ops import OPS, infer_outputs, run_kernel

RECORD = Path(__file__).parents[1] / "data" / "conformance" / "operators_2.10.0_cpu.json"
OUTCOMES = {
    (one["op"], one["case"]): one for one in json.loads(RECORD.read_text(encoding="utf-8"))["cases"]
}
COMPUTED = [key for key, one in OUTCOMES.items() if "outputs" in one]

MEANT = {
    "BatchNorm": 1,  # the CPU leaves the others unwritten
    "LSTM": 3,  # the others are scratch space
    "Adam": 0,  # the CPU leaves all unwritten
}
"""How many outputs count."""
TAKEN_FOR = {("ApplyMomentum", 1): 0}
"""Cases that MindSpore computes as another one: its CPU takes no notice of ``use_nesterov``."""
WORDS = {"none": 0, "add": 1}
"""Settings that Python spells as words and the IR as numbers."""

SPELLED_ONCE = {
    "BiasAdd": "an enumeration on Ascend, text in a network that passes text",
    "MaxPool": "attributes of the older kind, which `functional` writes",
    "MaxPoolGrad": "attributes of the older kind, which `gradients` writes",
    "AvgPool": "its case spells the shape of a window as GE does",
    "AvgPoolGrad": "as that of `AvgPool`",
}
"""Operators whose operands a case cannot show."""


def unpacked(value):
    flat = np.frombuffer(base64.b64decode(value["data"]), value["dtype"])
    return flat.reshape(value["shape"])


def single(array):
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def test_the_record_covers_what_mindspore_has_on_a_cpu():
    assert {name for name, _ in COMPUTED} >= {
        "Conv2D",
        "LSTM",
        "LayerNorm",
        "TopK",
        "PadV3",
        "GeLU",
    }
    assert len({name for name, _ in COMPUTED}) >= 175
    gone = {key for key in OUTCOMES if key[0] not in CASES or key[1] >= len(CASES[key[0]].examples)}
    assert not gone


@pytest.mark.parametrize(("name", "number"), COMPUTED)
def test_an_operator_gives_what_mindspore_gives(name, number):
    inputs, settings = CASES[name].examples[TAKEN_FOR.get((name, number), number)]
    tensors = [single(array) for array in inputs]
    got = run_kernel(name, tensors, {**OPS[name].defaults, **settings})
    want = [unpacked(value) for value in OUTCOMES[name, number]["outputs"]]
    specs = [TensorSpec(array.dtype.name, array.shape) for array in tensors]
    count = MEANT.get(
        name, len(infer_outputs(name, specs, settings))
    )  # in front of what is written
    got, want = got[:count], want[:count]
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        if name == "MatMul" and tensors[0].dtype == np.int8:
            one = one.astype(np.int8)  # the CPU keeps the dtype, the cube unit sums in int32
        # its CPU kernels approximate, and sum in another order
        np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=5e-4, atol=1e-4)


def printed(name, number):
    """Our IR of one operator, as far as its operands go."""
    inputs, settings = CASES[name].examples[number]
    row = OPS[name]
    known = {**row.defaults, **settings}
    attrs = {key: value for key, value in known.items() if key not in row.arguments}

    def network(*tensors):
        waiting = iter(tensors)
        operands = []
        for place, argument in enumerate(row.arguments):
            if place in row.positions:
                operands.append(tuple(tensors) if row.tensors < 0 else next(waiting))
            elif argument in known and (name, known[argument]) != ("PadV3", None):
                value = known[argument]
                whole = name == "Squeeze" and isinstance(value, int)
                operands.append((value,) if whole else WORDS.get(value, value))
        made = record_all if name != "Cast" else lambda *a, **k: (record(*a, **k),)
        return made(name, *operands, **attrs)[0]

    text = write_ms_text(trace(network, *(single(array) for array in inputs)))
    return operands_of(re.search(rf"= ((?:PrimFunc_)?{name}\(.*)", text)[1])


def operands_of(line):
    """Operands of a line of IR, with every tensor as ``%``."""
    depths = itertools.accumulate({"(": 1, ")": -1}.get(letter, 0) for letter in line)
    end = next(k for k, depth in enumerate(depths) if depth == 0 and line[k] == ")")
    operands = line[line.index("(") + 1 : end].removesuffix(", UMonad[U]")
    return re.sub(r"%\w+(\.\w+)*", "%", operands)


def spelled():
    for name, number in COMPUTED:
        line = OUTCOMES[name, number]["printed"]
        if line and name not in SPELLED_ONCE and "Tensor(" not in line and OPS[name].tensors > 0:
            yield name, number


@pytest.mark.parametrize(("name", "number"), list(spelled()))
def test_an_operator_is_printed_with_mindspores_operands(name, number):
    assert printed(name, number) == operands_of(OUTCOMES[name, number]["printed"])
