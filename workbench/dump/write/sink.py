"""Where trees go to as they grow: files, or counts of a preview; and the clock of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
    from workbench.core.words import Message
    from workbench.dump.formats.container import Container
    from workbench.run.layout import Lie


@dataclass
class Clock:
    """Time and random numbers of a run, the same for the same seed; ``now`` is in microseconds."""

    seed: int = 0
    now: int = 1_700_000_000_000_000
    random: Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def tick(self) -> int:
        """Return the time of the next event, a little later than the last one."""
        self.now += self.random.randrange(200, 1200)
        return self.now


def time_folder(now: int) -> str:
    """Name of a folder: year to second of a time in microseconds."""
    return f"{datetime.fromtimestamp(now // 1_000_000, UTC):%Y%m%d%H%M%S}"


class Content(NamedTuple):
    """A tensor about to become a file: what is in it, as far as that is known.

    ``shape`` is ``None`` if it is unknown, ``array`` if nothing is computed; ``nbytes`` are those
    of the elements in memory. ``there`` is the array as a device has it, where that is known.
    """

    spec: TensorSpec
    nbytes: int = 0
    array: NDArray[Any] | None = None
    there: NDArray[Any] | None = None

    def laid(self, lie: Lie) -> Content:
        """Return it as it lies on the device; raises FormatError if it cannot lie so."""
        there, size = self.spec._replace(shape=lie.shape), self.spec.size
        if not lie.is_cut or lie.held or there.size is None or not size:
            return self
        if self.there is not None and self.there.shape == lie.shape:
            return Content(there, self.there.nbytes, self.there)
        array = None if self.array is None else lie.laid(self.array)
        return Content(there, self.nbytes // size * there.size, array)


class Sink(Protocol):
    """Where a tree goes to; paths are relative to its root, with slashes."""

    def content(self, record: TensorRecord) -> Content | None:
        """What a record holds; ``None`` if it has statistics alone."""
        ...

    def figures(
        self, content: Content, categories: Sequence[str], precision: str = ""
    ) -> Mapping[str, float | int | str]:
        """Figures of a tensor under their column titles.

        A kernel of the device computes them with a ``precision``, the host without.
        """
        ...

    def leaf(self, path: str, iteration: int | None) -> None:
        """Take note of the folder of one iteration, or of one that stands outside iterations."""
        ...

    def text(self, path: str, text: str) -> None:
        """Take a text file."""
        ...

    def data(self, path: str, data: bytes) -> None:
        """Take a binary file."""
        ...

    def table(self, path: str, lines: Sequence[str]) -> None:
        """Take a statistic.csv, its header first."""
        ...

    def tensor(self, path: str, content: Content, stored: TensorSpec) -> None:
        """Take an npy file of the stored dtype whose header says the stored shape."""
        ...

    def skip(self, key: TensorKey, reason: Message) -> None:
        """Take note of a tensor that was asked for and leaves no trace."""
        ...


class GeSink(Sink, Protocol):
    """Where a tree goes to."""

    def container(
        self, path: str, container: Container | None, payload: Iterable[NDArray[np.uint8]]
    ) -> None:
        """Take a container; ``None`` if a size is unknown. ``payload`` is made when it is read."""
        ...

    def raw(self, path: str, size: int | None, payload: Iterable[NDArray[np.uint8]]) -> None:
        """Take bare bytes, so many in all; ``payload`` is made when it is read."""
        ...

    def device_figures(self, content: Content, dialect: str) -> Mapping[str, float | int | str]:
        """Figures that the device computes of a tensor as it lies there, under column titles."""
        ...
