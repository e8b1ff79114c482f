"""Alignment of two graphs whose true correspondence is known by construction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.comparison.align.align import align
from workbench.comparison.align.alignment import OperatorMatch
from workbench.comparison.align.matching import Matching
from workbench.comparison.align.parameters import match_parameters
from workbench.comparison.graphs.view import GraphView
from workbench.comparison.map_file import NO_OVERRIDES, Match, Overrides
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, Value

FLOAT = TensorSpec("float32", (4, 4))


def chain(*kinds: str, scope: str = "Default", weight: str = "w") -> Graph:
    """A chain of operators; every MatMul reads a weight of its own."""
    parameters = [Parameter("x", FLOAT)]
    ops: list[Op] = []
    value: Param | Value = Param(0)
    for number, kind in enumerate(kinds):
        inputs: tuple[Param | Value, ...] = (value,)
        if kind == "MatMul":
            parameters.append(Parameter(f"{weight}{len(parameters)}", FLOAT, is_weight=True))
            inputs = (value, Param(len(parameters) - 1))
        name = f"{scope}/{kind}-op{sum(op.op_type == kind for op in ops)}"
        ops.append(Op(name, kind, inputs, {}, (FLOAT,), (FLOAT,) * len(inputs)))
        value = Value(number)
    return Graph("g", tuple(parameters), tuple(ops), (value,))


def partners(target: Graph, golden: Graph) -> dict[int, int]:
    return align(target, golden).match_of


def test_equal_graphs_align_one_to_one():
    graph = chain("MatMul", "ReLU", "MatMul", "Softmax")
    assert partners(graph, graph) == {0: 0, 1: 1, 2: 2, 3: 3}
    assert {match.rule for match in align(graph, graph).matches} == {"name"}


def test_renamed_scopes_align_by_structure():
    other = chain("MatMul", "ReLU", "MatMul", scope="Default/_backbone-Net")
    found = align(other, chain("MatMul", "ReLU", "MatMul"))
    assert found.match_of == {0: 0, 1: 1, 2: 2}
    assert {match.rule for match in found.matches} == {"structure"}


def test_casts_do_not_disturb_the_alignment():
    found = align(chain("Cast", "MatMul", "Cast", "ReLU"), chain("MatMul", "ReLU"))
    assert found.match_of == {1: 0, 3: 1}
    assert found.groups == ()


@pytest.mark.parametrize("position", [0, 1, 2, 3])
def test_an_inserted_operator_shifts_no_other(position):
    """The inserted ReLU takes the name of a later one; the others keep their true partners."""
    kinds = ["MatMul", "ReLU", "MatMul", "ReLU"]
    longer = [*kinds[:position], "Tanh", *kinds[position:]]
    found = align(chain(*longer), chain(*kinds))
    expected = {t if t < position else t + 1: t for t in range(4)}
    assert found.match_of == expected
    assert [(group.target, group.golden) for group in found.groups] == [((position,), ())]


def test_an_inserted_operator_of_the_same_type_is_told_from_its_twin():
    target = chain("MatMul", "ReLU", "Add", "ReLU", "MatMul")
    golden = chain("MatMul", "Add", "ReLU", "MatMul")
    assert partners(target, golden) == {0: 0, 2: 1, 3: 2, 4: 3}


def test_a_replaced_operator_makes_a_group_with_a_common_edge():
    found = align(chain("MatMul", "AvgPool", "MatMul"), chain("MatMul", "MaxPool", "MatMul"))
    (group,) = found.groups
    assert (group.target, group.golden) == ((1,), (1,))
    assert [(a.number, b.number) for a, b in group.edges] == [(1, 1)]


def product(first: int, second: int) -> Graph:
    """``tanh(x) · exp(x)`` or the factors swapped, transposed as told by constant arguments."""
    ops = [
        Op(f"Default/{kind}-op0", kind, (Param(0),), {}, (FLOAT,), (FLOAT,))
        for kind in ("Tanh", "Exp")
    ]
    flags = (Const(False, "bool", ()), Const(False, "bool", ()))
    inputs = (Value(first), Value(second), *flags)
    ops.append(Op("Default/MatMul-op0", "MatMul", inputs, {}, (FLOAT,)))
    return Graph("g", (Parameter("x", FLOAT),), tuple(ops), (Value(2),))


def test_an_operator_with_swapped_inputs_stays_the_same_operator():
    assert partners(product(1, 0), product(0, 1)) == {0: 0, 1: 1, 2: 2}


def test_a_fusion_makes_one_group_for_each_layer():
    golden = chain("MatMul", "MatMul", "Softmax")
    fused = tuple(
        replace(op, op_type="MatMulReluFusion") if op.op_type == "MatMul" else op
        for op in golden.ops
    )
    found = align(chain("MatMul", "ReLU", "MatMul", "ReLU", "Softmax"), replace(golden, ops=fused))
    assert sorted((g.target, g.golden) for g in found.groups) == [((0, 1), (0,)), ((2, 3), (1,))]
    assert found.match_of == {4: 2}


def test_the_user_has_the_first_word():
    graph = chain("ReLU", "ReLU")
    found = align(graph, graph, Overrides((Match((graph.ops[0].name,), (graph.ops[1].name,)),)))
    assert found.match_of[0] == 1
    assert found.matches[0].rule == "map"


def test_parameters_match_behind_a_wrapper_prefix_and_feeds_by_position():
    ours = Graph("g", (Parameter("_backbone.fc.weight", FLOAT, True), Parameter("args0", FLOAT)))
    theirs = Graph("g", (Parameter("x", FLOAT), Parameter("fc.weight", FLOAT, True)))
    assert match_parameters(GraphView(ours), GraphView(theirs)) == {0: 1, 1: 0}


SMALL, MATRIX = TensorSpec("float32", (2,)), TensorSpec("float32", (2, 3))
PARAMETERS = {
    "the name of a wrapper alone": (["network.net", "v"], ["u", "net"], {0: 1, 1: 0}),
    "several wrappers": (["a", "_backbone.network.b"], ["b", "a"], {0: 1, 1: 0}),
    "a wrapper within": (["a.net.b", "c"], ["c", "b"], {0: 1, 1: 0}),
    "as many of a name": (["w", "v", "w"], ["w", "w", "v"], {0: 0, 1: 2, 2: 1}),
    "fewer of a name": (["w", "v", "w"], ["w", "v"], {1: 1}),
    "weights in order": (["a", "b"], ["c", "d"], {0: 0, 1: 1}),
    "weights of other shapes": ([("a", SMALL), "b"], ["c", ("d", SMALL)], {}),
    "as many feeds": ([("x", None), "y"], ["p", ("q", None)], {0: 0, 1: 1}),
    "fewer feeds": ([("x", SMALL), ("y", MATRIX)], [("p", SMALL), "q", "r"], {0: 0}),
}
"""Names and shapes of weights, or of feeds → which of both sides are the same."""


@pytest.mark.parametrize("case", PARAMETERS)
def test_what_tells_parameters_that_nobody_reads(case):
    *sides, expected = PARAMETERS[case]
    views = []
    for names in sides:
        parts = [one if isinstance(one, tuple) else (one, FLOAT) for one in names]
        views.append(
            GraphView(
                Graph("g", tuple(Parameter(n, s or SMALL, "feeds" not in case) for n, s in parts))
            )
        )
    assert match_parameters(*views) == expected


@pytest.mark.parametrize(
    ("names", "given", "told"),
    [
        (("a/x", "b/x"), None, ("structure", 1.0)),
        (("a/x", "b/x"), 0.98765, ("structure", 0.988)),
        (("a/x", "a/x"), 0.98765, ("name", 0.988)),
    ],
    ids=["usual", "weighed", "same name"],
)
def test_a_match_is_as_sure_as_its_rule_or_as_was_weighed(names, given, told):
    views = (GraphView(Graph("g", (), (Op(name, "Tanh", (), {}, (FLOAT,)),))) for name in names)
    work = Matching(*views, NO_OVERRIDES)
    work.claim(0, 0, "structure", given)
    assert work.matches == [OperatorMatch((0,), (0,), *told)]
    assert (work.match_of, work.matched_golden) == ({0: 0}, {0})
    work.release(0, 0)
    assert (work.matches, work.match_of, work.matched_golden) == ([], {}, set())


def test_graphs_without_anything_in_common_leave_all_operators_over():
    found = align(chain("Sin", "Cos"), chain("Exp", "Log"))
    assert (found.match_of, found.matched_golden) == ({}, frozenset())


# ---------------------------------------------------------------- what names do not tell


def op_matches(target: Graph, golden: Graph) -> set[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return {(match.rule, match.target, match.golden) for match in align(target, golden).matches}


def test_weights_without_their_names_are_told_by_what_is_computed_with_them():
    golden = chain("MatMul", "ReLU", "MatMul", "Softmax", "MatMul")
    other = replace(
        golden, parameters=tuple(replace(p, name=f"v{n}") for n, p in enumerate(golden.parameters))
    )
    found = align(other, golden)
    assert found.params == {0: 0, 1: 1, 2: 2, 3: 3}
    assert found.match_of == {n: n for n in range(5)}


def test_weights_without_their_names_and_in_other_numbers_are_not_guessed():
    golden = chain("MatMul", "ReLU", "MatMul")
    other = chain("MatMul", "ReLU", "Tanh", "Softmax", weight="v")
    assert align(other, golden).params == {0: 0, 1: 1}
    assert align(chain("Tanh", "MatMul", weight="v"), golden).params == {0: 0}


def test_names_of_other_operators_do_not_outweigh_structure():
    """The scopes of all operators have been exchanged; an inserted operator cuts the ancestry."""
    golden = chain("MatMul", "ReLU", "MatMul", "ReLU", "MatMul", "ReLU")
    target = chain("MatMul", "ReLU", "MatMul", "Tanh", "ReLU", "MatMul", "ReLU")
    names = [
        "a/MatMul-op2",
        "a/ReLU-op2",
        "a/MatMul-op0",
        "a/x",
        "a/ReLU-op0",
        "a/MatMul-op1",
        "a/ReLU-op1",
    ]
    other = replace(
        target,
        ops=tuple(replace(op, name=name) for op, name in zip(target.ops, names, strict=True)),
    )
    assert partners(other, golden) == {0: 0, 1: 1, 2: 2, 4: 3, 5: 4, 6: 5}


def test_a_shape_changed_and_restored_is_no_difference():
    golden = chain("MatMul", "ReLU", "MatMul")
    target = chain("MatMul", "Reshape", "ReLU", "Reshape", "MatMul")
    found = align(target, golden)
    assert found.match_of == {0: 0, 2: 1, 4: 2}
    assert found.groups == ()


def test_what_one_side_computes_again_stands_for_the_same_operator():
    golden = diamond("MatMul", "Tanh", again=False)
    target = diamond("MatMul", "Tanh", again=True)
    assert ("again", (1,), (0,)) in op_matches(target, golden)
    assert ("again", (0,), (1,)) in op_matches(golden, target)
    assert align(target, golden).groups == ()
    assert align(golden, target).groups == ()


def test_what_both_sides_compute_twice_is_paired_by_who_reads_it():
    golden = diamond("MatMul", "Tanh", again=True)
    ops = (golden.ops[1], golden.ops[0], *golden.ops[2:])
    turned = {0: 1, 1: 0}
    ops = tuple(
        replace(
            op,
            name=f"other/{number}",
            inputs=tuple(
                Value(turned.get(one.op, one.op)) if isinstance(one, Value) else one
                for one in op.inputs
            ),
        )
        for number, op in enumerate(ops)
    )
    found = align(replace(golden, ops=ops), golden)
    assert found.match_of == {0: 1, 1: 0, 2: 2, 3: 3}


def diamond(first: str, second: str, *, again: bool) -> Graph:
    """One value, read by two operators; or computed for each of them."""
    parameters = (Parameter("x", FLOAT), Parameter("w", FLOAT, is_weight=True))
    twice = 1 if again else 0
    ops = [
        Op(f"a/{first}-op{n}", first, (Param(0), Param(1)), {}, (FLOAT,)) for n in range(1 + twice)
    ]
    ops.append(Op("a/one", second, (Value(0),), {}, (FLOAT,)))
    ops.append(Op("a/other", "Sub", (Value(1 + twice), Value(twice)), {}, (FLOAT,)))
    return Graph("g", parameters, tuple(ops), (Value(2 + twice),))


def test_a_chain_of_fused_layers_comes_apart_at_every_kernel():
    golden = chain("MatMul", "BiasAdd", "ReLU", "MatMul", "BiasAdd", "ReLU", "Softmax")
    target = chain("Fused_MatMul_BiasAdd", "Fused_ReLU_MatMul", "Fused_BiasAdd_ReLU", "Softmax")
    weights = {
        "Fused_MatMul_BiasAdd": (1, 2),
        "Fused_ReLU_MatMul": (3,),
        "Fused_BiasAdd_ReLU": (4,),
    }
    golden = weighted(golden, {0: (1,), 1: (2,), 3: (3,), 4: (4,)})
    target = weighted(target, {n: weights.get(op.op_type, ()) for n, op in enumerate(target.ops)})
    groups = {(group.target, group.golden) for group in align(target, golden).groups}
    assert groups == {((0,), (0, 1)), ((1,), (2, 3)), ((2,), (4, 5))}


def weighted(graph: Graph, reads: dict[int, tuple[int, ...]]) -> Graph:
    """The same chain with weights of its own."""
    weights = (Parameter(f"w{n}", FLOAT, is_weight=True) for n in range(1, 5))
    ops = tuple(
        replace(op, inputs=(op.inputs[0], *map(Param, reads.get(number, ()))))
        for number, op in enumerate(graph.ops)
    )
    return replace(graph, parameters=(graph.parameters[0], *weights), ops=ops)


def test_a_kernel_of_the_same_type_that_has_taken_in_the_bias_is_both():
    golden = weighted(chain("MatMul", "BiasAdd", "ReLU"), {0: (1,), 1: (2,)})
    target = weighted(chain("MatMul", "ReLU"), {0: (1, 2)})
    assert op_matches(target, golden) >= {("group", (0,), (0, 1))}
    assert align(target, golden).match_of == {1: 2}


def test_a_long_stretch_of_other_operators_is_no_claim_about_any_of_them():
    golden = chain("ReLU", *["Sin", "Cos", "Exp", "Log", "Neg"] * 2, "MatMul")
    target = chain("ReLU", *["Add3", "Sub3", "Mul3", "Div3"] * 2, "MatMul")
    target = replace(target, ops=tuple(spread(op, n) for n, op in enumerate(target.ops)))
    (match,) = (m for m in align(target, golden).matches if len(m.target) != 1)
    assert (match.rule, len(match.target), len(match.golden)) == ("stretch", 8, 10)


def spread(op: Op, number: int) -> Op:
    """Another size of whatever lies inside, so that no value of it can be the golden's."""
    if not op.op_type.endswith("3") or number == 8:
        return op
    return replace(op, outputs=(TensorSpec("float32", (number + 5, 7)),))
