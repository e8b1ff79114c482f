"""What is known of an operator's tensors by slot, read as a dictionary that nobody can change."""

import pickle
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.tensors import by_slot

SLOTS = st.tuples(st.sampled_from(["input", "output"]), st.integers(0, 5))
HELD = st.dictionaries(SLOTS, st.integers())


@given(HELD)
def test_it_is_read_as_a_dictionary(held):
    (found,) = by_slot([held])
    assert found == held
    assert held == found
    assert found == MappingProxyType(held)
    assert [*found] == [*held]
    assert [*found.items()] == [*held.items()]
    assert [*found.keys()] == [*held.keys()]
    assert [*found.values()] == [*held.values()]
    assert len(found) == len(held)
    assert repr(found) == repr(held)


@given(HELD, SLOTS)
def test_a_slot_is_found_or_not_as_in_a_dictionary(held, slot):
    (found,) = by_slot([held])
    assert found.get(slot, "absent") == held.get(slot, "absent")
    assert (slot in found) == (slot in held)
    if slot in held:
        assert found[slot] == held[slot]
    else:
        with pytest.raises(KeyError):
            found[slot]


@given(st.lists(HELD))
def test_those_with_the_same_slots_share_where_they_find_them_and_nothing_else(several):
    found = [*by_slot(several)]
    assert found == several
    assert len({id(one._at) for one in found}) == len({tuple(held) for held in several})
    assert pickle.loads(pickle.dumps(found)) == several


def test_it_changes_neither_by_itself_nor_with_what_it_was_made_of():
    held = {("output", 0): 1}
    (found,) = by_slot([held])
    held["output", 1] = 2
    assert found == {("output", 0): 1}
    with pytest.raises(TypeError):
        found["output", 0] = 2
