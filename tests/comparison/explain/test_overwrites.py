"""Who wrote over a tensor: by two files of it, or by what must have lain over an input; and what decides that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import Net, in_memory, shoot
from kit.evidence import the
from kit.words import check_said
from workbench.comparison.engine import compare_dumps
from workbench.comparison.explain.explainers import EXPLAINERS, explain_origins
from workbench.comparison.limits import Limits, using
from workbench.core.words import Message
from workbench.dump.statistics.compute import statistics_of
from workbench.dump.statistics.dialects import TITLES


def beside(pattern, seen=lambda dump: dump, *, scaled=False, computes=True):
    """A chain with a branch between producer and reader; ``pattern`` lies over what the reader finds.

    ``scaled``: an operator behind all that is wrong by itself. ``computes``: the reader computes with the pattern.
    """
    net = Net()
    x = net.feed("x")
    kept = net.op("Tanh", x)
    one = net.op("ReLU", x)
    other = net.op("Neg", x)
    last = net.op("Add", kept, net.op("Add", one, other))
    graph = net.graph(last, net.op("Sigmoid", x)) if scaled else net.graph(last)
    shots = shoot(graph, small.given(graph))
    alter = {"Default/Sigmoid-op0": lambda a: a * 1.5}
    wrong = shoot(graph, small.given(graph), alter=alter) if scaled else shots
    outputs = {shot.name: shot.data for shot in shots if shot.io == "output"}
    reader = small.file_name("Default/Add-op1")
    hurt = outputs[small.file_name("Default/Tanh-op0")].copy()
    hurt.reshape(-1)[:12] = pattern(outputs)
    added = hurt - outputs[small.file_name("Default/Tanh-op0")]
    change = {(reader, "input", 0): added, (reader, "output", 0): added if computes else 0 * added}
    found = [
        shot._replace(data=shot.data + change.get((shot.name, shot.io, shot.slot), np.float32(0)))
        for shot in wrong
    ]
    found = [
        shot._replace(data=hurt)
        if (shot.name, shot.io, shot.slot) == (reader, "input", 0)
        else shot
        for shot in found
    ]
    return compare_dumps(seen(in_memory(found, graph)), seen(in_memory(shots, graph)))


@pytest.mark.parametrize("writer", ["Default/Neg-op0", "Default/ReLU-op0"])
def test_whose_bytes_lie_over_a_value_wrote_beyond_its_end(writer):
    found = beside(lambda outputs: outputs[small.file_name(writer)].reshape(-1)[:12])
    named = [f for f in found.result.findings if f.kind == "overwritten"]
    assert [f.op_name for f in named] == [writer]
    assert (named[0].fault, named[0].op_type) == ("overrun", writer[8:-4])
    assert named[0].probability > 0.9
    first, where, why, *_ = named[0].evidence
    owner = {"slot": 0, "op_name": "Default/Tanh-op0", "reader": "Default/Add-op1"}
    check_said(first, ("compare/writes", "compare/writes-later"), **owner)
    check_said(where, "compare/damaged-places", count=12, size=16, first=0, last=11)
    assert why == Message("compare/bytes-of-output")


def test_a_number_that_lies_over_a_value_may_be_of_anyone_who_ran_before_its_reader():
    named = [f for f in beside(lambda _: 7.5).result.findings if f.kind == "overwritten"]
    suspects = ["Default/ReLU-op0", "Default/Neg-op0", "Default/Add-op0"]
    assert [f.op_name for f in named] == suspects
    assert [f.probability for f in named] == pytest.approx([0.95 / 3] * 3, rel=0.01)
    others = the(named[0].evidence, "other-writers").values["others"]
    assert [(one.values["op_name"], round(one.values["chance"], 2)) for one in others] == [
        ("Default/Neg-op0", 0.33),
        ("Default/Add-op0", 0.33),
    ]


def test_a_confidence_that_says_nothing_is_not_stated():
    """As of hundreds of operators that ran before the reader."""
    with using(Limits(chance_least=0.5)):
        (first,) = [f for f in beside(lambda _: 7.5).result.findings if f.kind == "overwritten"]
    the(first.evidence, "one-of-many-writers", count=4)
    assert not [one for one in first.evidence if one.code == "compare/other-writers"]


def summed(dump):
    """The same dump with statistics alone."""
    records = [
        replace(r, source=None, statistics=statistics_of(r.source.array(), TITLES))
        for r in dump.records
    ]
    return replace(dump, records=tuple(records))


def test_statistics_that_are_not_those_of_what_was_written_tell_no_places():
    found = beside(lambda _: 750.0, summed)
    first = next(f for f in found.result.findings if f.kind == "overwritten")
    the(first.evidence, "damaged")


def test_whoever_wrote_over_two_outputs_is_told_once():
    net = Net()
    x = net.feed("x")
    kept = [net.op(kind, x) for kind in ("Tanh", "Exp")]
    wide = net.op("Neg", x)
    graph = net.graph(net.op("Add", *kept), wide)
    shots = shoot(graph, small.given(graph))
    lying = next(s.data for s in shots if (s.op_type, s.io) == ("Neg", "output")).reshape(-1)[:12]
    hurt = []
    for shot in shots:
        data = shot.data.copy()
        if (shot.name, shot.io) == ("Default_Add-op0", "input"):
            data.reshape(-1)[:12] = lying
        hurt.append(shot._replace(data=data))
    summands = [s.data for s in hurt if (s.name, s.io) == ("Default_Add-op0", "input")]
    hurt = [
        s._replace(data=sum(summands)) if (s.name, s.io) == ("Default_Add-op0", "output") else s
        for s in hurt
    ]
    found = compare_dumps(in_memory(hurt, graph), in_memory(shots, graph))
    (first,) = [f for f in found.result.findings if f.kind == "overwritten"]
    assert first.op_name == "Default/Neg-op0"
    the(first.evidence, "writes-more", count=1, names=["Default/Exp-op0"])


def unseen(odd=None):
    """A product read 64 elements of another operator's, and no file shows it; ``odd`` is what both runs had."""
    net = Net()
    x, w = net.feed("x", (16, 16)), net.weight("w", (16, 16))
    kept, one = net.op("Tanh", x), net.op("Exp", x)
    graph = net.graph(net.op("Add", net.op("MatMul", kept, w), one))
    values = small.given(graph)

    def run(*, hurt):
        """Files of outputs and weights."""
        kept, one = np.tanh(values["x"]), np.exp(values["x"])
        kept[9, 3] = kept[9, 3] if odd is None else odd
        found = kept.copy()
        if hurt:
            found.reshape(-1)[:64] = one.reshape(-1)[:64]
        with np.errstate(all="ignore"):
            product = found @ values["w"]
        given = {"Tanh": kept, "Exp": one, "MatMul": product, "Add": product + one}
        return [
            s._replace(data=given.get(s.name[8:-4], s.data)) if s.io == "output" else s
            for s in shoot(graph, values)
            if s.io == "output" or s.name.endswith("Parameter")
        ]

    return compare_dumps(in_memory(run(hurt=True), graph), in_memory(run(hurt=False), graph))


