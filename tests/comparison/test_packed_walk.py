"""What a walk found, packed: the same values when somebody asks, on dumps in memory and on disk."""

from __future__ import annotations

import gc
import pickle
import weakref
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import chain, in_memory, on_disk, shoot
from workbench.comparison import engine
from workbench.comparison.engine import Walk, as_found, compare_dumps, keep_small
from workbench.comparison.packed_walk import PackedWalk, pack_walk
from workbench.core.tensors import ArraySource
from workbench.dump.index import index_of
from workbench.npu.arithmetic import EXACT
from workbench.npu.orders.known import NO_ORDERS

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
SHOTS = shoot(GRAPH, small.given(GRAPH))
SPOILED = shoot(
    GRAPH, small.given(GRAPH), alter={"Default/ReLU-op0": lambda a: a + np.float32(0.5)}
)
FOUND = ("index", "events", "input_states", "values", "walked", "coarsest", "grounds", "files", "updated")  # fmt: skip
"""What the walk found that has an equality of its own."""


@pytest.fixture
def all_packed(monkeypatch):
    monkeypatch.setattr(engine, "PACKED_FROM", 0)


@pytest.fixture(params=["memory", "disk"])
def dumps(request, tmp_path):
    """A wrong target and its golden."""
    if request.param == "memory":
        return in_memory(SPOILED, GRAPH), in_memory(SHOTS, GRAPH)
    sides = zip(("target", "golden"), (SPOILED, SHOTS), strict=True)
    return tuple(wb.load(on_disk(tmp_path / name, some, GRAPH)) for name, some in sides)


def packed(found):
    """A walk, packed: one that is made anew each time that nobody holds it."""
    return pack_walk(*found.found.walk)


def test_what_comes_back_equals_what_was_packed(dumps):
    whole = compare_dumps(*dumps)
    back = packed(whole)
    assert whole.origins.origins
    assert back.origins == whole.origins
    assert [getattr(back.flow, name) for name in FOUND] == [
        getattr(whole.flow, name) for name in FOUND
    ]
    assert back.flow.pairing.pairs == whole.flow.pairing.pairs
    assert back.flow.replayed.own_errors == whole.flow.replayed.own_errors


def test_parts_that_were_one_object_are_one_again(dumps):
    flow = packed(compare_dumps(*dumps)).flow
    records = {id(one) for side in flow.pairing.sides for one in side.dump.records}
    runs = {id(one) for some in flow.pairing.target.runs.values() for one in some.values()}
    pairs = {id(one) for one in flow.pairing.pairs}
    for pair in flow.pairing.pairs:
        assert {id(pair.target), id(pair.golden)} <= records
        assert pair.run is None or id(pair.run) in runs
    assert {id(one.pair) for one in flow.measured} <= pairs
    assert {id(one.worst) for one in flow.events.values() if one.worst} <= {
        id(one) for one in flow.measured
    }
    assert {id(one) for one in flow.origins} <= {id(one) for one in flow.events.values()}


def test_a_walk_lives_as_long_as_somebody_holds_it(dumps):
    back = packed(compare_dumps(*dumps))
    flow = back.flow
    assert back.flow is flow
    gone = weakref.ref(flow)
    del flow
    gc.collect()
    assert gone() is None


def test_arrays_in_memory_stay_where_they_are():
    whole = compare_dumps(in_memory(SPOILED, GRAPH), in_memory(SHOTS, GRAPH))
    arrays = {
        id(one.target.source.data) for one in whole.flow.pairing.pairs
        if isinstance(one.target.source, ArraySource)
    }  # fmt: skip
    assert arrays
    assert {id(one.target.source.data) for one in packed(whole).flow.pairing.pairs} == arrays


def test_what_is_wrong_with_a_record_is_found_under_the_one_that_comes_back(dumps):
    flow = (whole := compare_dumps(*dumps)).flow
    odd = flow.pairing.pairs[2].target
    side = replace(flow.pairing.target, oddities={id(odd): ("mislabelled",)})
    flow = replace(flow, pairing=replace(flow.pairing, target=side))
    (followed,) = whole.found.walk.values
    walk = Walk(flow.pairing, flow.measured, (), as_found, (followed._replace(flow=flow),))
    back = pack_walk(*walk).flow
    assert back.pairing.target.oddities == {id(back.pairing.pairs[2].target): ("mislabelled",)}


def test_values_that_there_is_one_of_stay_the_one(dumps):
    own = packed(compare_dumps(*dumps)).flow.replayed.own_errors.values()
    assert {id(one.arithmetic.orders) for one in own} == {id(NO_ORDERS)}
    assert EXACT in {one.arithmetic for one in own}
    assert pickle.loads(pickle.dumps(NO_ORDERS)) is NO_ORDERS


@pytest.mark.parametrize("spoiled", [True, False], ids=["differing", "agreeing"])
def test_a_large_comparison_is_packed_and_looks_the_same(spoiled, tmp_path, all_packed):
    target = on_disk(tmp_path / "target", SPOILED if spoiled else SHOTS, GRAPH)
    golden = on_disk(tmp_path / "golden", SHOTS, GRAPH)
    large = wb.compare(target, golden)
    not_packed = wb.compare(target, golden, pack=False)
    engine.PACKED_FROM = 10**9
    small_one = wb.compare(target, golden)
    assert isinstance(large._flow.args[0], PackedWalk)
    assert not isinstance(small_one._flow.args[0], PackedWalk)
    assert large._trace().events == small_one._trace().events
    assert not isinstance(not_packed._flow.args[0], PackedWalk)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = large.to_html(tmp_path / "a/r.html"), small_one.to_html(tmp_path / "b/r.html")
    assert first.read_bytes() == second.read_bytes()


def test_what_holds_a_source_that_cannot_be_packed_stays_as_it_is(all_packed):
    class Local:
        """Of a class that no other process could find."""

        place = None

        def __init__(self, data):
            self.array, self.spec = (lambda: data), ArraySource(data).spec

    target = in_memory(SHOTS, GRAPH)
    own = [replace(one, source=Local(one.source.array())) for one in target.records]
    spoiled = replace(target, index=index_of(own))
    found = keep_small(compare_dumps(spoiled, in_memory(SHOTS, GRAPH)))
    assert not isinstance(found.found, PackedWalk)
    assert found.result.verdict == "pass"
    assert len(found.flow.events) == len(GRAPH.ops)


def test_a_comparison_travels_with_all_that_it_found(tmp_path):
    target = on_disk(tmp_path / "target", SPOILED, GRAPH)
    made = wb.compare(target, on_disk(tmp_path / "golden", SHOTS, GRAPH))
    graded = made.regrade(limit=10.0)
    back, again = pickle.loads(pickle.dumps((made, graded)))
    assert back.to_json() == made.to_json()
    assert back.provenance == made.provenance
    assert back._trace().events == made._trace().events
    assert again.rows == graded.rows
    assert again.original_rows == graded.original_rows
    assert back.next_config("mindspore-o0o1") == made.next_config("mindspore-o0o1")
