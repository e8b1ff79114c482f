"""Whom to dump next: the suspects of a comparison, their neighbours, and what their dump lacks.

Names are those that the target's own software knows its operators by: MindSpore 2.7 to 2.10 takes in its
operator lists the ids of its file names, which are not always those of the IR.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.formats.container import read_container
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.selection import names_anew
from workbench.graph.graph import Param, Value
from workbench.graph_files.ge.silent_ops import why_no_dump
from workbench.ops import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.result import Finding, Side
    from workbench.graph.graph import Graph, Op

MAX_SUSPECTS = 3
"""Findings that are looked into further; the guilty operator is nearly always among the first three."""

MAX_UNSEEN = 64
"""Operators of a stretch that nobody dumped which are asked for at most."""

UNEXPLAINED = frozenset(("own-error", "non-finite", "shape", "structure", "overflow", "underflow"))
"""Kinds of findings that more data of the operator would tell more about."""


class DumpRequest(NamedTuple):
    """An operator to dump: its name, that of its model, and whether the name is certain.

    ``certain`` is false for the name of a file, in which ``_`` stands for several characters; ``suspect``
    is false for a neighbour.
    """

    name: str
    model: str = ""
    certain: bool = True
    suspect: bool = False


class NextDump(NamedTuple):
    """What a next dump should hold: operators with their neighbours, and of which iterations.

    ``suspects`` are the names of the operators themselves, ``why`` says what the dump at hand lacks.
    """

    suspects: tuple[str, ...]
    asked: tuple[DumpRequest, ...]
    iterations: tuple[int, ...]
    why: tuple[Message, ...]


def find_suspects(flow: Trace, findings: Iterable[Finding], side: Side = "target") -> NextDump:
    """Return the operators of the first defects, those they read and those that read them.

    Of the golden, what stands for them there.
    """
    defects = _first(finding for finding in findings if finding.defect)
    asked: dict[DumpRequest, None] = {}
    covered: set[tuple[Execution, int]] = set()
    for finding in defects:
        for block, number in _places(flow, finding):
            # a neighbour of an earlier suspect is dumped with what it reads as it is
            wanted = [number] if (block, number) in covered else _around(flow, block, number)
            covered |= {(block, one) for one in wanted}
            if side == "golden":
                found = list(_golden(flow, block, number, wanted))
            else:
                found = list(_asked(flow.pairing.target, block, wanted, {number}))
            asked |= dict.fromkeys(found)
    why = {
        Message("compare/lacks", op_name=f.op_name, why=said): None
        for f in defects
        if (said := lacking(flow, f)) is not None
    }
    iterations = {finding.iteration for finding in defects}
    if side == "golden":
        steps = {b.iteration: g.iteration for b, g in flow.pairing.blocks.items()}
        iterations = {steps.get(number, number) for number in iterations}
    return NextDump(
        tuple(dict.fromkeys(finding.op_name for finding in defects)),
        tuple(asked),
        tuple(sorted(iterations)),
        tuple(why),
    )


def _first(defects: Iterable[Finding]) -> list[Finding]:
    found: dict[tuple[int, int, str], Finding] = {}
    for finding in defects:
        found.setdefault((finding.rank, finding.graph_id, finding.op_name), finding)
    return list(found.values())[:MAX_SUSPECTS]


def _places(flow: Trace, finding: Finding) -> Iterator[tuple[Execution, int]]:
    """Executions and number of a finding's operator; the number alone counts where it was not dumped."""
    for block, runs in flow.pairing.target.runs.items():
        if (block.rank, block.graph_id, block.iteration) != (
            finding.rank, finding.graph_id, finding.iteration,
        ):  # fmt: skip
            continue
        graph = flow.pairing.target.graph(block)
        number = graph.by_name.get(finding.op_name) if graph is not None else None
        if number is None:
            number = next((n for n, run in runs.items() if run.op_name == finding.op_name), None)
        if number is not None:
            yield block, number
            return  # other turns and ranks have operators of the same names


