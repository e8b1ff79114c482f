"""Tensors seen several times in memory: whose write it was, and whether it mattered."""

import math
from dataclasses import replace

import numpy as np
import pytest

from kit.build.small_dumps import LEAF, Net, file_name, given, in_memory, save_container, shoot
from kit.evidence import clauses, codes, defects, the, within
from kit.words import check_said
from workbench.comparison.bind.bind import bind
from workbench.comparison.bind.binding import Execution
from workbench.comparison.bind.memory import (
    RESULT,
    Snapshot,
    Span,
    find_changes,
    find_overwrites,
    first_overwrite,
)
from workbench.comparison.engine import compare_dumps
from workbench.comparison.findings.watched import evidence, kind_of
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.reader import load
from workbench.graph.graph import Value

WRITTEN = np.arange(1, 301, dtype=np.float32)
TIME = 1_700_000_000_000_000
BLOCK = Execution(0, "Net", 0, 0, 0)


def spoilt(first, count=1):
    """What was written, with all bits set in some numbers: every byte of these is another."""
    array = WRITTEN.copy()
    array.view(np.uint32)[first : first + count] = 0xFFFFFFFF
    return array


def tree(base, *looks, leaf=LEAF, own=WRITTEN):
    """C's own file, and one of it after each operator: (name, array), in order of time; before C: None."""
    files = list(looks)
    if None not in files:
        files.insert(0, None)
    for number, look in enumerate(files):
        after, array = ("", own) if look is None else look
        name = f"{after}_To_C" if after else "C"
        file = f"Add.{name}.{number}.1.{TIME + number}"
        save_container(base / leaf / file, [], [(array, {"address": 0x4000})], op_name=name)
    return base


def graph(results=("C",)):
    """A, C, then B1, B2, which read nothing of it, R, which reads C, and Z."""
    net = Net()
    x = net.feed("x")
    values = {}
    for name, kind, source in (("A", "ReLU", None), ("C", "Add", "A"), ("B1", "Exp", "A"),
                               ("B2", "Tanh", "B1"), ("R", "Mul", "C"), ("Z", "Neg", "B2")):  # fmt: skip
        operand = values.get(source, x)
        values[name] = net.op(kind, operand, operand, name=name, shape=(300,))
    return net.graph(*(values[name] for name in results))


def changes(base, known=None):
    return find_changes(bind(with_graph(load(base), known)))[0]


def with_graph(dump, known):
    return replace(dump, graphs={} if known is None else {(0, 0): known})


def test_unchanged_memory_is_no_news(tmp_path):
    assert changes(tree(tmp_path, ("B1", WRITTEN), ("B2", WRITTEN))) == []


def test_the_first_file_that_differs_names_the_operator(tmp_path):
    looks = [("B1", WRITTEN), ("B2", spoilt(2, 3)), ("R", spoilt(2, 30))]
    (change,) = changes(tree(tmp_path, *looks))
    assert (change.owner.name, change.after.name, change.since) == ("C", "B2", "B1")
    assert change.span[:2] == (8, 19)  # numbers 2 to 4
    assert (change.span.size, change.span.address) == (1200, 0x4000)
    assert change.span.different == 12
    assert change.readers is None


def test_what_lay_there_before_the_operator_ran_is_not_compared(tmp_path):
    assert changes(tree(tmp_path, ("A", spoilt(0, 300)), None, ("B1", WRITTEN))) == []


def test_nan_that_stays_is_the_same_and_a_zero_that_changes_its_sign_is_not(tmp_path):
    own = WRITTEN * np.nan
    own[0] = 0
    assert changes(tree(tmp_path / "same", ("B1", own.copy()), own=own)) == []
    other = own.copy()
    other[0] = -0.0
    (change,) = changes(tree(tmp_path / "sign", ("B1", other), own=own))
    assert change.span[:3] == (3, 3, 1)


