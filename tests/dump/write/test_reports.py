"""What the graph engine leaves of overflow and failure, where the scenarios do not reach."""

from __future__ import annotations

import struct

import pytest

from workbench.core.events import CAUSES, DeviceEvent
from workbench.dump.reports.core_elf import CHIPS as CHIP_NAMES
from workbench.dump.reports.opdebug import record_bytes
from workbench.dump.write.exceptions import CHIPS, FailedOperator, failure_file
from workbench.dump.write.reports import overflow_record
from workbench.npu.profiles import PROFILES


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
