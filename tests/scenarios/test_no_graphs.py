"""What is said of two runs without any graph: nobody is blamed where nothing tells who did it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import chain, in_memory, shoot
from kit.evidence import defects
from workbench.dump.index import index_of
from workbench.dump.statistics.compute import TITLES, statistics_of

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


# --- products that are all off ---------------------------------------------------------------------

SAMPLE = Path(__file__).parents[2] / "sample_dumps" / "simulated_pair"


def test_a_product_that_is_off_by_more_than_any_format_is_named_whatever_others_add_behind_it():
    """An element of conv2 is overwritten; every product behind it adds as much to what it inherits."""
    dumps = (replace(wb.load(SAMPLE / side), graphs={}) for side in ("target", "golden"))
    verdict, blamed, _ = said_of(wb.compare(*dumps).result)
    assert (verdict, blamed[:1]) == ("fail", ["Default_conv2-Conv2d_Conv2D-op0"])


# --- what the target has not dumped -------------------------------------------------------------

SUMMED = chain("Tanh", "BiasAddGrad")
TERMS = RNG.standard_normal((64, 64)).astype(np.float32)
CANCELLING = np.concatenate([TERMS, -TERMS * np.float32(1 + 3e-7)])
"""Columns whose sums are some ten-millionths of their terms."""
SUM = "Default_BiasAddGrad-op0"


def in_figures(dump, titles=TITLES):
    """The same dump, of which statistics alone were written."""
    records = [
        replace(one, source=None, statistics=statistics_of(one.source.array(), titles))
        for one in dump.records
    ]
    return replace(dump, index=index_of(records))


@pytest.mark.parametrize(
    ("terms", "error", "expected"),
    [
        (CANCELLING, 0.5, ("inconclusive", [], ["compare/undecided-inputs-unknown"])),
        (TERMS, 0.5, ("fail", ["Default_BiasAddGrad-op0"], [])),
    ],
)
def test_a_sum_that_cancels_may_be_off_by_the_rounding_of_terms_that_were_not_dumped(
    terms, error, expected
):
    wrong = {"Default/BiasAddGrad-op0": lambda x: x * np.float32(1 + error)}
    target = [
        shot
        for shot in shoot(SUMMED, {"x": terms}, alter=wrong)
        if (shot.op_type, shot.io) == ("BiasAddGrad", "output")
    ]
    golden = [one for one in shoot(SUMMED, {"x": terms}) if one.op_type == "BiasAddGrad"]
    assert said_of(wb.compare(in_memory(target), in_memory(golden)).result) == expected


SEEN, HIDDEN = ("Tanh", "Exp"), ("Tanh",)


@pytest.mark.parametrize(
    ("last", "before", "wrong", "is_blamed"),
    [
        ("Transpose", SEEN, 1.7, True),
        ("Transpose", HIDDEN, 1.7, False),
        ("Neg", HIDDEN, 1.7, True),
        ("Transpose", SEEN, np.nan, True),
        ("Transpose", HIDDEN, np.nan, False),
        ("Neg", SEEN, np.nan, True),
        ("Neg", HIDDEN, np.nan, False),
    ],
)
def test_nan_and_what_is_only_moved_may_come_from_an_operator_that_was_not_dumped(
    last, before, wrong, is_blamed
):
    graph, feed = chain("Tanh", "Exp", last), {"x": TERMS}
    target = shoot(graph, feed, alter={f"Default/{last}-op0": lambda x: x * np.float32(wrong)})
    outputs = [one for one in target if one.io == "output" and one.op_type in (*before, last)]
    result = wb.compare(in_memory(outputs), in_memory(shoot(graph, feed))).result
    assert said_of(result)[1] == [f"Default_{last}-op0"] * is_blamed


def twice(factor):
    """An operator that gives its result twice, wrong in slot 0 by a factor, and one that read that."""
    found = []
    for shot in shoot(chain("Tanh", "Neg"), {"x": TERMS}):
        if (shot.op_type, shot.io) == ("Tanh", "output"):
            found += [shot, shot._replace(slot=1)]
        else:
            found.append(shot)
    wrong = (("Tanh", 0), ("Neg", 0))
    return [
        one._replace(data=one.data * np.float32(factor))
        if one.io == "output" and (one.op_type, one.slot) in wrong
        else one
        for one in found
    ]


def test_of_equal_outputs_of_one_operator_nobody_knows_which_was_read():
    """As recurrent layers give their last state twice; whoever read the wrong one only inherits."""
    target = [one for one in twice(1.7) if one.io == "output"]
    result = wb.compare(in_memory(target), in_memory(twice(1))).result
    assert said_of(result)[1] == ["Default_Tanh-op0"]


@pytest.mark.parametrize(("terms", "blamed"), [(CANCELLING, []), (TERMS, [SUM])])
def test_statistics_without_a_norm_do_not_tell_that_a_sum_cancels(terms, blamed):
    """Devices write the largest, smallest and mean element; the golden's own terms say how far they cancel."""
    wrong = {"Default/BiasAddGrad-op0": lambda x: x * np.float32(2.9)}
    target = [one for one in shoot(SUMMED, {"x": terms}, alter=wrong) if one.op_type != "Tanh"]
    golden = [one for one in shoot(SUMMED, {"x": terms}) if one.op_type != "Tanh"]
    result = wb.compare(
        in_figures(in_memory(target), ("max", "min", "avg")), in_memory(golden)
    ).result
    assert said_of(result)[1] == blamed