@pytest.mark.parametrize(
    ("after", "results", "kind", "readers", "last"),
    [
        ("B1", ["Z"], "overwritten", ("R",), ""),
        ("B2", ["Z"], "overwritten", ("R",), ""),
        ("R", ["Z"], "info", (), "R"),
        ("Z", ["Z"], "info", (), "R"),
        ("Z", ["C", "Z"], "overwritten", (RESULT,), ""),
        ("B1", ["C"], "overwritten", ("R", RESULT), ""),
    ],
)
def test_the_graph_tells_who_still_needs_it(tmp_path, after, results, kind, readers, last):
    (change,) = changes(tree(tmp_path, (after, spoilt(0))), graph(results))
    assert (kind_of(change), change.readers, change.last_reader) == (kind, readers, last)
    assert (change.after.op_type, change.owner.op_type) == (
        {"B1": "Exp", "B2": "Tanh", "R": "Mul", "Z": "Neg"}[after], "Add",
    )  # fmt: skip


def test_operators_that_nobody_looked_after_may_have_done_it(tmp_path):
    looks = [("B1", WRITTEN), ("R", spoilt(0))]
    (change,) = changes(tree(tmp_path, *looks), graph(["C"]))
    assert (change.since, change.between) == ("B1", ("B2",))
    said = list(evidence(change))
    the(said, "not-checked", names=("B2",))
    assert "at-beginning" in codes(said)


def test_renamed_data_are_read_where_their_new_name_is(tmp_path):
    net = Net()
    x = net.feed("x")
    c = net.op("Add", x, x, name="C", shape=(300,))
    flat = net.op("Reshape", c, name="N", shape=(300,))
    net.op("Tanh", x, name="T", shape=(300,))
    net.op("Neg", flat, name="L", shape=(300,))
    (change,) = changes(tree(tmp_path, ("T", spoilt(0))), net.graph())
    assert change.readers == ("L",)


def test_a_graph_that_does_not_know_the_operator_tells_nothing(tmp_path):
    (change,) = changes(tree(tmp_path, ("Other", spoilt(0))), graph())
    assert (change.readers, change.after.name) == (None, "Other")


def test_files_of_another_size_differ(tmp_path):
    (change,) = changes(tree(tmp_path, ("B1", WRITTEN[:100])))
    assert change.span[:4] == (0, 1199, 1200, 1200)


def test_a_file_that_cannot_be_read_is_noted(tmp_path):
    base = tree(tmp_path, ("B1", spoilt(0)), ("B2", spoilt(0)))
    dump = load(base)
    binding = bind(dump)
    (path,) = (base / LEAF).glob("Add.B1_To_C*")
    path.write_bytes(path.read_bytes()[:100])
    found, (note,) = find_changes(binding)
    assert (found, note.kind, note.name) == ([], "unreadable", "C")


def compared(target, golden, known=None, **settings):
    dumps = [with_graph(load(base), known) for base in (target, golden)]
    return compare_dumps(*dumps, **settings).result


def test_damage_makes_a_comparison_fail_and_is_its_first_finding(tmp_path):
    target = tree(tmp_path / "t", ("B1", WRITTEN), ("B2", spoilt(0, 4)))
    golden = tree(tmp_path / "g")
    result = compared(target, golden, graph())
    assert result.verdict == "fail"
    first = result.findings[0]
    assert (first.kind, first.op_name, first.op_type) == ("overwritten", "B2", "Tanh")
    said = clauses(result)
    check_said(within(said[0], "operator"), "compare/operator", op_type="Tanh", op_name="B2")
    the(said, "writes-later", slot=0, op_type="Add", op_name="C", reader="R")
    span = the(said, "span").values["span"]
    check_said(span, "compare/bytes-at", first=0, last=15, size=1200, address=0x4000)
    assert dict(result.coverage.skipped) == {"target:watched": 2}
    assert result.anomalies == ()


def test_no_profile_explains_damage_away(tmp_path):
    target = tree(tmp_path / "t", ("B2", spoilt(0, 4)))
    result = compared(target, tree(tmp_path / "g"), graph(), profile="msprobe")
    assert result.verdict == "fail"


