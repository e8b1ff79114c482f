"""Work of a panel that takes a while: beside the cells and the other handlers, which it would keep waiting.

A handler may run on the thread that runs cells, as in ipykernel 7.4. So what reads whole tensors, draws figures or
writes files only begins in one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import traitlets as T

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.ui.widgets.alerts import Alert

    Show = Callable[[], None]
    Work = Callable[[], Show | None]


def start(run: Callable[[], None]) -> None:
    """Run something on a thread of its own."""
    threading.Thread(target=run, name="workbench-panel", daemon=True).start()


class Background(T.HasTraits):
    """One work of a panel at a time; of those that wait, only the newest is kept. `Part.watch` follows ``busy``.

    A work returns what shows its outcome (``None``: nothing does), which is called under the panel's ``lock``. Errors
    of either are shown in its ``alert``.
    """

    busy: Any = T.Bool(False)

    def __init__(self, lock: threading.RLock, alert: Alert) -> None:
        super().__init__()
        self._lock, self._alert = lock, alert
        self._next: tuple[Work, Alert] | None = None
        self._closed = False
        self._idle = threading.Event()
        self._idle.set()

    def ask(self, work: Work, alert: Alert | None = None) -> None:
        """Begin a work, now or after the present one; it takes the place of one that waits.

        Its errors are shown in an ``alert`` of its own, if there is one.
        """
        with self._lock:
            if self._closed:
                return
            self._next = (work, alert or self._alert)
            if self.busy:
                return
            self._idle.clear()
            self.busy = True
        start(self._run)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; return whether it came in time (seconds)."""
        return self._idle.wait(timeout)

    def close(self) -> None:
        """Begin nothing any more, and show nothing of what runs."""
        with self._lock:
            self._closed, self._next = True, None

    def _run(self) -> None:
        while True:
            with self._lock:
                wanted, self._next = self._next, None
                if wanted is None:
                    self.busy = False
                    self._idle.set()
                    return
            self._do(*wanted)

    def _do(self, work: Work, alert: Alert) -> None:
        try:
            show = work()
            with self._lock:
                if show is not None and not self._closed:
                    show()
        except BaseException as error:
            with self._lock:
                if not self._closed:
                    alert.show(error)
