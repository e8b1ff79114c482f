"""Rows and records say the same of a tensor."""

import pytest

from workbench.core.errors import FormatError
from workbench.core.tensors import TensorKey, TensorSpec
from workbench.dump.names import NameParts
from workbench.dump.statistic import StatisticRow
from workbench.dump.statistic_records import record_of, row_of

PARTS = NameParts("MatMul", "mm", 3, 1, 17, "input", 2, "ND", "float16")
ROW = StatisticRow(PARTS, 12, (2, 3), {"Max Value": 6.0})


def test_a_row_becomes_a_record_without_data():
    record = record_of(ROW, graph_id=4, iteration=5, rank=6, net_name="Net", path="a.csv")
    assert record.key == TensorKey("MatMul", "mm", "input", 2, 4, 5, 6, "Net")
    assert record.label == TensorSpec("float16", (2, 3), "ND")
    assert (record.source, record.statistics) == (None, {"Max Value": 6.0})
    assert (record.timestamp_us, record.task_id, record.stream_id, record.path) == (
        17,
        3,
        1,
        "a.csv",
    )
    assert row_of(record) == ROW
    assert row_of(record, {"Count": 6}).statistics == {"Count": 6}


@pytest.mark.parametrize(("dtype", "shape", "size"), [("int4", (5,), 3), ("float64", (), 8)])
def test_sizes_are_those_of_packed_elements(dtype, shape, size):
    record = record_of(StatisticRow(PARTS._replace(dtype=dtype), 0, shape, {}))
    assert row_of(record).data_size == size


@pytest.mark.parametrize(
    "spec", [TensorSpec("int8", None), TensorSpec("int8", (2, -1)), TensorSpec("odd", ())]
)
def test_a_size_that_cannot_be_known_is_an_error(spec):
    record = record_of(ROW)
    record.label = spec
    with pytest.raises(FormatError, match="must"):
        row_of(record)
