"""Where an error begins and why: one planted difference at a time, the cause known beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import START, Net, Shot, chain, in_memory, shoot
from kit.evidence import clauses, codes, defects, the, within
from kit.words import check_said
from workbench.comparison.engine import compare_dumps
from workbench.comparison.limits import LIMITS
from workbench.comparison.measure.noise import expected_rounding
from workbench.graph.graph import Const, Value

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)
SHOTS = shoot(GRAPH, VALUES)
GOLDEN = in_memory(SHOTS, GRAPH)


def compared(target, golden=GOLDEN, **options):
    return compare_dumps(target, golden, **options).result


def top(result):
    """The finding that a user acts on: kind, operator, iteration."""
    finding = result.findings[0]
    return finding.kind, finding.op_name, finding.iteration


def statuses(result):
    return {row.status for row in result.rows}


def spoiled(graph, values, name, change, **more):
    return in_memory(shoot(graph, values, alter={name: change}, **more), graph)


def beside_golden(graph, golden=None, other=None, alter=None):
    """What is found of a run of a graph, some values and outputs changed, beside the golden's."""
    golden = graph if golden is None else golden
    values = small.given(golden)
    target = shoot(graph, values | (other or {}), alter=alter)
    return compared(in_memory(target, graph), in_memory(shoot(golden, values), golden))


def first_said(result, code, **values):
    """The first clause of the finding that a user acts on says this."""
    check_said(result.findings[0].evidence[0], code, **values)


def several(count, values=VALUES, graph=GRAPH, change=None, alter=None):
    """``count`` iterations; ``change`` maps an iteration to other values, ``alter`` to faults."""
    shots = []
    for n in range(count):
        now = (change or {}).get(n, values)
        fault = (alter or {}).get(n)
        shots += shoot(graph, now, iteration=n, start=START + 1000 * n, alter=fault)
    return in_memory(shots, graph)


# --- no cause --------------------------------------------------------------------------------


def test_a_dump_agrees_with_itself():
    result = compared(GOLDEN)
    assert (result.verdict, result.findings, statuses(result)) == ("pass", (), {"equal"})


@pytest.mark.parametrize("graphs", [(GRAPH,), ()])
def test_rounding_of_every_output_is_no_cause(graphs):
    noise = np.float32(1 + 2**-23)
    alter = {op.name: lambda x: x * noise for op in GRAPH.ops}
    result = compared(in_memory(shoot(GRAPH, VALUES, alter=alter), *graphs))
    assert not defects(result)
    assert statuses(result) <= {"equal", "pass", "warn"}


@pytest.mark.parametrize("graphs", [(GRAPH,), ()], ids=["graph", "names"])
def test_what_one_operator_may_give_the_next_may_read(graphs):
    first, second = (op.name for op in GRAPH.ops[:2])
    within = {first: 3e-7, second: 7e-7}  # the second magnifies what it inherits, within its bounds
    alter = {name: lambda x, by=by: x * np.float32(1 + by) for name, by in within.items()}
    target = in_memory(shoot(GRAPH, VALUES, alter=alter), *graphs)
    result = compared(target, in_memory(SHOTS, *graphs))
    assert max(row.error for row in result.rows) > LIMITS.pass_factor * expected_rounding(
        None, 2**-24
    )
    assert not defects(result)


# --- own error -------------------------------------------------------------------------------


@pytest.mark.parametrize("op", GRAPH.ops, ids=lambda op: op.name)
@pytest.mark.parametrize("graphs", [(GRAPH,), ()], ids=["graph", "names"])
def test_the_spoiled_operator_is_named_and_only_it(op, graphs):
    shots = shoot(GRAPH, VALUES, alter={op.name: lambda x: x + np.float32(0.01)})
    result = compared(in_memory(shots, *graphs), in_memory(SHOTS, *graphs))
    name = op.name if graphs else op.name.replace("/", "_")
    assert result.verdict == "fail"
    assert top(result) == ("own-error", name, 0)
    assert len(defects(result)) == 1


def test_what_lies_behind_the_culprit_fails_and_what_lies_before_is_equal():
    result = compared(spoiled(GRAPH, VALUES, "Default/MatMul-op1", lambda x: x * 1.01))
    fails = {row.op_name for row in result.rows if row.status == "fail"}
    assert fails == {"Default/MatMul-op1", "Default/Tanh-op0", "Default/Softmax-op0"}
    the(clauses(result), "downstream", count=2)


