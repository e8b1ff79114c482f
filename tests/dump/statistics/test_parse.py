"""Columns of tables; tables that are wrong all over: every row is counted, few are told, nothing takes long."""

import pytest

from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.core.plan import CATEGORIES
from workbench.core.words import Message
from workbench.dump.statistics.dialects import DIALECTS, IDENTITY, columns
from workbench.dump.statistics.parse import MANY, MAX_LINE, parse_statistics

HEADER = ",".join(IDENTITY) + "\n"


def too_long(length):
    """What the csv module is told of a line."""
    return Message("dump/table-line", got=length, limit=MAX_LINE)


def test_very_many_rows_that_cannot_be_read_are_counted_and_share_a_text():
    table = parse_statistics([HEADER, *["x\n"] * (MANY + 5)], "x.csv")
    assert len(table.problems) == MANY + 5
    check_said(table.problems[MANY - 1], "dump/row-cells", place=f"x.csv:{MANY + 1}", expected=10)
    assert {id(text) for text in table.problems[MANY:]} == {id(table.problems[-1])}
    check_said(table.problems[-1], "dump/rows-more", place="x.csv")


def test_a_line_that_is_too_long_is_refused_and_the_next_one_read():
    good = "Add,a,0,3,17,output,0,4,int8,(4)\n"
    table = parse_statistics([HEADER, good, "," * (MAX_LINE + 1), good], "x.csv")
    assert len(table.rows) == 2
    (problem,) = table.problems
    check_said(problem, "dump/table-text", place="x.csv:3", why=too_long(MAX_LINE + 1))


def test_a_header_of_very_many_columns_is_refused():
    why = too_long(MAX_LINE + len(HEADER))
    with refused("dump/table-text", FormatError, place="x.csv:1", why=why):
        parse_statistics([HEADER.strip() + "," * MAX_LINE + "\n"], "x.csv")


@pytest.mark.parametrize("shape", ["x".join(["1"] * 33), "x".join(["4294967296"] * 3000)])
def test_a_shape_beyond_all_reason_is_a_problem(shape):
    """The product of three thousand sizes has more digits than Python prints."""
    table = parse_statistics([HEADER, f"Add,a,0,3,17,output,0,4,int8,{shape}\n"], "x.csv")
    (problem,) = table.problems
    check_said(problem, "dump/dimensions", place="x.csv:2", subject="Shape", limit=32)


def test_of_two_columns_of_one_name_the_first_counts():
    (row,) = parse_statistics(
        [HEADER.strip() + ",Slot\n", "Add,a,0,3,17,output,1,4,int8,(4),2\n"]
    ).rows
    assert row.parts.slot == 1


def test_every_title_stands_for_a_known_category():
    known = {*CATEGORIES, "sha1"}
    assert all(set(row.titles) <= known for row in DIALECTS.values())


@pytest.mark.parametrize(
    ("name", "asked", "got"),
    [
        ("ge", ("max",), (*CATEGORIES[:4], *CATEGORIES[6:9])),
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