def _around(flow: Trace, block: Execution, number: int) -> list[int]:
    """Return the operator, what it reads and what reads it; operators before it that nobody dumped as well."""
    runs, graph = flow.pairing.target.runs[block], flow.pairing.target.graph(block)
    if graph is None or number < 0:
        order = sorted(runs, key=lambda n: runs[n].time)
        place = order.index(number)
        return order[max(0, place - 1) : place + 2]
    wanted = [number, *_producers(graph, runs, number), *_consumers(graph, number)]
    return sorted(dict.fromkeys(wanted))


def _asked(
    binding: Binding, block: Execution, numbers: Iterable[int], suspects: Collection[int]
) -> Iterator[DumpRequest]:
    """Name operators of one side."""
    runs, graph, name_of = binding.runs[block], binding.graph(block), Names(binding, block.rank)
    model = graph.name if graph is not None and graph.dialect == "ge" else ""
    for number in numbers:
        if graph is None or number < 0:
            name, certain = _file_name(runs[number])
            yield DumpRequest(name, block.net_name, certain, number in suspects)
        elif not why_no_dump(graph.ops[number]):
            yield DumpRequest(name_of(graph, number), model, suspect=number in suspects)


def _golden(
    flow: Trace, block: Execution, number: int, wanted: Iterable[int]
) -> Iterator[DumpRequest]:
    """Name what stands in the golden for operators of the target."""
    pairing, other = flow.pairing, flow.pairing.blocks.get(block)
    if other is None:
        return
    found = pairing.alignments.get(block.graph_key)
    table: dict[int, set[int]] = {}
    for match in found.matches if found is not None else ():
        for one in match.target:
            table.setdefault(one, set()).update(match.golden)
    for pair in pairing.pairs:
        if pair.run is not None and pair.golden_run is not None and pair.run.block == block:
            table.setdefault(pair.run.op, set()).add(pair.golden_run.op)
    numbers = {g for one in wanted for g in table.get(one, ())}
    yield from _asked(pairing.golden, other, sorted(numbers), table.get(number, set()))


def _producers(graph: Graph, runs: Mapping[int, OperatorRun], number: int) -> Iterator[int]:
    """Operators whose results an operator reads; through those without a file to what they read."""
    waiting, seen = [number], {number}
    while waiting and len(seen) < MAX_UNSEEN:
        for operand in graph.ops[waiting.pop(0)].flat_inputs():
            if not isinstance(operand, Value) or operand.op in seen:
                continue
            seen.add(operand.op)
            yield operand.op
            if operand.op not in runs or graph.ops[operand.op].op_type in IDENTITY:
                waiting.append(operand.op)


def _consumers(graph: Graph, number: int) -> Iterator[int]:
    for other, op in enumerate(graph.ops):
        if any(isinstance(o, Value) and o.op == number for o in op.flat_inputs()):
            yield other


class Names:
    """Full names of the operators of one rank, as the software that wrote the dump counts them.

    MindSpore 2.7 to 2.10 counts the operators of a scope and type anew after it has written the IR; then
    the files tell that their names are those.
    """

    def __init__(self, binding: Binding, rank: int) -> None:
        graphs = [g for (r, _), g in sorted(binding.graphs.items()) if r == rank]
        self._anew = {
            (graph.graph_id, number): name
            for graph, names in zip(graphs, names_anew(graphs), strict=True)
            for number, name in enumerate(names)
        }
        told = Counter(self._tells(run, binding) for run in _dumped(binding, rank))
        self._by_count = told["anew"] > 0

    def __call__(self, graph: Graph, number: int) -> str:
        return self._anew[graph.graph_id, number] if self._by_count else graph.ops[number].name

    def _tells(self, run: OperatorRun, binding: Binding) -> str:
        """Which of two different names the files of an operator carry."""
        op = binding.operator(run)
        anew = self._anew.get((run.block.graph_id, run.op))
        if op is None or anew is None or anew == op.name or sanitize(anew) == sanitize(op.name):
            return ""
        files = {record.key.op_name for record in run.tensors.values()}
        return "anew" if sanitize(anew) in files else "listed"


