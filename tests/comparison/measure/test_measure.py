"""From pairs to figures: statistics against tensors, distrusted files, and what stops the work."""

from __future__ import annotations

import hashlib
import math
import threading
from dataclasses import replace

import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.bind.anomalies import MISLABELLED, REWRITTEN, UNUSED, UNWRITTEN
from workbench.comparison.measure import measure as measure_module
from workbench.comparison.measure.measure import measure_pair, measure_pairs
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.measure.tensors import kernel_name
from workbench.comparison.pair.pairing import Pair, Pairing
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.formats.npy import NpySource

X = np.float32([[1, -2, 3], [4, 0, 2]])
NO = ((), ())
needs_library = pytest.mark.skipif(
    kernel_name() == "numpy", reason="NumPy's kernel holds Python's lock: one thread measures"
)


def tensor(data, path="") -> TensorRecord:
    key = TensorKey("Add", "a", "output", 0)
    return TensorRecord(key, TensorSpec(data.dtype.name, None), ArraySource(data), path=path)


def stored(path, data) -> TensorRecord:
    np.save(path, data)
    return replace(tensor(data, str(path)), source=NpySource(str(path)))


def row(shape=(2, 3), **figures) -> TensorRecord:
    titles = {k.replace("_", " "): v for k, v in figures.items()}
    label = TensorSpec("float32", shape)
    return TensorRecord(TensorKey("Add", "a", "output", 0), label, None, titles)


def pair(target, golden) -> Pair:
    return Pair(target, golden, None, None, "output", 0, "name", 1.0, "a")


def measured(target, golden, kinds=NO):
    return measure_pair(pair(target, golden), kinds)


def test_two_tensors_are_measured():
    found = measured(tensor(X + np.float32(0.5)), tensor(X))
    norm = math.sqrt(6 * 0.25) / math.sqrt(1 + 4 + 9 + 16 + 4)
    assert found.usable
    assert found.error == pytest.approx(norm)


def test_a_tensor_against_its_own_statistics_has_no_error():
    figures = {"Max Value": 4.0, "Min Value": -2.0, "Avg Value": 8 / 6, "L2Norm Value": 34**0.5}
    only = replace(row(), statistics=figures)
    for sides in ((tensor(X), only), (only, tensor(X))):
        found = measured(*sides)
        assert found.usable
        assert found.error == pytest.approx(0, abs=1e-7)
        assert not found.divergence.equal


def test_a_tensor_is_equal_to_statistics_with_its_digest():
    digest = hashlib.md5(X.tobytes(), usedforsecurity=False).hexdigest()
    found = measured(tensor(X), row(Max_Value=4.0, MD5=digest))
    assert found.divergence.equal


def test_a_tensor_with_nan_never_agrees_with_its_statistics():
    x = X.copy()
    x[0, 0] = np.nan
    found = measured(tensor(x), row(Max_Value=4.0, NaN_Count=1.0))
    assert found.error == math.inf


def test_statistics_of_tensors_of_different_size_are_not_compared():
    """Equal figures of different tensors: without this a truncated tensor would pass."""
    ours, theirs = row((2, 3), Max_Value=1.0), row((2, 4), Max_Value=1.0)
    check_said(measured(ours, theirs).reason, "compare/sizes-differ", target=6, golden=8)
    assert measured(tensor(X), theirs).sizes_differ


def test_statistics_of_a_reshaped_tensor_are_compared():
    assert measured(row((2, 3), Max_Value=1.0), row((6,), Max_Value=1.0)).usable


def test_tensors_of_different_size_have_a_reason():
    found = measured(tensor(X), tensor(X[:1]))
    assert (found.usable, found.sizes_differ) == (False, True)


def test_a_broken_file_is_a_reason(tmp_path):
    record = stored(tmp_path / "a.npy", X)
    (tmp_path / "a.npy").write_bytes(b"broken")
    found = measured(record, tensor(X))
    assert not found.usable
    assert found.reason.code == "compare/unreadable"
    assert "a.npy" in str(found.reason.values["why"])  # whose file it is


# --- distrusted tensors ----------------------------------------------------------------------


def test_a_distrusted_tensor_is_measured_but_may_not_decide():
    found = measured(tensor(X), tensor(X), ((UNUSED,), ()))
    assert (found.usable, found.reason) == (
        False,
        Message("compare/distrusted-target", target=UNUSED),
    )


def test_what_each_side_mislabels_otherwise_is_told_of_both():
    found = measured(tensor(X), tensor(X), ((UNUSED,), (UNWRITTEN,)))
    check_said(found.reason, "compare/distrusted-both", target=UNUSED, golden=UNWRITTEN)
    found = measured(tensor(X), tensor(X), ((UNUSED,), (UNUSED,)))
    check_said(found.reason, "compare/distrusted-alike", target=UNUSED, golden=UNUSED)


def test_rewritten_state_may_decide():
    found = measured(tensor(X), tensor(X), ((REWRITTEN,), (REWRITTEN,)))
    assert (found.usable, found.rewritten, found.reason) == (True, True, None)


def halves(real, label):
    """What a CPU kernel leaves behind a header for a type half as wide."""
    return real.ravel().view(label)[: real.size].reshape(real.shape)


