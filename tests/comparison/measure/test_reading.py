"""Pairs are read once, twice where their squares leave float64, and in segments by several threads."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.comparison.measure import reading
from workbench.comparison.measure.kernel_numpy import NumpyKernel
from workbench.comparison.measure.metrics import CANCELLED, finish
from workbench.comparison.measure.reading import Job, OpenPair
from workbench.comparison.measure.tensors import measure
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource
from workbench.dump.formats.npy import NpySource


def measured(target, golden, answers):
    """What is measured while these are the answers to whether it is cancelled, and how many are left."""
    left = iter(answers)
    sources = (ArraySource(np.asarray(one)) for one in (target, golden))
    return measure(*sources, kernel="numpy", cancelled=lambda: next(left)), len([*left])


T, G = np.array([3.0, 4.0]), np.array([4.0, 3.0])


@pytest.mark.parametrize(
    ("scale", "reads"), [(1.0, 1), (2.0**500, 2), (2.0**-500, 2), (2.0**400, 1), (2.0**-400, 1)]
)
def test_what_leaves_float64_when_squared_is_read_again_as_numbers_about_one(scale, reads):
    found, left = measured(scale * T, scale * G, [False] * 4)
    assert left == 4 - reads
    assert found.error == pytest.approx(math.sqrt(2) / 5)
    expected = {
        "CosineSimilarity": 24 / 25, "MaxAbsoluteError": scale, "RootMeanSquareError": scale,
        "MeanRelativeError": 7 / 24 if scale >= 1 else 1 / 4, "TargetMean": 3.5 * scale, "GoldenStd": 0.5 * scale,
    }  # fmt: skip
    assert {name: found.metrics[name] for name in expected} == pytest.approx(expected)


def test_one_number_far_out_does_not_cost_the_others_their_scale():
    found, left = measured(np.array([2.0**500, 1.0]), np.array([2.0**500, 1.0]), [False] * 4)
    assert (left, found.equal, found.metrics["TargetMin"]) == (2, True, 1.0)


@pytest.mark.parametrize(("scale", "answers"), [(1.0, [True]), (2.0**500, [False, True])])
def test_cancelling_ends_either_reading(scale, answers):
    found, left = measured(scale * T, scale * G, answers)
    assert (found.reason, found.size, found.metrics, left) == (CANCELLED, 2, {}, 0)


def test_wide_integers_keep_their_last_bit():
    found, _ = measured(np.array([2**60, 7]), np.array([2**60 + 1, 7]), [False])
    assert (found.metrics["MaxAbsoluteError"], found.worst) == (1.0, 0)


def test_complex_numbers_are_two_numbers_each_on_both_sides():
    found, _ = measured(np.array([1 + 2j, 3 - 4j]), np.array([1.0, 3.0]), [False])
    assert (found.size, found.worst) == (2, 1)
    assert found.metrics["MeanAbsoluteError"] == (0 + 2 + 0 + 4) / 4
    assert (found.metrics["TargetMin"], found.metrics["GoldenZero"]) == (-4.0, 2)


# --- segments --------------------------------------------------------------------------------


class Parallel(NumpyKernel):
    """A kernel that may run in several threads, and need not be compiled."""

    parallel = True


SEGMENT, SIZE = 8, 30


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two files of several segments, which differ in the last one most."""
    monkeypatch.setattr(reading, "SEGMENT", SEGMENT)
    golden = np.arange(1, SIZE + 1, dtype=np.float32)
    target = golden.copy()
    target[[3, 17, 29]] += [1, 2, 3]
    paths = [tmp_path / "t.npy", tmp_path / "g.npy"]
    for path, array in zip(paths, (target, golden), strict=True):
        np.save(path, array)
    return [NpySource(str(path)) for path in paths]


def gathered(sources, **settings):
    job = Job(*sources, Parallel, **settings)
    with OpenPair(*sources) as pair:
        return job.gather(pair)


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 9])
def test_segments_give_what_the_whole_gives(files, threads):
    found = finish(gathered(files, threads=threads))
    assert (found.size, found.worst, found.mismatch) == (SIZE, 29, 0)
    assert found.metrics["MeanAbsoluteError"] == pytest.approx(6 / SIZE)
    assert found.metrics["MaxRelativeError"] == 1 / 4
    assert (found.metrics["TargetMax"], found.metrics["GoldenMean"]) == (33, (SIZE + 1) / 2)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_segments_end_where_the_user_interrupts(files, after):
    left = iter([False] * after)
    assert gathered(files, threads=1, cancelled=lambda: next(left, True)) is None


@pytest.mark.parametrize("threads", [1, 3])
def test_a_file_that_was_cut_is_an_error_of_the_caller(files, threads, monkeypatch):
    segment = OpenPair.segment

    def cut(pair, first, count):
        if first == 2 * SEGMENT:
            raise FormatError("compare/not-numbers", got="cut")
        return segment(pair, first, count)

    monkeypatch.setattr(OpenPair, "segment", cut)
    with pytest.raises(FormatError):
        gathered(files, threads=threads)


def test_small_files_and_kernels_for_one_thread_take_no_segments(files, monkeypatch):
    monkeypatch.setattr(OpenPair, "segment", None)
    monkeypatch.setattr(Parallel, "parallel", False)
    assert gathered(files).size == SIZE
    monkeypatch.setattr(Parallel, "parallel", True)
    monkeypatch.setattr(reading, "SEGMENT", SIZE // 2 + 1)
    assert gathered(files).size == SIZE
    monkeypatch.setattr(reading, "SEGMENT", SIZE // 2)
    with pytest.raises(TypeError):
        gathered(files)