def test_the_source_line_of_the_culprit_is_told():
    result = compared(spoiled(GRAPH, VALUES, "Default/MatMul-op1", lambda x: x * 1.01))
    assert result.findings[0].source.line == 102
    check_said(
        within(clauses(result)[0], "operator-at"), "compare/operator-at", file="net.py", line=102
    )


def test_two_independent_culprits_are_both_found_in_order():
    net = Net()
    x, y = net.feed("x"), net.feed("y")
    net.op("Add", net.op("Tanh", x), net.op("Exp", y))
    alter = {f"Default/{kind}-op0": lambda a: a * 1.1 for kind in ("Tanh", "Exp")}
    result = beside_golden(net.graph(), alter=alter)
    assert [f.op_name for f in defects(result)] == ["Default/Tanh-op0", "Default/Exp-op0"]


def test_an_error_begins_in_the_iteration_where_it_begins():
    alter = {1: {"Default/Tanh-op0": lambda x: x * 1.1}, 2: {"Default/Tanh-op0": lambda x: x * 1.1}}
    result = compared(several(3, alter=alter), several(3))
    assert top(result) == ("own-error", "Default/Tanh-op0", 1)
    assert len(defects(result)) == 1


def test_a_jumping_operator_may_jump_where_its_input_is_noisy():
    graph = chain("Tanh", "Sign")
    values = small.given(graph)
    values["x"][0, 0] = 1e-9

    def nudge(x):
        x = x.copy()
        x[0, 0] = -1e-9
        return x

    golden = in_memory(shoot(graph, values), graph)
    noisy = compared(spoiled(graph, values, "Default/Tanh-op0", nudge), golden)
    assert not defects(noisy)
    clean = compared(spoiled(graph, values, "Default/Sign-op0", nudge), golden)
    assert top(clean) == ("own-error", "Default/Sign-op0", 0)


# --- what was not dumped ---------------------------------------------------------------------


def test_the_blame_falls_behind_a_gap_that_was_not_dumped():
    """MatMul-op1 is spoiled, but neither it nor its neighbour was dumped: Softmax is reached first."""
    hidden = ("Default_MatMul-op1", "Default_Tanh-op0")
    shots = shoot(GRAPH, VALUES, alter={"Default/MatMul-op1": lambda x: x * 1.1})
    partial = in_memory([s for s in shots if s.name not in hidden], GRAPH)
    result = compared(partial)
    kind, name, _ = top(result)
    assert kind == "own-error"
    assert name in ("Default/Tanh-op0", "Default/Softmax-op0")
    assert "unseen" in codes(result.findings[0].evidence)


def test_an_equal_setting_in_a_gap_does_not_hide_a_different_one():
    """The setting that differs belongs to an operator of the gap; it is the better answer."""

    def graph(axis):
        net = Net()
        value = net.op("ReLU", net.feed("x"))
        value = net.op("Softmax", value, attrs={"axis": axis})
        net.op("Tanh", value)
        return net.graph()

    values = small.given(graph(1))
    spoilt = shoot(graph(0), values, alter={"Default/Softmax-op0": lambda x: x.T})
    hidden = [s for s in spoilt if "Softmax" not in s.name]
    result = compared(in_memory(hidden, graph(0)), in_memory(shoot(graph(1), values), graph(1)))
    assert top(result)[:2] == ("attribute", "Default/Softmax-op0")


@pytest.mark.parametrize("dumped", ["output", "input"])
def test_outputs_alone_or_inputs_alone_are_enough(dumped):
    shots = shoot(GRAPH, VALUES, alter={"Default/Tanh-op0": lambda x: x * 1.1})
    target = in_memory([s for s in shots if s.io == dumped], GRAPH)
    assert top(compared(target)) == ("own-error", "Default/Tanh-op0", 0)


@pytest.mark.parametrize("dumped", [("output",), ("input", "output")])
def test_a_sum_that_cancels_magnifies_noise_whatever_was_dumped(dumped):
    net = Net()
    net.op("BiasAddGrad", net.op("Tanh", net.feed("x")), shape=(4,))
    graph = net.graph()
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 4))
    values = {"x": np.arctanh(x - x.mean(0) + 1e-4).astype(np.float32)}
    noise = np.random.default_rng(1).uniform(-2e-7, 2e-7, (4, 4))
    noisy = shoot(graph, values, alter={"Default/Tanh-op0": lambda y: y * (1 + noise)})
    target = in_memory([shot for shot in noisy if shot.io in dumped], graph)
    result = compared(target, in_memory(shoot(graph, values), graph))
    row = next(row for row in result.rows if row.op_type == "BiasAddGrad" and row.io == "output")
    assert row.error > 1e-5
    assert defects(result) == []


