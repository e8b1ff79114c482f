"""Jobs: the dumps of all ranks as one dump of whole tensors, and two jobs of different layouts side by side.

Nothing is read before it is asked for: a joined tensor exists as long as somebody holds it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import AlignError, FormatError, WorkbenchError
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.dump import Dump, Skipped
from workbench.dump.index import index_of
from workbench.run.parallel import Parallel
from workbench.scale.layouts.exchanges import EXCHANGING, find_in_exchange
from workbench.scale.layouts.files import LayoutRow, LayoutTable
from workbench.scale.layouts.flat import flat_size, flat_starts, unflatten
from workbench.scale.layouts.join import join_tensor
from workbench.scale.layouts.parts import with_singles
from workbench.scale.layouts.placing import cut_whole, place
from workbench.scale.layouts.replicas import relative_distance
from workbench.scale.layouts.steps import Joined, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.scale.layouts.grammar import FlatPart
    from workbench.scale.layouts.steps import Finding

    Array = NDArray[Any]

_REDUCING = ("AllReduce", "HcomAllReduce")

JOINED = "joined"
"""Layout of a dump that was joined."""

NOT_JOINED = "not-joined"
"""Why a tensor of a joined dump is skipped that no layout makes whole: it was not compared, and that is a gap."""


@dataclass(frozen=True, slots=True)
class JobTensor:
    """One tensor of a job: who holds what of it, and how it lies.

    ``row`` is missing where no layout is known; ``part`` names the tensor that is meant of a flat buffer.
    """

    key: TensorKey
    records: Mapping[int, TensorRecord]
    row: LayoutRow | None = None
    part: FlatPart | None = None


@dataclass(frozen=True, eq=False)
class Job:
    """The dumps of the ranks of a job as tensors by key; the keys are those of rank 0, names those of the whole job."""

    parallel: Parallel
    tensors: Mapping[TensorKey, JobTensor]
    path: str = ""
    layouts: LayoutTable = field(default_factory=LayoutTable)

    def __repr__(self) -> str:
        return f"<Job {self.path}: {self.parallel}, {len(self.tensors)} tensors>"


def job_of(
    dumps: Dump | Sequence[Dump] | Mapping[int, Dump],
    layouts: LayoutTable | None = None,
    parallel: Parallel | None = None,
) -> Job:
    """Put the dumps of ranks together.

    Parameters
    ----------
    dumps : Dump, sequence of Dump, or mapping of rank to Dump
        A dump of all ranks, several such of different iterations, or one of each rank.
    layouts : LayoutTable, optional
        How tensors lie (`read_layouts`, `tell_layouts`).
    parallel : Parallel, optional
        The axes of the job; those of the layouts if left out, else a job of one rank.

    Raises
    ------
    GraphError
        A dump is of a rank that the job does not have.
    """
    table = layouts or LayoutTable()
    axes = parallel or table.parallel or Parallel()
    held: dict[TensorKey, dict[int, TensorRecord]] = defaultdict(dict)
    for rank, record in _records(dumps):
        name = table.whole_name(record.key.op_name, rank, axes)
        held[record.key._replace(op_name=name, rank=0)][rank] = record
    rows = _Rows(table)
    tensors = {
        one.key: one for key, records in held.items() for one in _tensors(key, records, rows)
    }
    path = next((dump.path for _, dump in _by_rank(dumps)), "")
    return Job(axes, tensors, path, table)


def _by_rank(
    dumps: Dump | Sequence[Dump] | Mapping[int, Dump],
) -> Iterator[tuple[int | None, Dump]]:
    """Yield dumps, and whose each is if it is not one of all ranks."""
    if isinstance(dumps, Dump):
        yield None, dumps
    elif isinstance(dumps, Sequence):
        yield from ((None, dump) for dump in dumps)
    else:
        yield from dumps.items()


def _records(
    dumps: Dump | Sequence[Dump] | Mapping[int, Dump],
) -> Iterator[tuple[int, TensorRecord]]:
    for rank, dump in _by_rank(dumps):
        yield from ((record.key.rank if rank is None else rank, record) for record in dump.records)


class _Rows:
    """Rows of a table by name and slot, each looked for once; those of one tensor alone without the others."""

    def __init__(self, table: LayoutTable) -> None:
        self._known: dict[tuple[str, str, int], LayoutRow | None] = {}
        self._plain: dict[str, int] = {}
        self._wild: list[int] = []
        self._rows = table.rows
        for number, row in enumerate(table.rows):
            if _WILD.search(row.pattern):
                self._wild.append(number)
            else:
                self._plain.setdefault(row.pattern, number)

    def of(self, key: TensorKey) -> LayoutRow | None:
        short = key.op_name, key.io, key.slot
        if short not in self._known:
            self._known[short] = self._find(key.op_name, f"{key.io}.{key.slot}")
        return self._known[short]

    def _find(self, name: str, slot: str) -> LayoutRow | None:
        """Return the first row that fits, as `LayoutTable.find` does."""
        last = len(self._rows)
        first = min(self._plain.get(one, last) for one in (name, f"{name}:{slot}"))
        for number in self._wild:
            if number > first:
                break
            if self._rows[number].fits(name, slot):
                return self._rows[number]
        return self._rows[first] if first < last else None


_WILD = re.compile(r"[*?\[]")


def _tensors(
    key: TensorKey, records: Mapping[int, TensorRecord], rows: _Rows
) -> Iterator[JobTensor]:
    """Yield a tensor, or those that its flat buffer holds."""
    row = rows.of(key)
    if row is None or not row.layout.flat:
        yield JobTensor(key, records, row)
        return
    for part in row.layout.flat:
        own = key._replace(op_type="Parameter", op_name=part.name, io="output", slot=0)
        yield JobTensor(own, records, row, part)


def join_one(job: Job, key: TensorKey, golden: Array | None = None) -> Joined:
    """Join one tensor of a job; what cannot be joined has no array, and a step that says why.

    Parameters
    ----------
    job : Job
    key : TensorKey
        One of `Job.tensors`.
    golden : ndarray, optional
        The same tensor whole, as the other side has it.
    """
    one = job.tensors[key]
    renamed = _renamed(one, job)
    try:
        layout = _layout(one, job)
        shards = _shards(one.records)
        join = partial(
            join_tensor,
            shards,
            layout.layout,
            job.parallel,
            golden=None if one.part is not None else golden,
            dtype=next(iter(one.records.values())).label.dtype,
        )
        joined = join()
        if joined.findings or _is_off(joined, golden):  # what ranks held before may say why
            joined = join(before=_before(one, job))
    except WorkbenchError as error:
        return Joined(None, (*renamed, Step("not-joined", {"why": error.message})))
    if one.part is not None and joined.array is not None:
        joined = _cut_out(joined, one, one.part)
    return Joined(joined.array, (*renamed, *joined.steps), joined.findings, joined.tolerance)


def _is_off(joined: Joined, golden: Array | None) -> bool:
    """Whether a joined tensor is not the golden's to the bit."""
    if golden is None or joined.array is None:
        return False
    return golden.shape == joined.array.shape and not np.array_equal(golden, joined.array)


