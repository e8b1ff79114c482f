"""The contract of `LAYOUTS`: what a row writes it reads, one row fits a path, and hostile names fit none."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import replace
from string import Formatter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump import layouts
from workbench.dump.layouts import AUXILIARY, FIELDS, LAYOUTS, OVERLAPS, folder, place, row_of

KINDS = ("npy", "ge", "captured", "golden", "node", "call", "")

VALUES = {
    "rank": st.text("0123456789", min_size=1, max_size=9),
    "world_size": st.text("0123456789", min_size=1, max_size=9),
    "start": st.text("0123456789", min_size=12, max_size=17),
    "time": st.text("0123456789", min_size=12, max_size=17),
    "step": st.text("0123456789", min_size=1, max_size=10),
    "process": st.sampled_from(("rank", "proc", "pid")),
    "pid": st.text("0123456789", max_size=9),
    "device": st.text("0123456789", min_size=1, max_size=6),
    "net": st.one_of(
        st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=63),
        st.sampled_from(("Net", "rank_3", "20240613143502", "7", "worldsize2_global_rank1", "constants",
                         "step_1", "ge_default_20240613143502_1", "a" * 255, "...", "a\nb", "\udcff",
                         "graphs2", "{net}", "[a-z]*")),
    ).filter(lambda net: net not in {*AUXILIARY, ".", ".."}),
    "model_id": st.text("0123456789", min_size=1, max_size=20),
    "index": st.text("0123456789", min_size=1, max_size=20),
    "graph": st.text("0123456789", min_size=1, max_size=10),
    "iteration": st.text("0123456789", min_size=1, max_size=10),
}  # fmt: skip
"""Field → all legal spellings, said apart from the patterns."""

HOSTILE_NUMBERS = ("-1", "²", "٣", "1\n", " 1", "1e3", "0x1")
"""No numbers, but names like any other."""

HOSTILE_NAMES = ("", ".", "..", "../..", "/", "a/b", "a\0b", "\0", "9" * 400, "x" * 256, *AUXILIARY)

GOOD = {
    "rank": "3", "world_size": "8", "start": "20240613143502", "time": "20240613143503", "step": "7",
    "process": "rank", "pid": "2", "device": "1", "net": "Net", "model_id": "11", "index": "9", "graph": "2",
    "iteration": "10",
}  # fmt: skip


def fields_of(row):
    return [field for _, field, _, _ in Formatter().parse(row.path) if field]


def kinds_of(row):
    return [kind for kind in KINDS if row.holds(kind)]


def values_of(row):
    return st.fixed_dictionaries({field: VALUES[field] for field in fields_of(row)})


def ids(rows):
    return pytest.mark.parametrize("row", rows, ids=[row.id for row in rows])


@ids(LAYOUTS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_row_reads_what_it_writes(row, data):
    values = data.draw(values_of(row))
    path = folder(row, values)
    below = path.split("/") if path else []
    for kind in kinds_of(row):
        found = place(kind, (), below)
        assert (found.layout, found.values, found.base, found.whole) == (row, values, "", True)


@ids([row for row in LAYOUTS if not row.requires])
@settings(max_examples=40)
@given(data=st.data())
def test_a_row_reads_what_it_writes_below_other_folders(row, data):
    """Above lie folders of a user, with names that no template has."""
    values = data.draw(values_of(row))
    path = folder(row, values)
    kind = data.draw(st.sampled_from(kinds_of(row)), "kind")
    parts = path.split("/") if path else []
    cut = data.draw(st.integers(0, len(parts)), "levels above the given folder")
    found = place(kind, ("home", "dump x", *parts[:cut]), parts[cut:])
    assert (found.layout, found.values, found.base) == (row, values, "home/dump x")


@ids(LAYOUTS)
def test_numbers_are_written_as_their_digits(row):
    numbers = {field: int(text) for field, text in GOOD.items() if text.isdecimal()}
    assert folder(row, GOOD | numbers) == folder(row, GOOD)


def hostile_values():
    """Field, value; only processes of MindSpore's interfaces may lack their number."""
    for field in FIELDS:
        for value in (*HOSTILE_NAMES, *(HOSTILE_NUMBERS if field != "net" else ())):
            if (field, value) != ("pid", ""):
                yield field, value


@ids([row for row in LAYOUTS if fields_of(row)])
def test_a_hostile_value_is_refused_and_read_by_no_row(row):
    for field, value in hostile_values():
        if field not in fields_of(row):
            continue
        values = GOOD | {field: value}
        with refused("dump/folder-name", FormatError):
            folder(row, values)
        for kind in kinds_of(row):
            found = place(kind, (), [level.format_map(values) for level in row.levels])
            if found is not None:
                assert not (found.layout is row and found.whole)
                assert value not in found.values.values() or value in HOSTILE_NUMBERS


@pytest.mark.parametrize("net", ["é" * 128, "\ud800", "a\udbff"])
def test_a_name_that_no_disk_takes_is_refused(net):
    with refused("dump/folder-name", FormatError):
        folder(row_of("ge"), GOOD | {"net": net})