def test_inputs_alone_without_a_graph_leave_open_who_is_to_blame():
    """Nothing says whether the input was given or produced: it differs, but who reads it need not be wrong."""
    shots = shoot(GRAPH, VALUES, alter={"Default/Tanh-op0": lambda x: x * 1.1})
    target, golden = ([s for s in side if s.io == "input"] for side in (shots, SHOTS))
    result = compared(in_memory(target), in_memory(golden))
    assert (result.verdict, defects(result)) == ("inconclusive", [])
    first = result.findings[0]
    assert (first.kind, first.op_name) == ("undecided", "Default_Softmax-op0")


# --- given values ----------------------------------------------------------------------------


def changed(name, change):
    values = dict(VALUES)
    values[name] = change(values[name]).astype(np.float32)
    return values


@pytest.mark.parametrize("name", ["fc0.weight", "fc2.weight"])
def test_another_weight_is_a_parameter_reported_on_its_reader(name):
    values = changed(name, lambda w: w * 1.1)
    result = compared(in_memory(shoot(GRAPH, values), GRAPH))
    reader = "Default/MatMul-op0" if name == "fc0.weight" else "Default/MatMul-op1"
    assert top(result) == ("parameter", reader, 0)
    first_said(result, "compare/given", name=name)
    assert len(defects(result)) == 1


def test_another_feed_is_an_input():
    result = compared(in_memory(shoot(GRAPH, changed("x", lambda x: x + 1)), GRAPH))
    assert top(result) == ("input", "Default/MatMul-op0", 0)
    assert len(defects(result)) == 1


def test_another_feed_in_a_later_iteration_is_an_input_too():
    """Batches in another order from iteration 1 on: nothing that was compared can explain them."""
    other = changed("x", lambda x: x + 1)
    result = compared(several(2, change={1: other}), several(2))
    assert result.verdict == "fail"
    assert top(result) == ("input", "Default/MatMul-op0", 1)


def times(graph, name):
    """The value of one name, a tenth larger."""
    return {name: small.given(graph)[name] * np.float32(1.1)}


def test_a_weight_that_two_operators_read_is_told_once():
    net = Net()
    x, w = net.feed("x"), net.weight("shared")
    net.op("MatMul", net.op("MatMul", x, w), w)
    graph = net.graph()
    result = beside_golden(graph, other=times(graph, "shared"))
    assert top(result) == ("parameter", "Default/MatMul-op0", 0)
    assert len(defects(result)) == 1


def test_a_cause_behind_a_moving_operator_goes_to_the_first_that_computes():
    graph = chain("Reshape", "Cast", "Tanh")
    result = beside_golden(graph, other=times(graph, "x"))
    assert top(result) == ("input", "Default/Tanh-op0", 0)


def sliced(begin):
    """Two of four rows, from ``begin`` on."""
    net = Net()
    bounds = (Const(bound, "tuple", (2,)) for bound in ((begin, 0), (begin + 2, 4), (1, 1)))
    part = net.op("StridedSlice", net.op("Tanh", net.feed("x")), *bounds, shape=(2, 4))
    net.op("Exp", part, shape=(2, 4))
    return net.graph()


def test_a_moving_operator_whose_own_setting_differs_is_named_itself():
    result = beside_golden(sliced(1), sliced(2))
    assert top(result) == ("attribute", "Default/StridedSlice-op0", 0)
    the(result.findings[0].evidence, "setting", name="begin", target="(1, 0)", golden="(2, 0)")


def layer_norm(epsilon):
    net = Net()
    net.op("LayerNorm", net.feed("x"), Const(1, "int64"), Const(epsilon, "float32"),
           attrs={"input_names": ("input_x", "begin", "epsilon")})  # fmt: skip
    return net.graph()