def _layout(one: JobTensor, job: Job) -> LayoutRow:
    if one.row is not None:
        return one.row
    raise AlignError("layouts/no-layout", name=one.key.op_name)


def _array(record: TensorRecord) -> Array:
    if record.source is None:
        raise AlignError("layouts/statistics")
    return record.source.array()


def _shards(records: Mapping[int, TensorRecord]) -> dict[int, Array]:
    """Read what ranks hold; of ranks that hold the same bytes one array is kept, so that replicas take no memory."""
    found: dict[int, Array] = {}
    held: dict[tuple[Any, ...], Array] = {}
    for rank, record in records.items():
        array = _array(record)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        key = array.shape, array.dtype.str, sha256(flat).digest()  # type: ignore[arg-type]
        found[rank] = held.setdefault(key, array)
    return found


def _before(one: JobTensor, job: Job) -> dict[int, Array] | None:
    """Return what ranks held of a tensor an iteration earlier, where that was dumped."""
    earlier = job.tensors.get(one.key._replace(iteration=one.key.iteration - 1))
    if earlier is None:
        return None
    return _shards({r: one for r, one in earlier.records.items() if one.source is not None})


def _renamed(one: JobTensor, job: Job) -> list[Step]:
    """Say which names ranks have for a tensor that are not the job's."""
    if one.part is not None:
        return []
    names = {record.key.op_name: rank for rank, record in one.records.items()}
    steps = []
    for was, rank in names.items():
        if was != one.key.op_name:
            axis = job.layouts.numbered[0].axis
            at = job.parallel.coordinates(rank)[axis]
            steps.append(Step("renumbered", {"was": was, "axis": axis, "at": at}))
    return steps


