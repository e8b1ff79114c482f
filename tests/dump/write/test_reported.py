"""What is left of overflow and failure: what MindSpore looks at, and what the graph engine tells of an operator."""

from __future__ import annotations

import struct

import ml_dtypes
import numpy as np
import pytest

from workbench.core.events import CAUSES, DeviceEvent
from workbench.core.plan import DumpPlan, Iterations
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.reports.core_elf import CHIPS as CHIP_NAMES
from workbench.dump.reports.opdebug import record_bytes
from workbench.dump.write.exceptions import CHIPS, FailedOperator, failure_file
from workbench.dump.write.reported import by_operator, chosen_by_mindspore
from workbench.dump.write.reports import overflow_record
from workbench.npu.profiles import PROFILES


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


# ---------------------------------------------------------------- what the graph engine leaves of them


def test_the_chips_of_detailed_dumps_are_known():
    assert CHIPS.keys() <= PROFILES.keys()
    assert set(CHIPS.values()) <= CHIP_NAMES.keys()


@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_each_cause_is_told_in_words_in_either_layout(cause):
    event = DeviceEvent("a", "overflow", "vector", (cause,))
    for layout in ("classic", "magic"):
        record = overflow_record(event, layout, model=1, task=7, stream=3)
        assert record.first is not None
        assert record.first.fields["task_id"] == 7
        assert record.first.meaning
        assert not any(word.startswith("status") for word in record.first.meaning)


def test_the_newer_layout_tells_the_units_apart_and_the_classic_one_does_not():
    for unit, kind in (("cube", 0), ("vector", 1)):
        event = DeviceEvent("a", "overflow", unit, ("float",))
        data = record_bytes(overflow_record(event, "magic", model=1, task=7, stream=3))
        assert struct.unpack_from("<3I", data, 8)[:2] == (1, kind)
        assert struct.unpack_from("<6Q", data, 24) == (1, 3, 7, 0, 65535, 65535)
        classic = overflow_record(event, "classic", model=1, task=7, stream=3)
        assert struct.unpack_from("<4Q", record_bytes(classic), 256) == (1, 3, 7, 0)


def test_addresses_differ_from_task_to_task():
    event = DeviceEvent("a", "overflow", "vector", ("float",))
    one, two = (overflow_record(event, "classic", model=1, task=n, stream=1) for n in (1, 2))
    for name in ("pc_start", "para_base", "kernel_code"):
        assert 0 < one.first.fields[name] < two.first.fields[name]


@pytest.mark.parametrize("detail", ["", "brief", "norm", "detail"])
def test_an_operator_without_memory_leaves_no_file(detail):
    failed = FailedOperator("Add", "net/Add-op0", 3, 1, "vector", 1_700_000_000_000_000)
    assert failure_file(failed, [], detail, 0, 5) is None


def test_a_kernel_has_a_name_that_a_file_can_have():
    failed = FailedOperator("a/b.C", "net/\udcff", 3, 1, "vector", 0)
    assert failed.kernel.startswith("te_a_b_c_")