def test_the_right_half_of_a_mislabelled_tensor_finds_where_an_error_begins(tmp_path):
    ours = stored(tmp_path / "a.npy", halves(X, np.float16))
    found = measured(ours, tensor(X), ((MISLABELLED,), ()))
    assert (found.usable, found.salvaged, found.divergence.equal) == (True, True, True)
    assert found.divergence.size == 3
    check_said(found.reason, "compare/distrusted-target", target=MISLABELLED)


def test_a_mislabelled_tensor_of_float64_is_read_as_such(tmp_path):
    real = X.astype(np.float64)
    ours = stored(tmp_path / "a.npy", halves(real, np.float32))
    assert measured(ours, tensor(real), ((MISLABELLED,), ())).error == 0.0


def test_nothing_is_recovered_of_a_mislabelled_tensor_in_memory():
    assert not measured(tensor(halves(X, np.float16)), tensor(X), ((MISLABELLED,), ())).usable


@pytest.mark.parametrize("label", [np.int32, np.int8])
def test_mislabelled_integers_are_not_read_as_floats(tmp_path, label):
    """Which wider type the kernel wrote is not in the file; a guess would be noise that blames."""
    real = np.arange(6).astype(np.int64)
    ours = stored(tmp_path / "a.npy", real.view(label)[:6])
    found = measured(ours, tensor(real), ((MISLABELLED,), ()))
    assert not found.usable


# --- the whole list --------------------------------------------------------------------------


def many(count: int) -> Pairing:
    pairs = (pair(tensor(X), tensor(X))._replace(order=-number) for number in range(count))
    return Pairing(Bound(), Bound(), tuple(pairs))


class Bound:
    oddities: dict[int, tuple[str, ...]] = {}  # noqa: RUF012


def test_pairs_are_measured_in_order_and_progress_is_told():
    told = []
    found = measure_pairs(many(3), progress=lambda *step: told.append(step)).items
    assert [item.pair.order for item in found] == [-2, -1, 0]
    assert told == [(1, 3, "a"), (2, 3, "a"), (3, 3, "a")]


def test_what_was_cancelled_says_so():
    asked = iter([False, False, True])
    found = measure_pairs(many(4), cancelled=lambda: next(asked, True)).items
    assert [item.reason for item in found][-1] == CANCELLED
    assert len(found) == 4


# --- several at a time -----------------------------------------------------------------------

LARGE = 1 << 16
"""Elements of float32 with which a pair of files is measured in a thread."""


@pytest.fixture
def mixed(tmp_path):
    """Pairs of files of which every third is small, one is cut short, one has NaN and one has other sizes."""
    draw, pairs = np.random.default_rng(4), []
    for number in range(12):
        golden = draw.standard_normal(LARGE if number % 3 else 8).astype(np.float32)
        target = golden * (1 + np.float32(1e-3) * draw.standard_normal(golden.size)).astype("f4")
        if number == 4:
            target[17] = np.nan
        if number == 7:
            target = target[:-1]
        sides = (stored(tmp_path / f"{side}{number}.npy", data)
                 for side, data in (("t", target), ("g", golden)))  # fmt: skip
        pairs.append(pair(*sides)._replace(order=number))
    cut = tmp_path / "t5.npy"
    cut.write_bytes(cut.read_bytes()[:-4])
    return Pairing(Bound(), Bound(), tuple(pairs))


def figures(measures):
    return [
        (item.reason and item.reason.code, item.divergence._replace(metrics={}, reason=None),
         dict(item.divergence.metrics)) for item in measures.items
    ]  # fmt: skip


@needs_library
def test_threads_change_no_figure_and_no_order(mixed):
    alone, several = (measure_pairs(mixed, threads=threads) for threads in (1, 3))
    assert figures(several) == figures(alone)
    np.testing.assert_array_equal(several.figures, alone.figures)
    for number, item in enumerate(several.items):
        if item.divergence.metrics:
            row = several.figures[number]
            np.testing.assert_array_equal(list(item.divergence.metrics.values()), row)
    assert [item.pair.order for item in several.items] == [*range(12)]


@needs_library
def test_pairs_are_measured_in_threads_where_their_files_are_large(mixed, monkeypatch):
    where = []
    original = measure_module.measure_pair

    def noted(one, *given, **more):
        here = threading.current_thread() is threading.main_thread()
        where.append((one.golden.source.spec().size == LARGE, here))
        return original(one, *given, **more)

    monkeypatch.setattr(measure_module, "measure_pair", noted)
    measure_pairs(mixed, threads=2)
    assert sorted(where) == [(False, True)] * 4 + [(True, False)] * 8


@pytest.mark.parametrize("stop", [KeyboardInterrupt, None], ids=["interrupt", "cancelled"])
def test_threads_end_with_the_work(mixed, stop):
    """What is measured by then stays."""
    before, told = threading.active_count(), []

    def progress(*step):
        told.append(step)
        if len(told) == 5 and stop is not None:
            raise stop

    given = {"progress": progress, "cancelled": lambda: stop is None and len(told) == 5}
    found = measure_pairs(mixed, threads=2, **given).items
    assert threading.active_count() == before
    reasons = [item.reason == CANCELLED for item in found]
    assert reasons == [False] * 5 + [True] * 7
