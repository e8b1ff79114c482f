"""What was concluded of an operator, in words: every rule has its sentence, and an operator all that led to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import chain, in_memory, shoot
from kit.words import refused
from workbench.cli import main
from workbench.comparison.align.differences import Difference
from workbench.comparison.bind.binding import Execution
from workbench.comparison.engine import compare_dumps
from workbench.comparison.follow.in_time.rules import TIME_RULES
from workbench.comparison.follow.operators import OPERATOR_RULES, SECOND_RULES
from workbench.comparison.follow.state import Assessment, ValueState
from workbench.comparison.map_file import Tolerance
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.network.models import load_graph
from workbench.session.comparison import Comparison
from workbench.session.conclusions import MOST, carries, explain, figures
from workbench.session.names import full_name
from workbench.views.origin import conclusion

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)
GIVEN = Difference("parameter", "w", Message("compare/given", name="w", error=0.1))


def assessment(**more):
    return Assessment(Execution(0, "Net", 0, 0, 0), 1, 1e-7, 0.0, False, 1, **more)


def compared(alter, iterations=1, graphs=(GRAPH,)):
    shots = [[], []]
    for side, changed in enumerate((alter, None)):
        for n in range(iterations):
            start = small.START + 1000 * n
            shots[side] += shoot(GRAPH, VALUES, alter=changed, iteration=n, start=start)
    found = compare_dumps(*(in_memory(one, *graphs) for one in shots))
    return Comparison(found.result, found.flow)


WRONG = {"Default/MatMul-op1": lambda x: x + np.float32(0.1)}


def codes(lines):
    return [one.code for one in lines if isinstance(one, Message)]


@pytest.mark.parametrize(
    "name",
    sorted({rule.name for rules in (OPERATOR_RULES, SECOND_RULES, TIME_RULES) for rule in rules} - {"stands"}),
)  # fmt: skip
def test_every_conclusion_has_its_sentence(name):
    (said,) = conclusion(assessment(conclusion=name))
    assert said.code == f"compare/conclusion-{name}"
    assert str(said)


def test_what_became_of_an_error_is_told_as_well():
    tolerance = Tolerance(0.1, "known", name="*")
    excused = assessment(conclusion="exceeds-expected", tolerated=tolerance)
    assert codes(conclusion(excused))[1:] == ["compare/tolerated"]
    masked = assessment(conclusion="named-difference", masked=True)
    assert codes(conclusion(masked))[1:] == ["compare/no-effect"]
    remark = assessment(conclusion="version-matter", masked=True)
    assert codes(conclusion(remark)) == ["compare/conclusion-version-matter"]


def test_an_origin_is_told_with_its_figures_and_what_it_read():
    lines = explain(compared(WRONG), "MatMul-op1")
    (head,) = [one for one in lines if isinstance(one, Message)]
    assert (head.code, head.values["rule"]) == ("cli/explained", "exceeds-expected")
    assert head.values["name"] == "Default/MatMul-op1"
    assert any(line.startswith("  relative error") for line in lines if isinstance(line, str))
    assert lines[-2:] == [f"  {carries(slot, ValueState(0.0, True))}" for slot in (0, 1)]


def test_what_lies_behind_an_origin_is_told_to_inherit():
    lines = explain(compared(WRONG), "Tanh-op0")
    assert lines[0].values["rule"] == "inherits"
    assert "wrong upstream" in lines[-1]


def test_without_a_graph_nobody_knows_what_an_operator_read():
    lines = explain(compared(WRONG, graphs=()), "Tanh-op0")
    assert lines[0].values["rule"] == "within-expected"
    assert not [line for line in lines[1:] if "input.0" in line]


def test_the_rank_is_told_where_it_is_not_the_first():
    shots = [s._replace(rank=1) for s in shoot(GRAPH, VALUES)]
    found = compare_dumps(in_memory(shots, GRAPH), in_memory(shots, GRAPH))
    lines = explain(Comparison(found.result, found.flow), "ReLU-op0")
    assert (lines[0].code, lines[0].values["rank"]) == ("cli/explained-rank", 1)


def test_every_execution_is_told_up_to_a_number():
    lines = explain(compared(WRONG, MOST + 2), "Default/ReLU-op0")
    assert codes(lines).count("cli/explained") == MOST
    assert lines[-1] == Message("cli/more", count=2)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [("op0", "session/operator-ambiguous"), ("Conv2D-op0", "session/operator")],
)
def test_a_name_must_be_that_of_one_operator(wanted, code):
    with refused(code, got=wanted):
        explain(compared(None), wanted)


NAMES = [
    f"Default/layer{n}/{kind}-op{n}" for n in range(40) for kind in ("Conv2D", "ReLU", "BiasAdd")
]


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("layer7/relu", ["Default/layer7/ReLU-op7"]),
        ("Relu-op39", ["Default/layer39/ReLU-op39"]),
        ("conv2d", NAMES[:15:3]),  # a few of those that hold it
        ("Conv2d-opp7", ["Default/layer7/Conv2D-op7"]),
        ("layer3/BiasAd-op3", ["Default/layer3/BiasAdd-op3"]),
    ],
)
def test_of_an_unknown_name_only_similar_ones_are_named_and_all_are_counted(wanted, near):
    with pytest.raises(WorkbenchError) as raised:
        full_name(NAMES, wanted)
    assert raised.value.code == "session/operator-near"
    assert raised.value.values["count"] == len(NAMES)
    assert raised.value.values["near"][:1] == near[:1]
    assert len(raised.value.values["near"]) <= 5


@pytest.mark.parametrize("wanted", ["", "qqqqqqqq", "x" * 100_000])
def test_a_name_that_none_is_like_names_no_other(wanted):
    with refused("session/operator", got=wanted, count=len(NAMES)):
        full_name(NAMES, wanted)


def test_of_many_that_a_name_fits_a_few_are_named():
    with refused("session/operator-ambiguous", count=4, known=["a/x", "b/x", "c/x", "d/x"]):
        full_name(["a/x", "b/x", "c/x", "d/x"], "x")
    with refused("session/operator-ambiguous", count=26):
        full_name([f"{one}/x" for one in "abcdefghijklmnopqrstuvwxyz"], "x")


def test_a_result_alone_explains_nothing():
    with refused("views/result-alone"):
        explain(Comparison(compared(None).result), "Default/ReLU-op0")


def test_an_error_of_another_operator_is_told_so():
    """Exp was not dumped, and the graphs differ in it: Sigmoid shows what is wrong there."""
    graphs = [_with_base(base) for base in (2.0, 3.0)]
    values = small.given(graphs[0])
    alter = {"Default/Exp-op0": lambda x: x * 2}
    shots = [_without_exp(shoot(graphs[0], values, alter=one)) for one in (alter, None)]
    found = compare_dumps(*map(in_memory, shots, graphs))
    lines = explain(Comparison(found.result, found.flow), "Default/Sigmoid-op0")
    assert f"  {Message('compare/conclusion-at', name='Default/Exp-op0')}" in lines


def _with_base(base):
    graph = chain("Tanh", "Exp", "Sigmoid")
    first, second, last = graph.ops
    return replace(graph, ops=(first, replace(second, attrs={"base": base}), last))


def _without_exp(shots):
    return [s for s in shots if "Exp" not in s.name and (s.io == "output" or "Tanh" in s.name)]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (ValueState(0.1, True), "carries"),
        (ValueState(0.1), "carries-unmeasured"),
        (ValueState(0.1, True, tainted=True), "carries-wrong"),
        (ValueState(0.1, True, rank_local=True), "carries-own"),
        (ValueState(0.1, True, from_earlier_step=True), "carries-earlier"),
        (ValueState(0.1, unobserved=(1, 2)), "carries-unseen"),
        (ValueState(0.1, True, causes=(GIVEN,)), "carries-cause"),
    ],
)
def test_what_an_input_carries_is_told(state, code):
    assert carries(1, state).code == f"compare/{code}"
    assert "input.1" in str(carries(1, state))


def test_an_operator_without_a_compared_output_has_no_error():
    assert figures(assessment(expected_error=1e-6)).code == "compare/figures-none"


def test_the_operator_panel_says_it():
    comparison = compared(WRONG)
    view = comparison.operator("Default/Softmax-op0")
    assert codes(view.conclusion) == ["compare/conclusion-inherits"]
    assert str(view.conclusion[0]) in view._repr_html_()
    assert Comparison(comparison.result).operator("Default/Softmax-op0").conclusion == ()


@pytest.mark.parametrize(("options", "stream"), [((), "out"), (("--json", "-"), "err")])
def test_the_command_prints_it(options, stream, tmp_path, capsys):
    dump = wb.simulate(load_graph("mlp"), None, wb.config.new("mindspore-cpu"), tmp_path / "d")
    with pytest.raises(SystemExit) as end:
        main(["compare", str(dump), str(dump), *options, "--explain", "relu-ReLU/ReLU-op0"])
    assert end.value.code == 0
    assert "[within-expected]" in getattr(capsys.readouterr(), stream)
