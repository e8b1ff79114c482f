"""Finders, refinements and the one ranking: what they read, that they write nothing, and what comes first."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.runs import on_device, on_reference
from kit.build.small_dumps import LEAF, Net, chain, in_memory, save_container, shoot
from workbench.comparison import differing, engine
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.findings import ambient, loss_scale, producers, ranks
from workbench.comparison.findings import find as module
from workbench.comparison.findings.find import FINDERS, GROUPS, REFINEMENTS, find, rank
from workbench.comparison.findings.material import Figures, Material, Place, finding
from workbench.core.plan import Iterations
from workbench.core.words import Message
from workbench.dump.index import index_of
from workbench.dump.statistics.compute import statistics_of
from workbench.network.models import load_graph
from workbench.npu.faults import Fault

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)
GOLDEN = in_memory(shoot(GRAPH, VALUES), GRAPH)
SPOILT = {"Default/MatMul-op1": lambda x: x * np.float32(1.01)}
"""A pair of which one operator is wrong."""

UPDATE = "Default/optimizer-SGD/SGD-op2"


def spoilt(*graphs, golden=GOLDEN):
    return in_memory(shoot(GRAPH, VALUES, alter=SPOILT), *graphs), golden


def formats():
    half = replace(GRAPH, ops=tuple(_half(op) for op in GRAPH.ops))
    return in_memory(shoot(GRAPH, VALUES), half), GOLDEN


def _half(op):
    return replace(op, outputs=tuple(spec._replace(dtype="float16") for spec in op.outputs))


def unproduced(alter=None):
    """One input that differs, and nobody who gave it."""
    shots = [
        s
        for s in shoot(GRAPH, VALUES, alter=alter or SPOILT)
        if (s.op_type, s.io) == ("Softmax", "input")
    ]
    return in_memory(shots), in_memory(shoot(GRAPH, VALUES))


def golden_damaged():
    """The golden's file of what Softmax reads is not what its own Tanh gave."""
    return GOLDEN, in_memory([with_nan(s) for s in shoot(GRAPH, VALUES)], GRAPH)


def with_nan(shot):
    if (shot.op_type, shot.io) != ("Softmax", "input"):
        return shot
    data = shot.data.copy()
    data.flat[3] = np.nan
    return shot._replace(data=data)


def magnified():
    """An operator that keeps limits, and what it read magnified beyond them by the next."""
    graph = chain("MatMul", "Exp")
    values = {name: 3 * value for name, value in small.given(graph).items()}
    alter = {"Default/MatMul-op0": lambda x: x * np.float32(1 + 2e-5)}
    target = in_memory(shoot(graph, values, alter=alter), graph)
    return target, in_memory(shoot(graph, values), graph)


def ended():
    graph = chain(*("MatMul", "ReLU") * 6)
    shots = shoot(graph, small.given(graph))
    gone = {small.file_name(op.name) for op in graph.ops[9:]}
    return in_memory([s for s in shots if s.name not in gone], graph), in_memory(shots, graph)


def statistics():
    """Two layers exchanged their lanes, and only statistics of the target are known."""
    graph = load_graph("lenet", 0)
    name = next(op.name for op in graph.ops if op.op_type == "Conv2D")
    target = on_device(
        graph, "910a", "allow_fp32_to_fp16", faults=[Fault("wrong-layout-lanes", name)]
    )
    records = []
    for record in target.records:
        array = record.source.array()
        label = record.label._replace(dtype=array.dtype.name, shape=array.shape)
        figures = statistics_of(array, ("max", "min", "avg", "l2norm"))
        records.append(replace(record, source=None, path="", label=label, statistics=figures))
    return replace(target, index=index_of(records)), on_reference(graph)


def job(out, *, faults=(), ranks=2, **options):
    """A job of several ranks, two iterations long."""
    plan = replace(wb.config.new("mindspore-o0o1").plan(), iterations=Iterations(((0, 1),)))
    options |= {"ranks": ranks, "iterations": 2, "faults": faults, "surface": "mindspore-o0o1"}
    tree = wb.simulate(load_graph("mlp_train", 0, ranks), None, plan, out, device="a2", **options)
    return wb.load(tree)