def test_a_dump_of_outputs_alone_names_whoever_wrote_what_must_have_lain_there():
    first = unseen().result.findings[0]
    assert (first.kind, first.op_name, first.fault) == ("overwritten", "Default/Exp-op0", "overrun")
    assert first.evidence[1].code == "compare/damaged-inferred"


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_what_must_have_lain_beside_odd_numbers_is_looked_for_in_silence(odd):
    assert "Default/MatMul-op0" in {one.op_name for one in unseen(odd).result.findings}


# --- which explainer decides -------------------------------------------------------------------------


def scaled():
    """A product that is twice what it should be; twice its input at its beginning explains it, too."""
    net = Net()
    x, w = net.feed("x", (1, 32)), net.weight("w", (32, 128))
    kept, one = net.op("Tanh", x), net.op("Exp", x)
    graph = net.graph(net.op("MatMul", kept, w), one)
    values = small.given(graph)

    def run(**how):
        return [
            s for s in shoot(graph, values, **how) if s.io == "output" or s.op_type == "Parameter"
        ]

    alter = {"Default/MatMul-op0": lambda a: a * 2}
    return compare_dumps(in_memory(run(alter=alter), graph), in_memory(run(), graph))


def told(flow, rows):
    """What origins are told: the operator to blame, and a fault or how surely it wrote over another's output."""
    found = []
    for one in explain_origins(flow, rows).origins:
        name = flow.pairing.target.graph(one.event.block).ops[one.event.origin_op].name
        kind = one.explanation.kind if one.explanation is not None else ""
        found.append((name.removeprefix("Default/"), "writes" if one.writer else kind))
    return found


EXCHANGED, SEEN, GIVEN, INFERRED, SYMPTOMS = EXPLAINERS
DECIDES = [
    (lambda: beside(lambda _: 7.5), SEEN, ["ReLU-op0", "Neg-op0", "Add-op0"], "writes"),
    (scaled, GIVEN, ["MatMul-op0"], "scaled-output"),
    (unseen, INFERRED, ["Exp-op0"], "writes"),
]


