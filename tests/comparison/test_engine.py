"""Verdict, ledger and anomalies of a whole comparison, under every profile."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import START, Net, chain, in_memory, shoot
from kit.evidence import clauses, defects, the
from kit.words import check_said, refused
from workbench.comparison import stages
from workbench.comparison.engine import compare_dumps
from workbench.comparison.measure.profiles import NOISE_FLOOR, PROFILES, Limit, profile
from workbench.comparison.pair.pairing import Selection
from workbench.dump.formats.npy import NpySource
from workbench.dump.index import index_of
from workbench.dump.reader import load

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
SHOTS = shoot(GRAPH, VALUES)
GOLDEN = in_memory(SHOTS, GRAPH)
THRESHOLDS = [name for name in PROFILES if name != NOISE_FLOOR]
LOOSE = ["msaccucmp", "msprobe", "msprobe-mindspore", "tpu-mlir"]
"""Those that take 10⁻⁴ of numbers around 1, and look at the cosine."""


def compared(target, golden=GOLDEN, **options):
    return compare_dumps(target, golden, **options).result


def spoiled(change, name="Default/Tanh-op0"):
    return in_memory(shoot(GRAPH, VALUES, alter={name: change}), GRAPH)


def poke(value):
    def change(x):
        x = x.copy()
        x.flat[5] = value
        return x

    return change


# --- verdicts --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROFILES)
def test_every_dump_passes_against_itself(name):
    result = compared(GOLDEN, profile=name)
    assert (result.verdict, result.findings) == ("pass", ())
    assert {row.status for row in result.rows} == {"equal"}


def test_missing_tensors_alone_are_told_with_the_reason():
    half = in_memory([s for s in SHOTS if "Tanh" not in s.name], GRAPH)
    result = compared(half)
    assert (result.verdict, [f.kind for f in result.findings]) == (
        "incomplete",
        ["cut-short", "incomplete"],
    )
    missing = clauses(result)[0].values["gaps"]
    the(missing, "gap-outputs", names=("Default/Tanh-op0",))
    the(missing, "gap-unmatched", count=1, side="golden")


def test_nothing_in_common_is_inconclusive():
    other = chain("Exp", "Sigmoid", "Neg")
    values = small.given(other)
    outputs = [one for one in shoot(other, values) if one.io == "output"]
    golden = in_memory([one for one in SHOTS if one.io == "output"], GRAPH)
    result = compared(in_memory(outputs, other), golden)
    assert result.verdict == "inconclusive"
    assert result.coverage.matched == 0


def test_only_distrusted_tensors_are_inconclusive():
    """Every file of the target breaks; there is nothing left that could speak for agreement."""
    broken = [replace(r, source=Broken()) for r in GOLDEN.records]
    result = compared(replace(GOLDEN, index=index_of(broken)))
    assert result.verdict == "inconclusive"
    assert {row.status for row in result.rows} == {"uncomparable"}


class Broken:
    def spec(self):
        from workbench.core.errors import FormatError

        raise FormatError("core/missing", place="a.npy", got="data")

    array = spec


def test_one_broken_tensor_leaves_the_comparison_incomplete():
    first, *rest = GOLDEN.records
    result = compared(replace(GOLDEN, index=index_of([replace(first, source=Broken()), *rest])))
    assert result.verdict == "incomplete"
    (row,) = (row for row in result.rows if row.status == "uncomparable")
    assert row.reason_code == "compare/unreadable"
    check_said(row.reason.values["why"], "core/missing", place="a.npy")


def test_an_interrupted_comparison_never_passes():
    done = []
    result = compared(
        GOLDEN, progress=lambda *told: done.append(told), cancelled=lambda: len(done) >= 5
    )
    assert (result.verdict, result.partial) == ("warn", True)


def test_swapping_the_sides_keeps_verdict_and_ledger():
    target = in_memory([s for s in SHOTS if "ReLU" not in s.name] + SHOTS[-1:], GRAPH)
    there, back = compared(target), compared(GOLDEN, target)
    assert there.verdict == back.verdict == "warn"
    assert there.coverage.matched == back.coverage.matched
    assert there.coverage.unmatched_target == back.coverage.unmatched_golden
    assert there.coverage.unmatched_golden == back.coverage.unmatched_target


def test_an_iteration_nobody_has_is_inconclusive():
    result = compared(GOLDEN, selection=Selection(iteration=(7, 7)))
    assert result.verdict == "inconclusive"
    assert result.coverage.skipped == {
        "golden:not-selected": len(SHOTS),
        "target:not-selected": len(SHOTS),
    }


# --- profiles --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_non_finite_number_fails_under_every_profile(name, value):
    """All other elements agree, so every figure over finite elements is perfect."""
    result = compared(spoiled(poke(value)), profile=name)
    assert result.verdict == "fail"
    assert [f.kind for f in defects(result)] == ["non-finite"]


@pytest.mark.parametrize("name", PROFILES)
def test_nan_on_both_sides_fails_under_every_profile(name):
    dump = spoiled(poke(np.nan))
    assert compared(dump, dump, profile=name).verdict == "fail"


@pytest.mark.parametrize("name", LOOSE)
def test_an_error_inside_the_thresholds_is_worth_knowing_only(name):
    result = compared(spoiled(lambda x: x + np.float32(1e-4)), profile=name)
    assert result.verdict == "pass"
    assert {f.kind for f in result.findings} == {"info"}


@pytest.mark.parametrize("name", LOOSE)
def test_an_error_beyond_the_thresholds_fails_and_says_which(name):
    result = compared(spoiled(lambda x: -x), profile=name)
    assert result.verdict == "fail"
    assert result.findings[0].op_name == "Default/Tanh-op0"
    (row,) = (row for row in result.rows if row.status == "fail")
    assert row.reason_code == "compare/limits"
    assert any(limit.startswith("CosineSimilarity ≥ 0.99") for limit in row.reason.values["limits"])


@pytest.mark.parametrize("name", LOOSE)
def test_every_failure_under_a_profile_has_a_finding(name):
    """MatMul keeps the thresholds, Tanh behind it does not."""

    def grow(x):
        return x + np.float32(9e-4)

    result = compared(
        in_memory(shoot(GRAPH, VALUES, alter={"Default/MatMul-op1": grow, "Default/Tanh-op0": lambda x: -x}), GRAPH),
        profile=name,
    )  # fmt: skip
    assert result.verdict == "fail"
    assert any(f.defect and f.op_name == "Default/Tanh-op0" for f in result.findings)


@pytest.mark.parametrize("name", THRESHOLDS)
def test_figures_that_statistics_do_not_give_break_no_threshold(name):
    rows = [
        replace(r, source=None, statistics={"Max Value": float(r.source.data.max())})
        for r in GOLDEN.records
    ]
    result = compared(replace(GOLDEN, index=index_of(rows)), profile=name)
    assert result.verdict == "inconclusive"
    assert {row.reason_code for row in result.rows} == {"compare/figure-missing"}


def test_a_limit_is_kept_at_its_bound_and_never_by_nan():
    least, most = Limit("CosineSimilarity", low=0.99), Limit("MaxAbsoluteError", high=0.001)
    assert least.holds({"CosineSimilarity": 0.99})
    assert not least.holds({"CosineSimilarity": 0.989})
    assert most.holds({"MaxAbsoluteError": 0.001})
    assert not most.holds({"MaxAbsoluteError": float("nan")})
    assert not most.holds({})
    assert (str(least), str(most)) == ("CosineSimilarity ≥ 0.99", "MaxAbsoluteError ≤ 0.001")


def test_an_unknown_profile_names_the_known_ones():
    with refused("core/choice", subject="profile", got="strict", known=list(PROFILES)):
        profile("strict")


# --- anomalies and facts ---------------------------------------------------------------------


def test_what_is_left_out_is_an_anomaly_but_for_what_the_user_chose():
    old = shoot(GRAPH, VALUES, start=START - 9_000_000)
    stray = SHOTS[0]._replace(name="Default_Nobody-op0")
    target = in_memory([*old, *SHOTS, stray], GRAPH)
    kinds = {(a.side, a.kind) for a in compared(target).anomalies}
    assert kinds == {
        ("target", "older-run"), ("target", "several-runs"), ("target", "not-in-graph"),
    }  # fmt: skip
    chosen = compared(GOLDEN, selection=Selection(iteration=(7, 7)))
    assert chosen.anomalies == ()


def test_facts_name_devices_and_versions():
    npu = in_memory(SHOTS, GRAPH, info={"device_target": "Ascend", "ms_version": "2.6.0"})
    facts = compared(npu).facts
    assert facts["target device_target"] == "Ascend"
    assert facts["golden ms_version"] == "2.10.0"


@pytest.mark.parametrize("graphs", [(GRAPH,), ()])
def test_what_a_stop_left_unfollowed_is_not_judged(monkeypatch, graphs):
    """Without what its inputs explain, an error that was only handed on would count as the operator's own."""
    target = in_memory(shoot(GRAPH, VALUES, alter={"Default/Tanh-op0": poke(9.0)}), *graphs)
    golden = in_memory(SHOTS, *graphs)
    assert any(row.status == "fail" for row in compared(target, golden).rows)
    monkeypatch.setattr(stages, "Grace", lambda asked: lambda: True)
    result = compared(target, golden)
    assert result.partial
    of_operators = [row for row in result.rows if row.op_type != "Parameter"]
    assert {(row.status, row.reason_code) for row in of_operators} == {
        ("uncomparable", "compare/cancelled")
    }