def test_a_constant_argument_is_an_attribute_by_its_name_and_both_values():
    alter = {"Default/LayerNorm-op0": lambda x: x * 0.99}
    result = beside_golden(layer_norm(1e-2), layer_norm(1e-5), alter=alter)
    assert top(result) == ("attribute", "Default/LayerNorm-op0", 0)
    values = {"name": "epsilon", "target": "0.01", "golden": "1e-05"}
    the(result.findings[0].evidence, "setting-input", slot=2, **values)


def test_an_attribute_that_changes_nothing_is_worth_knowing_only():
    def graph(mode):
        net = Net()
        net.op("Tanh", net.feed("x"), attrs={"mode": mode})
        return net.graph()

    result = beside_golden(graph("a"), graph("b"))
    assert result.verdict == "pass"
    assert [(f.kind, f.op_name) for f in result.findings] == [("info", "Default/Tanh-op0")]


def test_a_setting_without_effect_is_told_once_with_all_it_reaches():
    def graph(mode):
        net = Net()
        net.op("Tanh", net.op("Tanh", net.op("Tanh", net.feed("x"), attrs={"mode": mode})))
        net.ops[1:] = [replace(op, attrs={"mode": mode}) for op in net.ops[1:]]
        return net.graph()

    (finding,) = beside_golden(graph("a"), graph("b")).findings
    assert (finding.kind, finding.op_name) == ("info", "Default/Tanh-op0")
    names = ["Default/Tanh-op1", "Default/Tanh-op2"]
    check_said(finding.evidence[-1], "compare/further", count=2, names=names)


def scaled(factor):
    """A constant that one line of the program brings into two operators, in other places."""
    net, const = Net(), Const(factor, "float32")
    x = net.feed("x")
    hidden = net.op("Mul", x, const, line=7, attrs={"input_names": ("input", "other")})
    net.op("Mul", const, x, line=7, name="Gradients/Default/Mul-op1", attrs={"input_names": ("a", "b")})  # fmt: skip
    return net.graph(hidden, Value(1))


def test_a_constant_of_one_line_is_one_cause_wherever_it_enters():
    (finding,) = defects(beside_golden(scaled(3.0), scaled(1.5)))
    assert finding.kind == "attribute"
    the(finding.evidence, "further", count=1, names=["Gradients/Default/Mul-op1"])


def cut(begin, rows):
    net = Net()
    piece = net.op("StridedSlice", net.feed("x"), Const((begin, 0), "int64"), shape=(2, 4), line=3,
                   attrs={"input_names": ("x", "begin")})  # fmt: skip
    net.op("Tanh", piece, shape=(2, 4), line=4)
    graph = net.graph()
    x = small.given(graph)["x"]
    shots = shoot(graph, {"x": x}, alter={"Default/StridedSlice-op0": lambda _: x[rows]})
    return in_memory(shots, graph)


def test_an_operator_that_takes_other_elements_is_named_itself(monkeypatch):
    monkeypatch.setitem(small.RUN, "StridedSlice", lambda a, begin=None: a)
    result = compared(cut(0, slice(0, 2)), cut(2, slice(2, 4)))
    assert top(result) == ("attribute", "Default/StridedSlice-op0", 0)
    first_said(result, "compare/setting", name="begin", target="(0, 0)", golden="(2, 0)")
    assert len(defects(result)) == 1


def moved(*, constant):
    """A weight is changed by what is computed for it, or by a constant where nothing is."""
    net = Net()
    x, w = net.feed("x"), net.weight("w")
    step = Const(0.5, "float32") if constant else net.op("Tanh", x)
    net.op("AssignAdd", w, step)
    return net.graph()


def test_a_constant_where_the_golden_computes_something_is_structure():
    result = beside_golden(moved(constant=True), moved(constant=False))
    assert top(result) == ("structure", "Default/AssignAdd-op0", 0)
    first_said(result, "compare/constant-instead", slot=1, golden="Default/Tanh-op0:0")


# --- structure -------------------------------------------------------------------------------


def given_names(graph, names):
    """A run of a graph whose parameters are called as the golden calls them."""
    parameters = tuple(replace(p, name=names.get(p.name, p.name)) for p in graph.parameters)
    renamed = replace(graph, parameters=parameters)
    return in_memory(shoot(renamed, VALUES), renamed)


def test_an_inserted_operator_is_structure():
    longer = chain("MatMul", "ReLU", "Neg", "MatMul", "Tanh", "Softmax")
    result = compared(given_names(longer, {"fc3.weight": "fc2.weight"}))
    assert top(result)[:2] == ("structure", "Default/Neg-op0")
    first_said(result, "compare/inserted", target=("Neg (Default/Neg-op0)",))


