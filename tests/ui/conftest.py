"""Widgets without a kernel: handlers that raise fail the test, and no widget is left behind."""

import threading
from types import MethodType

import distributed
import ipywidgets as W
import pytest
from ipywidgets.widgets import widget as widgets

import workbench as wb
from kit.build.jobs import PRODUCT, write_job
from kit.face import figures
from workbench.ui import background

SECONDS = 60
"""Until which a test fails that waits."""


@pytest.fixture(autouse=True)
def strict_callbacks(monkeypatch):
    """ipywidgets logs what a handler raises and goes on; a test would pass falsely."""

    def call(self, *arguments, **options):
        values = [callback(*arguments, **options) for callback in self.callbacks]
        return next((value for value in values if value is not None), None)

    monkeypatch.setattr(W.CallbackDispatcher, "__call__", call)


@pytest.fixture(autouse=True)
def work_at_once(monkeypatch):
    """What panels do in the background is done when their handler returns, unless a test wants `real_threads`."""
    real = background.start
    monkeypatch.setattr(background, "start", lambda run: run())
    return lambda: monkeypatch.setattr(background, "start", real)


@pytest.fixture
def real_threads(work_at_once):
    """Background work runs on threads, as in a notebook; wait for it."""
    work_at_once()


@pytest.fixture(autouse=True)
def blank_figures():
    """Figures of matplotlib are empty, unless a test wants its `pictures`."""
    with figures.blank_figures() as undo:
        yield undo


@pytest.fixture(scope="session")
def job_folder(tmp_path_factory):
    """A job of two ranks and two iterations, compared: its trees, and its result in ``result``; in ``given`` that
    of one unit with a graph file.

    Rank 1 is wrong in iteration 1.
    """
    top = tmp_path_factory.mktemp("job")
    golden = write_job(top / "golden", ranks=2, device="reference")
    target = write_job(
        top / "target", ranks=2, faults=(f"scaled-output:{PRODUCT}:1.5,rank=1,iteration=1",)
    )
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        wb.compare_job(target, golden, out=top / "result", client=client)
        graph = min(golden.rglob("ms_output_trace_code_graph_*.ir"))
        wb.compare_job(
            target, golden, ranks="0", iterations="0", golden_graph=str(graph), client=client,
            out=top / "given",
        )  # fmt: skip
    return top


@pytest.fixture
def pictures(blank_figures):
    """Figures are drawn, as in a notebook, for a test that compares them."""
    blank_figures()


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """A panel that is closed leaves no widget in the kernel; each test closes what it opens."""
    before = set(widgets._instances)
    yield
    left = [widgets._instances[key] for key in set(widgets._instances) - before]
    for item in left:
        item.close()
    assert [type(item).__name__ for item in left] == []


class Gate:
    """Takes the place of a function that takes long: a call goes on when the test says so."""

    def __init__(self, function):
        self._function, self.calls = function, []
        self._began, self._open = threading.Semaphore(0), threading.Event()

    def __call__(self, *arguments, **options):
        self.calls.append(arguments)
        self._began.release()
        assert self._open.wait(SECONDS)
        return self._function(*arguments, **options)

    def __get__(self, item, kind=None):
        return self if item is None else MethodType(self, item)

    def wait(self):
        """Wait until there is a call."""
        assert self._began.acquire(timeout=SECONDS)

    def open(self):
        """Let this and all other calls go on."""
        self._open.set()


@pytest.fixture
def gate(monkeypatch, real_threads):
    """Make a function wait, by its place: ``gate(module, name)``."""
    made = []

    def put(home, name):
        made.append(Gate(getattr(home, name)))
        monkeypatch.setattr(home, name, made[-1])
        return made[-1]

    yield put
    for one in made:
        one.open()
