"""Which device computed a dump, told by its numbers alone."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from kit.build.runs import on_device, on_reference, replayed
from kit.build.small_dumps import file_name
from workbench.comparison.replay.models import candidates
from workbench.core.words import Message
from workbench.graph.graph import Graph
from workbench.network.models import load_graph
from workbench.npu.precision import modes_of
from workbench.npu.profiles import PROFILES

LENET = load_graph("lenet")
PRODUCTS = [n for n, op in enumerate(LENET.ops) if op.op_type in ("Conv2D", "MatMul")]


@pytest.fixture(scope="module")
def golden():
    return on_reference(LENET)


# device and mode → the format that ATC's manual says products of a float32 network read
FACTS = [
    ("910a", "allow_fp32_to_fp16", "float16"),
    ("910a", "force_fp16", "float16"),
    ("310p", "force_fp16", "float16"),
    ("a2", "allow_mix_precision", "float16"),
    ("a2", "allow_mix_precision_bf16", "bfloat16"),
    ("a2", "allow_fp32_to_bf16", "bfloat16"),
    ("a3", "allow_fp32_to_bf16", "bfloat16"),
    ("950", "allow_fp32_to_bf16", "bfloat16"),
    ("950", "cube_hif8", "hifloat8"),
    ("950", "mixed_hif8", "hifloat8"),
]


@pytest.mark.parametrize(("profile", "mode", "inputs"), FACTS)
def test_the_formats_of_a_device_are_told_from_its_results(golden, profile, mode, inputs):
    found = replayed(on_device(LENET, profile, mode), golden)
    (model,) = found.models.values()
    assert {model.arithmetics[n].inputs for n in PRODUCTS} == {inputs}
    assert all(own.share_unequal == 0.0 for own in found.own_errors.values())


def test_no_model_is_believed_of_a_cpu(golden):
    found = replayed(golden)
    assert (found.models, found.titles) == ({}, ())


def test_every_candidate_says_something_of_every_operator_and_none_twice():
    found = list(candidates(LENET))
    assert len({one.arithmetics for one in found}) == len(found) > 5
    assert len({one.title for one in found}) == len(found)
    assert {len(one.arithmetics) for one in found} == {len(LENET.ops)}


def test_models_that_say_the_same_are_told_by_the_first_of_them():
    """The plain model of a device and mode stands before those with a setting for HF32."""
    titles = [one.title for one in candidates(LENET)]
    first, *_ = PROFILES.values()
    assert titles[0] == Message("compare/model", device=first.title, mode=modes_of(first)[0])
    settings = [t for t in titles if t.code == "compare/model-hf32"]
    plain = {(t.values["device"], t.values["mode"]) for t in titles if t not in settings}
    assert settings
    assert {(t.values["device"], t.values["mode"]) for t in settings} <= plain


def test_a_graph_without_operators_has_one_candidate_at_most():
    assert len(list(candidates(Graph("empty")))) <= 1


def test_a_model_is_believed_for_all_operators_and_one_that_differs_is_suspect(golden):
    """Computed in bfloat16 while all others are in float16: half precision explains nothing here."""
    target = on_device(LENET, "a2", "allow_fp32_to_fp16")
    number = PRODUCTS[-1]
    own = {
        (record.key.io, record.key.slot): record.source.array()
        for record in target.records
        if record.key.op_name == file_name(LENET.ops[number].name)
    }
    x, w = (own["input", slot].astype(ml_dtypes.bfloat16).astype(np.float64) for slot in (0, 1))
    own["output", 0][...] = (x @ w.T).astype(np.float16)
    suspects = {n for _, n in replayed(target, golden).suspects}
    assert number in suspects
    assert suspects <= {number, number + 1}  # its reader may share the memory that was changed