def test_after_a_stop_no_file_is_opened(tmp_path, monkeypatch):
    paths = [small.on_disk(tmp_path / name, SHOTS, GRAPH) for name in ("target", "golden")]
    opened, payload = [], NpySource.payload
    monkeypatch.setattr(
        NpySource, "payload", lambda own, buffer: opened.append(own.path) or payload(own, buffer)
    )
    result = compared(*map(load, paths), cancelled=lambda: True)
    assert ({row.reason_code for row in result.rows}, opened) == ({"compare/cancelled"}, [])
    assert {row.target_spec.dtype for row in result.rows} == {"float32"}
    assert not compared(*map(load, paths)).partial
    assert opened


def test_what_is_kept_of_a_comparison_holds_no_tensors(tmp_path):
    large = Net()
    x = large.feed("x", SIDE)
    for op_type in ("ReLU", "Tanh", "Neg", "Tanh"):
        x = large.op(op_type, x, shape=SIDE)
    graph = large.graph(x)
    values = small.given(graph)
    wrong = shoot(graph, values, alter={graph.ops[0].name: lambda a: a * 1.5})
    paths = [
        small.on_disk(tmp_path / name, shots, graph)
        for name, shots in (("target", wrong), ("golden", shoot(graph, values)))
    ]
    bytes_of_one = 4 * SIDE[0] * SIDE[1]
    compared(*map(load, paths))  # what is loaded once
    tracemalloc.start()
    try:
        kept = compare_dumps(*map(load, paths))
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < bytes_of_one
    replayed = kept.flow.replayed
    place = next(iter(replayed.own_errors))
    assert replayed.attempt(*place).given[0].nbytes == bytes_of_one  # read again


SIDE = (512, 512)
