"""The coverage contract: which tensors count, which need not, and what a comparison that lacks some says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import Net, chain, in_memory, shoot
from kit.words import refused
from workbench.comparison.engine import compare_dumps
from workbench.comparison.limits import LIMITS
from workbench.comparison.map_file import Overrides, parse_overrides, to_data
from workbench.comparison.pair.pairing import Selection
from workbench.comparison.results.coverage import EXPLAINED
from workbench.core.errors import FormatError
from workbench.dump.index import index_of
from workbench.graph.graph import Const, Value

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
SHOTS = shoot(GRAPH, small.given(GRAPH))
GOLDEN = in_memory(SHOTS, GRAPH)
LAST = "Default/Tanh-op0"


class Broken:
    """A file that tells nothing."""

    def spec(self):
        raise FormatError("core/missing", place="a.npy", got="data")

    array = spec


def compared(target, golden=GOLDEN, **options):
    return compare_dumps(target, golden, **options).result


def is_last(record):
    return (record.key.op_type, record.key.io) == ("Tanh", "output")


def is_output(record):
    return record.key.io == "output"


def is_first(record):
    return record.key == GOLDEN.records[0].key


def without(which):
    """The golden without some of its tensors."""
    return GOLDEN.where(lambda record: not which(record))


def broken(which):
    """The golden with some of its tensors unreadable."""
    records = (replace(r, source=Broken()) if which(r) else r for r in GOLDEN.records)
    return replace(GOLDEN, index=index_of(records))


CASES = {
    "all but one unreadable": broken(lambda r: not is_first(r)),
    "all outputs missing": without(is_output),
    "all outputs unreadable": broken(is_output),
    "the last output missing": without(is_last),
    "the last output unreadable": broken(is_last),
}
"""What is wrong with one side; nothing else differs."""


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_what_is_missing_is_never_agreement(case, swapped):
    sides = (GOLDEN, CASES[case]) if swapped else (CASES[case], GOLDEN)
    result = compared(*sides)
    assert result.verdict == "incomplete"
    assert result.coverage.outputs == (LAST,)
    assert result.sentence.values["clauses"][0].code == "compare/incomplete"
    (finding,) = (one for one in result.findings if one.kind == "incomplete")
    assert not finding.defect


def test_the_figures_of_a_gap_are_counted_by_side_and_reason():
    coverage = compared(without(is_last)).coverage
    assert coverage.gaps == {"golden:unmatched": 1}
    assert coverage.compared == coverage.matched == len(GOLDEN.records) - 1
    assert coverage.due == (len(GOLDEN.records) - 1, len(GOLDEN.records))
    assert coverage.shares[0] == 100.0
    assert coverage.shares[1] == pytest.approx(100 * coverage.compared / len(GOLDEN.records))


def test_an_unreadable_pair_is_a_gap_of_both_sides():
    coverage = compared(broken(is_last)).coverage
    assert coverage.gaps == {"pair:uncomparable": 1}
    assert coverage.due == (len(GOLDEN.records),) * 2


def test_a_value_that_another_slot_shows_is_no_gap():
    """The output of the first operator is the input of the second one."""
    first = next(r for r in GOLDEN.records if is_output(r))
    result = compared(without(lambda r: r.key == first.key))
    assert result.coverage.gaps == {}
    assert result.coverage.explained == {"golden:elsewhere": 1}
    assert result.verdict == "warn"


def test_a_value_that_no_slot_shows_is_a_gap():
    """Neither its producer nor its reader has the value of the second operator's output."""
    hidden = {("ReLU", "output"), ("MatMul", "input")}
    result = compared(without(lambda r: (r.key.op_type, r.key.io) in hidden))
    assert result.verdict == "incomplete"
    assert result.coverage.outputs == ()


def test_a_defect_wins_over_a_gap_and_the_sentence_says_both():
    shots = shoot(GRAPH, small.given(GRAPH), alter={LAST: lambda x: x + 1})
    hidden = {("ReLU", "output"), ("MatMul", "input")}
    result = compared(in_memory([s for s in shots if (s.op_type, s.io) not in hidden], GRAPH))
    assert result.verdict == "fail"
    assert result.sentence.values["clauses"][-1].code == "compare/incomplete-too"
    assert [one.defect for one in result.findings][:1] == [True]
    assert result.findings[-1].kind == "incomplete"


