"""Tensors of a run: their description, their key and the record that joins both with the data.

A record in memory and a record on disk are one type; only ``source`` differs. Executors yield
records, writers filter them by plan, readers produce them again, and comparison measures them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from workbench._values import NamedTuple, dataclass
from workbench.core.dtypes import name_of

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView

    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.events import DeviceEvent

Io = Literal["input", "output"]
Slot = tuple[str, int]
"""Direction and place of a tensor among those of its operator."""

Held = TypeVar("Held")
_Default = TypeVar("_Default")


class TensorSpec(NamedTuple):
    """Dtype name (``float32``), shape (``None``: unknown) and format of a tensor.

    The dtype is one of `workbench.core.dtypes.DTYPES`, or the producer's own word if it is none.
    """

    dtype: str
    shape: tuple[int, ...] | None
    format: str = "DefaultFormat"

    @property
    def size(self) -> int | None:
        """Number of elements; ``None`` if the shape is unknown or has an open dimension."""
        if self.shape is None or min(self.shape, default=0) < 0:
            return None
        return math.prod(self.shape)


class TensorKey(NamedTuple):
    """Where a tensor stands in its run.

    ``op_name`` is the name its file carries; ``turn`` counts repetitions of one name inside one
    iteration (loops, a graph run twice), 0-based in order of time.
    """

    op_type: str
    op_name: str
    io: Io
    slot: int
    graph_id: int = 0
    iteration: int = 0
    rank: int = 0
    net_name: str = ""
    turn: int = 0

    @property
    def graph_key(self) -> tuple[int, int]:
        """Rank and graph id: of which graph it is."""
        return self.rank, self.graph_id


class Place(Protocol):
    """Where the bytes of a tensor lie in its file, and what the file says of them.

    ``nbytes`` from byte ``start`` on, padding included; ``address`` is the device's (0: not stated), ``origin`` the
    operator and the slot of the network's tensor that an output is.
    """

    @property
    def path(self) -> str: ...

    @property
    def start(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def address(self) -> int: ...

    @property
    def origin(self) -> tuple[str, int] | None: ...


class Source(Protocol):
    """Where the data of a record comes from; nothing is read before it is asked for."""

    @property
    def place(self) -> Place | None:
        """Where its bytes lie, if they lie in one place of a file and that is known without reading."""
        ...

    def spec(self) -> TensorSpec:
        """Dtype and shape that the source itself states; raises FormatError if it cannot."""
        ...

    def array(self) -> NDArray[np.generic]:
        """All elements, in the stated shape; raises FormatError if the data are not what they claim."""
        ...


@dataclass(frozen=True, slots=True)
class ArraySource:
    """Data in memory. ``dtype`` names the stored type where NumPy's own type is wider.

    ``there`` are the same data as they lie on a device, padding included, where that is known.
    """

    data: NDArray[np.generic] = field(repr=False)
    dtype: str = ""
    there: NDArray[np.generic] | None = field(default=None, repr=False)

    @property
    def place(self) -> None:
        """Data in memory lie in no file."""

    def spec(self) -> TensorSpec:
        return TensorSpec(self.dtype or name_of(self.data.dtype), self.data.shape)

    def array(self) -> NDArray[np.generic]:
        return self.data


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """One tensor of a run.

    ``label`` is the dtype, shape and format that the producer stated outside the data (file name or
    statistics row); fields it does not state are ``""`` or ``None``. ``statistics`` maps column
    titles (``Max Value``, ``MD5``) to numbers or text for trees that hold only statistics; such a
    record has no ``source``. ``event`` is what the device reported of the operator, on each of its
    outputs. ``after`` names the operator after which an output was looked at again in memory; empty: it
    is the operator's own record.
    """

    key: TensorKey
    label: TensorSpec
    source: Source | None = field(default=None, repr=False)
    statistics: Mapping[str, float | str] | None = None
    timestamp_us: int = 0
    task_id: int = 0
    stream_id: int = 0
    path: str = ""
    event: DeviceEvent | None = None
    after: str = ""

    @property
    def spec(self) -> TensorSpec:
        """Type of the data; where only statistics were dumped, what the producer stated."""
        return self.label if self.source is None else self.source.spec()

    @property
    def place(self) -> Place | None:
        """Where the bytes of the data lie in a file, if that is known without reading it."""
        return None if self.source is None else self.source.place


class BySlot(Mapping[Slot, Held]):
    """What is known of the tensors of one operator, by slot; read-only.

    Operators with the same slots share the places ``at`` which their ``values`` stand (`by_slot`), so that one takes
    110 bytes where a dictionary with a read-only view takes 300: a comparison has one for every operator of either
    side.
    """

    __slots__ = ("_at", "_values")

    def __init__(self, at: Mapping[Slot, int], values: tuple[Held, ...]) -> None:
        self._at, self._values = at, values

    def __getitem__(self, slot: Slot) -> Held:
        return self._values[self._at[slot]]

    def __contains__(self, slot: object) -> bool:
        return slot in self._at

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._values)

    # a comparison asks some thirty times for every pair: a tuple does what `Mapping`'s view does, and is there already
    def keys(self) -> KeysView[Slot]:
        return self._at.keys()

    def values(self) -> ValuesView[Held]:
        return self._values  # type: ignore[return-value]

    def items(self) -> ItemsView[Slot, Held]:
        return tuple(zip(self._at, self._values, strict=True))  # type: ignore[return-value]

    @overload
    def get(self, slot: Slot, /) -> Held | None: ...
    @overload
    def get(self, slot: Slot, /, default: Held) -> Held: ...
    @overload
    def get(self, slot: Slot, /, default: _Default) -> Held | _Default: ...
    def get(self, slot: Slot, /, default: object = None) -> object:
        place = self._at.get(slot)
        return default if place is None else self._values[place]

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[BySlot[Held]], tuple[Any, ...]]:
        return type(self), (self._at, self._values)


def by_slot(several: Iterable[Mapping[Slot, Held]]) -> Iterator[BySlot[Held]]:
    """Yield mappings as they are now, those with the same slots in the same order sharing what they can."""
    shared: dict[tuple[Slot, ...], Mapping[Slot, int]] = {}
    for one in several:
        slots = tuple(one)
        at = shared.get(slots)
        if at is None:
            at = shared[slots] = {slot: place for place, slot in enumerate(slots)}
        yield BySlot(at, tuple(one.values()))