def test_a_removed_operator_is_structure_at_its_reader():
    shorter = chain("MatMul", "MatMul", "Tanh", "Softmax")
    result = compared(given_names(shorter, {"fc1.weight": "fc2.weight"}))
    assert top(result)[0] == "structure"
    first_said(result, "compare/removed", golden=("ReLU (Default/ReLU-op0)",))


def test_a_replaced_operator_is_structure():
    other = chain("MatMul", "Sigmoid", "MatMul", "Tanh", "Softmax")
    result = compared(in_memory(shoot(other, VALUES), other))
    assert top(result)[:2] == ("structure", "Default/Sigmoid-op0")
    first_said(result, "compare/replaced", golden=("ReLU (Default/ReLU-op0)",))


def test_another_shape_is_a_shape():
    net = Net()
    net.op("Neg", net.op("Tanh", net.feed("x")))
    result = beside_golden(net.graph(), alter={"Default/Tanh-op0": lambda x: x[:2]})
    assert top(result) == ("shape", "Default/Tanh-op0", 0)
    assert result.verdict == "fail"


# --- not finite ------------------------------------------------------------------------------


def poked(value):
    def change(x):
        x = x.copy()
        x.flat[3] = value
        return x

    return change


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_non_finite_number_is_named_where_it_appears_first(value):
    result = compared(spoiled(GRAPH, VALUES, "Default/ReLU-op0", poked(value)))
    assert top(result) == ("non-finite", "Default/ReLU-op0", 0)
    assert result.verdict == "fail"


def test_nan_on_both_sides_is_no_agreement():
    dump = spoiled(GRAPH, VALUES, "Default/ReLU-op0", poked(np.nan))
    result = compared(dump, dump)
    assert top(result) == ("non-finite", "Default/ReLU-op0", 0)
    assert result.verdict == "fail"


def test_the_same_infinity_on_both_sides_agrees():
    net = Net()
    net.op("Neg", net.op("Tanh", net.feed("x")))
    dump = spoiled(net.graph(), small.given(net.graph()), "Default/Tanh-op0", poked(np.inf))
    assert compared(dump, dump).verdict == "pass"


@pytest.mark.parametrize("name", ["x", "fc0.weight"])
def test_nan_in_what_both_runs_were_given_is_not_called_a_difference(name):
    values = changed(name, poked(np.nan))
    dump = in_memory(shoot(GRAPH, values), GRAPH)
    result = compared(dump, dump)
    assert top(result) == ("non-finite", "Default/MatMul-op0", 0)
    slot = 0 if name == "x" else 1
    first_said(result, "compare/given-nan", slot=slot, name=name)


# --- memory ----------------------------------------------------------------------------------


def test_a_value_overwritten_between_producer_and_consumer_is_told():
    shots = [
        s._replace(data=s.data + np.float32(0.5))
        if (s.name, s.io) == ("Default_Tanh-op0", "input")
        else s
        for s in shoot(GRAPH, VALUES)
    ]
    after = shoot(GRAPH, VALUES, alter={"Default/MatMul-op1": lambda x: x + np.float32(0.5)})
    late = [s for s in after if "Tanh" in s.name or "Softmax" in s.name]
    early = [s for s in shots if "Tanh" not in s.name and "Softmax" not in s.name]
    result = compared(in_memory(early + late, GRAPH))
    assert top(result) == ("overwritten", "Default/Tanh-op0", 0)
    first_said(result, ("compare/writes", "compare/writes-later"), slot=0, op_type="MatMul")


@pytest.mark.parametrize("later", [True, False])
def test_not_a_number_that_a_reader_sees_as_zero_is_of_whoever_gave_it(later):
    """Devices that saturate have no NaN and no infinity, and a reader's file may show what they have instead."""
    net = Net()
    x = net.feed("x")
    kept = net.op("Tanh", x)
    graph = net.graph(net.op("Add", net.op("Exp", kept), kept))
    values = small.given(graph)
    odd = np.float32([np.nan, np.inf, -np.inf])
    shown = {
        ("Default_Tanh-op0", "output", 0): odd,
        ("Default_Exp-op0", "input", 0): np.nan_to_num(odd),
        ("Default_Add-op0", "input", 1): odd if later else np.nan_to_num(odd),
    }
    shots = []
    for shot in shoot(graph, values):
        data = shot.data.copy()
        data.reshape(-1)[:3] = shown.get((shot.name, shot.io, shot.slot), data.reshape(-1)[:3])
        shots.append(shot._replace(data=data))
    result = compared(in_memory(shots, graph), in_memory(shoot(graph, values), graph))
    assert "overwritten" not in {finding.kind for finding in result.findings}
    assert top(result) == ("non-finite", "Default/Tanh-op0", 0)


