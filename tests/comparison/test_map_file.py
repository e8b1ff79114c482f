"""The map file: what it may say, how it is refused, and what it does to a comparison."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build import small_dumps as small
from kit.build.small_dumps import Net, chain, in_memory, shoot
from kit.evidence import clauses, defects, the
from kit.words import check_said, refused
from workbench.comparison.engine import compare_dumps
from workbench.comparison.map_file import (
    NO_OVERRIDES,
    Ignore,
    Match,
    Overrides,
    Tolerance,
    is_pattern,
    read_overrides,
    save_overrides,
)
from workbench.comparison.pair.pairing import Selection
from workbench.core.errors import AlignError
from workbench.core.words import Message


def read(tmp_path, data):
    path = tmp_path / "map.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return read_overrides(path)


# --- reading ---------------------------------------------------------------------------------


def test_everything_that_a_map_file_can_say_is_read(tmp_path):
    found = read(
        tmp_path,
        {
            "pairs": [
                {"target": "a", "golden": "b"},
                {"target": ["c"], "golden": "d"},
                {"target": "e", "golden": ["f", "g"]},
            ],
            "ignore": ["h", "h", {"name": "i*", "side": "golden", "reason": "random"}],
            "tolerances": [
                {"name": "j", "relative_error": 1, "reason": "why"},
                {"op_type": "GeLU", "relative_error": 0.5, "reason": "fast"},
            ],
        },
    )
    assert dict(found.pairs) == {"a": "b", "c": "d"}
    assert found.groups == (Match(("e",), ("f", "g")),)
    assert found.ignore == (Ignore("h"), Ignore("i*", "golden", "random"))
    assert found.tolerances == (Tolerance(1.0, "why", "j"), Tolerance(0.5, "fast", "", "GeLU"))
    assert found.path.endswith("map.json")


@pytest.mark.parametrize(
    ("name", "same", "another"),
    [
        ("a.b", "a.b", "axb"),
        ("a*", "abc", "ba"),
        ("a?", "ab", "abc"),
        ("a[0]*", "a[0]b", "a0b"),
        ("a[0]", "a[0]", "a0"),
        ("A*", "Ab", "ab"),
    ],
)
def test_a_name_fits_itself_and_what_its_wildcards_stand_for(name, same, another):
    assert Ignore(name).fits(same)
    assert not Ignore(name).fits(another)
    assert is_pattern(name) is (name not in ("a.b", "a[0]"))


def test_an_empty_map_file_changes_nothing(tmp_path):
    assert read(tmp_path, {}) == NO_OVERRIDES
    assert not read(tmp_path, {})


ERROR = "tolerances[0].relative_error"
GOOD = {"name": "a", "relative_error": 0.1, "reason": "because"}


def tolerance(**changes):
    entry = {key: value for key, value in (GOOD | changes).items() if value is not None}
    return {"tolerances": [entry]}


MANY_KEYS = dict.fromkeys((f"k{n}" for n in range(50_000)), 0)
"""So many that a search for each of them would not end."""

BAD = [  # map file, code, values
    ("{", "map-json", {}),
    ("[" * 100_000, "map-json", {}),
    ('{"ignore": [], "ignore": []}', "map-key-twice", {"key": "ignore"}),
    pytest.param(
        json.dumps(MANY_KEYS)[:-1] + ', "k9": 0}', "map-key-twice", {"key": "k9"}, id="many keys"
    ),
    (
        '{"tolerances": [{"name": "a", "relative_error": NaN, "reason": "b"}]}',
        "map-constant",
        {"got": "NaN"},
    ),
    ([], "map-object", {"key": "map file", "got": "list"}),
    ({"pair": []}, "map-keys", {"key": "map file", "got": ["pair"]}),
    ({"pairs": {}}, "map-list", {"key": "pairs", "got": "dict"}),
    ({"pairs": ["a"]}, "map-object", {"key": "pairs[0]", "got": "str"}),
    ({"pairs": [{"target": "a"}]}, "map-text", {"key": "pairs[0].golden", "got": None}),
    ({"pairs": [{"target": "a", "golden": 3}]}, "map-text", {"key": "pairs[0].golden", "got": 3}),
    ({"pairs": [{"target": [], "golden": "a"}]}, "map-text", {"key": "pairs[0].target", "got": []}),
    (
        {"pairs": [{"target": "a", "golden": ["b", " "]}]},
        "map-text",
        {"key": "pairs[0].golden", "got": " "},
    ),
    (
        {"pairs": [{"target": "a", "golden": "b", "why": ""}]},
        "map-keys",
        {"key": "pairs[0]", "got": ["why"]},
    ),
    ({"ignore": "a"}, "map-list", {"key": "ignore", "got": "str"}),
    ({"ignore": [1]}, "map-text", {"key": "ignore[0]", "got": 1}),
    ({"ignore": [{"side": "target"}]}, "map-text", {"key": "ignore[0].name", "got": None}),
    (
        {"ignore": [{"name": "a", "side": "left"}]},
        "core/choice",
        {"subject": "ignore[0].side", "got": "left"},
    ),
    (
        {"ignore": [{"name": "a", "reason": ""}]},
        "map-text",
        {"key": "ignore[0].reason", "got": ""},
    ),
    (tolerance(reason=None), "map-reason", {"key": "tolerances[0]"}),
    (tolerance(reason="  "), "map-text", {"key": "tolerances[0].reason", "got": "  "}),
    (tolerance(name=None), "map-whom", {"key": "tolerances[0]"}),
    (tolerance(relative_error=None), "map-error", {"key": ERROR, "got": None}),
    (tolerance(relative_error=0), "map-error", {"key": ERROR, "got": 0}),
    (tolerance(relative_error=True), "map-error", {"key": ERROR, "got": True}),
    (tolerance(relative_error="0.1"), "map-error", {"key": ERROR, "got": "0.1"}),
    (
        '{"tolerances": [{"name": "a", "relative_error": 1e999, "reason": "b"}]}',
        "map-error",
        {"key": ERROR, "got": math.inf},
    ),
    (tolerance(op_type=""), "map-text", {"key": "tolerances[0].op_type", "got": ""}),
    (
        {"ignore": [f"{n}*" for n in range(1001)]},
        "map-patterns",
        {"got": 1001, "limit": 1000},
    ),
    (
        {"pairs": [{"target": "a", "golden": "b"}, {"target": ["c", "a"], "golden": "d"}]},
        "map-name-twice",
        {"key": "pairs[1]", "side": "target", "name": "a"},
    ),
    (
        {"pairs": [{"target": "a", "golden": ["c", "c"]}]},
        "map-name-twice",
        {"key": "pairs[0]", "side": "golden", "name": "c"},
    ),
]


@pytest.mark.parametrize(("data", "code", "values"), BAD)
def test_what_is_no_map_file_is_refused_with_its_place(tmp_path, data, code, values):
    code = code if "/" in code else f"compare/{code}"
    with refused(code, place=str(tmp_path / "map.json"), **values):
        read(tmp_path, data)


def test_a_missing_or_undecodable_map_file_is_refused(tmp_path):
    with refused("core/missing", got=str(tmp_path / "missing.json")):
        read_overrides(tmp_path / "missing.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with refused("compare/map-json", place=str(tmp_path / "bytes.json")):
        read_overrides(tmp_path / "bytes.json")


NAMES = st.text(min_size=1, max_size=12).filter(str.strip) | st.sampled_from(
    ["größe/\udc80", "a[b]*?"]
)


@st.composite
def overrides(draw):
    names = draw(st.lists(NAMES, unique=True, max_size=8))
    split = draw(st.integers(0, len(names)))
    ours, theirs = names[:split], names[split:]
    matches = [Match(tuple(ours), tuple(theirs))] if ours and theirs else []
    ignore = draw(
        st.lists(
            st.builds(
                Ignore,
                NAMES,
                st.sampled_from(["both", "target", "golden"]),
                st.just("") | NAMES,
            ),
            max_size=3,
            unique=True,
        )
    )
    errors = st.floats(min_value=0, max_value=1e308, exclude_min=True)
    tolerances = draw(
        st.lists(st.builds(Tolerance, errors, NAMES, NAMES, st.just("") | NAMES), max_size=3)
    )
    return Overrides(tuple(matches), tuple(ignore), tuple(tolerances))


@given(overrides())
def test_what_is_saved_is_read_again(tmp_path_factory, wanted):
    path = tmp_path_factory.mktemp("maps") / "map.json"
    assert read_overrides(save_overrides(wanted, path)) == wanted


def test_what_could_not_be_read_again_is_not_saved(tmp_path):
    twice = Overrides((Match(("a",), ("b",)), Match(("a",), ("c",))))
    with refused("compare/map-name-twice", AlignError, side="target", name="a"):
        save_overrides(twice, tmp_path / "map.json")
    assert list(tmp_path.iterdir()) == []


def test_a_match_by_hand_replaces_those_that_it_contradicts():
    start = Overrides((Match(("a",), ("b",)), Match(("c",), ("d",)), Match(("e",), ("f",))))
    found = start.match(["a", "g"], ["d"])
    assert found.matches == (Match(("e",), ("f",)), Match(("a", "g"), ("d",)))


# --- comparing -------------------------------------------------------------------------------

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)
GOLDEN = in_memory(shoot(GRAPH, VALUES), GRAPH)
CULPRIT = "Default/MatMul-op1"


def off(array):
    return array * np.float32(1.01)


SPOILED = in_memory(shoot(GRAPH, VALUES, alter={CULPRIT: off}), GRAPH)


def compared(target, *entries, golden=GOLDEN, **options):
    by_type = {
        kind: tuple(e for e in entries if isinstance(e, kind))
        for kind in (Match, Ignore, Tolerance)
    }
    chosen = Selection(overrides=Overrides(*by_type.values()))
    return compare_dumps(target, golden, selection=chosen, **options).result


@pytest.mark.parametrize(
    "entry",
    [
        Tolerance(0.02, "agreed", "*MatMul-op1"),
        Tolerance(0.02, "agreed", CULPRIT),
        Tolerance(0.02, "agreed", op_type="MatMul"),
        Tolerance(0.02, "agreed", "Default/*", "MatMul"),
    ],
)
def test_a_tolerated_defect_becomes_information_and_stays_in_the_table(entry):
    assert compared(SPOILED).verdict == "fail"
    found = compared(SPOILED, entry)
    assert found.verdict == "warn"
    first = clauses(found)[0]
    assert first.code == "compare/agreement-tolerated"
    the(first.values["counts"], "count-tolerated", count=1)
    row = next(r for r in found.rows if (r.op_name, r.io) == (CULPRIT, "output"))
    assert row.status == "warn"
    check_said(row.reason, "compare/tolerated", limit=0.02, why="agreed")
    assert row.error == pytest.approx(0.01, rel=0.01)
    told = next(f for f in found.findings if f.op_name == CULPRIT)
    assert told.kind == "info"
    assert told.evidence[0] == row.reason
    (use,) = found.overrides
    assert (use.kind, use.reason, use.tensors) == ("tolerance", "agreed", 1)
    assert use.operators >= 1


def test_an_error_beyond_the_tolerance_and_one_elsewhere_are_still_defects():
    for entry in (Tolerance(0.005, "agreed", CULPRIT), Tolerance(1.0, "agreed", op_type="Tanh")):
        found = compared(SPOILED, entry)
        assert (found.verdict, found.findings[0].op_name) == ("fail", CULPRIT)
        assert found.overrides[0].tensors == 0


def test_what_reads_a_tolerated_error_may_carry_it_without_a_graph_too():
    def bare(**more):
        shots = shoot(GRAPH, VALUES, **more)
        return in_memory([shot for shot in shots if shot.io == "output"])

    golden = bare()
    target = bare(alter={CULPRIT: off})
    entry = Tolerance(0.02, "agreed", "Default_MatMul-op1")
    bare_verdict = compared(target, golden=golden).verdict  # nothing tells what it read
    assert bare_verdict == "inconclusive"
    assert compared(target, entry, golden=golden).verdict == "warn"


def test_nan_is_never_tolerated():
    target = in_memory(shoot(GRAPH, VALUES, alter={CULPRIT: lambda a: a * np.nan}), GRAPH)
    assert compared(target, Tolerance(1e9, "agreed", "*")).verdict == "fail"


def test_a_tolerance_counts_before_the_thresholds_of_a_profile():
    entry = Tolerance(0.02, "agreed", "*")
    assert compared(SPOILED, profile="msprobe").verdict == "fail"
    assert compared(SPOILED, entry, profile="msprobe").verdict == "warn"


def test_a_second_defect_behind_a_tolerated_one_is_found():
    def wrong(array):
        return array + np.float32(0.5)

    alter = {CULPRIT: off, "Default/Softmax-op0": wrong}
    target = in_memory(shoot(GRAPH, VALUES, alter=alter), GRAPH)
    found = compared(target, Tolerance(0.02, "agreed", CULPRIT))
    assert [f.op_name for f in defects(found)] == ["Default/Softmax-op0"]


def test_an_operator_is_ignored_on_one_side_alone_with_its_reason():
    found = compared(GOLDEN, Ignore("*Tanh*", "golden", "random"))
    assert found.coverage.skipped == {"golden:ignored": 2}
    assert found.coverage.unmatched_target == 2
    (use,) = found.overrides
    assert (use.what, use.reason, use.operators, use.tensors) == (
        "*Tanh* in the golden",
        "random",
        1,
        2,
    )
    assert {a.detail for a in found.anomalies if a.kind == "ignored"} == {
        Message("compare/ignored-why", why="random")
    }


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (Match(("Default/No-op0",), ("Default/Tanh-op0",)), [("target", "Default/No-op0")]),
        (Match((CULPRIT,), ("a", "b")), [("golden", "a"), ("golden", "b")]),
        (Ignore("No*"), [("target", "No*")]),
        (Ignore("Default/Tanh-op9", "golden"), [("golden", "Default/Tanh-op9")]),
        (Tolerance(0.1, "why", "No*"), [("target", "No*")]),
        (Tolerance(0.1, "why", op_type="Nope"), [("target", "Nope")]),
        (Tolerance(0.1, "why", "*Tanh*", "MatMul"), [("target", "*Tanh*")]),
    ],
)
def test_an_entry_that_nothing_fits_is_told(entry, told):
    found = compared(GOLDEN, entry)
    assert [(a.side, a.op_name) for a in found.anomalies if a.kind == "map-file"] == told
    assert found.overrides[0].tensors == 0


# --- groups ----------------------------------------------------------------------------------


def layers(*types):
    """A product and a ReLU, as one operator or two, and a Tanh."""
    net = Net()
    value = net.feed("x")
    for op_type in types:
        inputs = (value, net.weight("w")) if op_type.startswith("MatMul") else (value,)
        value = net.op(op_type, *inputs)
    return net.graph()


FUSED, PLAIN = layers("MatMulRelu", "Tanh"), layers("MatMul", "ReLU", "Tanh")


@pytest.mark.parametrize("alter", [{}, {"Default/MatMulRelu-op0": off}])
def test_groups_of_operators_are_compared_at_their_edges(alter):
    values = small.given(FUSED)
    one = in_memory(shoot(FUSED, values, alter=alter), FUSED)
    two = in_memory(shoot(PLAIN, values), PLAIN)
    entry = Match(("Default/MatMulRelu-op0",), ("Default/MatMul-op0", "Default/ReLU-op0"))
    found = compared(one, entry, golden=two)
    rows = {(r.op_name, r.io, r.slot): r for r in found.rows if r.match_rule == "map"}
    assert rows.keys() == {
        (entry.target[0], io, n) for io, n in (("input", 0), ("input", 1), ("output", 0))
    }
    assert {r.golden_op_name for r in rows.values()} == set(entry.golden)
    assert found.coverage.skipped == {"golden:fused": 2}
    assert found.overrides[0].tensors == 3
    assert [f.op_name for f in defects(found)] == list(alter)
    other = compared(two, Match(entry.golden, entry.target), golden=one)
    assert other.coverage.skipped == {"target:fused": 2}
    assert (other.verdict, found.verdict) == (("fail", "fail") if alter else ("pass", "pass"))


def test_without_a_graph_the_ends_of_a_group_are_compared():
    values = small.given(FUSED)
    one, two = in_memory(shoot(FUSED, values)), in_memory(shoot(PLAIN, values))
    entry = Match(("Default_MatMulRelu-op0",), ("Default_MatMul-op0", "Default_ReLU-op0"))
    for dumps, match in (((one, two), entry), ((two, one), Match(entry.golden, entry.target))):
        found = compared(dumps[0], match, golden=dumps[1])
        rows = {(r.io, r.slot): r.status for r in found.rows if r.match_rule == "map"}
        assert rows == {("input", 0): "equal", ("input", 1): "equal", ("output", 0): "equal"}
        (use,) = found.overrides
        assert (use.kind, use.operators, use.tensors) == ("group", 3, 3)
        assert found.verdict == "pass"


def test_infinite_errors_are_no_business_of_tolerances():
    assert Overrides(tolerances=(Tolerance(1.0, "why", "*"),)).tolerated("a", "b", math.nan) is None
    assert replace(NO_OVERRIDES, path="x") == NO_OVERRIDES