def _cut_out(joined: Joined, one: JobTensor, part: FlatPart) -> Joined:
    """Cut one tensor out of a joined flat buffer."""
    assert one.row is not None
    assert joined.array is not None
    layout = one.row.layout
    try:
        array = unflatten(joined.array, layout)[part.name]
    except AlignError as error:
        return Joined(None, (*joined.steps, Step("not-joined", {"why": error.message})))
    start = dict(flat_starts(layout))[part]
    values = {"start": start, "padding": joined.array.size - flat_size(layout)}
    step = Step("unflattened", values)
    return Joined(array, (*joined.steps, step), joined.findings, joined.tolerance)


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """Data of a tensor that ranks hold; it is joined when it is asked for."""

    job: Job = field(repr=False)
    key: TensorKey

    @property
    def place(self) -> None:
        """It lies in no one place of a file."""

    def spec(self) -> TensorSpec:
        """Dtype of the shards, shape of the whole; raises FormatError if there is none."""
        one = self.job.tensors[self.key]
        specs = {rank: record.spec for rank, record in one.records.items()}
        dtype = next(iter(specs.values())).dtype
        if one.part is not None:
            return TensorSpec(dtype, one.part.shape)
        assert one.row is not None
        placing = place(one.row.layout, self.job.parallel)
        sizes = list(next(iter(specs.values())).shape or ())
        for number, axis, cut in placing.cuts:
            if not cut.partial and number < len(sizes):
                sizes[number] *= self.job.parallel.size(axis)
        dims = one.row.layout.dims
        names = [dims[n].name if n < len(dims) else "" for n in range(len(sizes))]
        return TensorSpec(
            dtype, tuple(n for n, name in zip(sizes, names, strict=True) if name != "1")
        )

    def array(self) -> NDArray[np.generic]:
        """Join the shards; raises FormatError if they cannot be."""
        joined = join_one(self.job, self.key)
        if joined.array is None:
            raise FormatError("layouts/step-not-joined", why=joined.steps[-1].values["why"])
        return joined.array


def joined_dump(
    job: Job,
    iterations: Collection[int] | None = None,
    skipped: Mapping[TensorKey, Skipped] | None = None,
) -> Dump:
    """Return a job as one dump of rank 0 whose tensors are whole, for `workbench.compare`.

    Tensors that cannot be joined are among what the dump has skipped, with the reason (`not_joined`). Graphs stay out:
    those of ranks have the shapes of shards.

    Parameters
    ----------
    job : Job
    iterations : collection of int, optional
        Of which ones tensors are in the dump; without it all.
    skipped : mapping of TensorKey to Skipped, optional
        Tensors that are left out, and why.
    """
    left = dict(skipped or {})
    everything = job.tensors.values()
    held = [one for one in everything if iterations is None or one.key.iteration in iterations]
    for one in held:
        code = _unjoinable(one)
        if code and one.key not in left:
            said = Message(code, name=one.key.op_name)
            left[one.key] = Skipped(one.key.op_name, NOT_JOINED, said)
    records = [
        TensorRecord(
            one.key,
            TensorSpec(next(iter(one.records.values())).label.dtype, None),
            JoinedSource(job, one.key),
            timestamp_us=_first_time(one),
            path=next(iter(one.records.values())).path,
        )
        for one in held
        if one.key not in left
    ]
    out = tuple(left[one.key] for one in held if one.key in left)
    return Dump(path=job.path, layout=JOINED, index=index_of(records), skipped=out)


def _unjoinable(one: JobTensor) -> str:
    """Return the code of why a tensor cannot be joined, as far as that is known without its data."""
    if any(record.source is None for record in one.records.values()):
        return "layouts/statistics"
    return "layouts/no-layout" if one.row is None else ""


def not_joined(job: Job) -> dict[TensorKey, Message]:
    """Return the tensors of a job that stay out of its joined dump, and why."""
    codes = {key: _unjoinable(one) for key, one in job.tensors.items()}
    return {key: Message(code, name=key.op_name) for key, code in codes.items() if code}


@dataclass(frozen=True, slots=True, eq=False)
class JoinedPair:
    """The same tensor of two jobs, whole on both sides."""

    key: TensorKey
    target: Joined
    golden: Joined


