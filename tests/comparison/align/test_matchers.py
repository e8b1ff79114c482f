"""The order of the matchers: for each two neighbors a case that only this order decides rightly."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kit.build.small_dumps import Net, ge_graph
from workbench.comparison.align import align as module
from workbench.comparison.align.rules import MATCH_RULES
from workbench.comparison.limits import LIMITS
from workbench.comparison.map_file import NO_OVERRIDES, Match, Overrides
from workbench.graph.graph import Value


def node(name, op_type, *inputs, names=()):
    """An operator of a graph of GE; ``names`` are the network's operators that it stands for."""
    said = "".join(f's: "{one}" ' for one in names)
    key = '"_datadump_original_op_names"'
    attr = f"attr {{ key: {key} value {{ list {{ {said}}} }} }} " if names else ""
    edges = "".join(f'input: "{one}" ' for one in inputs)
    desc = 'output_desc { dtype: DT_FLOAT shape { dim: 4 dim: 4 } layout: "ND" }'
    return f'op {{ name: "{name}" type: "{op_type}" {edges}{attr}{desc} }}'


def fused():
    """One kernel for two operators, of the type and with the ancestry of the first."""
    kernel = node("conv1relu1", "Conv2D", "x:0", "w:0", names=["conv1", "relu1"])
    return ge_graph(node("x", "Data"), node("w", "Const"), kernel)


def unfused():
    conv, relu = node("conv1", "Conv2D", "x:0", "w:0"), node("relu1", "ReLU", "conv1:0")
    return ge_graph(node("x", "Data"), node("w", "Const"), conv, relu)


def renamed(prefix=""):
    """Two operators whose names are exchanged."""
    net = Net()
    net.op("Exp", net.op("Tanh", net.feed("x"), name=f"{prefix}a"), name=f"{prefix}b")
    return net.graph()


def casts(*readers, other):
    """A feed cast to the same type for each of two readers, whose second inputs tell nothing."""
    net = Net()
    x = net.feed("x")
    given = [net.op("Cast", x, dtype="float16", name=f"{other}/cast{n}") for n in range(2)]
    noise = net.op(other, x)
    for kind, cast in zip(readers, given, strict=True):
        net.op(kind, cast, noise, name=f"{other}/{kind}")
    return net.graph()


def copies(*readers, scope):
    """A product computed for each of two readers, with a cast between."""
    net = Net()
    x, w, other = net.feed("x"), net.weight("w"), net.weight("v")
    products = [net.op("MatMul", x, w, name=f"{scope}/product{n}") for n in range(2)]
    given = [
        net.op("Cast", one, dtype="float16", name=f"{scope}/{n}") for n, one in enumerate(products)
    ]
    for kind, cast in zip(readers, given, strict=True):
        net.op(kind, cast, other, name=f"{scope}/{kind}")
    return net.graph(Value(4), Value(5))


def twins(**changed):
    """The same operator twice; with other settings the second one is no copy of the first."""
    net = Net()
    x = net.feed("x")
    first = net.op("LeakyReLU", x, name="first")
    net.op("MatMul", first, net.op("LeakyReLU", x, name="second", attrs=changed))
    return net.graph()


def region(kind, weight, *readers, scope):
    """``kind`` leads to a sum with another weight on either side, computed for each of two readers."""
    net = Net()
    x, weights = net.feed("x"), {name: net.weight(name) for name in ("p", "q")}
    first = net.op(kind, x, name=f"{scope}/first")
    ends = [net.op("Add", first, weights[weight], name=f"{scope}/end{n}") for n in range(2)]
    for reader, end in zip(readers, ends, strict=True):
        net.op(reader, end, net.weight(f"w{reader}"), name=f"{scope}/{reader}")
    return net.graph(Value(3), Value(4))


def replaced(kind):
    """An operator of another type, whose result is cast before anybody reads it."""
    net = Net()
    value = net.op("Cast", net.op(kind, net.op("MatMul", net.feed("x"), net.weight("w"))))
    net.op("Softmax", value)
    return net.graph()


CASES = {
    ("map file", "fusions"): (
        fused(),
        unfused(),
        {("map", (2,), (2,))},
        Overrides((Match(("conv1relu1",), ("conv1",)),)),
    ),
    ("fusions", "ancestry"): (fused(), unfused(), {("fusion", (2,), (2, 3))}),
    ("ancestry", "neighbors"): (
        renamed(),
        renamed("scope/"),
        {("structure", (0,), (0,)), ("structure", (1,), (1,))},
    ),
    ("neighbors", "identities"): (
        casts("Sub", "Mul", other="Neg"),
        casts("Mul", "Sub", other="Abs"),
        {("topology", (0,), (1,)), ("topology", (1,), (0,))},
    ),
    ("identities", "repeated"): (
        copies("Sub", "Mul", scope="a"),
        copies("Mul", "Sub", scope="b"),
        {("structure", (0,), (1,)), ("structure", (1,), (0,))},
    ),
    ("repeated", "regions"): (
        twins(alpha=0.5),
        twins(),
        {("name", (0,), (0,)), ("name", (1,), (1,)), ("name", (2,), (2,))},
    ),
    ("regions", "repeated again"): (
        region("Sin", "p", "Sub", "Mul", scope="a"),
        region("Cos", "q", "Mul", "Sub", scope="b"),
        {("structure", (1,), (2,)), ("structure", (2,), (1,))},
    ),
    ("repeated again", "recomputed"): (
        region("Sin", "p", "Sub", "Mul", scope="a"),
        region("Cos", "q", "Mul", "Sub", scope="b"),
        {("structure", (1,), (2,)), ("structure", (2,), (1,))},
    ),
    ("edges", "identities again"): (replaced("AvgPool"), replaced("MaxPool"), LIMITS.score_carried),
    ("identities again", "between"): (
        replaced("AvgPool"),
        replaced("MaxPool"),
        LIMITS.score_carried,
    ),
}
"""Neighbors → target, golden, and matches of the operators in question; or the score of those of a cast."""

INDEPENDENT = {
    (
        "recomputed",
        "edges",
    ): "one adds matches, the other values; neither reads what the other writes"
}


def found(target, golden, expected, forced=NO_OVERRIDES):
    """What is found of the operators that a case is about, as the case has it."""
    matches = module.align(target, golden, forced).matches
    if isinstance(expected, float):
        cast = next(n for n, op in enumerate(target.ops) if op.op_type == "Cast")
        return [match.score for match in matches if match.target == (cast,)] == [expected]
    about = {n for _, numbers, _ in expected for n in numbers}
    return {(m.rule, m.target, m.golden) for m in matches if about & {*m.target}} == expected


@pytest.mark.parametrize("pair", CASES, ids=" before ".join)
def test_the_order_of_two_neighbors_decides(pair, monkeypatch):
    case = CASES[pair]
    assert found(*case)
    names = [matcher.name for matcher in module.MATCHERS]
    first = names.index(pair[0])
    assert names[first + 1] == pair[1]
    rows = list(module.MATCHERS)
    rows[first : first + 2] = reversed(rows[first : first + 2])
    monkeypatch.setattr(module, "MATCHERS", rows)
    assert not found(*case)


def test_every_two_neighbors_have_a_case_or_do_not_meddle_with_each_other():
    names = [matcher.name for matcher in module.MATCHERS]
    assert {*pairwise(names)} == CASES.keys() | INDEPENDENT.keys()
    assert {matcher.rule for matcher in module.MATCHERS} <= MATCH_RULES.keys()
