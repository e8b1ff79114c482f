"""What PyTorch's DTensor laid out on ranks is joined to the bit (conformance/run_torch_layouts.py made the record)."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from workbench.scale.layouts import (
    Parallel,
    join_tensor,
    parse_layout,
    tell_parts,
    tell_tensor,
    unflatten,
)
from workbench.scale.layouts.grammar import TensorLayout

RECORD = Path(__file__).parents[2] / "data/conformance/layouts_torch_2.14.1_cpu.json"
CASES = json.loads(RECORD.read_text(encoding="utf-8"))["cases"]
NAMES = [case["name"] for case in CASES]


def array(stored, dtype):
    return np.frombuffer(base64.b64decode(stored["data"]), dtype).reshape(stored["shape"])


def read(case):
    shards = {int(rank): array(one, case["stored"]) for rank, one in case["shards"].items()}
    return shards, array(case["whole"], case["stored"])


def test_there_are_thirty_layouts_of_every_axis():
    assert len(CASES) >= 30
    words = " ".join(case["parallel"] + case["layout"] for case in CASES)
    assert all(
        axis in words
        for axis in ("tp", "sp", "cp:zigzag", "ep", "edp", "pp", "dp", "partial", "replicated")
    )


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_layout_of_pytorch_is_joined_to_the_bit(case):
    shards, whole = read(case)
    layout, parallel = parse_layout(case["layout"]), Parallel.of(case["parallel"])
    joined = join_tensor(shards, layout, parallel, golden=whole, dtype=case["dtype"])
    np.testing.assert_array_equal(joined.array, whole)
    assert joined.array.dtype == whole.dtype
    assert not joined.findings


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["parts"]], ids=lambda case: case["name"]
)
def test_a_flat_buffer_is_told_and_cut_into_its_tensors(case):
    shards, _ = read(case)
    parts = {f"w{n}": array(one, case["stored"]) for n, one in enumerate(case["parts"])}
    layout = parse_layout(case["layout"])
    flat = join_tensor(shards, layout, Parallel.of(case["parallel"])).array
    other = {"other": np.ones(7, np.float32)}
    told = tell_parts(flat, {**other, **dict(reversed(parts.items()))})
    assert {part.name: part.shape for part in told} == {
        name: one.shape for name, one in parts.items()
    }
    found = unflatten(flat, TensorLayout(layout.dims, flat=told))
    for name, one in parts.items():
        np.testing.assert_array_equal(found[name], one)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_layout_of_pytorch_is_told_from_its_shards(case):
    shards, whole = read(case)
    parallel = Parallel.of(case["parallel"])
    told = list(tell_tensor(shards, whole, parallel))
    assert told
    joined = join_tensor(shards, told[0], parallel, golden=whole)
    np.testing.assert_array_equal(joined.array, whole)


def named(case):
    return next(one for one in CASES if one["name"] == case)


WRONG = [
    ("partial sum", "b h", "never-reduced"),
    ("batch and partial sum", "b[dp] h", "never-reduced"),
    ("context in zigzag order", "b s[cp] h", "zigzag-kept"),
    ("context", "b s[cp:zigzag] h", "zigzag-missing"),
]


@pytest.mark.parametrize(("case", "layout", "code"), WRONG)
def test_what_pytorch_has_not_put_together_is_named(case, layout, code):
    shards, whole = read(named(case))
    parallel = Parallel.of(named(case)["parallel"])
    joined = join_tensor(shards, parse_layout(layout), parallel, golden=whole)
    assert [finding.code for finding in joined.findings] == [code]


def test_a_replica_that_is_off_by_an_ulp_and_a_stale_one_are_named():
    shards, whole = read(named("weight on data parallel ranks"))
    layout, parallel = parse_layout("h d"), Parallel.of("dp=4")
    before = {rank: one - 1 for rank, one in shards.items()}
    off = {**shards, 3: np.nextafter(shards[3], np.float32(9))}
    stale = {**shards, 2: before[2]}
    found = [
        join_tensor(held, layout, parallel, golden=whole, before=before).findings
        for held in (off, stale)
    ]
    assert [[(f.code, f.ranks) for f in one] for one in found] == [
        [("replica-ulp", (3,))],
        [("replica-stale", (2,))],
    ]