@pytest.mark.parametrize("net", ["é" * 127, "\udcff\udc80", "x" * 255])
def test_a_name_that_a_disk_takes_is_written(net, tmp_path):
    path = tmp_path / folder(row_of("ge"), GOOD | {"net": net})
    path.mkdir(parents=True)
    assert os.listdir(path.parents[2]) == [net]


@pytest.mark.parametrize("field", FIELDS)
def test_digits_of_400_places_are_no_value(field):
    assert re.fullmatch(FIELDS[field], "9" * 400, re.ASCII | re.DOTALL) is None


@given(
    st.lists(
        st.one_of(*VALUES.values(), st.sampled_from(HOSTILE_NAMES + HOSTILE_NUMBERS)), max_size=10
    ),
    st.data(),
)
def test_any_path_is_placed_or_not_but_never_in_two_ways(parts, data):
    kind = data.draw(st.sampled_from(KINDS))
    cut = data.draw(st.integers(0, len(parts)))
    found = place(kind, parts[:cut], parts[cut:])
    if found is not None and found.whole:
        written = folder(found.layout, found.values).split("/") if found.layout.levels else []
        assert [*filter(None, found.base.split("/")), *written] == [
            part for part in "/".join(parts).split("/") if part
        ]


def test_fields_have_a_pattern_each_are_used_and_occur_once_in_a_row():
    assert set(FIELDS) == {field for row in LAYOUTS for field in fields_of(row)} == set(VALUES)
    for row in LAYOUTS:
        assert len(set(fields_of(row))) == len(fields_of(row)), row.id


def test_rows_have_their_own_ids_and_templates_of_their_kinds():
    assert [row_of(row.id) for row in LAYOUTS] == list(LAYOUTS)
    for one, other in itertools.combinations(LAYOUTS, 2):
        assert one.path != other.path or not set(kinds_of(one)) & set(kinds_of(other))


def witnesses():
    """Names of folders: every length of a number, and every template filled in."""
    digits = ["1" * count for count in range(1, 21)]
    filled = {
        level.format_map(dict.fromkeys(FIELDS, "1") | {"process": word, "net": "Net"})
        for row in LAYOUTS
        for level in row.levels
        for word in ("rank", "proc", "pid")
    }
    return [*digits, *sorted(filled)]


def overlaps():
    """Pairs of rows with a path that both fit: that with more levels, the other one."""
    names = witnesses()
    for one, other in itertools.permutations(LAYOUTS, 2):
        count = len(one.levels) - len(other.levels)
        if count < 0 or not set(kinds_of(one)) & set(kinds_of(other)):
            continue
        both = zip(one.patterns[count:], other.patterns, strict=True)
        if all(any(a.fullmatch(name) and b.fullmatch(name) for name in names) for a, b in both):
            yield one, other


def test_rows_that_fit_one_path_are_listed_with_a_reason():
    assert {(one.name, other.name) for one, other in overlaps()} == OVERLAPS.keys()
    assert all(OVERLAPS.values())


def test_no_rows_of_equal_depth_fit_one_path():
    assert not [pair for pair in overlaps() if len({len(row.levels) for row in pair}) == 1]


TOY = layouts.Layout("toy", "toy_{device}/{index}", "toy")


@pytest.mark.parametrize(
    "other",
    [replace(TOY, id="twin", name="twin"), replace(TOY, id="part", name="part", path="{index}")],
    ids=lambda row: row.id,
)
def test_two_rows_that_fit_are_refused_unless_listed(monkeypatch, other):
    monkeypatch.setattr(layouts, "LAYOUTS", (TOY, other))
    with refused("dump/layouts-fit", FormatError, got="toy_1/7", known=["toy", other.id]):
        place("ge", (), ("toy_1", "7"))
    monkeypatch.setitem(layouts.OVERLAPS, ("toy", "part"), "why")
    if other.id == "part":
        assert place("ge", (), ("toy_1", "7")).layout is TOY


@pytest.mark.parametrize(
    ("kind", "below", "expected"),
    [
        ("npy", ("Net", "1", "10"), ("mindspore", {"net": "Net", "graph": "1", "iteration": "10"})),
        ("npy", ("constants",), ("mindspore-constants", {})),
        ("npy", (), ("mindspore", {})),
        ("ge", (), ("ge", {})),
        ("captured", ("7", "1234567"), ("ge", {"model_id": "7", "index": "1234567"})),
        ("call", (), ("msprobe-api", {})),
        ("call", ("rank2", "dump_tensor_data"), ("msprobe-api", {"process": "rank", "pid": "2"})),
        ("", ("Net", "1", "10"), None),
        ("npy", ("Net", "one", "10"), None),
    ],
)
def test_the_lower_levels_alone_are_one_row(kind, below, expected):
    found = place(kind, ("copied",), below)
    got = found and (found.layout.id, found.values)
    assert got == expected
    assert found is None or (found.base, found.depth, found.whole) == ("copied", len(below), False)