STEP = chain("MatMul", "Tanh")
MATMUL = "Default_MatMul-op0"
MATRICES = {name: RNG.standard_normal((16, 16)).astype(np.float32) for name in small.given(STEP)}


def steps(moved, **changes):
    """Two iterations; the second reads the weight of the first times ``moved``."""
    later = {name: value * np.float32(moved) for name, value in MATRICES.items() if name != "x"}
    shots = [
        *shoot(STEP, MATRICES, parameters=False),
        *shoot(
            STEP, MATRICES | later, parameters=False, iteration=1, start=small.START + 99, **changes
        ),
    ]
    return [one for one in shots if one.op_type == "MatMul"]


@pytest.mark.parametrize("factor", [1.1, 9.0])
@pytest.mark.parametrize(("moved", "blamed"), [(1.0, [MATMUL]), (1.001, [])])
def test_a_weight_that_training_moves_and_nobody_dumped_may_explain_any_error(
    moved, blamed, factor
):
    wrong = {"Default/MatMul-op0": lambda x: x * np.float32(factor)}
    target = [one for one in steps(moved, alter=wrong) if (one.io, one.slot) != ("input", 1)]
    result = wb.compare(in_memory(target), in_memory(steps(moved))).result
    assert said_of(result)[1] == blamed


@pytest.mark.parametrize(("drift", "blamed"), [(2e-3, []), (1e-5, [MATMUL])])
def test_errors_that_training_has_left_in_a_weight_add_up_in_the_sums_of_a_product(drift, blamed):
    """A weight moves along the activations that it meets again: √16 times as much as by chance."""
    wrong = {"Default/MatMul-op0": lambda x: x * np.float32(1.03)}
    moved = [
        one._replace(data=one.data * np.float32(1 + drift))
        if (one.iteration, one.io, one.slot) == (1, "input", 1)
        else one
        for one in steps(1.001, alter=wrong)
    ]
    result = wb.compare(in_memory(moved), in_memory(steps(1.001))).result
    assert said_of(result)[1] == blamed


@pytest.mark.parametrize(("before", "blamed"), [(1.25, []), (1.01, ["Default_BiasAddGrad-op0"])])
def test_statistics_of_what_was_read_do_not_tell_that_no_error_came_in(before, blamed):
    """Norms of its input agree, while those of what was given differ, and all of it may have come in elsewhere."""
    ways = {"Default/Tanh-op0": before, "Default/BiasAddGrad-op0": 1.45 / before}
    alter = {name: lambda x, by=by: x * np.float32(by) for name, by in ways.items()}
    right = shoot(SUMMED, {"x": TERMS})
    target = [
        theirs if (ours.op_type, ours.io) == ("BiasAddGrad", "input") else ours
        for ours, theirs in zip(shoot(SUMMED, {"x": TERMS}, alter=alter), right, strict=True)
    ]
    result = wb.compare(in_figures(in_memory(target)), in_memory(right)).result
    assert said_of(result)[1] == blamed


def updated(kind):
    """The inputs of an operator, the first of which it may change, before and after."""
    net = small.Net()
    net.op(kind, net.weight("w"), net.feed("x"))
    graph = net.graph()
    values = {name: RNG.standard_normal((16, 16)).astype(np.float32) for name in "wx"}
    shots = [one for one in shoot(graph, values, parameters=False) if one.io == "input"]
    after = shots[0]._replace(data=values["w"] + values["x"])
    return in_memory(shots), in_memory([after, *shots[1:]])


@pytest.mark.parametrize(
    ("kind", "why"), [("AssignAdd", []), ("Add", ["compare/undecided-given-apart"])]
)
def test_a_file_of_what_is_updated_in_place_says_nothing_of_what_was_read(kind, why):
    before, after = updated(kind)
    assert said_of(wb.compare(after, before).result)[1:] == ([], why)