def with_file_name(found: Sequence[Found], material: Material) -> list[Found]:
    """Tell what files and operator lists call an operator, where its graph calls it otherwise."""
    binding, known = material.pairing.target, dict[int, Names]()

    def told(one: Found) -> Found:
        rank, own = one.finding.rank, one.finding.op_name
        graph = binding.graphs.get((rank, one.finding.graph_id))
        number = graph.by_name.get(own) if graph is not None else None
        if graph is None or number is None:
            return one
        if rank not in known:
            known[rank] = Names(binding, rank)
        name = known[rank](graph, number)
        return (
            one
            if name == one.finding.op_name
            else one.told(Message("compare/file-number", name=name))
        )

    return [told(one) for one in found]


def _dumped(binding: Binding, rank: int) -> Iterator[OperatorRun]:
    for block, runs in binding.runs.items():
        if block.rank == rank:
            yield from runs.values()


def _file_name(run: OperatorRun) -> tuple[str, bool]:
    """Name of an operator that no graph knows, and whether it is its full one: containers hold that."""
    record = next(iter(run.tensors.values()))
    if record.path and record.source is not None and not record.path.endswith((".npy", ".csv")):
        try:
            stated = read_container(record.path).op_name
        except FormatError:
            stated = ""
        if sanitize(stated) == run.op_name:
            return stated, True
    return run.op_name, "_" not in run.op_name


def place_of(flow: Trace, finding: Finding) -> tuple[Execution, int] | None:
    """Return execution and number of a finding's operator; ``None`` if the target has none of its name."""
    return next(_places(flow, finding), None)


def lacking(flow: Trace, finding: Finding) -> Message | None:
    """Say what the target's dump lacks to be sure of a finding; ``None`` if it has all."""
    place = place_of(flow, finding)
    return None if place is None else _lacking(flow, finding, *place)


def _lacking(flow: Trace, finding: Finding, block: Execution, number: int) -> Message | None:
    if finding.kind not in UNEXPLAINED:
        return None
    run = flow.pairing.target.runs[block].get(number)
    event = flow.events.get((block, number)) or _blaming(flow, block, number)
    if event is not None and event.unobserved_count:
        return Message("compare/lacks-upstream", count=event.unobserved_count)
    if run is None:
        return Message("compare/lacks-all")
    if all(record.source is None for record in run.tensors.values()):
        return Message("compare/lacks-tensors")
    graph = flow.pairing.target.graph(block)
    op = graph.ops[number] if graph is not None and number >= 0 else None
    return _missing(run, op)


def with_next_dump(found: Sequence[Found], material: Material) -> list[Found]:
    """Advise to dump in full what is lacking of the first defects."""
    first = _first(one.finding for one in found if one.defect)
    return [
        _advised(one, material.flow) if any(one.finding is other for other in first) else one
        for one in found
    ]


def _advised(one: Found, flow: Trace) -> Found:
    """What a dump lacks of another rank is not known: that one is the golden's."""
    block = one.place.execution
    if block is None or block.rank != one.finding.rank:
        return one
    said = _lacking(flow, one.finding, block, one.place.op)
    if said is None:
        return one
    advice = Message("compare/next-dump", advice=one.finding.advice, lacking=said)
    return one.changed(advice=advice)


def _blaming(flow: Trace, block: Execution, number: int) -> Assessment | None:
    """Return the event that blames an operator which was not dumped itself."""
    return next((e for e in flow.origins if e.block == block and e.origin_op == number), None)


def _missing(run: OperatorRun, op: Op | None) -> Message | None:
    has = {io: [slot for where, slot in run.tensors if where == io] for io in ("input", "output")}
    if not has["output"]:
        return Message("compare/outputs-not-dumped")
    if op is None:
        return None if has["input"] else Message("compare/lacks-inputs")
    operands = list(op.flat_inputs())
    if not has["input"] and any(isinstance(one, Value | Param) for one in operands):
        return Message("compare/lacks-inputs")
    reads = {slot for slot, operand in enumerate(operands) if isinstance(operand, Value)}
    left = sorted(reads - set(has["input"]))
    return Message("compare/lacks-some", slots=left) if left else None
