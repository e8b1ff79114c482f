"""Ranks that run in lockstep: one thread each, which wait for each other at operators in which they meet.

Only one of them runs at a time, until it waits; nothing else need know of threads. Every rank hands over its
tensors and gets those of all, in the order of the ranks, so results do not depend on which thread was first.
A rank that ends while others wait for it ends them, too: nothing hangs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from threading import Condition, RLock, Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workbench.core.errors import GraphError, WorkbenchError
from workbench.core.words import Message
from workbench.ops import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.graph.graph import Op
    from workbench.run.plan import PlannedOp

    Array = NDArray[Any]
    Compute = Callable[[PlannedOp, Sequence[Array], Mapping[str, Any]], list[Array]]
    Given = dict[int, tuple[Message, list[Array]]]
    Group = tuple[int, ...]
    """Ranks that meet, in ascending order."""
    Letter = tuple[int, int, int, int]
    """Who sends, who receives, the tag and the iteration."""


Found = TypeVar("Found")


class Fallible(Protocol):
    """A device that may fail."""

    failed: bool

    def fail(self, planned: PlannedOp, tensors: Sequence[Array]) -> list[Array]:
        """Fail at an operator; return what lies where its outputs go."""
        ...


class LostRankError(GraphError):
    """Another rank has ended, and this one waited for it."""


class FailedRankError(LostRankError):
    """The device of another rank has failed, and this one waited for it."""


class Rendezvous:
    """Where ``ranks`` ranks hand each other their tensors; who runs holds ``turn``.

    Who waits is told by those of its group alone: with many ranks waking all of them would take longer than the work.
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self._lock = RLock()
        self.turn = Condition(self._lock)
        self._everyone = tuple(range(ranks))
        self._waiting: dict[Group, Condition] = {}
        self._rounds: dict[tuple[Group, int], Given] = {}
        self._passed: Counter[tuple[Group, int]] = Counter()
        self._mail: dict[Letter, Array] = {}
        self._gone: set[int] = set()
        self._devices: dict[int, Fallible] = {}

    def exchange(
        self, rank: int, place: Message, tensors: Sequence[Array], group: Group = ()
    ) -> list[Array]:
        """Hand over a rank's tensors at an operator; return those of all ranks of its group, rank by rank.

        Without a ``group`` it is all ranks. Raises LostRankError if a rank has ended before it came here
        (FailedRankError if its device failed), GraphError if one came elsewhere.
        """
        group = group or self._everyone
        with self.turn:
            number = self._passed[group, rank]
            self._passed[group, rank] += 1
            given = self._rounds.setdefault((group, number), {})
            given[rank] = (place, [tensor.copy() for tensor in tensors])
            if len(given) == len(group):
                self._condition(group).notify_all()
            self._condition(group).wait_for(
                lambda: len(given) == len(group) or self._gone_of(group, given)
            )
            if len(given) < len(group):
                raise self._lost(self._gone_of(group, given), place)
            if all(self._passed[group, one] > number for one in group):
                self._rounds.pop((group, number), None)
        _check(given)
        return [tensor for one in sorted(given) for tensor in given[one][1]]

    def send(self, letter: Letter, tensor: Array) -> None:
        """Put a tensor where another rank takes it; nobody waits for that."""
        with self.turn:
            self._mail[letter] = tensor.copy()
            self._condition(letter[:2]).notify_all()

    def receive(self, letter: Letter, place: Message) -> Array:
        """Take what another rank has sent; raises LostRankError if it ended before."""
        with self.turn:
            self._condition(letter[:2]).wait_for(
                lambda: letter in self._mail or letter[0] in self._gone
            )
            if letter not in self._mail:
                raise self._lost({letter[0]}, place)
            return self._mail.pop(letter)

    def _condition(self, group: Group) -> Condition:
        """Return what a group waits for; all of them share one lock."""
        if group not in self._waiting:
            self._waiting[group] = Condition(self._lock)
        return self._waiting[group]

    def _gone_of(self, group: Group, given: Given) -> set[int]:
        return {one for one in group if one in self._gone and one not in given}

    def _lost(self, ranks: set[int], place: Message) -> LostRankError:
        failed = {rank for rank in ranks if (one := self._devices.get(rank)) and one.failed}
        kind = FailedRankError if failed else LostRankError
        return kind("run/rank-lost", rank=min(failed or ranks), waiting=place)

    def attend(self, rank: int, device: Fallible | None) -> None:
        """Take note of the device that a rank runs on."""
        if device is not None:
            self._devices[rank] = device

    def leave(self, rank: int) -> None:
        """Take note that a rank has ended."""
        with self.turn:
            self._gone.add(rank)
            for condition in self._waiting.values():
                condition.notify_all()


