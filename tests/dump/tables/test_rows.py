"""Tables that are wrong all over: every row is counted, few are told, nothing takes long."""

import pytest

from workbench.core.errors import FormatError
from workbench.dump.tables.rows import MANY, MAX_LINE
from workbench.dump.tables.statistic import IDENTITY, parse_statistics

HEADER = ",".join(IDENTITY) + "\n"


def test_very_many_rows_that_cannot_be_read_are_counted_and_share_a_text():
    table = parse_statistics([HEADER, *["x\n"] * (MANY + 5)], "x.csv")
    assert len(table.problems) == MANY + 5
    assert table.problems[MANY - 1].startswith(f"x.csv:{MANY + 1}: row must have 10 cells")
    assert {id(text) for text in table.problems[MANY:]} == {id(table.problems[-1])}
    assert table.problems[-1] == "x.csv: more rows that cannot be read"


def test_a_line_that_is_too_long_is_refused_and_the_next_one_read():
    good = "Add,a,0,3,17,output,0,4,int8,(4)\n"
    table = parse_statistics([HEADER, good, "," * (MAX_LINE + 1), good], "x.csv")
    assert len(table.rows) == 2
    (problem,) = table.problems
    assert (
        problem
        == f"x.csv:3: row must be text, got a line of {MAX_LINE + 1} characters where {MAX_LINE} are the most"
    )


def test_a_header_of_very_many_columns_is_refused():
    with pytest.raises(FormatError, match=r"x\.csv:1: header must be text, got a line of"):
        parse_statistics([HEADER.strip() + "," * MAX_LINE + "\n"], "x.csv")


@pytest.mark.parametrize("shape", ["x".join(["1"] * 33), "x".join(["4294967296"] * 3000)])
def test_a_shape_beyond_all_reason_is_a_problem(shape):
    """The product of three thousand sizes has more digits than Python prints."""
    table = parse_statistics([HEADER, f"Add,a,0,3,17,output,0,4,int8,{shape}\n"], "x.csv")
    (problem,) = table.problems
    assert problem.startswith("x.csv:2: Shape must be at most 32 sizes, got")


def test_of_two_columns_of_one_name_the_first_counts():
    (row,) = parse_statistics(
        [HEADER.strip() + ",Slot\n", "Add,a,0,3,17,output,1,4,int8,(4),2\n"]
    ).rows
    assert row.parts.slot == 1
