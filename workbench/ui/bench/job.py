"""Long work in one worker thread, with progress at a bearable rate and a way to stop it.

A loop inside a button's handler blocks the kernel, or cannot be stopped, depending on the version
of ipykernel; a thread with an `Event` works with every one. JupyterLab drops all output after a
thousand messages a second, so progress is passed on ten times a second at most.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Literal

import traitlets

from workbench.core.long_work import Stopped, stoppable
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.session.comparison import Comparison

    Work = Callable[["Job"], Any]
    State = Literal["ready", "running", "done", "cancelled", "failed"]

HERTZ = 10.0
"""Progress is passed on this often at most."""


class Cancelled(Exception):
    """Raised inside the work when its job was cancelled; ``result`` is what can be kept of it."""

    def __init__(self, result: Any = None) -> None:
        super().__init__(Message("ui/cancelled-empty"))
        self.result = result


class Job:
    """One piece of work: ``state``, ``result``, ``error``, and its progress.

    ``work(job)`` calls ``job.report`` between its steps, or ``job.note`` if it asks ``job.cancelled`` itself.
    ``changed(job)`` is called from the worker at every change of state, and for progress at most `HERTZ` times
    a second.
    """

    def __init__(self, work: Work, changed: Callable[[Job], None]) -> None:
        self._work, self._changed = work, changed
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._last = 0.0
        self.state: State = "ready"
        self.result: Any = None
        self.error: BaseException | None = None
        self.done, self.total, self.text = 0, 0, ""
        self.seconds = 0.0

    def start(self) -> Job:
        """Begin; returns at once."""
        self.state = "running"
        self._thread = threading.Thread(target=self._run, name="workbench-job", daemon=True)
        self._thread.start()
        return self

    def cancel(self) -> None:
        """Ask the work to stop at its next report."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; return whether it came in time (seconds)."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self.state not in ("ready", "running")

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop.is_set()

    def report(self, done: int, total: int, text: str) -> None:
        """Note progress; raises `Cancelled` if the job was cancelled. ``total`` 0: unknown."""
        if self._stop.is_set():
            raise Cancelled
        self.note(done, total, text)

    def note(self, done: int, total: int, text: str) -> None:
        """Note progress, whether the job was cancelled or not."""
        self.done, self.total, self.text = done, total, text
        now = time.monotonic()
        if now - self._last >= 1 / HERTZ:
            self._last = now
            self._changed(self)

    def _run(self) -> None:
        begin = time.monotonic()
        state: State = "done"
        try:
            self._changed(self)
            self.result = self._work(self)
        except Cancelled as stopped:
            self.result, state = stopped.result, "cancelled"
        except BaseException as error:
            self.error, state = error, "failed"
        self.seconds = time.monotonic() - begin
        self.state = state
        self._changed(self)


def compared(job: Job, work: Callable[..., Comparison]) -> Comparison:
    """Run or compare (a method of a workbench) in a job; raises `Cancelled` with a comparison that is partial."""
    try:
        with stoppable(lambda: job.cancelled and not job.total):  # nothing is counted yet
            found = work(report=job.note, cancelled=lambda: job.cancelled)
    except Stopped:
        raise Cancelled from None
    if found.result.partial:
        raise Cancelled(found)
    return found


class Runner(traitlets.HasTraits):
    """The one long work of a workbench at a time: its ``state`` and ``progress`` (done, total, text), to be observed.

    ``total`` is 0 while it is unknown. Observers are called from the worker's thread.
    """

    state = traitlets.Unicode("ready")
    progress = traitlets.Tuple(default_value=(0, 0, ""))

    def __init__(self) -> None:
        super().__init__()
        self.job: Job | None = None

    @property
    def busy(self) -> bool:
        """Whether something runs."""
        return self.state == "running"

    def start(self, work: Work) -> Job | None:
        """Begin; returns the job, or ``None`` while another one runs."""
        if self.busy:
            return None
        self.state = "running"
        self.job = Job(work, self._note)
        return self.job.start()

    def cancel(self) -> None:
        """Ask what runs to stop."""
        if self.job is not None:
            self.job.cancel()

    def _note(self, job: Job) -> None:
        self.progress = (job.done, job.total, job.text)
        self.state = job.state