def watched(base):
    """Memory of C written over by B1 while R still needs it, and C's own result wrong; the golden is whole."""
    written = np.arange(1.0, 301.0, dtype=np.float32)
    net = Net()
    x = net.feed("x")
    c = net.op("Add", x, x, name="C", shape=(300,))
    net.op("Exp", x, name="B1", shape=(300,))
    net.op("Mul", c, c, name="R", shape=(300,))
    dumps = []
    for name, own, later in (("t", 2 * written, written), ("g", written, written)):
        for number, (file, array) in enumerate((("C", own), ("B1_To_C", later))):
            path = base / name / LEAF / f"Add.{file}.{number}.1.{1_700_000_000_000_000 + number}"
            save_container(path, [], [(array, {"address": 0x4000})], op_name=file)
        dumps.append(replace(wb.load(base / name), graphs={(0, 0): net.graph()}))
    return dumps


@pytest.fixture(scope="module")
def materials(tmp_path_factory):
    """What findings are made of, by case."""
    out = tmp_path_factory.mktemp("find")
    fair, faulty = job(out / "fair"), job(out / "t", faults=[f"scaled-output:{UPDATE}:1.5,rank=1"])
    cases = {
        "spoilt": (spoilt(GRAPH), {}),
        "names": (spoilt(golden=in_memory(shoot(GRAPH, VALUES))), {}),
        "limits": (spoilt(GRAPH), {"profile": "polygraphy"}),
        "wide limits": ((faulty, fair), {"profile": "msprobe-mindspore"}),
        "unproduced": (unproduced(), {}),
        "golden damaged": (golden_damaged(), {}),
        "unproduced NaN": (unproduced(dict.fromkeys(SPOILT, lambda x: x * np.float32("nan"))), {}),
        "magnified": (magnified(), {"profile": "msprobe"}),
        "formats": (formats(), {}),
        "ended": (ended(), {}),
        "statistics": (statistics(), {}),
        "ranks": ((faulty, faulty), {}),
        "ranks with limits": ((faulty, faulty), {"profile": "msprobe"}),
        "one rank": ((faulty, fair), {}),
        "watched": (watched(out / "w"), {}),
        "watched with limits": (watched(out / "wl"), {"profile": "msprobe-check"}),
    }
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, (dumps, options) in cases.items():
            made = []
            patch.setattr(differing, "find", lambda one, made=made: made.append(one) or find(one))
            engine.compare_dumps(*dumps, **options)
            (found[name],) = made
    return found


CASES = (
    "spoilt", "names", "limits", "wide limits", "unproduced", "golden damaged", "unproduced NaN",
    "magnified", "formats", "ended", "statistics", "ranks",
    "ranks with limits", "one rank", "watched", "watched with limits",
)  # fmt: skip


def test_every_case_is_named(materials):
    assert tuple(materials) == CASES


@pytest.mark.parametrize(
    ("case", "kinds"),
    [
        ("spoilt", ["own-error"]),
        ("names", ["own-error"]),
        ("limits", ["own-error"]),
        ("wide limits", ["rank", "info"]),  # within the limits: worth knowing, no more
        ("unproduced", ["undecided", "unmatched"]),  # whoever gave it is not in the dump
        ("golden damaged", ["undecided"]),  # NaN in its file of an input alone
        ("unproduced NaN", ["undecided", "unmatched"]),
        ("magnified", ["own-error", "info"]),  # nobody else is blamed for what fails
        ("formats", ["precision"]),
        ("ended", ["ended", "unmatched"]),
        ("statistics", ["own-error"] * 4),
        ("ranks", ["rank"]),
        ("ranks with limits", ["rank"]),  # limits are of the two runs, not of ranks
        ("one rank", ["own-error"]),
        ("watched", ["overwritten", "own-error"]),
        ("watched with limits", ["overwritten", "own-error"]),
    ],
)
def test_what_is_found_and_in_which_order(materials, case, kinds):
    assert [one.kind for one in find(materials[case])[0]] == kinds


