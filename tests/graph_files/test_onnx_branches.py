"""Branches of a model in the places of their `If` nodes: against onnx's evaluator, which runs the `If` itself."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import workbench as wb
from kit.build.onnx_models import model, node
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.graph.graph import Value
from workbench.graph_files.onnx.branches import (
    ELSE,
    THEN,
    branch_that_has,
    is_choice,
    with_branches,
)
from workbench.graph_files.onnx.model import parse_onnx_model
from workbench.network.onnx import read_onnx
from workbench.run.reference import run_reference

X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)


def graph_of(name, nodes, results, weights=()):
    ends = [helper.make_empty_tensor_value_info(one) for one in results]
    held = [numpy_helper.from_array(array, key) for key, array in weights]
    return helper.make_graph(nodes, name, [], ends, held)


def nested():
    """A choice with two results, one of them a value from around it, whose first branch holds another choice."""
    deep = {
        THEN: graph_of("deep_then", [node("Neg", ["s"], ["dt"], "deep_neg")], ["dt"]),
        ELSE: graph_of("deep_else", [node("Exp", ["a"], ["de"], "deep_exp")], ["de"]),
    }
    then = [
        node("Mul", ["a", "w"], ["s"], "scale"),
        node("If", ["d"], ["t"], "deep", then_branch=deep[THEN], else_branch=deep[ELSE]),
    ]
    weight = [("w", np.array([3], np.float32))]
    branches = {
        THEN: graph_of("then", then, ["t", "a"], weight),
        ELSE: graph_of(
            "else", [node("Sub", ["a", "w"], ["e"], "less")], ["e", "e"], [("w", X[:1])]
        ),
    }
    nodes = [
        node("Relu", ["x"], ["a"], "act"),
        node("Not", ["c"], ["d0"], "not"),
        node("Xor", ["d0", "f"], ["d"], "xor"),
        node("If", ["c"], ["y", "z"], "choice", then_branch=branches[THEN], else_branch=branches[ELSE]),
        node("Add", ["y", "z"], ["r"], "sum"),
    ]  # fmt: skip
    feeds = {"x": X, "c": np.array(True), "f": np.array(True)}
    return model(nodes, feeds, ["r", "y"])


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("f", [True, False])
def test_a_graph_with_the_branches_that_are_taken_computes_what_the_model_does(c, f):
    net = nested()
    feeds = {"x": X, "c": np.array(c), "f": np.array(f)}
    wanted = ReferenceEvaluator(net).run(["r", "y"], feeds)
    taken = {"choice": THEN if c else ELSE, "deep": THEN if (not c) != f else ELSE}
    graph = read_onnx(net, branches=taken)
    found = {
        (one.key.op_name, one.key.slot): one.source.array()
        for one in run_reference(graph, feeds)
        if one.key.io == "output" and one.source is not None
    }
    results = [graph.ops[one.op].name for one in graph.outputs[:2] if isinstance(one, Value)]
    for name, array in zip(results, wanted, strict=True):
        np.testing.assert_allclose(found[name, 0], array, rtol=1e-6)


def test_what_was_asked_is_a_result_as_well_and_a_choice_that_nobody_made_stays():
    graph = parse_onnx_model(nested().SerializeToString())
    half = with_branches(graph, lambda op: THEN if op.name == "choice" else "")
    assert [op.name for op in half.ops] == ["act", "not", "xor", "scale", "deep", "sum"]
    assert [is_choice(op) for op in half.ops].count(True) == 1
    assert half.outputs == (
        Value(5),
        Value(4),
    )  # `choice` asks a fed value, which no operator gives
    whole = with_branches(graph, lambda op: THEN)
    assert whole.outputs == (Value(5), Value(4), Value(2))
    assert [one.name for one in whole.parameters if one.is_weight] == ["w"]


@pytest.mark.parametrize(
    ("known", "ops"),
    [
        ({"scale", "deep_exp"}, ["act", "not", "xor", "scale", "deep_exp", "sum"]),
        ({"less"}, ["act", "not", "xor", "less", "sum"]),
        ({"less", "scale"}, ["act", "not", "xor", "choice", "sum"]),
        (set(), ["act", "not", "xor", "choice", "sum"]),
    ],
    ids=["first", "second", "both", "none"],
)
def test_names_of_files_tell_which_branch_was_taken(known, ops):
    graph = parse_onnx_model(nested().SerializeToString())
    made = with_branches(graph, branch_that_has(graph, known.__contains__))
    assert [op.name for op in made.ops] == ops


def twice():
    """Two choices of one name, whose branches differ."""
    first = {
        THEN: graph_of("t1", [node("Neg", ["x"], ["n"], "neg")], ["n"]),
        ELSE: graph_of("e1", [node("Exp", ["x"], ["m"], "exp")], ["m"]),
    }
    longer = [node("Relu", ["a"], ["p"], "relu"), node("Sin", ["p"], ["q"], "sin")]
    second = {
        THEN: graph_of("t2", [node("Abs", ["a"], ["o"], "abs")], ["o"]),
        ELSE: graph_of("e2", longer, ["q"]),
    }
    nodes = [
        node("If", ["c"], ["a"], "choice", **first),
        node("Not", ["c"], ["d"], "not"),
        node("If", ["d"], ["b"], "choice", **second),
    ]
    return model(nodes, {"x": X, "c": np.array(True)}, ["b"])


def test_choices_of_one_name_are_left_as_they_are(tmp_path):
    """Which of their graphs is meant nobody can tell: they are computed as wholes, or refused."""
    net, feeds = twice(), {"x": X, "c": np.array(True)}
    graph = parse_onnx_model(net.SerializeToString())
    assert with_branches(graph, lambda op: THEN).ops == graph.ops
    wb.golden(net, feeds, tmp_path / "golden", engine="reference")
    [wanted] = ReferenceEvaluator(net).run(["b"], feeds)
    files = sorted((tmp_path / "golden").glob("choice.*.npy"))
    np.testing.assert_allclose(np.load(files[-1]), wanted, rtol=1e-6)
    with refused("graph/onnx-unsupported", GraphError):
        read_onnx(net, branches={"choice": THEN})
