"""First lines as the writers print them, and which columns a table has."""

import pytest

from workbench.core.plan import CATEGORIES
from workbench.dump.tables.dialects import DIALECTS, columns, recognize

MINDSPORE = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape"
FIXED = (
    MINDSPORE + ",Max Value,Min Value,Avg Value,Count,Negative Zero Count,Positive Zero Count,"
    "NaN Count,Negative Inf Count,Positive Inf Count,Zero Count"
)
L2 = (
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,Input/Output,Slot,Data Size,Data Type,Format,Shape"
)
GE = "Input/Output,Index,Data Size,Data Type,Format,Shape"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (MINDSPORE, "mindspore"),
        (MINDSPORE + ",Max Value,MD5,SHA1\n", "mindspore"),
        (FIXED + "\n", "mindspore-fixed"),
        (FIXED + ",L2Norm Value", "mindspore"),
        (L2 + ",Max Value,L2Norm Value,NaN Count\r\n", "msprobe-l2"),
        (L2 + ",MD5 Value", "msprobe-l2"),
        (
            GE + ",Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,"
            "Positive Inf Count",
            "ge",
        ),
        (GE + ",Count,l2norm", "ge-kfc"),
    ],
)
def test_a_table_is_recognised_by_its_first_line(line, name):
    assert recognize(line).name == name


@pytest.mark.parametrize(
    "line",
    ["", "\n", "a,b", MINDSPORE[:-1], MINDSPORE + ",Median", GE + ",NaN Count", '"', "a" * 10**6],
)
def test_any_other_line_is_none(line):
    assert recognize(line) is None


def test_every_title_stands_for_a_known_category():
    known = {*CATEGORIES, "sha1"}
    assert all(set(row.titles) <= known for row in DIALECTS.values())


@pytest.mark.parametrize(
    ("name", "asked", "got"),
    [
        ("mindspore", ("md5", "max", "md5"), ("md5", "max", "md5")),
        ("mindspore-fixed", ("max",), CATEGORIES[:10]),
        (
            "msprobe-l2",
            ("positive inf count", "l2norm", "max"),
            ("max", "l2norm", "positive inf count"),
        ),
        ("ge-kfc", ("max",), ("count", "max")),
        ("ge-kfc", (), ("count",)),
    ],
)
def test_columns_follow_the_writers_own_rule(name, asked, got):
    assert columns(DIALECTS[name], asked) == got
