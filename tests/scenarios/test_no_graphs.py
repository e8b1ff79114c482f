"""What is said of two runs without any graph: nobody is blamed where nothing tells who did it."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import chain, in_memory, shoot
from kit.evidence import defects

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)
SHOTS = shoot(GRAPH, VALUES)


def damaged(value):
    """What Softmax read is not what Tanh gave, in one element; what it gave is whole."""
    found = []
    for shot in SHOTS:
        if (shot.op_type, shot.io) == ("Softmax", "input"):
            data = shot.data.copy()
            data.flat[3] = value
            shot = shot._replace(data=data)
        found.append(shot)
    return found


def said_of(result):
    """Verdict, who is blamed, and why something is undecided."""
    why = [one.evidence[0].code for one in result.findings if one.kind == "undecided"]
    return result.verdict, [one.op_name for one in defects(result)], why


UNLIKE, APART = "compare/undecided-input-unlike", "compare/undecided-given-apart"


@pytest.mark.parametrize(
    ("value", "verdict"), [(np.nan, "fail"), (np.inf, "fail"), (5.0, "inconclusive")]
)
@pytest.mark.parametrize(("side", "why"), [("target", UNLIKE), ("golden", APART)])
def test_a_damaged_file_of_an_input_blames_nobody_who_reads_it(value, verdict, side, why):
    shots = {"target": SHOTS, "golden": SHOTS} | {side: damaged(value)}
    result = wb.compare(in_memory(shots["target"]), in_memory(shots["golden"])).result
    assert said_of(result) == (verdict, [], [why])


# --- a run that stores float16 in files of float32 ---------------------------------------------

DEEP = chain(*("MatMul", "Tanh") * 4)
SCALED = "Default/Tanh-op2"


def half(array):
    return array.astype(np.float16).astype(np.float32)


# of fewer elements than 64 nothing is certain
RNG = np.random.default_rng(5)
GIVEN = {name: 0.2 * RNG.standard_normal((16, 16)).astype(np.float32) for name in small.given(DEEP)}


def stored(names, *, scaled=()):
    """A run of which operators store float16, and some give too much besides."""
    ways = dict.fromkeys(names, half)
    ways |= {name: lambda x: half(x * np.float32(1.05)) for name in scaled}
    return in_memory(shoot(DEEP, GIVEN, alter=ways))


GOLDEN = in_memory(shoot(DEEP, GIVEN))
ALL = [op.name for op in DEEP.ops]
NARROW = "compare/undecided-stored-narrow"


def test_a_run_that_stores_fewer_bits_than_its_files_say_blames_no_operator():
    verdict, blamed, why = said_of(wb.compare(stored(ALL), GOLDEN).result)
    assert (verdict, blamed) == ("inconclusive", [])
    assert NARROW in why


def test_an_operator_that_is_off_by_more_than_such_a_store_is_named():
    result = wb.compare(stored(ALL, scaled=[SCALED]), GOLDEN).result
    verdict, blamed, _ = said_of(result)
    assert (verdict, blamed[:1]) == ("fail", [SCALED.replace("/", "_")])


def test_a_store_that_one_operator_alone_has_is_its_own():
    verdict, blamed, _ = said_of(wb.compare(stored([SCALED]), GOLDEN).result)
    assert (verdict, blamed) == ("fail", [SCALED.replace("/", "_")])