def test_without_a_graph_a_change_is_a_warning_that_names_the_operator(tmp_path):
    target = tree(tmp_path / "t", ("B2", spoilt(0, 4)))
    result = compared(target, tree(tmp_path / "g"))
    assert (result.verdict, result.findings[0].kind) == ("warn", "changed-memory")
    the(clauses(result), "changed", after="B2", slot=0, op_type="Add", op_name="C")


def test_memory_that_is_used_again_is_no_defect(tmp_path):
    target = tree(tmp_path / "t", ("Z", spoilt(0, 300)))
    result = compared(target, tree(tmp_path / "g"), graph(["Z"]))
    assert result.verdict == "incomplete"  # the watch has no file of Z, which the network gives
    finding, missing = result.findings
    assert (finding.kind, finding.op_name, missing.kind) == ("info", "Z", "incomplete")
    check_said(finding.evidence[0], "compare/changed-last", reader="R")


def test_damage_of_the_golden_is_an_anomaly(tmp_path):
    golden = tree(tmp_path / "g", ("B2", spoilt(0, 4)))
    result = compared(tree(tmp_path / "t"), golden, graph())
    assert result.verdict == "pass"
    (anomaly,) = result.anomalies
    assert (anomaly.side, anomaly.kind, anomaly.op_name) == ("golden", "overwritten", "C")
    check_said(anomaly.detail, "compare/watched", op_name="B2")
    the(anomaly.detail.values["evidence"], "writes-later", slot=0, op_name="C")


def test_one_cause_is_told_once_over_iterations(tmp_path):
    for iteration in range(3):
        leaf = f"{LEAF[:-1]}{iteration}"
        tree(tmp_path / "t", ("B2", spoilt(0, 4)), leaf=leaf)
        tree(tmp_path / "g", leaf=leaf)
    result = compared(tmp_path / "t", tmp_path / "g", graph())
    (damage,) = defects(result)
    check_said(damage.evidence[-1], "compare/same-again", count=2)


# --- snapshots: what operators wrote and what their readers found -----------------------------

NAN = np.array([1, np.nan, 3, 4], np.float16)
ZERO = np.array([1, 0, 3, 4], np.float16)
ONES, TWOS = np.ones(4, np.float16), np.full(4, 2, np.float16)


def snapshot(op, io, array, **statistics):
    key = TensorKey("Tanh", f"Default/Tanh-op{op}", io, 0)
    source = None if array is None else ArraySource(array)
    return Snapshot(op, io, 0, TensorRecord(key, TensorSpec("float16", (4,)), source, statistics))


SEEN = {
    "once": ([(3, "output", ONES)], None),
    "by a reader as it was written": ([(3, "output", ONES), (5, "input", ONES)], None),
    "by a reader as another": ([(3, "output", ONES), (5, "input", TWOS)], (5, 3)),
    "first as it was": ([(3, "output", ONES), (5, "input", ONES), (8, "input", TWOS)], (8, 5)),
    "twice as another": ([(3, "output", ONES), (5, "input", TWOS), (8, "input", TWOS)], (5, 3)),
    "later as it was": ([(3, "output", ONES), (5, "input", TWOS), (8, "input", ONES)], None),
    "under a name that gave another": (
        [(3, "output", ONES), (5, "output", TWOS), (5, "input", ONES), (9, "input", TWOS)],
        None,
    ),
    "not as it was written": ([(4, "input", ONES), (5, "input", TWOS)], None),
    "by a device that knows no NaN": ([(3, "output", NAN), (5, "input", ZERO)], None),
    "with NaN that was none": ([(3, "output", ZERO), (5, "input", NAN)], (5, 3)),
    "in another type": ([(3, "output", ONES), (5, "input", ONES.astype(np.float32))], None),
}
"""How a tensor was seen → operator, io and data; who shows an overwrite, and until when it was as written."""


