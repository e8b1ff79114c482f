"""Work on many items in threads, results in the order of the items.

Reading files and gathering sums run without Python's lock; what else is done about a pair does not. So threads
pay for pairs of middling size: the time of small ones is Python's own, and a large one is gathered by several
threads by itself (`workbench.comparison.measure.reading`).
"""

from __future__ import annotations

import os
from collections import deque
from contextvars import copy_context
from threading import Event
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from concurrent.futures import Future, ThreadPoolExecutor
    from typing import Self

    Stopped = Callable[[], bool]

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_THREADS = 4
"""Threads that are used unless somebody asks for a number: more would wait for the same memory."""

AHEAD = 3
"""Items a thread is given before their turn: one that it works on, and others that it finds at once."""

WINDOW = 256
"""Items among which those for threads are looked for, so that few results wait for their turn."""


LEAST_BYTES, MOST_BYTES = 1 << 18, 1 << 25
"""Bytes of both files of a pair for one thread: below, Python takes most of the time; above, several share a pair."""


def is_worth_thread(nbytes: int) -> bool:
    """Whether measuring files of so many bytes is reading and summing above all, and goes on in one thread."""
    return LEAST_BYTES <= nbytes < MOST_BYTES


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def count_threads(asked: int = 0) -> int:
    """Return how many threads to use; 0 asks for one a core, up to `MOST_THREADS`."""
    return asked or min(count_cores(), MOST_THREADS)


def in_order(
    items: Iterable[Item],
    work: Callable[[Item, Stopped | None], Result],
    worth: Callable[[Item], bool],
    threads: int = 0,
) -> Generator[Result]:
    """Yield what ``work`` makes of every item, in order; those for which ``worth`` is true are made in threads.

    ``work`` in a thread is given what says that it shall give up; the others, when their turn comes, ``None``: they
    run in the thread that asks for them. Threads see its context variables. Closing the generator stops them;
    nothing runs when that returns.

    >>> list(in_order([3, 1, 2], lambda item, _: item * item, worth=bool, threads=2))
    [9, 1, 4]
    """
    waiting: deque[tuple[Item, Future[Result] | None]] = deque()
    count = count_threads(threads)
    with _Threads(count) as pool:
        for item in items:
            waiting.append((item, pool.begin(work, item) if count > 1 and worth(item) else None))
            while pool.is_busy or len(waiting) >= WINDOW:
                yield pool.finish(work, *waiting.popleft())
        while waiting:
            yield pool.finish(work, *waiting.popleft())


class _Threads:
    """Threads that are started when the first item comes, and have ended when the ``with`` block is left."""

    def __init__(self, count: int) -> None:
        self._count, self._begun = count, 0
        self._stop = Event()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @property
    def is_busy(self) -> bool:
        """Whether every thread has found its next item already."""
        return self._begun >= self._count * AHEAD

    def begin(self, work: Callable[[Item, Stopped | None], Result], item: Item) -> Future[Result]:
        """Give an item to a thread."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._count)
        self._begun += 1
        return self._pool.submit(copy_context().run, work, item, self._stop.is_set)

    def finish(
        self,
        work: Callable[[Item, Stopped | None], Result],
        item: Item,
        future: Future[Result] | None,
    ) -> Result:
        """Return what becomes of an item whose turn it is."""
        if future is None:
            return work(item, None)
        self._begun -= 1
        return future.result()
