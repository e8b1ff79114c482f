"""Mapping by hand: every step changes the overrides, can be taken back, and is what a map file would allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import refused
from workbench.comparison.map_file import read_overrides
from workbench.core.errors import AlignError, WorkbenchError
from workbench.ui.bench.map_file import MapFile

NAMES = st.sampled_from(["a", "b/c-op0", "d*", "<e>"])
STEPS = st.one_of(
    st.tuples(st.just("match"), st.lists(NAMES, min_size=1, max_size=2, unique=True), NAMES),
    st.tuples(st.just("ignore"), NAMES, st.sampled_from(["both", "target", "golden"])),
    st.tuples(st.just("tolerate"), st.floats(0.001, 1.0), st.just("why"), NAMES),
)


@given(st.lists(STEPS, max_size=8))
def test_undo_goes_back_to_the_beginning_and_redo_to_the_end(steps):
    mapped = MapFile()
    begin = mapped.overrides
    for name, *arguments in steps:
        getattr(mapped, name)(*arguments)
    end = mapped.overrides
    while mapped.can_undo:
        mapped.undo()
    assert mapped.overrides == begin
    while mapped.can_redo:
        mapped.redo()
    assert mapped.overrides == end


@given(st.lists(STEPS, max_size=8))
def test_what_is_saved_reads_back_the_same(tmp_path_factory, steps):
    mapped, path = MapFile(), tmp_path_factory.mktemp("map") / "map.json"
    for name, *arguments in steps:
        getattr(mapped, name)(*arguments)
    mapped.save(path)
    assert read_overrides(path) == mapped.overrides
    other = MapFile()
    other.open(path)
    assert other.overrides == mapped.overrides


def test_a_wrong_step_is_refused_and_changes_nothing():
    mapped = MapFile()
    mapped.match("a", "b")
    before = mapped.overrides
    for step in (
        lambda: mapped.match("", "x"),
        lambda: mapped.match([], "x"),
        lambda: mapped.ignore("a", "left"),
        lambda: mapped.tolerate(-1.0, "no"),
        lambda: mapped.tolerate(0.1, ""),
    ):
        with pytest.raises(WorkbenchError):
            step()
        assert mapped.overrides == before
    for number in (-1, 1):
        with refused("ui/no-entry", AlignError, got=number):
            mapped.remove(number)
    assert mapped.overrides == before
    mapped.undo()
    assert not mapped.can_undo


def test_a_pair_replaces_the_pairs_of_its_operators():
    mapped = MapFile()
    mapped.match("a", "b")
    mapped.match("a", "c")
    assert mapped.overrides.pairs == {"a": "c"}
