"""Bind: which file belongs to which operator of the graph, with evidence.

The ids in an IR are not always those of the file names (MindSpore 2.7 to 2.10 counts them anew
after the IR is written), so several naming rules compete. Where they disagree, the data decide: a
producer's output bytes equal its consumer's input bytes under the right rule.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.bind.anomalies import find_anomalies, kinds_by_record
from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
from workbench.comparison.graphs.subgraphs import inline_calls
from workbench.comparison.limits import limits
from workbench.core.errors import FormatError
from workbench.core.long_work import checkpoint
from workbench.core.tensors import by_slot
from workbench.core.words import Message
from workbench.dump.dump import Note, Skipped
from workbench.dump.formats.ffts import manual_slice
from workbench.dump.formats.ge_name import standard_name
from workbench.dump.formats.mindspore_name import sanitize, short_name
from workbench.dump.formats.npy import fingerprint
from workbench.dump.selection import names_anew
from workbench.graph.graph import Value
from workbench.graph_files.ge.fields import UNCONNECTED
from workbench.graph_files.onnx.dialect import DIALECT as ONNX
from workbench.graph_files.onnx.dialect import OUTPUTS, UNNAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from workbench.core.tensors import Slot, TensorKey, TensorRecord
    from workbench.dump.dump import Dump
    from workbench.graph.graph import Graph, Op

FileOp = tuple[int, str, str]
"""Graph id, operator type and operator name as file names give them; no type in other frameworks' data."""


class Named(NamedTuple):
    """What a rule calls an operator in files; ``slot`` is the output of which the file is, where the name says that."""

    file: FileOp
    number: int
    slot: int | None = None


class Names(NamedTuple):
    """File-side operator → operators of its graph that a rule gives this name, in listing order.

    ``slots`` are the outputs of which the name says that they are meant. ``feeds`` are names of parameters, where data
    of another framework are called so.
    """

    ops: dict[FileOp, list[int]]
    slots: Mapping[FileOp, int] = MappingProxyType({})
    feeds: frozenset[FileOp] = frozenset()

    def get(self, file: FileOp) -> list[int] | None:
        """Operators that a file may be of."""
        return self.ops.get(file)

    @property
    def known(self) -> frozenset[FileOp]:
        """All that files may be called."""
        return frozenset(self.ops) | self.feeds


NO_NAMES = Names({})

Files = dict[FileOp, dict["Slot", "TensorRecord"]]
"""File-side operator → its tensors by ``(io, slot)``."""


def _exact_names(graphs: Sequence[Graph]) -> Iterator[Named]:
    """The IR's own ids (2.3 to 2.6, and every graph that was not renumbered)."""
    for graph in graphs:
        for number, op in enumerate(graph.ops):
            name = sanitize(op.name)
            yield Named((graph.graph_id, op.op_type, name), number)
            slice_of = manual_slice(name)
            if slice_of is not None and slice_of[1] == 0:  # stands for the operator put together
                yield Named((graph.graph_id, op.op_type, slice_of[0]), number)


def _ranked_names(graphs: Sequence[Graph]) -> Iterator[Named]:
    """Ids counted anew: 0-based among operators of one scope and type, over all graphs in order."""
    for graph, names in zip(graphs, names_anew(graphs), strict=True):
        for number, (op, name) in enumerate(zip(graph.ops, names, strict=True)):
            if name.rpartition("-op")[2].isdecimal():
                yield Named((graph.graph_id, op.op_type, sanitize(name)), number)


def _short_names(graphs: Sequence[Graph]) -> Iterator[Named]:
    """The last part of the name alone (1.3 to 2.2)."""
    for graph in graphs:
        for number, op in enumerate(graph.ops):
            yield Named((graph.graph_id, op.op_type, short_name(op.name)), number)


def _placed_names(graphs: Sequence[Graph]) -> Iterator[Named]:
    """Nodes of ONNX by their names, those without one by type and place in the model (msquickcmp)."""
    for graph in graphs:
        for number, op in enumerate(graph.ops if graph.dialect == ONNX else ()):
            name = f"{op.op_type}_{number}" if op.attrs.get(UNNAMED) else op.name
            yield Named((graph.graph_id, "", standard_name(name)), number)