@pytest.mark.parametrize("case", CASES)
def test_finding_writes_nothing(materials, case):
    first = find(materials[case])
    assert find(materials[case]) == first


class Watched:
    """A material that notes which of its fields are read."""

    def __init__(self, material):
        self.material, self.read = material, set()

    def __getattr__(self, name):
        self.read |= {{"pairing": "flow", "pairs": "rows"}.get(name, name)}
        return getattr(self.material, name)


@pytest.fixture(scope="module")
def reads(materials):
    """Fields that each finder and refinement reads, over all cases; a refinement of what was found before it."""
    seen = {row.name: set() for row in (*FINDERS, *REFINEMENTS)}
    for material in materials.values():
        found = []
        for finder in FINDERS:
            watched = Watched(material)
            found += finder.find(watched)
            seen[finder.name] |= watched.read
        for refinement in REFINEMENTS:
            watched = Watched(material)
            found = refinement.refine(rank(found), watched)
            seen[refinement.name] |= watched.read
    return seen


@pytest.mark.parametrize("row", [*FINDERS, *REFINEMENTS], ids=lambda row: row.name)
def test_the_tables_say_what_is_read(reads, row):
    assert set(row.needs) <= {*Material._fields}
    assert reads[row.name] == set(row.needs)


def codes_of(found):
    return [said.code.removeprefix("compare/") for said in found.evidence]


def test_limits_come_before_the_onset_which_is_told_of_defects_alone(materials):
    (known,), (_, limited) = find(materials["one rank"])[0], find(materials["wide limits"])[0]
    assert "divergence" in codes_of(known)
    assert "divergence" not in codes_of(limited)


def test_the_onset_comes_before_ranks_whose_difference_has_none(materials):
    (told,), anomalies = find(materials["ranks"])
    assert codes_of(told) == ["ranks-apart"]
    assert [(one.side, one.kind) for one in anomalies] == [("golden", "rank")]


def test_producers_stand_next_to_their_reader_and_before_it_if_they_explain_it(materials):
    *producers, reader = find(materials["statistics"])[0]
    assert [one.fault for one in producers] == ["wrong-layout-lanes"] * 3
    assert {codes_of(one)[0] for one in producers} == {"producer"}
    assert [one.order for one in producers] == sorted(
        (one.order for one in producers), reverse=True
    )
    assert reader.order > producers[0].order


# --- the order of the tables ------------------------------------------------------------------


def statistics_of_a_producer(patch, material):
    """A producer of which memory shows that it wrote over something is no further suspect."""
    patch.setattr(producers, "_exchanges", lambda *_: {})
    named = next(one for one in find(material)[0] if codes_of(one)[:1] == ["producer"])
    place = Place(named.op_name, named.op_type, named.graph_id, named.iteration, named.rank)
    patch.setattr(module, "watched", lambda _: [finding("overwritten", place, (), group="memory")])


def written_first(patch, material):
    """What memory shows is one of the first three, so that an own error less is advised to be dumped."""
    place = Place("Default/Other", "Other", 0, 0, 0)
    patch.setattr(module, "watched", lambda _: [finding("overwritten", place, (), group="memory")])


def small_gradient_of_an_overflow(patch, material):
    """An own error that is too small for its format, of a step that overflows."""
    block = next(one.event.block for one in module.origins(material))
    patch.setattr(loss_scale, "is_backward", lambda op: True)
    patch.setattr(loss_scale, "_too_small", lambda *_: Message("compare/overflow-both"))
    flag(patch, block)


def small_gradient_of_all(patch, material):
    """An own error that is too small for its format, by a factor that is not its operator's alone."""
    event = next(one.event for one in module.origins(material))
    result = ambient.Result((event.block, event.op), "MatMul", event.replayed)
    shared = ambient.Ambient("common-factor", (), [result])
    patch.setattr(ambient, "in_common", lambda _: (shared,))
    patch.setattr(loss_scale, "is_backward", lambda op: True)
    patch.setattr(loss_scale, "_too_small", lambda *_: Message("compare/overflow-both"))