def test_a_tensor_that_is_as_written_later_was_not_written_over():
    net = Net()
    x = net.feed("x")
    kept = net.op("Tanh", x)
    graph = net.graph(net.op("Add", net.op("Exp", kept), kept))
    shots = shoot(graph, small.given(graph))
    hurt = [
        s._replace(data=s.data + np.float32(0.5)) if (s.name, s.io) == ("Default_Exp-op0", "input") else s
        for s in shots
    ]  # fmt: skip
    result = compared(in_memory(hurt, graph), in_memory(shots, graph))
    assert not [f for f in result.findings if f.kind == "overwritten"]


def test_a_name_of_a_tensor_that_shows_another_one_is_an_error_of_that_operator():
    """Reshape runs nothing; if it does, and gives something else, nobody wrote over what it read."""
    net = Net()
    x = net.feed("x")
    named = net.op("Reshape", net.op("Tanh", x), Const((4, 4), "int64"))
    graph = net.graph(net.op("Exp", net.op("ReLU", named)))
    result = beside_golden(graph, alter={"Default/Reshape-op0": np.negative})
    assert top(result) == ("own-error", "Default/Reshape-op0", 0)


def training():
    """w += Tanh(x @ w): state in place, seen after its update."""
    net = Net()
    x, w = net.feed("x"), net.weight("w")
    step = net.op("Tanh", net.op("MatMul", x, w))
    net.op("AssignAdd", w, step)
    return net.graph()


def train(alter_at=None, iterations=3, grown=1.0):
    graph = training()
    values = small.given(graph)
    shots = []
    for n in range(iterations):
        alter = {"Default/Tanh-op0": lambda a: a * 1.1} if n == alter_at else None
        run = shoot(graph, values, iteration=n, start=START + 1000 * n, alter=alter)
        after = next(
            s.data for s in run if (s.op_type, s.io) == ("AssignAdd", "output")
        ) * np.float32(grown)
        run = [
            s._replace(data=after)
            if s.op_type == "Parameter" or (s.op_type, s.io, s.slot) == ("AssignAdd", "input", 0)
            else s
            for s in run
        ]
        shots += run
        values = values | {"w": after}
    return in_memory(shots, graph)


def test_state_rewritten_in_place_agrees_with_itself():
    result = compared(train(), train())
    assert result.verdict == "pass"
    assert {a.kind for a in result.anomalies} == {"rewritten-in-place"}


def test_a_wrong_step_spoils_the_state_of_later_iterations_and_only_the_step_is_blamed():
    result = compared(train(alter_at=1), train())
    assert top(result) == ("own-error", "Default/Tanh-op0", 1)
    assert len(defects(result)) == 1
    parameters = {r.iteration: r.status for r in result.rows if r.op_type == "Parameter"}
    assert parameters == {0: "equal", 1: "fail", 2: "fail"}


def test_a_state_that_its_own_operator_updates_wrongly_is_that_operators_error():
    result = compared(train(grown=1.01), train())
    assert top(result) == ("own-error", "Default/AssignAdd-op0", 0)


def masked(*, twice):
    """What is made of x and w is multiplied by zero, so nothing of it shows; ``twice``: but elsewhere."""
    net = Net()
    x, w, zero = net.feed("x"), net.weight("w"), net.weight("zero")
    hidden = net.op("Mul", net.op("MatMul", x, w), zero)
    shown = net.op("MatMul", hidden, net.weight("v"))
    graph = net.graph(net.op("MatMul", net.op("Add", shown, w), w) if twice else shown)
    return graph, small.given(graph) | {"zero": np.zeros((4, 4), np.float32)}


