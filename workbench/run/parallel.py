"""How the ranks of a job share the work: sizes of the parallel axes, and where a rank stands on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ORDER = "tp-cp-ep-dp-pp"
"""Megatron's default: tensor parallel ranks lie next to each other, pipeline stages farthest apart."""

SIZES = ("tp", "pp", "dp", "cp", "ep", "sp")
AXES = (*SIZES, "edp")
"""Axes of a job; ``edp`` are the replicas of an expert's weights: what is left of dp and cp beside ep."""

_MODES = {"zigzag": "cp", "zero": "dp"}
"""How a simulated job cuts by an axis, as ``cp=2:zigzag`` says."""

MOST = 1 << 20
"""Most ranks of a job."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """Sizes of the axes of a job, and the order in which ranks are counted through them.

    ``tp`` tensor, ``pp`` pipeline, ``dp`` data, ``cp`` context, ``ep`` expert, ``sp`` sequence parallel. As in
    Megatron-LM (``RankGenerator`` of ``megatron/core/parallel_state.py``, read): ep parts the ranks of dp and cp once
    more, for experts alone; sp uses the ranks of tp, and is an axis of its own only where tp is 1 (Ulysses). ``zigzag``
    says that a simulated job cuts sequences in zigzag order (``cp=2:zigzag``), ``zero`` that its data parallel ranks
    share weights and moments (``dp=2:zero``); of a dump its layouts say so.

    Raises GraphError for a size below 1, sizes that do not fit each other, or an order that lacks an axis.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    sp: int = 1
    order: str = ORDER
    zigzag: bool = False
    zero: bool = False

    def __post_init__(self) -> None:
        for axis in SIZES:
            size = getattr(self, axis)
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise GraphError("graph/integer", subject=axis, least=1, got=size)
        if self.sp not in (1, self.tp) and self.tp != 1:
            raise GraphError("layouts/sp-size", tp=self.tp, got=self.sp)
        if (self.dp * self.cp) % self.ep:
            raise GraphError("layouts/ep-size", of=self.dp * self.cp, got=self.ep)
        if sorted(self.order.split("-")) != sorted(ORDER.split("-")):
            raise GraphError("layouts/order", known=ORDER.split("-"), got=self.order)
        if self.ranks > MOST:
            raise GraphError("layouts/ranks-most", most=MOST, got=self.ranks)

    @classmethod
    def of(cls, text: str) -> Parallel:
        """Read ``tp=8,cp=2:zigzag,dp=16``, with ``order=tp-cp-ep-dp-pp`` where it is another one.

        >>> Parallel.of("tp=2,dp=3").ranks, str(Parallel.of("dp=3, tp=2"))
        (6, 'tp=2,dp=3')
        """
        found: dict[str, int] = {}
        order, said = ORDER, dict.fromkeys(_MODES, False)
        for piece in filter(None, (part.strip() for part in text.split(","))):
            name, _, value = (one.strip() for one in piece.partition("="))
            value, _, mode = value.partition(":")
            if mode and _MODES.get(mode) != name:
                raise GraphError("layouts/mode", got=f"{name}={value}:{mode}")
            said |= {mode: True} if mode else {}
            if name in found or (name == "order" and order != ORDER):
                raise GraphError("layouts/axis-twice", got=name)
            if name == "order":
                order = value
            elif name not in SIZES:
                raise GraphError("core/choice", subject="axis", got=name, known=[*SIZES, "order"])
            elif not (value.isascii() and value.isdecimal() and len(value) < 8):
                raise GraphError("graph/integer", subject=name, least=1, got=value)
            else:
                found[name] = int(value)
        return cls(**found, order=order, zigzag=said["zigzag"], zero=said["zero"])

    def __str__(self) -> str:
        modes = {axis: f":{mode}" for mode, axis in _MODES.items() if getattr(self, mode)}
        sizes = [
            f"{axis}={size}{modes.get(axis, '')}"
            for axis in SIZES
            if (size := getattr(self, axis)) > 1
        ]
        order = [f"order={self.order}"] if self.order != ORDER else []
        return ",".join([*sizes, *order]) or "tp=1"

    @property
    def inner(self) -> str:
        """The axis that tensor and sequence parallel share: ``tp``, or ``sp`` where it stands alone."""
        return "sp" if self.tp == 1 and self.sp > 1 else "tp"

    @property
    def ranks(self) -> int:
        """How many ranks the job has."""
        return self.size(self.inner) * self.cp * self.dp * self.pp

    def size(self, axis: str) -> int:
        """Return how many ranks lie along an axis."""
        if axis == "edp":
            return self.dp * self.cp // self.ep
        size: int = getattr(self, axis)
        return size

    def own(self, axis: str) -> str:
        """Return the axis whose ranks an axis uses: those of ``sp`` are those of ``tp`` unless it stands alone."""
        return self.inner if axis in ("tp", "sp") else axis

    def axes(self, *, experts: bool = False) -> tuple[str, ...]:
        """Return the axes of more than one rank, in the order of ranks, as experts see them or others."""
        return tuple(name for name, size in self._sizes(experts=experts) if size > 1)

    def coordinates(self, rank: int, *, experts: bool = False) -> Mapping[str, int]:
        """Return where a rank stands on every axis; raises GraphError if there is no such rank.

        ``tp`` is that of ``experts`` or of all else: they differ where the order has cp or dp before tp.

        >>> dict(Parallel.of("tp=2,cp=2,pp=2").coordinates(6))
        {'tp': 0, 'cp': 1, 'dp': 0, 'pp': 1, 'ep': 0, 'edp': 1, 'sp': 0}
        """
        if not 0 <= rank < self.ranks:
            raise GraphError("layouts/rank", ranks=self.ranks, got=rank)
        found = dict(_places(rank, self._sizes(experts=False)))
        other = dict(_places(rank, self._sizes(experts=True)))
        found |= other if experts else {"ep": other["ep"], "edp": other["edp"]}
        place = found[self.inner]
        return found | {"tp": place if self.tp > 1 else 0, "sp": place if self.sp > 1 else 0}

    def group(self, rank: int, *axes: str, experts: bool = False) -> tuple[int, ...]:
        """Return the ranks that differ from one on the given axes alone, in ascending order, itself among them."""
        experts = experts or any(axis in ("ep", "edp") for axis in axes)
        sizes = list(self._sizes(experts=experts))
        free = {self.own(axis) for axis in axes}
        ranks = [0]
        step = 1
        for name, size in sizes:
            place = rank // step % size
            places = range(size) if name in free else (place,)
            ranks = [one + step * other for one in ranks for other in places]
            step *= size
        return tuple(sorted(ranks))

    def _sizes(self, *, experts: bool) -> Iterator[tuple[str, int]]:
        """Yield axes with their sizes in the order of ranks; their product is the number of ranks."""
        for axis in self.order.split("-"):
            if axis == "tp":
                yield self.inner, self.size(self.inner)
            elif axis == "pp":
                yield axis, self.pp
            elif not experts and axis in ("cp", "dp"):
                yield axis, self.size(axis)
            elif experts and axis in ("ep", "dp"):
                name = "edp" if axis == "dp" else axis
                yield name, self.size(name)


def _places(rank: int, sizes: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    for name, size in sizes:
        yield name, rank % size
        rank //= size