def _tensor_names(graphs: Sequence[Graph]) -> Iterator[Named]:
    """Names of tensors: those of an ONNX model, else names of nodes, else what exporters call the tensors of a node."""
    for graph in graphs:
        known = [
            {standard_name(name): slot for slot, name in enumerate(op.attrs.get(OUTPUTS, ()))}
            for op in graph.ops
        ]
        yield from _unused(graph, known, set())
        taken = {name for names in known for name in names}
        nodes = [{standard_name(op.name): None} for op in graph.ops]  # the file has the slot
        yield from _unused(graph, nodes, taken)
        taken |= {name for names in nodes for name in names}
        exported = [
            {
                f"{standard_name(op.name)}{how}{slot}": slot
                for how in _OUTPUTS
                for slot in range(len(op.outputs) or 1)
            }
            for op in graph.ops
        ]
        times = Counter(name for names in exported for name in names)
        yield from _unused(graph, exported, taken | {one for one in times if times[one] > 1})


def _unused(
    graph: Graph, names: Iterable[Mapping[str, int | None]], taken: Container[str]
) -> Iterator[Named]:
    """Names of the outputs of every operator, but for those that something else is called."""
    for number, slots in enumerate(names):
        for name, slot in slots.items():
            if name and name not in taken:
                yield Named((graph.graph_id, "", name), number, slot)


_OUTPUTS = ("_output_", "_")
"""What stands between a node and its output's number in names of tensors: PyTorch's exporter, TensorFlow (``:``)."""


class NamingRule(NamedTuple):
    """One way in which files are named after the operators of their graphs."""

    name: str
    names: Callable[[Sequence[Graph]], Iterator[Named]]
    says: str
    why: str


NAMING_RULES = (
    NamingRule(
        "id-rank",
        _ranked_names,
        "ids counted anew over all graphs (MindSpore 2.7 to 2.10)",
        "before exact-name: where nothing tells them apart, releases that count anew are the newer ones",
    ),
    NamingRule(
        "exact-name",
        _exact_names,
        "the graph's own names (MindSpore 2.3 to 2.6, the graph engine)",
        "before node-place: what the compiler calls a node without a name is in the graph",
    ),
    NamingRule(
        "node-place",
        _placed_names,
        "names of ONNX nodes, type and place for those without one (golden data of msquickcmp)",
        "before tensor-name: the file of a node may bear the name of another one's tensor",
    ),
    NamingRule(
        "tensor-name",
        _tensor_names,
        "names of tensors (golden data by output)",
        "before short-name: a whole name says more than the end of another one",
    ),
    NamingRule(
        "short-name",
        _short_names,
        "the last part of the name (MindSpore 1.3 to 2.2)",
        "last: ends of names repeat from scope to scope",
    ),
)
"""Where neither names nor data decide between two rules, the earlier one wins."""


class NameTables:
    """What every rule calls the operators of some graphs; told once for sides and ranks that have the same ones."""

    def __init__(self) -> None:
        self._last: tuple[Sequence[Graph], dict[str, Names]] = ((), {})

    def by_rule(self, graphs: Sequence[Graph]) -> dict[str, Names]:
        """Return the names by rule. A side without graphs forgets nothing: it may borrow those of the other."""
        if not graphs:
            return _tables(graphs)
        if [*map(_identity, graphs)] != [*map(_identity, self._last[0])]:
            self._last = graphs, _tables(graphs)
        return self._last[1]


def _identity(graph: Graph) -> tuple[int | str, ...]:
    """All of a graph that rules read; the graph of one text is held under several paths."""
    parts = graph.ops, graph.parameters, graph.subgraphs
    return graph.graph_id, graph.dialect, *map(id, parts)