def test_weights_that_do_harm_later_are_told_at_their_first_reader():
    graph, values = masked(twice=True)
    other = values | {"w": values["w"] * np.float32(1.1)}
    result = compared(in_memory(shoot(graph, other), graph), in_memory(shoot(graph, values), graph))
    assert top(result) == ("parameter", "Default/MatMul-op0", 0)
    assert len(defects(result)) == 1


@pytest.mark.parametrize(("name", "kind"), [("x", "input"), ("w", "parameter")])
def test_what_differs_and_shows_nowhere_is_told_as_what_it_is(name, kind):
    graph, values = masked(twice=False)
    other = values | {name: values[name] * np.float32(1.1)}
    target, golden = (
        in_memory([*shoot(graph, v), Shot("Parameter", "x", "output", 0, v["x"])], graph)
        for v in (other, values)
    )
    result = compared(target, golden)
    assert top(result) == (kind, "Default/MatMul-op0", 0)


def decaying(rho):
    """w is updated in place with a setting; nothing of the iteration reads it or the result again."""
    net = Net()
    net.op("AssignAdd", net.weight("w"), net.op("Tanh", net.feed("x")), attrs={"rho": rho})
    graph = net.graph()
    values = small.given(graph)
    shots = []
    for s in shoot(graph, values):
        if s.op_type == "Parameter" or (s.op_type, s.io, s.slot) == ("AssignAdd", "input", 0):
            s = s._replace(data=np.float32(rho) * values["w"])
        elif (s.op_type, s.io) == ("AssignAdd", "output"):
            s = s._replace(data=np.ones_like(s.data))
        shots.append(s)
    return in_memory(shots, graph)


def test_a_difference_that_only_a_parameter_keeps_does_not_heal():
    assert top(compared(decaying(0.9), decaying(0.99))) == ("attribute", "Default/AssignAdd-op0", 0)


def stepping(update):
    """w is changed in place by an operator of a type, or by none; nothing reads its output."""
    net = Net()
    x, w = net.feed("x"), net.weight("w")
    step = net.op("Tanh", net.op("MatMul", x, w))
    if update is not None:
        net.op(update, w, step, attrs={"side_effect_mem": True})
    graph = net.graph(step)
    values, shots = small.given(graph), []
    for n in range(3):
        run = shoot(graph, values, iteration=n, start=START + 1000 * n)
        after = next((s.data for s in run if (s.op_type, s.io) == (update, "output")), values["w"])
        shots += [
            s._replace(data=after) if (s.op_type, s.io, s.slot) == (update, "input", 0) else s
            for s in run
            if (s.op_type, s.io) != (update, "output") and s.op_type != "Parameter"
        ]
        values = values | {"w": after}
    return in_memory(shots, graph)


def test_two_optimizers_are_compared_by_what_they_leave_in_the_weights():
    result = compared(stepping("Sub"), stepping("AssignAdd"))
    assert top(result) == ("structure", "Default/Sub-op0", 0)
    first_said(result, "compare/replaced", golden=("AssignAdd (Default/AssignAdd-op0)",))
    assert len(defects(result)) == 1


@pytest.mark.parametrize(
    ("target", "golden", "code"),
    [
        (None, "AssignAdd", "compare/updated-by-golden"),
        ("AssignAdd", None, "compare/updated-by-target"),
    ],
)
def test_a_weight_that_one_run_alone_updates_is_told(target, golden, code):
    result = compared(stepping(target), stepping(golden))
    assert top(result) == ("structure", "Default/MatMul-op0", 1)
    first_said(result, code, name="w", op_name="Default/AssignAdd-op0")
    assert len(defects(result)) == 1


def normalized(start):
    """BatchNorm in training: its result needs no moving variance, which begins with ``start``."""
    net = Net()
    x, mean, variance = net.feed("x"), net.weight("mean", (4,)), net.weight("variance", (4,))
    scale, bias = net.weight("scale", (4,)), net.weight("bias", (4,))
    net.op("Tanh", net.op("BatchNorm", x, scale, bias, mean, variance, attrs={"is_training": True}))
    graph = net.graph()
    values = small.given(graph)
    left = {"variance": np.full(4, start, np.float32)}
    shots = []
    for n in range(3):
        left["variance"] = np.float32(0.9) * left["variance"] + np.float32(0.1)
        shots += [
            s._replace(data=left["variance"])
            if s.name == "variance" or (s.op_type, s.slot) == ("BatchNorm", 4)
            else s
            for s in shoot(graph, values, iteration=n, start=START + 1000 * n)
        ]
    return in_memory(shots, graph)


