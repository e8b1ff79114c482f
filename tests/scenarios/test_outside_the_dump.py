"""What is wrong lies outside of what was dumped: nobody inside is given a cause that he may not have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import chain, in_memory, shoot
from workbench.comparison.engine import compare_dumps
from workbench.dump.index import index_of

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
MIDDLE = {"Default_MatMul-op1", "Default_Tanh-op0"}
WHOLE = {shot.name for shot in shoot(GRAPH, VALUES)}
HALF = {"Default/MatMul-op0": lambda x: x * np.float32(0.5)}


def kept(shots, *, names=frozenset(), io=("input", "output")):
    return [s for s in shots if (not names or s.name in names) and s.io in io]


def first(target, golden):
    result = compare_dumps(in_memory(target, GRAPH), in_memory(golden, GRAPH)).result
    assert result.verdict == "fail"
    return next(one for one in result.findings if one.defect)


def as_statistics(record):
    data = record.source.array()
    figures = {"Max Value": data.max(), "Min Value": data.min(), "Avg Value": data.mean()}
    figures["L2Norm Value"] = np.linalg.norm(data)
    label = record.label._replace(shape=data.shape)
    known = {title: float(figure) for title, figure in figures.items()}
    return replace(record, source=None, label=label, statistics=known)


def open_inputs(finding):
    """Inputs of which the finding says that the error may come with them."""
    said = [one for one in finding.evidence if one.code == "compare/from-before"]
    return [slot.values["slot"] for one in said for slot in one.values["inputs"]]


GOLDEN = shoot(GRAPH, VALUES)
FEED = shoot(GRAPH, {**VALUES, "x": VALUES["x"] + np.float32(0.3)})
CASES = {
    "the feed, of which only outputs tell": (FEED, {"io": ("output",)}, "Default/MatMul-op0", [0]),
    "an operator before the first that was dumped": (
        shoot(GRAPH, VALUES, alter=HALF), {"names": MIDDLE, "io": ("output",)}, "Default/MatMul-op1", [0],
    ),
    "the first operator, with all that it reads": (
        shoot(GRAPH, VALUES, alter=HALF), {}, "Default/MatMul-op0", [],
    ),
    "an operator whose producer's output was dumped": (
        shoot(GRAPH, VALUES, alter={"Default/MatMul-op1": lambda x: x * np.float32(0.5)}), {"io": ("output",)},
        "Default/MatMul-op1", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_error_that_may_come_from_before_is_said_to(name):
    shots, kept_of, operator, slots = CASES[name]
    found = first(kept(shots, **kept_of), GOLDEN)
    assert (found.op_name, open_inputs(found)) == (operator, slots)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_no_cause_is_named_where_what_was_read_is_not_known(name):
    shots, kept_of, *_ = CASES[name]
    found = first(kept(shots, **kept_of), GOLDEN)
    assert (found.fault, found.probability) == ("", 0.0)


def test_a_cause_is_named_where_all_that_was_read_is_known():
    found = first(shoot(GRAPH, VALUES, alter=HALF), GOLDEN)
    assert (found.fault, found.probability > 0.5) == ("scaled-output", True)


def test_a_finding_of_statistics_alone_says_that_they_tell_no_order():
    def statistics(shots):
        dump = in_memory(shots, GRAPH)
        return replace(dump, index=index_of(map(as_statistics, dump.records)))

    target, golden = shoot(GRAPH, VALUES, alter=HALF), GOLDEN
    for sides, warned in (
        ((statistics(target), in_memory(golden, GRAPH)), True),
        ((in_memory(target, GRAPH), in_memory(golden, GRAPH)), False),
    ):
        result = compare_dumps(*sides).result
        finding = next(one for one in result.findings if one.defect)
        codes = {one.code for one in finding.evidence}
        assert ("compare/trust-statistics" in codes) is warned
