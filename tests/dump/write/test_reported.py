"""What MindSpore itself makes of overflow and failure: which records it looks at."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from workbench.core.events import DeviceEvent
from workbench.core.plan import DumpPlan, Iterations
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.write.reported import by_operator, chosen_by_mindspore


def record(name, io, value, slot=0, iteration=0, event=None, dtype=np.float32):
    array = np.array([value, 1], dtype)
    key = TensorKey("Add", name, io, slot, 0, iteration)
    spec = TensorSpec(array.dtype.name, array.shape)
    return TensorRecord(key, spec, ArraySource(array), event=event)


def operator(name, result, *, iteration=0, event=None, dtype=np.float32):
    return [
        record(name, "input", 1, 0, iteration),
        record(name, "input", 2, 1, iteration),
        record(name, "output", result, 0, iteration, event, dtype),
    ]


FAILED = DeviceEvent("c", "failure", "vector")
RUN = [
    *operator("a", 1),
    *operator("b", np.inf),
    *operator("c", np.nan, event=DeviceEvent("c", "overflow", "vector", ("float",))),
    *operator("d", -np.inf),
]


def kept(plan, device="Ascend", run=RUN):
    found = chosen_by_mindspore(run, plan, device)
    return [(r.key.op_name, r.key.iteration, r.key.io, r.key.slot) for r in found]


def names(plan, **more):
    return list(dict.fromkeys(name for name, *_ in kept(plan, **more)))


def test_operators_are_parted_where_name_iteration_or_order_changes():
    run = [*operator("a", 1), *operator("a", 1, iteration=1), *operator("a", 1, iteration=1)]
    assert [len(group) for group in by_operator(run)] == [3, 3, 3]
    assert list(by_operator([])) == []


@pytest.mark.parametrize("partly", [False, True])
def test_an_error_comes_after_the_last_operator_or_before_it(partly):
    def failing():
        yield from operator("a", 1)
        yield from operator("b", 1)[:2]
        raise KeyboardInterrupt

    found = by_operator(failing(), partly=partly)
    assert len(next(found)) == 3
    if partly:
        assert len(next(found)) == 2
    with pytest.raises(KeyboardInterrupt):
        next(found)


def test_nothing_more_is_said_to_who_no_longer_listens():
    found = by_operator([*operator("a", 1), *operator("b", 1)], partly=True)
    next(found)
    found.close()
    assert list(found) == []


def test_an_ordinary_dump_sees_everything():
    tensors = [("input", 0), ("input", 1), ("output", 0)]
    assert kept(DumpPlan("/d")) == [(name, 0, *one) for name in "abcd" for one in tensors]


def test_an_overflow_dump_sees_infinity_and_nan_in_outputs_whoever_made_them():
    assert names(DumpPlan("/d", kind="overflow")) == ["b", "c", "d"]
    assert {one[2:] for one in kept(DumpPlan("/d", kind="overflow"))} == {
        ("input", 0), ("input", 1), ("output", 0),
    }  # fmt: skip
    only_fed = [record("a", "input", np.inf), record("a", "output", 1)]
    assert kept(DumpPlan("/d", kind="overflow"), run=only_fed) == []


@pytest.mark.parametrize(
    ("dtype", "seen"),
    [(np.float16, True), (np.float32, True), (ml_dtypes.bfloat16, True), (np.float64, False)],
)
def test_only_some_number_formats_are_looked_at(dtype, seen):
    run = operator("a", np.inf, dtype=dtype)
    assert bool(kept(DumpPlan("/d", kind="overflow"), run=run)) == seen


def test_the_limit_counts_operators_of_all_iterations_that_are_dumped():
    run = [one for at in range(3) for name in "ab" for one in operator(name, np.inf, iteration=at)]
    plan = DumpPlan("/d", kind="overflow", iterations=Iterations.parse("1-2"), limit=3)
    found = list(dict.fromkeys((name, at) for name, at, *_ in kept(plan, run=run)))
    assert found == [("a", 1), ("b", 1), ("a", 2)]


@pytest.mark.parametrize(("device", "count"), [("Ascend", 2), ("CPU", 0), ("GPU", 0)])
def test_an_exception_dump_sees_the_inputs_of_what_fails(device, count):
    run = [*operator("a", 1), *operator("c", 0, event=FAILED)]
    assert kept(DumpPlan("/d", kind="exception"), device, run) == [
        ("c", 0, "input", slot) for slot in range(count)
    ]
    assert kept(DumpPlan("/d", kind="exception"), device) == []


def test_a_cpu_dumps_its_parameters_whatever_it_looks_for():
    key = TensorKey("Parameter", "w", "output", 0)
    run = [*operator("a", 1), TensorRecord(key, TensorSpec("float32", (2,)))]
    assert names(DumpPlan("/d", kind="exception"), device="CPU", run=run) == ["w"]
    assert names(DumpPlan("/d", kind="exception"), run=run) == []


@pytest.mark.parametrize("kind", ["data", "overflow"])
def test_what_fails_is_in_no_other_dump(kind):
    run = [*operator("a", np.inf), *operator("c", np.inf, event=FAILED)]
    assert names(DumpPlan("/d", kind=kind), run=run) == ["a"]
