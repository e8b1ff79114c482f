"""Which source lines of an operator are shown, in which order, and how sure they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import Net, in_memory, shoot
from kit.evidence import clauses, within
from workbench.comparison.engine import compare_dumps
from workbench.graph.graph import SourceFrame
from workbench.graph.source_lines import told, user_frames
from workbench.session.comparison import Comparison
from workbench.session.conclusions import explain

USER, CALLER, OTHER = (SourceFrame("/home/u/net.py", line, f"x = f{line}(x)") for line in (7, 3, 9))
LIBRARY = SourceFrame("/usr/lib/python3/site-packages/mindspore/nn/conv.py", 5, "self.conv2d(x)")


def candidate(frame):
    return replace(frame, group="candidate")


def forward(frame):
    return replace(frame, group="forward")


def graph(frames, beside=(), scope="Default"):
    """Two operators; the second reads the first, which has lines of its own."""
    net = Net()
    net.op("Tanh", net.op("ReLU", net.feed("x"), name=f"{scope}/ReLU-op0"), name="Default/Tanh-op0")
    net.ops[:] = [
        replace(op, frames=some) for op, some in zip(net.ops, (beside, frames), strict=True)
    ]
    return net.graph()


CASES = {
    "none": ((), ()),
    "innermost first": ((CALLER, USER), (USER, CALLER)),
    "no library where the user's line is": ((CALLER, USER, LIBRARY), (USER, CALLER)),
    "a library alone": ((LIBRARY,), (LIBRARY,)),
    "own before candidate": ((candidate(OTHER), USER), (USER, candidate(OTHER))),
    "candidates alone": ((candidate(USER), candidate(OTHER)), (candidate(OTHER), candidate(USER))),
    "forward last": ((forward(OTHER), USER), (USER, forward(OTHER))),
    "no library beside a candidate": ((LIBRARY, candidate(USER)), (candidate(USER),)),
    "the same line twice": ((USER, USER), (USER,)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_lines_of_an_operator(case):
    frames, expected = CASES[case]
    assert user_frames(graph(frames), 1) == expected


@pytest.mark.parametrize(
    ("beside", "scope", "expected"),
    [
        ((USER,), "Default", (USER, candidate(OTHER))),
        ((USER,), "Default/other", (candidate(OTHER), candidate(USER))),
        ((CALLER,), "Default", (candidate(OTHER), candidate(USER))),
        ((candidate(USER),), "Default", (candidate(OTHER), candidate(USER))),
    ],
    ids=["confirmed", "another scope", "another line", "a candidate itself"],
)
def test_an_operator_beside_it_confirms_a_candidate(beside, scope, expected):
    frames = (candidate(USER), candidate(OTHER))
    assert user_frames(graph(frames, beside, scope), 1) == expected


@pytest.mark.parametrize("outputs", [1, 0], ids=["stated", "not stated"])
def test_an_operator_that_reads_it_confirms_a_candidate(outputs):
    """Graphs of other tools state no outputs; slot 0 is read all the same."""
    made = graph((USER,), (candidate(OTHER), candidate(USER)))
    first = replace(made.ops[0], outputs=made.ops[0].outputs[:outputs])
    assert user_frames(replace(made, ops=(first, made.ops[1])), 0) == (USER, candidate(OTHER))


WHOLE = {
    "candidates": ((candidate(OTHER), candidate(USER)), (), "operator-at-candidate", candidate(USER)),
    "a confirmed candidate": ((candidate(USER), candidate(OTHER)), (USER,), "operator-at", USER),
    "an own line": ((USER, LIBRARY), (), "operator-at", USER),
}  # fmt: skip
"""Lines of the operator that is wrong, those of the one before it, what the sentence says, and the line it shows."""


@pytest.mark.parametrize("case", WHOLE)
def test_sentence_row_and_explanation_show_one_line_with_its_certainty(case):
    frames, beside, code, shown = WHOLE[case]
    made = graph(frames, beside)
    values = small.given(made)
    wrong = shoot(made, values, alter={"Default/Tanh-op0": lambda x: x * 1.1})
    found = compare_dumps(in_memory(wrong, made), in_memory(shoot(made, values), made))
    first = found.result.findings[0]
    assert (first.op_name, first.source) == ("Default/Tanh-op0", shown)
    assert first.frames == user_frames(made, 1)
    assert within(clauses(found.result)[0], code).values["line"] == shown.line
    assert {row.source for row in found.result.rows if row.op_name == first.op_name} == {shown}
    lines = explain(Comparison(found.result, found.flow), first.op_name)
    assert [str(one).strip() for one in lines[1 : 1 + len(first.frames)]] == [
        str(told(one)) for one in first.frames
    ]


def test_a_line_is_told_with_its_certainty():
    assert str(told(USER)) == str(USER)
    assert [told(one(USER)).code for one in (candidate, forward)] == [
        "compare/line-candidate",
        "compare/line-forward",
    ]
    assert all(str(USER) in str(told(one(USER))) for one in (candidate, forward))