def test_an_iteration_that_one_side_alone_has_is_a_gap_unless_one_is_chosen():
    second = [replace(r, key=r.key._replace(iteration=1)) for r in GOLDEN.records]
    both = replace(GOLDEN, index=index_of([*GOLDEN.records, *second]))
    result = compared(GOLDEN, both)
    files = result.coverage.explained["golden:parameter"]
    assert result.coverage.gaps == {"golden:iteration": len(GOLDEN.records) - files}
    assert result.verdict == "incomplete"
    chosen = compared(GOLDEN, both, selection=Selection(iteration=(0, 0)))
    assert (chosen.verdict, dict(chosen.coverage.gaps)) == ("pass", {})


# --- what the user allows -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "verdict"),
    [([LAST], "warn"), (["Default/*"], "warn"), (["Default/T?nh-op0"], "warn"), (["Tanh"], "incomplete")],
)  # fmt: skip
def test_operators_that_may_be_missing_are_named(names, verdict):
    selection = Selection(overrides=Overrides().allow_missing(names))
    result = compared(without(is_last), selection=selection)
    assert result.verdict == verdict
    (use,) = result.overrides
    assert (use.kind, use.what) == ("missing", names[0])
    assert bool(use.operators) == (verdict == "warn")


def test_what_may_be_missing_is_compared_where_both_have_it():
    shots = shoot(GRAPH, small.given(GRAPH), alter={LAST: lambda x: x + 1})
    selection = Selection(overrides=Overrides().allow_missing([LAST]))
    assert compared(in_memory(shots, GRAPH), selection=selection).verdict == "fail"


@pytest.mark.parametrize(("least", "verdict"), [(100.0, "incomplete"), (70.0, "warn")])
def test_less_than_everything_is_enough_on_demand(least, verdict):
    hidden = {("ReLU", "output"), ("MatMul", "input")}
    target = without(lambda r: (r.key.op_type, r.key.io) in hidden)
    limits = replace(LIMITS, coverage_least=least)
    assert compared(target, limits=limits).verdict == verdict


def test_a_network_output_is_asked_for_whatever_share_is():
    limits = replace(LIMITS, coverage_least=1.0)
    assert compared(without(is_last), limits=limits).verdict == "incomplete"


def test_the_map_file_says_why_tensors_may_be_missing():
    data = {"missing": [{"name": LAST, "reason": "dumped on one side only"}]}
    overrides = parse_overrides(data)
    assert to_data(overrides)["missing"] == data["missing"]
    result = compared(without(is_last), selection=Selection(overrides=overrides))
    assert result.overrides[0].reason == "dumped on one side only"


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"name": LAST}, "compare/map-missing-reason"),
        ({"reason": "why"}, "compare/map-text"),
        ({"name": "", "reason": "why"}, "compare/map-text"),
    ],
)
def test_an_entry_without_name_or_reason_is_refused(entry, code):
    with refused(code, FormatError):
        parse_overrides({"missing": [entry]})


# --- the rules ----------------------------------------------------------------------------------


def test_an_output_that_nobody_reads_is_explained():
    graph = chain("MatMul", "ReLU", "MatMul", "Tanh")
    extra = in_memory(SHOTS, graph)
    ended = replace(graph, outputs=(Value(2, 0),))
    golden = replace(extra, graphs=dict.fromkeys(extra.graphs, ended))
    target = golden.where(lambda record: not is_last(record))
    result = compared(target, golden)
    assert result.coverage.explained == {"golden:unused": 1}
    assert result.coverage.outputs == ()


def test_an_update_of_weights_that_one_run_lacks_is_no_agreement():
    """Nothing reads what an optimizer gives, and yet a run without it is another one."""

    def graph(updates):
        net = Net()
        weight = net.weight("w")
        result = net.op("Mul", net.feed("x"), weight)
        step = net.op("Tanh", result)
        if updates:
            net.op("AssignAdd", weight, step)
        return net.graph(result)

    golden, target = graph(True), graph(False)
    values = small.given(golden)
    sides = [in_memory(shoot(one, values), one) for one in (target, golden)]
    assert compared(*sides).verdict not in ("pass", "warn")


def test_a_counter_of_steps_that_one_run_lacks_is_explained():
    def graph(counts):
        net = Net()
        result = net.op("Tanh", net.feed("x"))
        if counts:
            step, one = net.feed("step", (1,), "int32"), Const((1,), "int32", (1,))
            net.op("AssignAdd", step, one, shape=(1,), dtype="int32")
        return net.graph(result)

    golden, target = graph(True), graph(False)
    values = small.given(golden)
    sides = [in_memory(shoot(one, values), one) for one in (target, golden)]
    result = compared(*sides)
    assert (result.verdict, dict(result.coverage.gaps)) == ("warn", {})
    assert "golden:aside" in result.coverage.explained


