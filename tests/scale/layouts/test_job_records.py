"""Jobs of records in memory: names that stages count anew, flat buffers, what cannot be joined."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.dump import Dump
from workbench.dump.index import index_of
from workbench.scale.layouts import (
    find_on_ranks,
    job_of,
    join_one,
    join_pairs,
    joined_dump,
    not_joined,
    parse_layouts,
    tell_layouts,
)

RNG = np.random.default_rng(3)


def record(name, array, rank=0, iteration=0, op_type="MatMul", statistics=None, at=0):
    key = TensorKey(op_type, name, "output", 0, iteration=iteration, rank=rank)
    label = TensorSpec("float32", None if array is None else array.shape)
    source = None if array is None else ArraySource(array)
    return TensorRecord(
        key, label, source, statistics, timestamp_us=at, path=f"rank_{rank}/{name}.npy"
    )


def dump(*records):
    return Dump(path="job", layout="memory", index=index_of(records))


def values(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_layers_that_stages_count_anew_get_the_numbers_of_the_whole():
    whole = {f"layers.{n}.mlp": values(2, 4) for n in range(4)}
    shards = [
        record(
            f"layers.{n}.mlp",
            whole[f"layers.{2 * stage + n}.mlp"][:, 2 * tp : 2 * tp + 2],
            2 * stage + tp,
        )
        for stage in (0, 1)
        for tp in (0, 1)
        for n in (0, 1)
    ]
    table = parse_layouts("parallel: tp=2,pp=2\nnumbered layers.{}.: pp 2 2\n*: b h[tp]\n")
    target, golden = (
        job_of(dump(*shards), table),
        job_of(dump(*(record(n, a) for n, a in whole.items()))),
    )
    pairs = {pair.key.op_name: pair for pair in join_pairs(target, golden)}
    assert pairs.keys() == whole.keys()
    for name, pair in pairs.items():
        np.testing.assert_array_equal(pair.target.array, whole[name])
    steps = [step.code for step in pairs["layers.3.mlp"].target.steps]
    assert steps == ["renumbered", "concatenated"]
    assert pairs["layers.3.mlp"].target.steps[0].values == {
        "was": "layers.1.mlp",
        "axis": "pp",
        "at": 1,
    }
    assert str(pairs["layers.3.mlp"].target.steps[0])


def test_a_dump_for_each_rank_is_a_job_too():
    whole = values(4, 3)
    dumps = {rank: dump(record("w", whole[2 * rank : 2 * rank + 2])) for rank in (0, 1)}
    job = job_of(dumps, parse_layouts("parallel: dp=2\nw: b[dp] h\n"))
    (key,) = job.tensors
    np.testing.assert_array_equal(join_one(job, key).array, whole)


def test_a_flat_buffer_is_its_named_tensors():
    weight, bias = values(3, 2), values(3)
    flat = np.concatenate([weight.reshape(-1), bias, np.zeros(3, np.float32)])
    shards = [record("flat", flat[4 * rank : 4 * rank + 4], rank) for rank in range(3)]
    table = parse_layouts("parallel: dp=3\nflat: f[dp] # flat:w(3,2),b(3)\n")
    job = job_of(dump(*shards), table)
    found = {key.op_name: join_one(job, key) for key in job.tensors}
    np.testing.assert_array_equal(found["w"].array, weight)
    np.testing.assert_array_equal(found["b"].array, bias)
    assert found["b"].steps[-1].values == {"start": 6, "padding": 3}
    assert str(found["b"].steps[-1])
    whole = joined_dump(job)
    assert [(one.key.op_name, one.spec.shape) for one in whole.records] == [
        ("w", (3, 2)),
        ("b", (3,)),
    ]
    short = parse_layouts("parallel: dp=3\nflat: f[dp] # flat:w(3,2),b(99)\n")
    key = next(one for one in job_of(dump(*shards), short).tensors if one.op_name == "b")
    assert join_one(job_of(dump(*shards), short), key).array is None


def test_tensors_of_a_flat_buffer_may_begin_at_multiples():
    flat = np.zeros(12, np.float32)
    flat[:3], flat[8:10] = (1, 2, 3), (4, 5)
    shards = [record("flat", flat[6 * rank : 6 * rank + 6], rank) for rank in range(2)]
    job = job_of(
        dump(*shards), parse_layouts("parallel: dp=2\nflat: f[dp] # flat:a(3),b(2) align:8\n")
    )
    assert [join_one(job, key).array.tolist() for key in job.tensors] == [[1, 2, 3], [4, 5]]


def test_what_cannot_be_joined_says_why():
    table = parse_layouts("parallel: tp=2\nw*: h[tp]\n")
    job = job_of(
        dump(
            record("w1", None, 0, statistics={"Max Value": 1.0}),
            record("w1", None, 1, statistics={"Max Value": 2.0}),
            record("other", values(2)),
            record("w2", values(2), 1),
        ),
        table,
    )
    assert {k.op_name: m.code for k, m in not_joined(job).items()} == {
        "w1": "layouts/statistics", "other": "layouts/no-layout",
    }  # fmt: skip
    whole = joined_dump(job)
    assert [one.key.op_name for one in whole.records] == ["w2"]
    with refused("layouts/step-not-joined", FormatError):
        whole.records[0].source.array()
    why = {key.op_name: join_one(job, key).steps[-1] for key in job.tensors}
    assert {name: step.values["why"].code for name, step in why.items()} == {
        "w1": "layouts/statistics", "other": "layouts/no-layout", "w2": "layouts/part-missing",
    }  # fmt: skip
    assert all(map(str, why.values()))


def test_the_shape_of_a_joined_tensor_is_known_without_reading_it():
    table = parse_layouts("parallel: tp=2,cp=2\nv: 1 s[cp:zigzag] h[tp]\n")
    shards = [record("v", values(1, 4, 3), rank) for rank in range(4)]
    (one,) = joined_dump(job_of(dump(*shards), table)).records
    assert one.spec == TensorSpec("float32", (8, 6))
    assert one.source.array().shape == (8, 6)


@pytest.mark.parametrize("given", [True, False])
def test_ranks_are_looked_at_in_the_order_of_time(given):
    whole = [values(6) for _ in range(3)]
    shards = []
    for number, array in enumerate(whole):
        for rank in range(3):
            wrong = array * 2 if rank == 1 and number else array
            shards.append(record(f"w{2 - number}", wrong, rank, at=10 * number + rank))
    golden = job_of(dump(*(record(f"w{2 - n}", a) for n, a in enumerate(whole)))) if given else None
    job = job_of(dump(*shards), parse_layouts("parallel: dp=3\n*: h\n"))
    found = [
        (key.op_name, finding.code, finding.ranks) for key, finding in find_on_ranks(job, golden)
    ]
    assert found == [("w1", "replica-differs", (1,)), ("w0", "replica-differs", (1,))]


def test_layouts_are_told_layer_by_layer_and_one_that_is_wrong_is_outvoted():
    whole = {f"layer{n}.w": values(4, 4) for n in range(5)}
    shards = [
        record(
            name,
            (array if (name, rank) != ("layer3.w", 1) else array * 7)[:, 2 * rank : 2 * rank + 2],
            rank,
        )
        for name, array in whole.items()
        for rank in (0, 1)
    ]
    job = job_of(dump(*shards), None, parse_layouts("parallel: tp=2").parallel)
    table = tell_layouts(job, job_of(dump(*(record(n, a) for n, a in whole.items()))))
    (row,) = table.rows
    assert (row.pattern, str(row.layout), row.trust) == (
        "layer*.w:output.0",
        "d0 d1[tp]",
        "inferred",
    )
    assert (row.seen, row.agreed) == (5, 4)


def test_nothing_is_told_of_what_fits_no_reading():
    shards = [record("w", values(4), rank) for rank in (0, 1)]
    job = job_of(dump(*shards), None, parse_layouts("parallel: tp=2").parallel)
    assert tell_layouts(job, job_of(dump(record("w", values(8))))).rows == ()


def test_what_is_nothing_but_rounding_lies_as_the_others_of_its_kind():
    """By its shape, tp may cut it as well as dp."""
    parallel = parse_layouts("parallel: tp=2,dp=2").parallel
    whole, shards = values(8), []
    for rank in range(4):
        at = parallel.coordinates(rank)
        half = whole[4 * at["tp"] : 4 * at["tp"] + 4]
        shards.append(record("value", half * (0.25 if at["dp"] else 0.75), rank))
        shards.append(record("key", values(4), rank))
    job = job_of(dump(*shards), None, parallel)
    golden = job_of(dump(record("value", whole), record("key", values(8))))
    (told,) = tell_layouts(job, golden).rows
    likely = {row.pattern: row for row in tell_layouts(job, golden, likely=True).rows}
    assert str(told.layout) == "d0[tp,dp:partial]"
    assert [(row.layout, row.agreed) for row in likely.values()] == [
        (told.layout, 1),
        (told.layout, 0),
    ]