def flag_within_limits(patch, material):
    """A step overflows whose tensors keep the limits."""
    flag(patch, material.pairing.block_order[0])


def flag(patch, block):
    """The target raises its flag in an execution."""
    patch.setattr(loss_scale, "_overflows", lambda pairing: {True: [block]})
    patch.setattr(loss_scale, "_overflow_said", lambda *_, **__: ())
    patch.setattr(loss_scale, "_place_of_flag", lambda *_, **__: Place("flag", "Flag", 0, 0, 0))


def outlier_of_another_job(patch, material):
    """A feed that ranks of two jobs hold, of a rank that differs from its peers."""
    first = next(iter(module.origins(material)))
    feed = first._replace(finding=replace(first.finding, kind="input"))
    patch.setattr(module, "FINDERS", [FINDERS[0]._replace(find=lambda _: [feed])])
    two_jobs(patch)
    odd = ranks.Outlier(
        next(iter(material.pairing.target.runs.values()))[0], "output", 0, "w", (0,), (1, 2)
    )
    patch.setattr(ranks, "find_outlier", lambda _: odd)


def two_jobs(patch):
    patch.setattr(ranks, "other_ranks", lambda _: (0, 1))


def nothing_else(patch, material):
    """The material as it is."""


ORDERED = {
    ("not alone", "underflow"): ("spoilt", small_gradient_of_all),
    ("underflow", "overflow"): ("spoilt", small_gradient_of_an_overflow),
    ("overflow", "thresholds"): ("wide limits", flag_within_limits),
    ("thresholds", "onset"): ("wide limits", nothing_else),
    ("onset", "outlier"): ("ranks", nothing_else),
    ("outlier", "two jobs"): ("spoilt", outlier_of_another_job),
    ("producers", "memory"): ("statistics", statistics_of_a_producer),
    ("memory", "next dump"): ("statistics", written_first),
}
"""Neighboring refinements → a material, and what is made of it, of which they say another thing in another order."""

INDEPENDENT = {
    (
        "two jobs",
        "producers",
    ): "one tells of inputs that differ, the other looks behind own errors and adds such"
}
"""Neighboring refinements that never tell of the same finding → why."""


def swapped(names):
    rows = list(REFINEMENTS)
    first = [row.name for row in rows].index(names[0])
    assert rows[first + 1].name == names[1]
    rows[first : first + 2] = reversed(rows[first : first + 2])
    return tuple(rows)


def test_every_two_refinements_have_a_case_or_a_reason_why_they_need_none():
    names = [*pairwise(row.name for row in REFINEMENTS)]
    assert {*names} == ORDERED.keys() ^ INDEPENDENT.keys()


@pytest.mark.parametrize("names", ORDERED, ids=" before ".join)
def test_the_order_of_two_refinements_decides(materials, names, monkeypatch):
    case, prepare = ORDERED[names]
    prepare(monkeypatch, materials[case])
    usual = find(materials[case])
    monkeypatch.setattr(module, "REFINEMENTS", swapped(names))
    assert find(materials[case]) != usual


@pytest.mark.parametrize("names", INDEPENDENT, ids=" before ".join)
@pytest.mark.parametrize("case", CASES)
def test_any_order_of_two_refinements_that_exclude_each_other_says_the_same(
    materials, case, names, monkeypatch
):
    two_jobs(monkeypatch)
    usual = find(materials[case])
    monkeypatch.setattr(module, "REFINEMENTS", swapped(names))
    assert find(materials[case]) == usual


@pytest.mark.parametrize(("first", "second"), [*pairwise(range(len(FINDERS)))])
def test_facts_are_told_in_the_order_of_the_finders(materials, first, second, monkeypatch):
    """A fact each: the earlier finder's stands first, and a finder that is moved takes its fact along."""
    told = [one(kind="info", order=number) for number in range(len(FINDERS))]
    rows = [row._replace(find=lambda _, n=n: [told[n]]) for n, row in enumerate(FINDERS)]
    monkeypatch.setattr(module, "REFINEMENTS", ())
    monkeypatch.setattr(module, "FINDERS", rows)
    assert find(materials["spoilt"])[0] == tuple(one.finding for one in told)
    rows[first], rows[second] = rows[second], rows[first]
    assert find(materials["spoilt"])[0][first] == told[second].finding


