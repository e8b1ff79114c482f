"""BLAS runs in one thread while somebody asks for it, and as before afterwards."""

from __future__ import annotations

import subprocess
import sys
from threading import Barrier, Thread

import numpy as np  # noqa: F401 - brings its BLAS
import pytest
from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_limits

from workbench.comparison.one_thread import one_thread


def threads() -> set[int]:
    found = ThreadpoolController().select(user_api="blas").info()
    assert found
    return {one["num_threads"] for one in found}


@pytest.fixture
def three():
    with threadpool_limits(3, user_api="blas"):
        if threads() != {3}:
            pytest.skip("this BLAS has no threads")
        OpenBLASController.clear_controlling_thread(force=True)  # any thread may set limits
        yield


@pytest.mark.usefixtures("three")
def test_one_thread_and_as_many_as_before_afterwards():
    with one_thread():
        assert threads() == {1}
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {3}


@pytest.mark.usefixtures("three")
def test_an_error_lifts_the_limit():
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert threads() == {3}


@pytest.mark.usefixtures("three")
def test_comparisons_in_several_threads_leave_nothing_behind():
    entered, left = Barrier(2, timeout=10), Barrier(2, timeout=10)

    def first() -> None:
        with one_thread():
            entered.wait()
        left.wait()

    other = Thread(target=first)
    other.start()
    entered.wait()
    with one_thread():
        left.wait()
    other.join()
    assert threads() == {3}
    with one_thread():
        assert threads() == {1}
    assert threads() == {3}


@pytest.mark.usefixtures("three")
def test_a_comparison_computes_in_one_thread(monkeypatch):
    from kit.build.small_dumps import chain, given, in_memory, shoot
    from workbench.comparison import differing, engine

    graph = chain("MatMul", "Tanh")
    dump = in_memory(shoot(graph, given(graph)), graph)
    other = in_memory(shoot(graph, given(graph), alter={"Default/Tanh-op0": lambda a: -a}), graph)
    replay, seen = differing.replay, []

    def watched(*args, **named):
        seen.append(threads())
        return replay(*args, **named)

    monkeypatch.setattr(differing, "replay", watched)
    engine.compare_dumps(other, dump)
    assert seen == [{1}]
    assert threads() == {3}


def test_nothing_is_loaded_before_it_is_needed():
    code = "import sys, workbench.comparison.one_thread; sys.exit(bool({'numpy', 'threadpoolctl'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
