"""Which rule decides about every operator of a comparison, from files to conclusions."""

from __future__ import annotations

from collections import Counter
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import START, Net, chain, in_memory, shoot
from workbench.comparison.engine import compare_dumps
from workbench.graph.graph import Const

SAMPLES = Path(__file__).parents[3] / "sample_dumps"
GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
WEIGHT = "fc2.weight"


def conclusions(flow):
    """Name of the rule that decided, operator by operator."""
    return [one.conclusion for one in flow.events.values()]


@pytest.mark.parametrize(
    ("target", "golden", "expected"),
    [
        ("real_pair/dump_a", "real_pair/dump_b",
         {"within-expected": 5, "named-difference": 1, "inherits": 15}),
        ("real_pair/dump_b", "real_pair/dump_a",
         {"within-expected": 5, "named-difference": 1, "inherits": 15}),
        ("simulated_pair/target", "simulated_pair/golden",
         {"within-expected": 3, "exceeds-expected": 1, "inherits": 11}),
        ("simulated_pair/golden", "simulated_pair/target",
         {"within-expected": 3, "named-difference": 1, "inherits": 11}),
    ],
)  # fmt: skip
def test_the_conclusions_of_the_sample_pairs(target, golden, expected):
    flow = wb.compare(SAMPLES / target, SAMPLES / golden).row_index.flow
    assert Counter(conclusions(flow)) == expected


def followed(target, golden, *graphs):
    ours, theirs = graphs if len(graphs) == 2 else graphs * 2 or ((), ())
    sides = zip((target, golden), (ours, theirs), strict=True)
    return compare_dumps(
        *(in_memory(shots, *([graph] if graph else [])) for shots, graph in sides)
    ).flow


def changed(name, factor=1.1):
    return {**VALUES, name: VALUES[name] * np.float32(factor)}


def stepping():
    """A graph that updates a weight, and what it begins with."""
    net = Net()
    weight, step = net.weight("w"), net.feed("s")
    net.op("Tanh", weight)
    net.op("AssignAdd", weight, step)
    graph = net.graph()
    return graph, small.given(graph)


def steps(graph, values, first=0):
    """Two iterations of a step; an input is dumped as the operator leaves it."""
    shots = []
    for n in range(first, first + 2):
        shots += shoot(graph, values, iteration=n, start=START + 1000 * n)
    return shots


def spoiled(name, graph=GRAPH, values=VALUES):
    return shoot(graph, values, alter={name: lambda x: x + np.float32(0.1)})


def moved():
    net = Net()
    value = net.op("Reshape", net.feed("x"), Const((4, 4)))
    net.op("Tanh", value)
    return net.graph()


MOVED = moved()
MOVED_VALUES = small.given(MOVED)
STEPS, STEPS_VALUES = stepping()


def scaled(axis):
    """The same operators, where one of them has another attribute."""
    ops = list(GRAPH.ops)
    ops[3] = replace(ops[3], attrs={"axis": axis})
    return replace(GRAPH, ops=tuple(ops))


GOOD = shoot(GRAPH, VALUES)
CASES = {
    "nothing differs": (GOOD, GOOD, (GRAPH,), ["within-expected"] * 4),
    "an operator is wrong": (
        spoiled("Default/MatMul-op1"), GOOD, (GRAPH,),
        ["within-expected", "within-expected", "exceeds-expected", "inherits"],
    ),
    "a weight differs": (
        shoot(GRAPH, changed(WEIGHT)), GOOD, (GRAPH,),
        ["within-expected", "within-expected", "computes-with-cause", "inherits"],
    ),
    "an attribute differs": (
        spoiled("Default/Tanh-op0"), GOOD, (scaled(0), scaled(1)),
        ["within-expected", "within-expected", "within-expected", "named-difference"],
    ),
    "what moves data is given something else": (
        shoot(MOVED, {**MOVED_VALUES, "x": MOVED_VALUES["x"] * 2}), shoot(MOVED, MOVED_VALUES), (MOVED,),
        ["hands-cause-on", "computes-with-cause"],
    ),
    "a number of elements differs": (
        [s._replace(data=s.data[:2]) if s.name == "Default_Tanh-op0" and s.io == "output" else s for s in GOOD],
        GOOD, (GRAPH,), ["within-expected", "within-expected", "within-expected", "sizes-differ"],
    ),
    "the golden is wrong": (
        GOOD, spoiled("Default/MatMul-op1"), (GRAPH,),
        ["within-expected", "within-expected", "named-difference", "inherits"],
    ),
    "a step began before the dump": (
        steps(STEPS, {**STEPS_VALUES, "w": STEPS_VALUES["w"] * np.float32(1.1)}, 3), steps(STEPS, STEPS_VALUES, 3),
        (STEPS,), ["inherits"] * 4,
    ),
    "without a graph": (
        spoiled("Default/MatMul-op1"), GOOD, (),
        ["within-expected", "within-expected", "exceeds-expected", "within-expected"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_which_rule_decides(name):
    target, golden, graphs, expected = CASES[name]
    assert conclusions(followed(target, golden, *graphs)) == expected


def test_a_trace_and_what_it_holds_cannot_be_changed():
    flow = followed(spoiled("Default/MatMul-op1"), GOOD, GRAPH)
    (event,) = flow.origins
    with pytest.raises(FrozenInstanceError):
        flow.origins = ()
    with pytest.raises(AttributeError, match="can't set attribute"):
        event.is_origin = False
    for table in (flow.events, flow.input_states, flow.values, flow.coarsest):
        with pytest.raises(TypeError, match="does not support item assignment"):
            table[next(iter(table))] = None


def test_an_assessment_holds_the_figures_it_was_judged_by():
    (event,) = followed(spoiled("Default/MatMul-op1"), GOOD, GRAPH).origins
    assert (
        event.worst.error
        > event.limit
        == event.tolerance_factor * event.expected_error
        > event.rounding_floor
    )


@pytest.mark.parametrize("shown", [True, False])
def test_a_weight_that_only_its_file_shows_is_the_cause(shown):
    """Of inputs nothing was dumped; the file of a weight that nothing updates is what operators read."""
    graph = chain("MatMul", "ReLU", "MatMul", "Tanh")
    values = small.given(graph)
    other = values | {"fc2.weight": values["fc2.weight"] * np.float32(1.5)}
    dumps = [
        in_memory([s for s in shoot(graph, some, parameters=shown) if s.io == "output"], graph)
        for some in (other, values)
    ]
    found = wb.compare(*dumps).findings[0]
    assert found.op_name == "Default/MatMul-op1"
    assert found.kind == ("parameter" if shown else "own-error")
