"""What stages hand on is read-only all through: no array that can be written, no dict, list or set that can grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass, replace
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import START, Net, chain, in_memory, shoot
from workbench.comparison import differing, engine
from workbench.comparison.explain import explainers
from workbench.comparison.replay import forecast
from workbench.core.tensors import TensorRecord
from workbench.dump.dump import Dump
from workbench.dump.index import Records, index_of
from workbench.dump.statistics.compute import statistics_of
from workbench.dump.statistics.dialects import TITLES
from workbench.graph.graph import Graph, Op

STAGES = {
    "bind_both": engine,
    "pair_tensors": engine,
    "measure_pairs": engine,
    "forecast": forecast,
    "replay": differing,
    "follow": differing,
    "explain_origins": explainers,
    "find": differing,
}
"""Function that makes a stage's value → the module that calls it."""

GIVEN = Dump | Graph | Op | Records | TensorRecord
"""What a comparison was given: not its own."""

PLAIN = str | bytes | int | float | bool | None | type | np.dtype
CODE = FunctionType | BuiltinFunctionType | MethodType

MAY_CHANGE = {
    "BoundedCache": "a cache, by bytes",
    "DumpedInputs": "a cache: who reads a value",
    "GraphView": "an index of lists and dicts over one graph, complete when it is made",
    "ReplayCache": "a cache: what an operator computes",
}
"""Class → why what it holds may be a dict, list or set. That nobody changes it from outside is checked of the code."""


def members(value) -> list[tuple[str, Any]]:
    """What a value holds, by a name of the place."""
    name = type(value).__name__
    if isinstance(value, Mapping):
        return [(f"{name} of keys", key) for key in value] + [
            (f"{name} of values", one) for one in value.values()
        ]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f"{name}.{field}", getattr(value, field)) for field in value._fields]
    if isinstance(value, list | tuple | Set):
        return [(f"items of {name}", one) for one in value]
    if isinstance(value, np.ndarray):
        return [("items of array", one) for one in value.flat] if value.dtype == object else []
    slots = [
        one
        for kind in type(value).__mro__
        for one in np.atleast_1d(kind.__dict__.get("__slots__", ()))
    ]
    known = [one.name for one in fields(value)] if is_dataclass(value) else []
    names = dict.fromkeys([*known, *map(str, slots), *getattr(value, "__dict__", {})])
    return [(f"{name}.{one}", getattr(value, one)) for one in names if hasattr(value, one)]


def changeable(value) -> Counter:
    """Places of arrays that can be written and of containers that can grow, and how often they are met."""
    found, seen, left = Counter(), {}, [("", "", value)]
    while left:
        owner, place, one = left.pop()
        if id(one) in seen or isinstance(one, PLAIN | CODE | GIVEN):
            continue
        seen[id(one)] = one
        if isinstance(one, np.ndarray) and one.flags.writeable:
            found[f"{place}: array"] += 1
        if isinstance(one, dict | list | set | bytearray) and owner not in MAY_CHANGE:
            found[f"{place}: {type(one).__name__}"] += 1
        named = (
            owner
            if isinstance(one, dict | list | tuple) and not hasattr(one, "_fields")
            else type(one).__name__
        )
        left += [(named, where, inner) for where, inner in members(one)]
    return found


GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
GOOD = in_memory(shoot(GRAPH, VALUES), GRAPH)
WRONG = in_memory(
    shoot(GRAPH, VALUES, alter={"Default/MatMul-op1": lambda x: x * np.float32(1.5)}), GRAPH
)


def in_half():
    """The same in another format, whose numbers are wider in the files."""

    def halved(specs):
        return tuple(one and one._replace(dtype="float16") for one in specs)

    ops = tuple(
        replace(op, input_specs=halved(op.input_specs), outputs=halved(op.outputs))
        for op in GRAPH.ops
    )
    return in_memory(shoot(GRAPH, VALUES), replace(GRAPH, ops=ops)), GOOD


def statistics():
    records = [
        replace(one, source=None, statistics=statistics_of(one.source.array(), TITLES))
        for one in WRONG.records
    ]
    return replace(WRONG, index=index_of(records)), GOOD


def groups():
    """Two operators on one side, one on the other, and a weight that is updated in two iterations."""
    dumps = []
    for types in (("MatMul", "ReLU"), ("MatMulRelu",)):
        net = Net()
        weight, value = net.weight("w"), net.feed("x")
        for number, kind in enumerate(types):
            value = net.op(kind, *([value] if number else [value, weight]))
        net.op("AssignAdd", weight, net.op("Tanh", value))
        graph = net.graph()
        values = small.given(graph)
        shots = [
            s for n in (0, 1) for s in shoot(graph, values, iteration=n, start=START + 1000 * n)
        ]
        dumps.append(in_memory(shots, graph))
    return dumps


CASES = {
    "an operator is wrong": lambda: (WRONG, GOOD),
    "no graphs": lambda: [replace(one, graphs={}) for one in (WRONG, GOOD)],
    "formats": in_half,
    "statistics": statistics,
    "groups": groups,
}


@pytest.mark.parametrize("case", CASES)
def test_what_stages_hand_on_cannot_be_changed(case, monkeypatch):
    made = {}

    def watched(name, function):
        def call(*args, **options):
            made[name] = function(*args, **options)
            return made[name]

        return call

    for name, module in STAGES.items():
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    found = engine.compare_dumps(*CASES[case]())
    unused = set() if found.flow.origins else {"explain_origins"}
    assert made.keys() == STAGES.keys() - unused
    assert {name: changeable(value) for name, value in made.items() if changeable(value)} == {}


@pytest.mark.parametrize(
    "value", [np.zeros(2), [np.zeros(2)], {"a": 1}, ({1},), np.array([[1], {}], object)]
)
def test_what_can_be_changed_is_seen(value):
    assert changeable(value)


def test_a_list_inside_of_a_cache_is_none_of_a_value():
    class BoundedCache:
        def __init__(self):
            self.held = {"a": [1]}

    assert not changeable(BoundedCache())


def test_a_binding_cannot_be_changed_whoever_made_its_mappings():
    bound = engine.bind_both(WRONG, GOOD)[0]
    again = replace(
        bound, runs={block: dict(some) for block, some in bound.runs.items()}, parameters={}
    )
    block, runs = next(iter(again.runs.items()))
    for mapping in (
        again.runs,
        runs,
        again.parameters,
        next(iter(runs.values())).tensors,
        again.graphs,
    ):
        with pytest.raises(TypeError):
            mapping[block] = None