def normed():
    """A normalization with two constants, and what reads it."""
    net = Net()
    constants = Const(1, "int64"), Const(1e-5, "float32")
    norm = net.op(
        "LayerNorm", net.feed("x"), *constants, attrs={"input_names": ("x", "begin", "epsilon")}
    )
    return net.graph(net.op("Tanh", norm))


NORMED = in_memory(shoot(normed(), small.given(normed())), normed())
NORM = "Default_LayerNorm-op0"


def is_constant(record):
    return record.key.op_name == NORM and record.key.io == "input" and record.key.slot > 0


def is_normed(record):
    return (record.key.op_name, record.key.io) == (NORM, "output") or (
        (record.key.op_type, record.key.io) == ("Tanh", "input")
    )


def held(hidden, *, graphs=True):
    """The normalized network without some of its files, and without its graph if told so."""
    kept = NORMED.where(lambda record: not hidden(record))
    return replace(kept, graphs=NORMED.graphs if graphs else {})


@pytest.mark.parametrize(
    ("graphs", "compared_results", "gaps"),
    [(True, True, {}), (True, False, {}), (False, True, {}), (False, False, {"golden:unmatched": 2})],
    ids=["own graph", "own graph alone", "result alone", "neither"],
)  # fmt: skip
def test_a_constant_is_known_by_the_graph_of_the_side_that_lacks_it_or_by_what_it_makes(
    graphs, compared_results, gaps
):
    golden = held(lambda r: not compared_results and is_normed(r))
    target = held(
        lambda r: is_constant(r) or (not compared_results and is_normed(r)), graphs=graphs
    )
    coverage = compared(target, golden).coverage
    assert dict(coverage.gaps) == gaps
    assert coverage.explained.get("golden:constant", 0) == (0 if gaps else 2)


def split():
    """Two results of one operator, of which each makes a result of the network."""
    net = Net()
    both = net.op("Split", net.weight("w"), shape=(2, 4), outputs=2)
    return net.graph(
        *(
            net.op(kind, Value(both.op, slot), shape=(2, 4))
            for slot, kind in enumerate(("Tanh", "Exp"))
        )
    )


@pytest.mark.parametrize("slot", [0, 1])
def test_a_weight_is_known_by_all_results_that_are_read(slot, monkeypatch):
    """One of two halves tells nothing of the other one."""
    monkeypatch.setitem(small.RUN, "Split", lambda x: (x[:2], x[2:]))
    values = small.given(split())
    values["w"] = np.arange(16, dtype=np.float32).reshape(4, 4)
    whole = in_memory(shoot(split(), values, parameters=False), split())

    def hidden(record):
        reader = ("Tanh", "Exp")[slot]
        key = record.key
        one = (key.op_type, key.io, key.slot) == ("Split", "output", slot)
        return one or (key.op_type, key.io) == (reader, "input")

    both = whole.where(lambda record: not hidden(record))
    bare = both.where(lambda record: (record.key.op_type, record.key.io) != ("Split", "input"))
    assert dict(compared(bare, both).coverage.gaps) == {"golden:unmatched": 1}


def test_what_an_update_reads_is_known_by_what_it_gives_though_nobody_reads_that():
    net = Net()
    weight = net.weight("w")
    net.op("AssignAdd", weight, net.feed("step"))
    result = net.op("Tanh", net.feed("x"))
    graph = net.graph(result)
    whole = in_memory(shoot(graph, small.given(graph), parameters=False), graph)
    outputs = whole.where(is_output)
    coverage = compared(outputs, whole).coverage
    assert dict(coverage.gaps) == {}
    assert coverage.explained["golden:fed"] == len(whole.records) - len(outputs.records)


def test_without_a_graph_everything_that_is_held_counts():
    bare = replace(GOLDEN, graphs={})
    result = compared(replace(without(is_last), graphs={}), bare)
    assert result.coverage.gaps == {"golden:unmatched": 1}
    assert result.coverage.outputs == ()
    assert result.verdict != "pass"


def test_every_rule_has_a_name_of_its_own_and_a_reason():
    assert len({rule.name for rule in EXPLAINED}) == len(EXPLAINED)
    assert all(rule.why for rule in EXPLAINED)


def test_equal_values_pass_with_every_tensor_compared():
    result = compared(GOLDEN)
    assert (result.verdict, result.coverage.compared) == ("pass", len(GOLDEN.records))
    assert result.coverage.shares == (100.0, 100.0)
    assert np.isfinite([row.error for row in result.rows]).all()