@pytest.mark.parametrize(("case", "row", "names", "kind"), DECIDES)
def test_one_explainer_decides_and_without_it_another_or_none(case, row, names, kind):
    flow = case().flow
    wanted = [(name, kind) for name in names]
    assert told(flow, EXPLAINERS) == wanted
    others = [one for one in EXPLAINERS if one is not row]
    assert told(flow, others) != wanted


@pytest.mark.parametrize(("case", "row", "names", "kind"), DECIDES)
def test_the_walk_stays_as_it_is(case, row, names, kind):
    found = case()
    before = {place: event._replace() for place, event in found.flow.events.items()}
    guilty = [*found.flow.origins]
    explain_origins(found.flow)
    assert all(one is other for one, other in zip(found.flow.origins, guilty, strict=True))
    assert all(event == before[place] for place, event in found.flow.events.items())
    assert all(event.origin_op == event.op for event in guilty)


def test_what_two_files_of_a_tensor_decide_is_not_explained_by_what_was_given():
    """A reader of damage has its name from the walk; so the order of the two rows decides nothing."""
    flow = beside(lambda _: 7.5, scaled=True).flow
    given = ("Sigmoid-op0", "scaled-output")
    assert told(flow, [GIVEN]) == [("Add-op1", ""), given]
    assert told(flow, [SEEN]) == [*DECIDED[:-1], ("Sigmoid-op0", "")]
    assert told(flow, [SEEN, GIVEN]) == told(flow, [GIVEN, SEEN]) == DECIDED


DECIDED = [
    ("ReLU-op0", "writes"),
    ("Neg-op0", "writes"),
    ("Add-op0", "writes"),
    ("Sigmoid-op0", "scaled-output"),
]


@pytest.mark.parametrize(("first", "explained"), [(1, False), (2, True)])
def test_of_the_origins_only_the_first_are_explained(first, explained):
    flow = beside(lambda _: 7.5, scaled=True).flow
    found = told(flow, [GIVEN._replace(first=first, among=lambda _: True)])
    assert found[-1] == ("Sigmoid-op0", "scaled-output" if explained else "")


def test_what_was_put_on_trial_has_its_symptom_before_what_was_not_is_looked_at():
    """The symptom beside the golden would be that of inputs as well."""
    flow = scaled().flow
    (whole,) = explain_origins(flow).origins
    assert whole.symptom.kind == "scaled"
    (last,) = explain_origins(flow, [SYMPTOMS]).origins
    assert (last.symptom.kind, last.explanation) == ("scaled", None)
    writers = explain_origins(beside(lambda _: 7.5).flow).origins
    assert [one.symptom for one in writers if one.writer] == [None] * 3


def test_what_was_given_decides_before_inputs_that_nobody_saw():
    flow = scaled().flow
    assert told(flow, [SEEN, INFERRED, GIVEN]) != told(flow, EXPLAINERS)


# --- the limits of it --------------------------------------------------------------------------------


def of_neg(outputs):
    """The bytes of an operator that ran between."""
    return outputs[small.file_name("Default/Neg-op0")].reshape(-1)[:12]


def nobodys(_):
    """Bytes that nobody wrote."""
    return np.linspace(3, 4, 12, dtype=np.float32)


def without_data_of_relu(dump):
    """The same dump without the output of an operator that ran between."""
    kept = [one for one in dump.records if (one.key.op_type, one.key.io) != ("ReLU", "output")]
    return replace(dump, records=tuple(kept))


def early():
    """A reader that ran before something lay over what it read."""
    return beside(lambda _: 7.5, computes=False)


LIMITS_OF_WRITERS = {
    "reader_cleared": (1.0, lambda: beside(lambda _: 7.5)),
    "reader_convicted": (1.0, early),
    "writer_bytes": (1.0, lambda: beside(of_neg)),
    "writer_other_bytes": (1.0, lambda: beside(nobodys, without_data_of_relu)),
}
"""Limit → another value of it, and a pair of dumps whose writers are others then."""


@pytest.mark.parametrize("name", LIMITS_OF_WRITERS)
def test_another_limit_names_others_or_with_another_probability(name):
    value, case = LIMITS_OF_WRITERS[name]

    def writers():
        return [
            (f.op_name, f.probability) for f in case().result.findings if f.kind == "overwritten"
        ]

    usual = writers()
    with using(replace(Limits(), **{name: value})):
        assert writers() != usual
    assert usual == writers()
    assert usual