def test_moving_statistics_that_began_apart_are_a_parameter(monkeypatch):
    monkeypatch.setitem(small.RUN, "BatchNorm", lambda x, *rest: x - x.mean(0))
    result = compared(normalized(0.0), normalized(1.0))
    assert top(result) == ("parameter", "Default/BatchNorm-op0", 0)
    first_said(result, "compare/initial-value", name="variance")
    assert len(defects(result)) == 1


def rounded_otherwise(ulps):
    """Two operators of a type: the one gives single numbers, the other rounds its many otherwise."""
    net = Net()
    one = net.op("Sigmoid", net.feed("one", (1,)), shape=(1,))
    many = net.op("Sigmoid", net.feed("many", (32, 32)), shape=(32, 32))
    graph = net.graph(one, many)
    unit = np.float32(1 + ulps * 2.0**-23)
    shots = []
    for n in range(4):
        values = small.given(graph, seed=n)
        late = {"iteration": n, "start": START + 1000 * n}
        shots += shoot(graph, values, alter={"Default/Sigmoid-op1": lambda x: x * unit}, **late)
    return in_memory(shots, graph)


def test_single_numbers_that_agree_to_the_bit_convict_no_other_operator():
    result = compared(rounded_otherwise(1), rounded_otherwise(0))
    assert result.verdict == "pass"


def first_step(**settings):
    """The first step of SGD with a momentum takes the gradient as it is, whatever dampens later ones."""
    net = Net()
    w, grad, rate = net.weight("w"), net.feed("grad"), net.feed("rate", ())
    accum, momentum, stat = net.weight("accum"), net.feed("momentum", ()), net.weight("stat")
    net.op("Tanh", w)
    net.op("SGD", w, grad, rate, accum, momentum, stat, attrs=settings)
    graph = net.graph()
    given = small.given(graph)
    after = given["w"] - given["rate"] * given["grad"]
    slots = (after, given["grad"], given["rate"], given["grad"], given["momentum"])
    data = [("input", n, one) for n, one in enumerate((*slots, np.zeros((4, 4), np.float32)))]
    shots = [Shot("SGD", "Default_SGD-op0", *one) for one in (*data, ("output", 0, after))]
    reader = [("input", 0, given["w"]), ("output", 0, np.tanh(given["w"]))]
    shots += [Shot("Tanh", "Default_Tanh-op0", *one) for one in reader]
    return in_memory(shots, graph)


def test_the_first_step_of_sgd_is_no_error_of_it():
    result = compared(first_step(dampening=0.5), first_step(dampening=0.0))
    assert result.verdict == "pass"
    assert [f.kind for f in result.findings] == ["info"]


def test_a_setting_that_a_kernel_ignores_is_named():
    """Both runs give the same, so one of them does not do what it is set to."""
    target = first_step(dampening=0.0, nesterov=True, weight_decay=0.0)
    result = compared(target, first_step(dampening=0.0, nesterov=False, weight_decay=0.0))
    assert top(result) == ("attribute", "Default/SGD-op0", 0)
    first_said(result, "compare/setting", name="nesterov", target="True", golden="False")


# --- number formats --------------------------------------------------------------------------


def half(x):
    return x.astype(np.float16).astype(np.float32)


def test_a_run_in_another_number_format_is_precision_and_no_defect():
    ops = tuple(replace(op, outputs=(op.outputs[0]._replace(dtype="float16"),)) for op in GRAPH.ops)
    low = replace(GRAPH, ops=ops)
    result = compared(in_memory(shoot(low, VALUES), low))
    assert result.verdict in ("pass", "warn")
    assert [f.kind for f in result.findings] == ["precision"]


def test_a_defect_in_another_number_format_is_still_found():
    ops = tuple(replace(op, outputs=(op.outputs[0]._replace(dtype="float16"),)) for op in GRAPH.ops)
    low = replace(GRAPH, ops=ops)
    result = compared(spoiled(low, VALUES, "Default/Tanh-op0", lambda x: x + np.float16(0.3)))
    assert top(result) == ("own-error", "Default/Tanh-op0", 0)


def test_float16_noise_in_a_float32_run_is_an_own_error():
    result = compared(spoiled(GRAPH, VALUES, "Default/ReLU-op0", half))
    assert top(result) == ("own-error", "Default/ReLU-op0", 0)
