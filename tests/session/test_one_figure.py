"""One error has one figure: sentence, card, evidence and the operator's view say the same multiple of it."""

import re

import pytest

from workbench.comparison.result import times_expected
from workbench.core.words import Message
from workbench.ui.bench.app import Workbench

FAULTS = {
    "replay says it": ("mlp", "scaled-output:Default/body-SequentialCell/0-Dense/BiasAdd-op0"),
    "replay of a cube operator": ("lenet", "unwritten-tail-tile:Default/conv2-Conv2d/Conv2D-op0"),
    "far beyond": ("resnet", "bit-flip:Default/layer1-BasicBlock/conv1-Conv2d/Conv2D-op0"),
    "the parameter says it": ("lenet", "wrong-weight-element:Default/conv2-Conv2d/Conv2D-op0"),
    "the attribute says it": (
        "alexnet", "wrong-attribute:Default/conv3-Conv2d/Conv2D-op0:pad_mode=pad,pad=1"
    ),
}  # fmt: skip

MULTIPLE = re.compile(r"(\d[\d.,e]*) ?× ?(?:expected|what)")


@pytest.mark.parametrize("case", FAULTS)
def test_every_place_that_says_a_multiple_says_the_same_one(case):
    graph, fault = FAULTS[case]
    comparison = Workbench(graph=graph, faults=(fault,)).run()
    finding = comparison.findings[0]
    assert finding.defect
    expected = times_expected(finding.own_error, finding.noise_floor)
    assert expected is not None
    places = [comparison._repr_html_(), comparison.operator()._repr_html_(), comparison.sentence]
    said = {found for text in places for found in MULTIPLE.findall(text)}
    assert said == {f"{Message('compare/local-error', times=expected)}".split()[2]}


@pytest.mark.parametrize(
    ("error", "expected", "times"),
    [
        (0.5, 0.25, 2.0),
        (0.0, 0.25, 0.0),
        (None, 0.25, None),
        (0.5, None, None),
        (0.5, 0.0, None),
        (float("inf"), 0.25, None),
        (float("nan"), 0.25, None),
        (1e300, 1e-300, None),
    ],
)
def test_a_multiple_is_said_where_both_figures_are_there_and_finite(error, expected, times):
    assert times_expected(error, expected) == times