def bind(
    dump: Dump,
    graphs: Mapping[tuple[int, int], Graph] | None = None,
    tables: NameTables | None = None,
) -> Binding:
    """Bind the files of a dump to the operators of its graphs (or of ``graphs``, if given).

    Whoever binds several dumps gives each the same ``tables``.
    """
    tables = NameTables() if tables is None else tables
    known = dump.graphs if graphs is None else graphs
    draft = _Draft({place: inline_calls(graph) for place, graph in known.items()})
    by_rank: dict[int, list[TensorRecord]] = {}
    for record in (all_records := dump.records):
        by_rank.setdefault(record.key.rank, []).append(record)
    for rank, records in sorted(by_rank.items()):
        draft.take(records, _names(rank, records, draft, tables))
    binding = draft.binding(dump, all_records)
    found = find_anomalies(binding)
    notes = (Note(one.kind, one.op_name, one.said) for one in found)
    return replace(
        binding,
        notes=(*binding.notes, *notes),
        oddities=MappingProxyType(kinds_by_record(found)),
    )


def _names(
    rank: int, records: Sequence[TensorRecord], draft: _Draft, known_names: NameTables
) -> Names:
    """What the files of a rank are called, by the graphs that fit; the others are put aside."""
    mine = sorted((g for (r, _), g in draft.graphs.items() if r == rank), key=lambda g: g.graph_id)
    tables = known_names.by_rule(mine)
    fitting = []
    for graph, known, files in _fits(mine, tables, records):
        if known * 2 >= files:
            fitting.append(graph)
            continue
        detail = Message("compare/other-run", known=known, files=files)
        draft.notes.append(Note("graph-mismatch", graph.name, detail))
        del draft.graphs[rank, graph.graph_id]
    if not fitting:
        return NO_NAMES
    if len(fitting) < len(mine):
        tables = known_names.by_rule(fitting)
    winner, named = _choose(fitting, tables, records)
    draft.notes += _renumbered(tables[winner], named, fitting) if winner == "id-rank" else ()
    return tables[winner]


def _file_op(key: TensorKey) -> FileOp:
    """Operator as its file has it; other frameworks' data are called anything, in an archive with slashes."""
    return key.graph_id, key.op_type, key.op_name if key.op_type else standard_name(key.op_name)


def _tables(graphs: Sequence[Graph]) -> dict[str, Names]:
    """What every rule calls the operators of some graphs."""
    feeds = frozenset(
        (graph.graph_id, "", standard_name(one.name))
        for graph in graphs
        for one in graph.parameters
    )
    return {rule.name: _table(rule.names(graphs), feeds) for rule in NAMING_RULES}


def _choose(
    graphs: Sequence[Graph], tables: Mapping[str, Names], records: Iterable[TensorRecord]
) -> tuple[str, Files]:
    """The rule that names most files, among equals the one whose links hold; and the files."""
    files: Files = {}
    ids = {graph.graph_id for graph in graphs}
    for record in records:
        if record.key.op_type != "Parameter" and record.key.graph_id in ids:
            files.setdefault(_file_op(record.key), {}).setdefault(
                (record.key.io, record.key.slot), record
            )
    hits = {rule: len(files.keys() & table.known) for rule, table in tables.items()}
    best = max(hits.values(), default=0)
    rivals = [rule for rule, count in hits.items() if count >= best * 0.98]
    return (_by_links(rivals, tables, files, graphs) if len(rivals) > 1 else rivals[0]), files


def _fits(
    graphs: Sequence[Graph], tables: Mapping[str, Names], records: Iterable[TensorRecord]
) -> Iterator[tuple[Graph, int, int]]:
    """Every graph, how many of its dumped operators it names at best, and how many were dumped."""
    dumped: dict[int, set[FileOp]] = {graph.graph_id: set() for graph in graphs}
    for record in records:
        if record.key.op_type != "Parameter" and record.key.graph_id in dumped:
            dumped[record.key.graph_id].add(_file_op(record.key))
    named = [table.known for table in tables.values()]
    for graph in graphs:
        files = dumped[graph.graph_id]
        yield graph, max(len(files & names) for names in named), len(files)