@pytest.mark.parametrize("name", SEEN)
def test_two_snapshots_tell_that_a_tensor_was_written_over(name):
    some, expected = SEEN[name]
    found = first_overwrite(BLOCK, Value(3), [snapshot(*one) for one in some], 4)
    assert (found and (found.reader.op, found.since)) == expected
    assert found is None or found.suspects == range(expected[1] + 1, expected[0] + 1)


LOST = {
    "nothing": (set(), None, []),
    "one, seen by both of its readers": ({(2, 0), (3, 1)}, None, [(1, 2, 1)]),
    "two, in the order in which that shows": (
        {(2, 0), (3, 1), (3, 0)},
        None,
        [(1, 2, 1), (0, 3, 1)],
    ),
    "both, where an operator near had one": ({(2, 0), (3, 1), (3, 0)}, {0}, [(1, 2, 1), (0, 3, 1)]),
    "one that nobody near had": ({(3, 0)}, {2}, []),
}
"""Operator and input that differ, operators near → tensors: who gave it, who shows it first, who saw it whole."""


@pytest.mark.parametrize("case", LOST)
def test_all_tensors_are_looked_for_where_one_near_was_written_over(case):
    altered, near, expected = LOST[case]
    net = Net()
    a = net.op("Tanh", net.feed("x"))
    b = net.op("Exp", a)
    net.op("Neg", b)
    net.op("Sub", a, b)
    graph = net.graph()
    names = [file_name(op.name) for op in graph.ops]
    places = {(names[number], "input", slot) for number, slot in altered}
    shots = [
        one._replace(data=one.data + 1) if (one.name, one.io, one.slot) in places else one
        for one in shoot(graph, given(graph))
    ]
    found = list(find_overwrites(bind(in_memory(shots, graph)), BLOCK, near))
    assert [(one.value.op, one.reader.op, one.since) for one in found] == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "size", "same"),
    [
        ({"Max Value": 2.0, "Min Value": 1.0}, {"Max Value": 2.0, "Min Value": 1.0}, 4, True),
        ({"Max Value": 2.0, "Min Value": 1.0}, {"Max Value": 3.0, "Min Value": 1.0}, 4, False),
        (
            {"Max Value": 2.0, "Min Value": 1.0},
            {"Max Value": 1.5, "Min Value": 1.0},
            9,
            True,
        ),  # padding
        ({"Max Value": 2.0, "Min Value": 1.0}, {"Max Value": 3.0, "Min Value": 1.0}, 9, False),
        ({"Max Value": 2.0, "Min Value": 1.0}, {"Max Value": 2.0, "Min Value": -1.0}, 9, False),
        ({"Max Value": math.nan}, {"Max Value": math.nan}, 4, True),
        ({"Max Value": 2.0}, {"Min Value": 2.0}, 4, True),  # nothing to compare
        ({}, {"Max Value": 2.0}, 4, True),
    ],
)
def test_statistics_tell_as_far_as_padding_lets_them(ours, theirs, size, same):
    some = [snapshot(3, "output", None, **ours), snapshot(5, "input", None, **theirs)]
    assert (first_overwrite(BLOCK, Value(3), some, size) is None) == same


@pytest.mark.parametrize(
    ("span", "code"),
    [
        (Span(0, 15, 16, 100, 0), "bytes"),
        (Span(0, 15, 16, 100, 0x4000), "bytes-at"),
        (Span(0, 15, 3, 100, 0), "bytes-some"),
        (Span(0, 15, 3, 100, 0x4000), "bytes-some-at"),
    ],
)
def test_a_span_says_what_is_known_of_it(span, code):
    check_said(span.said, f"compare/{code}", first=0, last=15, size=100)


def test_what_nobody_reads_is_said_to_be_so(tmp_path):
    (change,) = changes(tree(tmp_path, ("B1", spoilt(0))), graph())
    said = list(evidence(change._replace(readers=(), last_reader="")))
    the(said, "changed-unread", slot=0, op_type="Add", op_name="C", after="B1")
