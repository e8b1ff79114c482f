"""What replay found, in words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.runs import on_device, on_reference, replayed
from kit.build.small_dumps import Net, Shot, chain, in_memory, shoot
from kit.words import check_said
from workbench.comparison.findings.evidence import (
    _stands_for,
    counted,
    named_iterations,
    own_words,
    replay_facts,
)
from workbench.comparison.replay.floors import Floor
from workbench.comparison.replay.own_error import OwnError
from workbench.core.words import Message
from workbench.network.models import load_graph


def said_of(own):
    said, *assumed = own_words(own)
    return said, assumed


def test_an_explained_error_says_by_what():
    said, _ = said_of(OwnError(1, 3e-4, Floor(5e-4, 1e-4), 0.5))
    place, reason = Message("compare/place-output", slot=1), Message("compare/floor-ulp")
    check_said(said, "compare/replay-matches", where=place, error=3e-4, reason=reason)


def test_a_suspect_says_how_many_times_too_large_it_is_and_what_was_assumed():
    zeros = Message("compare/assumed-zeros", name="w")
    own = OwnError(0, 0.02, Floor(1e-7, 1e-5), 0.25, assumed=(zeros,), suspect=2000.0)
    said, assumed = said_of(own)
    values = {
        "error": 0.02,
        "times": pytest.approx(2000),
        "elements": Message("compare/some-elements", percent=25.0),
    }
    check_said(said, "compare/replay-differs", **values)
    assert assumed == [zeros]


def test_where_another_figure_is_the_findings_replay_says_its_error_alone():
    said, *_ = own_words(OwnError(0, 0.02, Floor(1e-7, 1e-5), 0.25, suspect=2000.0), multiple=False)
    check_said(said, "compare/replay-differs-alone", error=0.02)


def test_what_should_be_exact_says_so():
    said, _ = said_of(OwnError(0, 0.5, Floor(0.0, 0.0), 1.0, suspect=float("inf")))
    check_said(said, "compare/replay-not-exact", error=0.5)


def test_an_updated_input_is_called_one():
    said, _ = said_of(OwnError(-3, 0.0, Floor(1e-7, 0.0), 0.0))
    check_said(said, "compare/replay-exact", where=Message("compare/place-updated", slot=2))


def test_what_is_finite_on_one_side_alone_is_called_so_whatever_else_was_rounded_otherwise():
    said, _ = said_of(OwnError(0, float("inf"), Floor(1e-7, 0.0), 0.38, suspect=float("inf")))
    place = Message("compare/place-output", slot=0)
    assert said == Message("compare/replay-non-finite", where=place)


def test_coverage_is_told_with_reasons():
    graph = chain("Tanh", "ReLU")
    facts = replay_facts(replayed(in_memory(shoot(graph, small.given(graph)), graph)))
    assert facts == {"replayed": Message("compare/replayed", done=2, whole=2, share=1.0)}
    net = Net()
    net.op("Quux", net.op("Tanh", net.feed("x")))
    graph = net.graph()
    x = np.zeros((4, 4), np.float32)
    shots = [Shot("Tanh", "Default_Tanh-op0", io, 0, x) for io in ("input", "output")] + [
        Shot("Quux", "Default_Quux-op0", "output", 0, x)
    ]
    said = replay_facts(replayed(in_memory(shots, graph)))["replayed"]
    why = Message("compare/no-kernel", op_type="Quux")
    left = (Message("compare/replayed-left", count=1, why=why),)
    check_said(said, "compare/replayed-not", done=1, whole=2, share=0.5, left=left)


def test_nothing_is_said_where_nothing_was_dumped():
    graph = chain("Tanh")
    assert replay_facts(replayed(in_memory([], graph))) == {}


def test_the_believed_device_is_told():
    graph = load_graph("mlp")
    found = replayed(on_device(graph, "a2", "allow_fp32_to_bf16"), on_reference(graph))
    (model,) = replay_facts(found)["replayed as on"].values["models"]
    check_said(model, "compare/model", mode="allow_fp32_to_bf16")


def test_an_outlier_is_told_beside_its_like():
    said, _ = said_of(OwnError(0, 2e-5, Floor(5e-4, 5e-4), 0.5, suspect=3.0))
    elements = Message("compare/some-elements", percent=50.0)
    check_said(said, "compare/replay-outlier", error=2e-5, elements=elements)


@pytest.mark.parametrize(
    ("target", "golden", "code", "values"),
    [
        (2, 3, "unmatched", {"target": 2, "golden": 3}),
        (2, 0, "unmatched-target", {"count": 2}),
        (0, 3, "unmatched-golden", {"count": 3}),
    ],
)
def test_unmatched_tensors_are_counted_by_side(target, golden, code, values):
    check_said(counted(target, golden), f"compare/{code}", **values)


@pytest.mark.parametrize(
    ("numbers", "code", "values"),
    [
        ([4, 4], "iteration", {"number": 4}),
        ([4, 5], "iterations", {"numbers": [4, 5]}),
        ([6, 4, 5], "iterations-range", {"first": 4, "last": 6}),
        ([4, 5, 7], "iterations", {"numbers": [4, 5, 7]}),
    ],
    ids=str,
)
def test_iterations_are_named_one_by_one_or_as_a_range(numbers, code, values):
    check_said(named_iterations(numbers), f"compare/{code}", **values)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (None, []),
        ([], []),
        (["kernel"], []),
        (["other"], [("other",)]),
        (["kernel", "next"], [("kernel", "next")]),
    ],
    ids=str,
)
def test_a_kernel_is_told_to_stand_for_the_operators_it_was_made_of(names, told):
    attr = "" if names is None else small.ge_attr("_datadump_original_op_names", names)
    graph = small.ge_graph(f'op {{ name: "kernel" type: "Conv2D" {attr} }}')
    trace = SimpleNamespace(
        pairing=SimpleNamespace(target=SimpleNamespace(graph=lambda block: graph))
    )
    event = SimpleNamespace(block=None, op=0, origin_op=0)
    assert [one.values["names"] for one in _stands_for(trace, event)] == told