def test_the_order_in_which_facts_are_told():
    """What most differences come of stands before what nothing came of, and that before what was not judged."""
    assert [row.name for row in FINDERS] == [
        "origins", "in common", "undecided", "endings", "formats", "settings", "versions", "tolerated", "unmatched",
        "overflows of both", "own batches",
    ]  # fmt: skip


# --- the ranking -----------------------------------------------------------------------------


def one(kind="own-error", order=0, group="runs", score=None):
    place = Place("op", "Op", 0, 0, 0, order=order)
    return finding(kind, place, (), score=score, group=group)


READER = one("own-error", 3)
PRODUCER = one("own-error", 2)._replace(behind=READER.finding)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(one("own-error", 9), one("unmatched", 0, "memory"), id="defects before facts"),
        pytest.param(one("overwritten", 9, "memory"), one("attribute", 0), id="memory before runs"),
        pytest.param(one("own-error", 9), one("rank", 0, "ranks"), id="runs before ranks"),
        pytest.param(one("attribute", 9), one("own-error", 0), id="names before none"),
        pytest.param(one("shape", 1), one("attribute", 2), id="order before score"),
        pytest.param(one("own-error", 0), one("structure", 1, score=0.675), id="doubtful names are none"),
        pytest.param(one("own-error", 1, score=0.5), one("own-error", 2, score=0.69), id="order again"),
        pytest.param(one("info", 9, "memory"), one("precision", 0), id="facts by group"),
        pytest.param(READER, PRODUCER, id="a producer behind its reader"),
        pytest.param(PRODUCER._replace(first=True), READER, id="a producer before it"),
        pytest.param(PRODUCER, one("own-error", 4), id="a producer before what follows its reader"),
        pytest.param(one("own-error", 2), PRODUCER._replace(first=True), id="and behind what precedes it"),
    ],
)  # fmt: skip
def test_what_ranks_before_what(first, second):
    assert rank([first, second]) == rank([second, first]) == [first, second]


def test_facts_stay_as_they_come():
    facts = [one("unmatched", 3), one("info", 1), one("precision", 2)]
    assert rank(facts) == facts
    assert rank(facts[::-1]) == facts[::-1]


def test_the_groups_are_those_of_the_findings():
    assert list(GROUPS) == ["memory", "runs", "ranks"]
    assert all(rank([one(group=group)]) for group in GROUPS)


# --- a finding of a kind at a place ------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_gives_what_is_known_of_it_and_a_place_the_rest(kind):
    row = KINDS[kind]
    place = Place("a/b", "Add", 3, 2, 1, "input", 4, None, 77)
    made = finding(kind, place, ("said",), Figures(0.5, 0.25, 0.125)).finding
    assert (made.score, made.advice, made.defect) == (row.score, row.advice, row.defect)
    assert (made.op_name, made.op_type, made.graph_id, made.iteration) == ("a/b", "Add", 3, 2)
    assert (made.rank, made.io, made.slot, made.source, made.order) == (1, "input", 4, None, 77)
    assert (made.own_error, made.inherited_error, made.noise_floor) == (0.5, 0.25, 0.125)
    assert (made.evidence, made.fault, made.probability) == (("said",), "", 0.0)


def test_a_renamed_finding_keeps_its_place_and_figures():
    known = finding(
        "own-error", Place("a", "Add", 0, 0, 0, order=5), ("x",), Figures(0.5), score=0.6
    )
    named = known.renamed("underflow", ("y", "x")).told("z")
    assert named.place == known.place
    assert (named.finding.kind, named.finding.score) == ("underflow", KINDS["underflow"].score)
    assert (named.finding.own_error, named.finding.evidence) == (0.5, ("y", "x", "z"))
    assert known.finding.evidence == ("x",)
