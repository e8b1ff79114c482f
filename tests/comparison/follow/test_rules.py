"""The order of the walk's rules: for every two neighbors a case that both apply to and whose outcome shows it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

from workbench.comparison.align.differences import Difference
from workbench.comparison.bind.binding import Execution
from workbench.comparison.follow import inputs, masking, operators
from workbench.comparison.follow.carry import Carry
from workbench.comparison.follow.facts import InputFacts, OperatorFacts, ProducedFacts
from workbench.comparison.follow.in_time import rules as in_time
from workbench.comparison.follow.in_time.rules import TimeFacts, TimeMemory
from workbench.comparison.follow.masking import OriginFacts
from workbench.comparison.follow.naming import NOBODY, Named
from workbench.comparison.follow.operators import (
    Conclusion,
    ForecastFacts,
    OutputFacts,
    SecondFacts,
    UpdateFacts,
    undecided,
)
from workbench.comparison.follow.rules import decide
from workbench.comparison.follow.state import Assessment, ValueState
from workbench.comparison.trust import BORROWED, OWN, SAYINGS, Trust, may_say
from workbench.core.words import Message
from workbench.graph.graph import Value

BLOCK = Execution(0, "Net", 0, 0, 0)
KEY = (0, "w")


def difference(kind, subject="w"):
    return Difference(kind, subject, Message("compare/setting", name=subject, target=1, golden=2))


WEIGHT, SETTING, WIRED = (difference(kind) for kind in ("parameter", "attribute", "structure"))
AXIS = difference("attribute", "axis")
LOST = difference("overwritten", "input.0")
BORN = difference("non-finite", "Cast")
OFF = difference("own-error", "golden")
UNLIKE = Difference("own-error", "golden", Message("compare/golden-unlike"))
ONE = Message("compare/inserted", target=("AssignAdd (x)",))
INITIAL = Assessment(BLOCK, 3, 1e-7, 0.0, True, 3)


def given(error=0.1, **more):
    return InputFacts(KEY, error, **{"limit": 0.01, **more})


GOOD = ValueState(0.001, True)
"""State of a value as its producer left it."""


def produced(error=0.1, before=GOOD, **more):
    return ProducedFacts(before, error, **{"limit": 0.01, **more})


def operator(worst=1.0, **more):
    """An operator whose error nothing explains."""
    usual = {"floor": 1e-3, "expected_error": 1e-3, "exceeds": True, "place": (BLOCK, 5)}
    return OperatorFacts(5, worst, **{**usual, **more})


def second(kind="agrees", *, convicted=False, **more):
    return SecondFacts(operator(**more), kind, convicted)


def output(error=0.1, **more):
    return OutputFacts(Value(5), BLOCK, error, **more)


def origin(*differences, op=5, unobserved_count=0):
    return Conclusion("origin", op, differences, unobserved_count)


def tainted(error=0.1):
    return ValueState(error, True, tainted=True)


def caused(*causes):
    return ValueState(0.1, True, causes=causes)


class Case(NamedTuple):
    """``rule`` decides and concludes, though ``over`` would apply, too."""

    rule: str
    over: str
    facts: Any
    concludes: Any
    trust: Trust = OWN


class Table(NamedTuple):
    module: Any
    name: str
    memory: Any
    cases: tuple[Case, ...]

    @property
    def rules(self):
        return getattr(self.module, self.name)


INPUTS = (
    Case("updated-by-wrong-operator", "own-batch", given(tainted=True, rank_local=True, of_job=True), tainted()),
    Case("own-batch", "differs-elsewhere", given(None, feed=True, of_job=True, apart=WEIGHT),
    ValueState(rank_local=True)), Case("differs-elsewhere", "feed-not-compared", given(None, feed=True, apart=WEIGHT,
    received=0.5),
         ValueState(causes=(WEIGHT,))),
    Case("feed-not-compared", "not-compared", given(None, feed=True, received=0.5, wrong_before=True),
         ValueState(0.5, tainted=True)),
    Case("not-compared", "", given(None, received=0.5), ValueState()),
    Case("within-noise-floor", "wired-otherwise", given(0.001, wiring=(WIRED,), updated=True),
         ValueState(0.001, True, from_earlier_step=True)),
    Case("wired-otherwise", "updated-by-one-run", given(wiring=(WIRED,), by_one=ONE, first=False), caused(WIRED)),
    Case("updated-by-one-run", "left-by-earlier-run", given(by_one=ONE, updated=True, first=False),
         caused(Difference("structure", "w", ONE))),
    Case("left-by-earlier-run", "unknown-subject", given(updated=True, first=False, wrong_before=True),
         ValueState(0.1, True, tainted=True, from_earlier_step=True)),
    Case("differs-at-start", "unknown-subject", given(updated=True, iteration=4, initial=INITIAL), tainted()),
    Case("unknown-subject", "", given(), ValueState(0.1, True)),
    Case("given-otherwise", "", given(cause=WEIGHT), caused(WEIGHT)),
)  # fmt: skip

PRODUCED = (
    Case("not-compared", "known-of-producer", produced(None, ValueState(0.3, True, tainted=True, unobserved=(2,))),
         ValueState(0.3, True, tainted=True, unobserved=(2,))),
    Case("known-of-producer", "as-produced", produced(0.001, ValueState(0.3, True, tainted=True)), tainted(0.001)),
    Case("as-produced", "", produced(0.001, wiring=(WIRED,)), ValueState(0.001, True)),
    Case("born-on-the-way", "reads-elsewhere", produced(born=Named(4, (BORN,)), wiring=(WIRED,)),
         ValueState(0.1, True)),
    Case("reads-elsewhere", "overwritten", produced(wiring=(WIRED,), overwritten=(LOST,)), caused(WIRED)),
    Case("overwritten", "wired-unlike-lender", produced(overwritten=(LOST,), unlike=(WIRED,)), caused(LOST)),
    Case("wired-unlike-lender", "", produced(overwritten=(LOST,), wiring=(AXIS,), unlike=(WIRED,)), caused(WIRED),
         BORROWED),
)  # fmt: skip

REASONS = (
    Case("born-non-finite", "difference-of-graphs",
         operator(born=Named(3, (BORN,)), region=Named(4, (SETTING,))), Named(3, (BORN,))),
    Case("difference-of-graphs", "differing-mover",
         operator(region=Named(4, (SETTING,)), differing_mover=Named(3, (AXIS,))), Named(4, (SETTING,))),
    Case("differing-mover", "initial-state",
         operator(differing_mover=Named(3, (AXIS,)), initial_state_differs=(WEIGHT,)), Named(3, (AXIS,))),
    Case("initial-state", "golden-error", operator(initial_state_differs=(WEIGHT,), cleared=True, golden_error=(OFF,)),
         Named(5, (WEIGHT,))),
    Case("golden-error", "golden-unlike", operator(cleared=True, golden_error=(OFF,), golden_unlike=(UNLIKE,)),
         Named(5, (OFF,))),
    Case("golden-unlike", "", operator(cleared=True, golden_error=(OFF,), golden_unlike=(UNLIKE,), trust=BORROWED),
         Named(5, (UNLIKE,)), BORROWED),
)  # fmt: skip

NAMED = Named(4, (SETTING,))

OPERATORS = (
    Case("hands-cause-on", "both-overflow", operator(moves=True, causes=(WEIGHT,), overflows=True),
         Conclusion("hands-on", differences=(WEIGHT,))),
    Case("both-overflow", "inherits", operator(overflows=True, tainted=True, settings=(AXIS,)), Conclusion("overflow")),
    Case("inherits", "may-be-fused", operator(tainted=True, fused=True, causes=(WEIGHT,), settings=(AXIS,)),
         Conclusion("inherits", 5, (WEIGHT, AXIS))),
    Case("may-be-fused", "own-batch-differs", operator(fused=True, rank_local=True, causes=(WEIGHT,)),
         undecided("may-be-fused")),
    Case("own-batch-differs", "own-batch", operator(rank_local=True, causes=(WEIGHT,), differences=(AXIS,)),
         origin(WEIGHT, AXIS)),
    Case("own-batch", "exceeds-expected", operator(rank_local=True), Conclusion("rank-local")),
    Case("computes-with-cause", "born-unread",
         operator(0.0015, causes=(WEIGHT,), exceeds=False, born=Named(3, (BORN,))), origin(WEIGHT)),
    Case("born-unread", "within-expected", operator(0.0, exceeds=False, born=Named(3, (BORN,)), unobserved_count=1),
         origin(BORN, op=3, unobserved_count=1)),
    Case("within-expected", "named-difference", operator(0.0015, region=NAMED, exceeds=False), Conclusion("agrees")),
    Case("named-difference", "version-matter", operator(region=NAMED, version=True, unobserved_count=2),
         origin(SETTING, op=4, unobserved_count=2)),
    Case("version-matter", "sizes-differ", operator(version=True, sizes_differ=True), Conclusion("remark", 5)),
    Case("sizes-differ", "cleared-by-replay", operator(region=Named(5), sizes_differ=True, cleared=True), origin()),
    Case("cleared-by-replay", "format-unknown", operator(cleared=True, low=True), Conclusion("agrees")),
    Case("format-unknown", "figures-alone", operator(low=True, figures="figures-alone"), undecided("format-unknown")),
    Case("figures-alone", "exceeds-expected", operator(figures="inputs-unknown"), undecided("inputs-unknown")),
    Case("exceeds-expected", "within-limit", operator(), origin()),
    Case("within-limit", "", operator(0.004, exceeds=False), Conclusion("agrees")),
)  # fmt: skip

SECOND = (
    Case("own-error", "stands", second("inherits", suspect=True, settings=(AXIS,)), origin(AXIS)),
    Case("stands", "", second(), None),
)

OUTPUTS = (
    Case("handed-on", "unseen", output(None, handed=(WEIGHT,)), ValueState(math.inf, causes=(WEIGHT,))),
    Case("unseen", "", output(None, wrong=True, inherited=0.2, unobserved=(5,), result=(0, 0, (2,))),
         ValueState(0.2, tainted=True, unobserved=(5,))),
    Case("seen", "", output(wrong=True, limit=0.01), tainted()),
)  # fmt: skip

UPDATES = (
    Case("wrong-update", "own-update", UpdateFacts(KEY, 0.1, wrong=True, rank_local=True), None),
    Case(
        "own-update",
        "update",
        UpdateFacts(KEY, 0.1, wrong=True, overflowed=True, rank_local=True),
        None,
    ),
    Case("update", "", UpdateFacts(KEY, 0.1), None),
)

FORECASTS = (
    Case("nothing-proven", "reproduced", ForecastFacts(0.1, wrong=True, size=9), None),
    Case("reproduced", "", ForecastFacts(0.1, size=9), None),
)

NO_ORDER = Trust("none", "unknown")


def in_order(**more):
    """An operator in the order of time, off by more than its limit."""
    return TimeFacts(-1, 0.1, 0.01, **more)


TIMES = (
    Case("own-batch", "may-be-fused", in_order(rank_local=True, fused=True), Conclusion("rank-local")),
    Case("may-be-fused", "given-differs", in_order(fused=True, given=True), undecided("may-be-fused")),
    Case("given-differs", "given-apart", in_order(given=True, apart=True), Conclusion("origin", -1)),
    Case("given-apart", "given-misfit", in_order(apart=True, misfit=True), undecided("given-apart")),
    Case("given-misfit", "from-unseen", in_order(misfit=True, came=True), undecided("given-misfit")),
    Case("from-unseen", "misread", TimeFacts(-1, 0.1, 0.2, came=True, misread=True), undecided("from-unseen")),
    Case("misread", "within-expected", TimeFacts(-1, 0.1, 0.2, misread=True), undecided("input-unlike")),
    Case("within-expected", "inherits", TimeFacts(-1, 0.1, 0.2, tainted=True), Conclusion("agrees")),
    Case("inherits", "tolerated", in_order(tainted=True, tolerated=True), Conclusion("inherits", -1)),
    Case("tolerated", "input-unlike", in_order(tolerated=True, unlike=True), Conclusion("origin", -1)),
    Case("input-unlike", "stored-narrow", in_order(unlike=True, stored=True), undecided("input-unlike")),
    Case("stored-narrow", "format-unknown", in_order(stored=True, low=True), undecided("stored-narrow")),
    Case("format-unknown", "behind-undecided", in_order(low=True, behind=True), undecided("format-unknown")),
    Case("behind-undecided", "inputs-unknown", in_order(behind=True, blind=True), undecided("behind-undecided")),
    Case("inputs-unknown", "figures-alone", in_order(blind=True, figures=True), undecided("inputs-unknown")),
    Case("figures-alone", "exceeds-expected", in_order(figures=True), undecided("figures-alone")),
    Case("exceeds-expected", "order-unknown", in_order(), Conclusion("origin", -1)),
    Case("order-unknown", "", in_order(), undecided("order-unknown"), NO_ORDER),
)  # fmt: skip

MASKING = (
    Case("has-effect", "harms-elsewhere", OriginFacts(lasts=True, harms=True), "origin"),
    Case("harms-elsewhere", "masked", OriginFacts(harms=True), "first-trace"),
    Case("masked", "", OriginFacts(), "masked"),
)

TABLES = (
    Table(inputs, "INPUT_RULES", Carry, INPUTS),
    Table(inputs, "PRODUCED_RULES", Carry, PRODUCED),
    Table(operators, "REASONS", Carry, REASONS),
    Table(operators, "OPERATOR_RULES", Carry, OPERATORS),
    Table(operators, "SECOND_RULES", Carry, SECOND),
    Table(operators, "OUTPUT_RULES", Carry, OUTPUTS),
    Table(operators, "UPDATE_RULES", Carry, UPDATES),
    Table(operators, "FORECAST_RULES", Carry, FORECASTS),
    Table(in_time, "TIME_RULES", TimeMemory, TIMES),
    Table(masking, "MASKING_RULES", Carry, MASKING),
)


def outcome(table, facts, trust=OWN):
    """What a table concludes, and what is learnt."""
    memory = table.memory()
    if table.name == "REASONS":
        return operators.reason(facts), memory
    return decide(table.rules, facts, memory, trust)[1], memory


def neighbors():
    for table in TABLES:
        for number, rule in enumerate(table.rules[:-1]):
            after = table.rules[number + 1]
            yield pytest.param(table, number, id=f"{table.name}: {rule.name} / {after.name}")


def swapped(table, number):
    rules = list(table.rules)
    rules[number : number + 2] = reversed(rules[number : number + 2])
    return tuple(rules)


def set_fields(facts):
    """Fields of facts, those of the facts in them apart, that are not as they are by default."""
    known, usual = facts._asdict(), facts._field_defaults
    return {
        name: value for name, value in known.items() if name not in usual or value != usual[name]
    }


def mixtures(table):
    """Facts of any case with what is special about any other one."""
    for case in table.cases:
        yield case.facts
        for other in table.cases:
            yield type(case.facts)(**{**set_fields(other.facts), **set_fields(case.facts)})


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.name)
def test_every_rule_has_its_case_and_a_name_and_a_reason_of_its_own(table):
    names = [rule.name for rule in table.rules]
    assert names == [case.rule for case in table.cases]
    assert len(set(names)) == len({rule.why for rule in table.rules}) == len(names)
    assert all(rule.why and rule.needs in SAYINGS for rule in table.rules)


@pytest.mark.parametrize(
    ("table", "case"),
    [(table, case) for table in TABLES for case in table.cases],
    ids=lambda one: getattr(one, "rule", getattr(one, "name", "")),
)
def test_the_first_rule_that_applies_decides(table, case):
    heard = [rule for rule in table.rules if may_say(rule.needs, case.trust)]
    applying = [rule.name for rule in heard if rule.applies(case.facts)]
    assert applying[0] == case.rule
    assert not case.over or case.over in applying
    assert outcome(table, case.facts, case.trust)[0] == case.concludes


@pytest.mark.parametrize(("table", "number"), list(neighbors()))
def test_swapping_two_neighbors_is_noticed(table, number, monkeypatch):
    """A row that excludes the next says so, and then no order of the two makes a difference."""
    rule, after = table.rules[number : number + 2]
    cases = [case for case in table.cases if (case.rule, case.over) == (rule.name, after.name)]
    assert bool(cases) != bool(rule.excludes), (
        "a case that both apply to, or a reason why there is none"
    )
    given = [(case.facts, case.trust) for case in cases]
    facts = [(one, OWN) for one in mixtures(table)] if rule.excludes else given
    usual = [outcome(table, *one) for one in facts]
    monkeypatch.setattr(table.module, table.name, swapped(table, number))
    changed = [outcome(table, *one) != before for one, before in zip(facts, usual, strict=True)]
    assert any(changed) is not bool(rule.excludes)


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.name)
def test_some_rule_decides_whatever_the_facts(table):
    if table.name != "REASONS":  # an error need not have a name
        assert all(any(rule.applies(one) for rule in table.rules) for one in mixtures(table))


def test_an_error_without_a_name_has_no_reason():
    assert operators.reason(operator()) is NOBODY


@pytest.mark.parametrize(
    ("rules", "facts", "learnt"),
    [
        (inputs.INPUT_RULES, given(feed=True, of_job=True),
         {"rank_local_feeds": {"w": None}, "rank_local_params": {KEY}}),
        (inputs.INPUT_RULES, given(updated=True, iteration=4, initial=INITIAL),
         {"tainted_params": {KEY}, "initial_differences": [INITIAL]}),
        (inputs.INPUT_RULES, given(cause=WEIGHT), {"given_apart": {KEY: WEIGHT}}),
        (inputs.INPUT_RULES, given(), {}),
        (inputs.PRODUCED_RULES, produced(overwritten=(LOST,)), {}),
        (operators.OPERATOR_RULES, operator(overflows=True), {"overflowed": {(BLOCK, 5)}}),
        (operators.OPERATOR_RULES, operator(rank_local=True, causes=(WEIGHT, AXIS)), {"tainted_params": {KEY}}),
        (operators.OPERATOR_RULES, operator(causes=(WEIGHT,)), {}),
        (operators.UPDATE_RULES, UpdateFacts(KEY, 0.1, wrong=True),
         {"tainted_params": {KEY}, "last_update": {KEY: 0.1}}),
        (operators.UPDATE_RULES, UpdateFacts(KEY, 0.1, wrong=True, overflowed=True), {"last_update": {KEY: 0.1}}),
        (operators.UPDATE_RULES, UpdateFacts(KEY, None, rank_local=True), {"rank_local_params": {KEY}}),
        (operators.OUTPUT_RULES, output(0.1, result=(0, 0, (2,))),
         {"values": {BLOCK: {Value(5): ValueState(0.1, True)}}, "handed_over": {(0, 0, (2,)): 0.1}}),
        (operators.OUTPUT_RULES, output(0.1, result=(0, 0, (2,)), handed=(WEIGHT,)),
         {"values": {BLOCK: {Value(5): caused(WEIGHT)}}}),
    ],
)  # fmt: skip
def test_what_is_learnt(rules, facts, learnt):
    carry = Carry()
    decide(rules, facts, carry)
    assert carry == Carry(**learnt)


def test_an_update_that_was_not_compared_is_forgotten():
    carry = Carry(last_update={KEY: 0.1})
    decide(operators.UPDATE_RULES, UpdateFacts(KEY), carry)
    assert carry == Carry()


def test_the_largest_error_of_a_result_is_handed_over():
    carry = Carry(handed_over={(0, 0, (2,)): 0.3})
    for error in (0.2, math.inf, 0.4):
        decide(operators.OUTPUT_RULES, output(error, result=(0, 0, (2,))), carry)
    assert carry.handed_over == {(0, 0, (2,)): 0.4}


@pytest.mark.parametrize(
    ("error", "limits", "rule"),
    [
        (0.2, {"last_update": 0.05}, "unknown-subject"),  # 8 · 2 · 0.05 would be 0.8
        (0.2, {"last_update": 0.05, "first": False}, "left-by-earlier-run"),
        (0.9, {"last_update": 0.05, "first": False}, "unknown-subject"),
        (0.9, {"updated": True, "first": False}, "left-by-earlier-run"),
        (0.9, {"feed": True, "first": False, "updated": True}, "unknown-subject"),
        (0.9, {"feed": True, "first": False, "beside": True}, "left-by-earlier-run"),
        (math.inf, {"of_job": True, "rank_local": True}, "unknown-subject"),
        (0.0, {"of_job": True, "rank_local": True}, "within-noise-floor"),
        (0.1, {"rank_local": True}, "unknown-subject"),
        (0.001, {"local": True}, "unknown-subject"),
        (0.001, {"local": True, "cause": WEIGHT}, "given-otherwise"),
    ],
)
def test_where_the_limits_of_an_input_lie(error, limits, rule):
    assert decide(inputs.INPUT_RULES, given(error, **limits), Carry())[0] == rule


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        (operator(0.002, exceeds=False), "within-expected"),
        (operator(0.0021, exceeds=False), "within-limit"),
        (operator(None), "within-expected"),
        (operator(None, sizes_differ=True), "sizes-differ"),
        (operator(0.0005, causes=(WEIGHT,), exceeds=False), "within-expected"),
        (operator(None, causes=(WEIGHT,)), "computes-with-cause"),
        (operator(0.004, region=Named(5, (WIRED,)), exceeds=False), "within-limit"),
        (operator(0.004, region=Named(5, (SETTING,)), exceeds=False), "named-difference"),
        (operator(region=Named(5, (WIRED,))), "named-difference"),
        (operator(0.004, differing_mover=Named(3, (SETTING,)), exceeds=False), "within-limit"),
        (operator(moves=True, causes=(SETTING,), settings=(SETTING,)), "computes-with-cause"),
        (operator(moves=True, causes=(WIRED,)), "computes-with-cause"),
        (operator(moves=True, causes=(WEIGHT,), tainted=True), "inherits"),
        (operator(rank_local=True, makes_nan=True), "own-batch-differs"),
    ],
)
def test_where_the_limits_of_an_operator_lie(facts, rule):
    assert decide(operators.OPERATOR_RULES, facts, Carry())[0] == rule


@pytest.mark.parametrize("facts", [
    second("origin", convicted=True, suspect=True), second("hands-on", suspect=True), second("inherits"),
])  # fmt: skip
def test_replay_adds_nothing_to_what_is_convicted_or_moved_or_clear(facts):
    assert decide(operators.SECOND_RULES, facts, Carry()) == ("stands", None)


def test_an_origin_elsewhere_names_no_cause_of_the_operator_that_shows_it():
    found = decide(operators.OPERATOR_RULES, operator(0.0009, causes=(WEIGHT,), sizes_differ=True,
                                                      region=Named(4, (WIRED,)), exceeds=False), Carry())  # fmt: skip
    assert found == ("sizes-differ", origin(op=4))


def test_every_difference_is_told_once():
    constant, again = difference("constant", "axis"), difference("attribute", "axis")
    assert operators.origin(5, (constant, AXIS, again)).differences == (AXIS,)
    assert operators.origin(5, (constant, WEIGHT)).differences == (constant, WEIGHT)


def test_facts_that_no_rule_knows_are_an_error():
    with pytest.raises(LookupError, match="no rule applies"):
        decide(operators.FORECAST_RULES[:1], ForecastFacts(0.1, size=9), Carry())
