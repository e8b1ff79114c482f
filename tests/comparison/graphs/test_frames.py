"""Which source lines of an operator are shown, in which order, and how sure they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.build.small_dumps import Net
from workbench.comparison.graphs.frames import user_frames
from workbench.graph.nodes import SourceFrame

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