def _table(named: Iterable[Named], feeds: frozenset[FileOp]) -> Names:
    """Operators by what files call them, with their type, and without it as golden data have them."""
    table: dict[FileOp, list[int]] = {}
    slots: dict[FileOp, int] = {}
    for (graph_id, kind, name), number, slot in named:
        checkpoint()
        for file in dict.fromkeys(((graph_id, kind, name), (graph_id, "", standard_name(name)))):
            numbers = table.setdefault(file, [])
            if numbers[-1:] != [number]:
                numbers.append(number)
            if slot is not None:
                slots[file] = slot
    return Names(table, slots, feeds - table.keys())


def _by_links(
    rivals: list[str],
    tables: Mapping[str, Names],
    files: Files,
    graphs: Sequence[Graph],
) -> str:
    """The rule under which most producer outputs equal the consumer inputs they feed.

    Among equals (nothing but outputs was dumped) the sizes of outputs decide.
    """
    contested = {
        file for file in files if len({str(tables[rule].get(file)) for rule in rivals}) > 1
    }
    if not contested:
        return rivals[0]
    by_id = {graph.graph_id: graph for graph in graphs}
    scores = {}
    for rule in rivals:
        where = {(file[0], ops[0]): file for file, ops in tables[rule].ops.items() if file in files}
        links = _links(contested, where, by_id)
        held = [equal for a, b in links if (equal := _equal(files, a, b)) is not None]
        sizes = [_has_size(files[file], by_id[place[0]].ops[place[1]])
                 for place, file in where.items() if file in contested]  # fmt: skip
        scores[rule] = (sum(held) / len(held) if held else 0.0, sum(sizes), -rivals.index(rule))
    return max(rivals, key=scores.__getitem__)


def _has_size(tensors: Mapping[Slot, TensorRecord], op: Op) -> bool:
    """Whether every dumped output has as many elements as the graph says."""
    for (io, slot), record in tensors.items():
        if io == "output" and slot < len(op.outputs):
            try:
                spec = record.spec
            except FormatError:
                return False
            if (
                None not in (spec.size, op.outputs[slot].size)
                and spec.size != op.outputs[slot].size
            ):
                return False
    return True


FileSlot = tuple[FileOp, str, int]


def _links(
    contested: set[FileOp], where: Mapping[tuple[int, int], FileOp], graphs: Mapping[int, Graph]
) -> Iterator[tuple[FileSlot, FileSlot]]:
    """Producer and consumer files that must be equal, one of them contested; not too many."""
    count = 0
    for (graph_id, number), file in where.items():
        for slot, operand in enumerate(graphs[graph_id].ops[number].flat_inputs()):
            if not isinstance(operand, Value):
                continue
            producer = where.get((graph_id, operand.op))
            if producer is not None and (file in contested or producer in contested):
                yield (producer, "output", operand.slot), (file, "input", slot)
                count += 1
                if count >= limits().links_enough:
                    return


def _equal(files: Files, a: FileSlot, b: FileSlot) -> bool | None:
    """Whether two tensors start with the same bytes; ``None`` if one of them cannot be read."""
    first = files[a[0]].get((a[1], a[2]))
    second = files[b[0]].get((b[1], b[2]))
    if first is None or second is None or not first.path or not second.path:
        return None
    try:
        return fingerprint(first.path) == fingerprint(second.path)
    except FormatError:
        return None


def _renumbered(names: Names, files: Files, graphs: Sequence[Graph]) -> Iterator[Note]:
    """Tell every operator whose files carry another id than its IR name."""
    by_id = {graph.graph_id: graph for graph in graphs}
    for file in files:
        for number in names.get(file) or ():
            name = by_id[file[0]].ops[number].name
            if sanitize(name) != file[2]:
                yield Note("renumbered", name, Message("compare/renumbered", file=file[2]))