def join_pairs(
    target: Job, golden: Job, keys: Iterable[TensorKey] | None = None
) -> Iterator[JoinedPair]:
    """Yield the tensors that two jobs have in common, joined on both sides, one at a time.

    Parameters
    ----------
    target, golden : Job
        Their layouts may differ.
    keys : iterable of TensorKey, optional
        Which ones; without it all, in the order of the target.
    """
    for key in target.tensors if keys is None else keys:
        if key in golden.tensors and key in target.tensors:
            single = golden.parallel.ranks == 1 and golden.tensors[key].row is None
            right = Joined(whole_array(golden, key)) if single else join_one(golden, key)
            yield JoinedPair(key, join_one(target, key, right.array), right)


def join_each(
    job: Job, golden: Job | None = None, iterations: Collection[int] | None = None
) -> Iterator[tuple[TensorKey, Joined]]:
    """Yield the tensors of a job joined, one at a time in the order in which they were first written.

    Parameters
    ----------
    job : Job
        Tensors that the golden does not have (of collectives, say) are joined, too: their replicas are compared.
    golden : Job, optional
        The same run whole; without it replicas alone are compared.
    iterations : collection of int, optional
        Which ones; without it all.
    """
    for key in sorted(job.tensors, key=lambda one: (one.iteration, _first_time(job.tensors[one]))):
        if iterations is not None and key.iteration not in iterations:
            continue
        known = golden is not None and key in golden.tensors
        whole = whole_array(golden, key) if known and golden else _reduced(job, key)
        joined = join_one(job, key, whole)
        if key.op_type in EXCHANGING and key.io == "output":
            joined = replace(joined, findings=(*_exchange_findings(job, key), *joined.findings))
        yield key, joined


def find_on_ranks(
    job: Job, golden: Job | None = None, iterations: Collection[int] | None = None
) -> Iterator[tuple[TensorKey, Finding]]:
    """Yield what is wrong with the ranks of a job, tensor by tensor; parameters are those of `join_each`."""
    for key, joined in join_each(job, golden, iterations):
        for finding in joined.findings:
            yield key, finding


def ranks_off(job: Job, key: TensorKey, golden: Array) -> tuple[int, ...]:
    """Return the ranks whose part of a tensor is off the most, by the golden's; all that hold it where none is alone.

    A rank counts whose part is off by more than half of the worst (relative, in the Euclidean norm).
    """
    one = job.tensors[key]
    holders = tuple(sorted(one.records))
    try:
        placing = place(_layout(one, job).layout, job.parallel)
        whole = with_singles(golden, placing.layout)
        if whole is None or any(cut.partial for _, _, cut in placing.cuts):
            return holders  # nobody knows what a part of a sum has to be
        shards = _shards(one.records)
        off = {
            rank: relative_distance(array, cut_whole(whole, placing, placing.cell(rank)))
            for rank, array in shards.items()
        }
    except (WorkbenchError, IndexError):
        return holders
    worst = max(off.values(), default=0.0)
    return tuple(rank for rank in holders if off[rank] > worst / 2) or holders


def _reduced(job: Job, key: TensorKey) -> Array | None:
    """Return what an ``AllReduce`` has to give: the sum of its inputs, where these are known to be parts of one."""
    given = key._replace(io="input", slot=0)
    one = job.tensors.get(given) if key.op_type in _REDUCING and key.io == "output" else None
    if one is None or one.row is None or not any(cut.partial for _, cut in one.row.layout.cuts):
        return None
    return join_one(job, given).array


def _exchange_findings(job: Job, key: TensorKey) -> tuple[Finding, ...]:
    """Return what is wrong with an exchange between ranks, by what they gave to it; nothing where that is not known."""
    given, one = job.tensors.get(key._replace(io="input", slot=0)), job.tensors[key]
    if given is None:
        return ()
    try:
        sent, taken = _shards(given.records), _shards(one.records)
    except WorkbenchError:
        return ()
    return tuple(find_in_exchange(sent, taken, _before(one, job) or {}, job.parallel))


def _first_time(one: JobTensor) -> int:
    return min(record.timestamp_us for record in one.records.values())


def whole_array(job: Job, key: TensorKey) -> Array | None:
    """Return a tensor whole, `None` if it cannot be; of one rank without layouts it is what that rank holds."""
    one = job.tensors[key]
    if job.parallel.ranks > 1 or one.row is not None:
        return join_one(job, key).array
    record = next(iter(one.records.values()))
    try:
        return None if record.source is None else record.source.array()
    except WorkbenchError:
        return None