def _check(given: Given) -> None:
    """Refuse ranks that are at different operators, or bring tensors of different shapes."""
    (first, tensors), *others = (given[rank] for rank in sorted(given))
    for place, arrays in others:
        if place != first:
            raise GraphError("run/ranks-apart", one=first, other=place)
        mine, theirs = ([(a.shape, a.dtype.name) for a in one] for one in (tensors, arrays))
        if mine != theirs:
            raise GraphError("run/ranks-differ", where=first, one=mine, other=theirs)


@dataclass(frozen=True, slots=True)
class Member:
    """One rank of a meeting; ``received`` makes what arrives of what its group gave, where links are faulty.

    It is asked with the operator, the tensors, the rank's place in the group and the iteration.
    """

    meeting: Rendezvous
    rank: int
    received: Callable[[Op, list[Array], int, int], list[Array]] | None = None

    def joined(self, compute: Compute, iteration: int, device: Fallible | None = None) -> Compute:
        """Return how an operator is computed that may need the tensors of other ranks.

        A ``device`` fails where those of its peers have, and is there no more once it has failed. Who has
        ended otherwise did not go the way of the others: an error.
        """
        self.meeting.attend(self.rank, device)

        def together(
            planned: PlannedOp, tensors: Sequence[Array], settings: Mapping[str, Any]
        ) -> list[Array]:
            if planned.op.op_type not in COLLECTIVES:
                return compute(planned, tensors, settings)
            if device is not None and device.failed:
                self.meeting.leave(self.rank)
                return device.fail(planned, tensors)
            try:
                given, own = self._met(planned.op, tensors, iteration)
            except FailedRankError:
                if device is None:
                    raise
                return device.fail(planned, tensors)
            return compute(planned, given, {**settings, **own})

        return together

    def _met(
        self, op: Op, tensors: Sequence[Array], iteration: int
    ) -> tuple[Sequence[Array], dict[str, int]]:
        """Return what a collective is computed from, and which of how many ranks this one is."""
        place = Message("run/meeting", op=op.name, iteration=iteration)
        tag, peer = (
            op.attrs.get("sr_tag", 0),
            op.attrs.get("dest_rank", op.attrs.get("src_rank", 0)),
        )
        if op.op_type == "Send":
            self.meeting.send((self.rank, peer, tag, iteration), tensors[0])
            return tensors, {}
        if op.op_type == "Receive":
            return [self.meeting.receive((peer, self.rank, tag, iteration), place)], {}
        group = group_of(op)
        own = {"rank": self.rank, "ranks": self.meeting.ranks}
        if group:
            own = {"rank": group.index(self.rank), "ranks": len(group)}
        given = self.meeting.exchange(self.rank, place, tensors, group)
        if self.received is not None:
            given = self.received(op, given, own["rank"], iteration)
        return given, own


def group_of(op: Op) -> tuple[int, ...]:
    """Return the ranks that meet in a collective, in ascending order; none where all of a job do.

    Raises GraphError for an attribute ``group_ranks`` that is not ranks joined by hyphens.
    """
    text = op.attrs.get("group_ranks", "")
    pieces = str(text).split("-") if text else []
    if not all(one.isascii() and one.isdecimal() and len(one) < 10 for one in pieces):
        raise GraphError("run/group-ranks", op=op.name, got=text)
    return tuple(sorted(map(int, pieces)))


def in_lockstep(works: Sequence[Callable[[], Found]], meeting: Rendezvous) -> list[Found]:
    """Run the work of every rank in a thread of its own; return what they return.

    The first error of any ends all of them and is raised, with the rank in its message.
    """
    found: dict[int, Found] = {}
    errors: dict[int, BaseException] = {}

    def run(rank: int) -> None:
        try:
            with meeting.turn:
                found[rank] = works[rank]()
        except BaseException as error:
            errors[rank] = error
        finally:
            meeting.leave(rank)

    threads = [Thread(target=run, args=(rank,), name=f"rank {rank}") for rank in range(len(works))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:  # an interrupt, or a thread too many, ends the others at their next meeting
        for rank in range(len(works)):
            meeting.leave(rank)
    if errors:
        raise _first(errors)
    return [found[rank] for rank in range(len(works))]


def _first(errors: Mapping[int, BaseException]) -> BaseException:
    """Return the error that ended the others; it tells its rank unless all have the same."""
    rank = min(errors, key=lambda one: (isinstance(errors[one], LostRankError), one))
    error = errors[rank]
    if not isinstance(error, WorkbenchError):
        return error
    alike = [
        isinstance(one, WorkbenchError) and _kind(one) == _kind(error) for one in errors.values()
    ]
    if len(alike) > 1 and all(alike):
        return error
    named = error.at(f"rank {rank}")
    named.__cause__ = error
    return named


def _kind(error: WorkbenchError) -> tuple[str, str, str]:
    """Return what makes two errors the same one."""
    return error.code, error.place, repr(error.values)