class _Draft:
    """A binding while it grows, rank by rank."""

    def __init__(self, graphs: dict[tuple[int, int], Graph]) -> None:
        self.graphs = graphs
        self.notes: list[Note] = []
        self._runs: dict[Execution, dict[int, tuple[str, str, dict[Slot, TensorRecord]]]] = {}
        self._parameters: dict[Execution, dict[str, TensorRecord]] = {}
        self._skipped: list[Skipped] = []
        self._blocks: dict[Execution, Execution] = {}

    def binding(self, dump: Dump, records: Sequence[TensorRecord]) -> Binding:
        """What has been bound."""
        return Binding(
            dump,
            MappingProxyType(self.graphs),
            self._complete_runs(),
            self._parameters,
            tuple(self._skipped),
            tuple(self.notes),
            records=records,
        )

    def _complete_runs(self) -> dict[Execution, dict[int, OperatorRun]]:
        """Return the runs with all tensors that they have."""
        held = by_slot(run[-1] for runs in self._runs.values() for run in runs.values())
        return {
            block: {
                number: OperatorRun(block, number, op_type, name, next(held))
                for number, (op_type, name, _) in runs.items()
            }
            for block, runs in self._runs.items()
        }

    def take(self, records: Iterable[TensorRecord], names: Names) -> None:
        """Put every record of one rank into its operator's run."""
        strange: dict[tuple[str, str], int] = {}
        records = sorted(records, key=attrgetter("timestamp_us"))
        places = ((_file_op(one.key), one.key.io, one.key.slot) for one in records)
        turns = Counter(() if names is NO_NAMES else places)  # asked for names of graphs alone
        for record in records:
            checkpoint()
            key = record.key
            block = self._block(key, key.turn)
            file = _file_op(key)
            if not key.op_type and file in names.feeds:
                self._feed(record, block, file[2])
                continue
            if key.op_type == "Parameter":
                plain = (key.io, key.slot) == ("output", 0)
                name = key.op_name if plain else f"{key.op_name}.{key.io}.{key.slot}"
                self._feed(record, block, name)
                continue
            numbers = names.get(file)
            if (
                numbers is not None
                and not key.op_type
                and len(numbers) > turns[file, key.io, key.slot]
            ):
                said = Message("compare/ambiguous", count=len(numbers))
                self._skipped.append(Skipped(key.op_name, "ambiguous", said))
            elif numbers is not None:
                block = self._block(key, key.turn // len(numbers))
                self._add(record, block, numbers[key.turn % len(numbers)], names.slots.get(file))
            elif block.graph_key in self.graphs:
                said = Message("compare/not-in-graph")
                self._skipped.append(Skipped(key.op_name, "not-in-graph", said))
            else:  # without a graph every file-side operator gets a number in order of time
                number = strange.setdefault((key.op_type, key.op_name), -1 - len(strange))
                self._add(record, block, number)

    def _block(self, key: TensorKey, turn: int) -> Execution:
        """Return the execution of a tensor, the same value for all tensors of it."""
        block = Execution(key.rank, key.net_name, key.graph_id, key.iteration, turn)
        return self._blocks.setdefault(block, block)

    def _feed(self, record: TensorRecord, block: Execution, name: str) -> None:
        """Take a weight, or what a network was fed."""
        held = self._parameters.setdefault(block, {})
        if name in held:
            said = Message("compare/twice", where=name)
            self._skipped.append(Skipped(record.key.op_name, "twice", said))
        else:
            held[name] = record

    def _add(
        self, record: TensorRecord, block: Execution, number: int, stated: int | None = None
    ) -> None:
        graph = self.graphs.get(block.graph_key)
        op = graph.ops[number] if graph is not None and number >= 0 else None
        runs = self._runs.setdefault(block, {})
        if number not in runs:
            runs[number] = record.key.op_type, record.key.op_name if op is None else op.name, {}
        _, name, tensors = runs[number]
        io, slot = record.key.io, _slot(record, op) if stated is None else stated
        if (io, slot) in tensors:
            said = Message("compare/twice", where=f"{io}.{slot}")
            self._skipped.append(Skipped(name, "twice", said))
            return
        tensors[io, slot] = record


def _slot(record: TensorRecord, op: Op | None) -> int:
    """Place of a tensor among an operator's own; containers count those inputs alone that are connected."""
    key = record.key
    in_order = not record.path or record.path.endswith((".npy", ".csv"))
    if op is None or key.io == "output" or in_order:
        return key.slot
    connected = [slot for slot, one in enumerate(op.flat_inputs()) if one != UNCONNECTED]
    return connected[key.slot] if key.slot < len(connected) else key.slot
