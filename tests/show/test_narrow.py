"""Filters in Python, against the data frame of the same rows."""

import pytest

import workbench as wb
from kit.build.sample_results import network_result
from kit.words import refused
from workbench.show.look.narrow import narrowed

RESULT = network_result(334, 2)
COMPARISON = wb.Comparison(RESULT)
FRAME = COMPARISON.frame()


def count(**conditions):
    rows = COMPARISON.filter(**conditions).rows
    others = iter(COMPARISON.rows)
    assert all(row in others for row in rows)  # the order stays
    return len(rows)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"op_type": "Softmax"}, FRAME.OpType == "Softmax"),
        ({"dtype": "float16"}, FRAME.DataType == "float16"),
        ({"iteration": 1}, FRAME.Iteration == 1),
        ({"rank": 0}, FRAME.Rank == 0),
        ({"io": "output"}, FRAME.TensorIndex.str.startswith("output")),
        ({"rule": "name"}, FRAME.MatchRule == "name"),
        ({"rule": ""}, FRAME.MatchRule == ""),
        (
            {"scope": "Default/network-Net/layers.1/"},
            FRAME.NPUDump.str.startswith("Default/network-Net/layers.1/"),
        ),
        ({"file": "/srv/train/model.py"}, FRAME.Source.str.startswith("/srv/train/model.py:")),
        ({"status": ("fail", "warn")}, FRAME.Status.isin(["fail", "warn"])),
        ({"status": "unmatched"}, FRAME.MatchRule == ""),
        (
            {"query": "MATMUL layers.1"},
            FRAME.NPUDump.str.lower().str.contains("matmul")
            & FRAME.NPUDump.str.contains("layers.1", regex=False),
        ),
        ({"query": "cannot be brought"}, FRAME.Reason.str.contains("cannot be brought")),
        ({"positions": (10, 19)}, FRAME.Order.between(10, 19) & (FRAME.MatchRule != "")),
    ],
)
def test_a_condition_leaves_the_rows_of_the_frame(conditions, expected):
    assert 0 < expected.sum() <= len(FRAME)
    assert count(**conditions) == expected.sum()


def test_conditions_hold_together():
    expected = FRAME[(FRAME.OpType == "Conv2D") & (FRAME.Iteration == 1) & (FRAME.Status == "fail")]
    assert count(op_type="Conv2D", iteration=1, status="fail") == len(expected) > 0


def test_unknown_statuses_and_columns_are_refused():
    with refused("show/some", subject="statuses", got=["bad"]):
        COMPARISON.filter(status="bad")
    with refused("show/some", subject="choices", got=["colour"]):
        narrowed(RESULT.rows, choices={"colour": "red"})
