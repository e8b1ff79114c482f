"""Which cases of a large table are run: pairs that cover it, what every run takes and what only the nightly one.

`examples` does the same for properties: the nightly run tries all of them, others as many as their profile says.

`GRID=all` makes `two_by_two` give every cell. What `nightly` leaves for the nightly run carries the mark
``exhaustive``: ``make test-all`` runs it, ``make test`` does not.
"""

from __future__ import annotations

import os
from itertools import combinations

import pytest
from hypothesis import settings

from workbench.config import new
from workbench.config.form.kinds import Misfit

NO = object()
"""In place of what a kind of setting keeps, where it keeps nothing."""

FEWEST = 10
"""Examples of a property that every run tries at least."""

ONE_OF_A_KIND = ("mindspore-o0o1", "tensorflow", "torchair", "acl")
"""A surface of each package of `workbench.config`; those of MindSpore share their settings."""

STEPS = {"tensorflow": "dump.dump_step", "torchair": "dump_config.dump_step"}


def two_by_two(networks, surfaces, devices):
    """As many cells as put every two of a network, a surface and a device together; all with ``GRID=all``."""
    return [
        (network, surface, device)
        for n, network in enumerate(networks)
        for s, surface in enumerate(surfaces)
        for d, device in enumerate(devices)
        if os.environ.get("GRID") == "all" or (n + s) % len(devices) == d
    ]


def values_of(case, together=1):
    """Every so many values of a case together, each with its place in it."""
    return frozenset(combinations(enumerate(case), together))


def each_once(cases, together=1):
    """Some of the cases, in their order, that hold every value which any case holds.

    Always the case that adds most, the first of several: no case is taken whose values the others have.
    """
    values = {case: values_of(case, together) for case in cases}
    open_values, taken = frozenset().union(*values.values()), set()
    while open_values:
        best = max(values, key=lambda case: len(values[case] & open_values))
        open_values -= values.pop(best)
        taken.add(best)
    return [case for case in cases if case in taken]


def pairwise(cases):
    """Some of the cases, in their order, that hold every two values which any case holds together."""
    return each_once(cases, together=2)


def nightly(cases, daily):
    """The cases as parameters; those that are not ``daily`` are for the nightly run alone."""
    daily = {_values(case) for case in daily}
    unknown = daily - {_values(case) for case in cases}
    assert not unknown, f"no such cases: {unknown}"
    return [case if _values(case) in daily else _exhaustive(case) for case in cases]


def is_nightly():
    """Whether this is the nightly run."""
    return settings.default.max_examples >= settings.get_profile("nightly").max_examples


def thinned(cases, every, first=0):
    """Of cases that make one test, every so many from the ``first`` on; the nightly run takes all."""
    return cases if is_nightly() else cases[first % every :: every]


def _values(case):
    """Values of a case: a parameter of pytest with marks of its own, a tuple, or a single value."""
    if hasattr(case, "marks"):
        return tuple(case.values)
    return case if isinstance(case, tuple) else (case,)


def _exhaustive(case):
    marks = (*getattr(case, "marks", ()), pytest.mark.exhaustive)
    return pytest.param(*_values(case), marks=marks, id=getattr(case, "id", None))


def examples(nightly):
    """How many examples a property gets that the nightly run tries so often; see the profiles in ``conftest.py``."""
    return max(min(nightly, FEWEST), nightly * settings.default.max_examples // 100)


def mindspore_form(surface, **change):
    """The first form of MindSpore's ``surface`` (``o2``) with changes; ``e2e_`` begins those of that section."""
    form = new(f"mindspore-{surface}")
    for key, value in change.items():
        section = "e2e" if key.startswith("e2e_") else "common"
        form = form.set(f"{section}_dump_settings.{key.removeprefix('e2e_')}", value)
    return form


def changed(form, settings):
    """A form with settings by their paths."""
    for path, value in settings.items():
        form = form.set(path, value)
    return form


def read_kind(kind, value):
    """What a kind of setting keeps of a value; `NO` where it refuses it."""
    try:
        return kind.read(value)
    except Misfit:
        return NO


def first_form(surface):
    """The first form of a surface; MindSpore on the graph engine writes containers."""
    form = new(surface)
    if surface == "mindspore-ge":
        form = form.set("common_dump_settings.file_format", "bin")
    return form


def asked(surface, steps):
    """The first form of a surface that dumps steps (``0|2``, ``0-6``)."""
    return first_form(surface).set(STEPS.get(surface, "common_dump_settings.iteration"), steps)
