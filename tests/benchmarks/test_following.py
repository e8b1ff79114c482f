"""What `benchmarks/following.py` counts."""

from __future__ import annotations

import following
import pytest


@pytest.mark.parametrize(
    ("places", "way"),
    [
        ("", (0, 0)),
        ("aaa", (1, 0)),
        ("abc", (3, 0)),
        ("aabac", (3, 1)),
        ("abab", (2, 2)),
    ],
)
def test_a_return_is_a_step_into_a_place_that_was_left(places, way):
    assert following.way(places) == way


def test_functions_are_told_by_their_parameters():
    def with_target(a, *, target=None): ...

    def without(a):
        for target in a:
            print(target)

    asked = [following.Call("m.py", one.__code__) for one in (with_target, without)]
    assert [following.takes_target(one) for one in asked] == [True, False]
