"""What the graph engine will write, as far as a graph tells: one container an operator.

This is for the trees that are not simulated: MindSpore O2 and GE, TensorFlow, torchair, AscendCL. Ids,
times and the model's number are known on the device alone, so names and folders carry placeholders
(``{task_id}``); bytes are those of the tensors and an estimate of each header. Trees and names are
those of MindSpore ``ascend_dump.cc``, the device writer ``dump_task.cpp`` and torchair.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from workbench.dump.choice import Choice
from workbench.dump.names import MAX_NAME_BYTES, sanitize
from workbench.dump.npy import npy_header
from workbench.dump.preview import (
    CONTROL,
    CONTROL_FLOW,
    MAX_TENSORS,
    FileEntry,
    Forecast,
    beyond,
    branches,
    shapeless,
    stored_bytes,
)
from workbench.graph.nodes import Value
from workbench.ir.ge_ops import never_dumps
from workbench.ir.ms_words import type_word
from workbench.run.outline import UNKNOWN, outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import Io, TensorSpec
    from workbench.graph.nodes import Graph, Op

TREES: dict[str, str] = {
    "mindspore-o2": "{iteration}/{time}/{device_id}/{model_name}/{model_id}/{iteration_id}",
    "mindspore-ge": "{time}/{device_id}/{model_name}/{model_id}/{iteration}",
    "tensorflow": "{time}/{device_id}/{model_name}/{model_id}/{iteration}",
    "torchair": "{world}/{time}/{device_id}/{model_name}/{model_id}/{iteration}",
    "acl": "{time}/{device_id}/{model_name}/{model_id}/{iteration}",
}
"""Surface → folder of one iteration below the dump's own; what stays in braces the run fills in."""

_DIGITS = {"{task_id}": 4, "{stream_id}": 2, "{timestamp}": 16}
"""Digits that a placeholder usually becomes; they decide whether a name is too long."""

_NUMBER = "{number}"
_NUMBER_DIGITS = 10

_PREFIX, _HEADER, _TENSOR, _DIM = 8, 20, 28, 4
"""Bytes of a container before its tensors: length word, fixed fields, each tensor, each dimension."""

_CSV_HEADER, _CSV_ROW = 140, 120
"""Bytes of a table of statistics: its first line, each tensor."""

_AS_NPY = {"bfloat16": "float32", "int4": "int8"}
"""What an npy file holds in place of types that NumPy does not know."""

_FEEDS = frozenset(("Data", "RefData", "AippData"))


class Piece(NamedTuple):
    """A tensor of an operator; ``slot`` counts within ``io``."""

    io: Io
    slot: int
    spec: TensorSpec


class Dumped(NamedTuple):
    """An operator that leaves a dump, with the tensors of it that are written."""

    op: Op
    pieces: tuple[Piece, ...]


def predict_containers(
    graph: Graph,
    plan: DumpPlan,
    iterations: Sequence[int],
    surface: str,
    places: Mapping[str, str] | None = None,
) -> Forecast:
    """Return what the graph engine writes for a plan of kind ``data`` or ``watch``.

    Parameters
    ----------
    graph : Graph
        Best the graph that runs (``ge_proto_*_Build.txt``); any other differs in names and fusions.
    surface : str
        A key of `TREES`.
    places : mapping of placeholder to text
        What is known of the folders (``device_id``, ``world``).
    """
    places = {"device_id": "0", **(places or {})}
    operators = _Operators(graph, plan, feeders=surface == "torchair")
    dumped = operators.watched() if plan.kind == "watch" else operators.dumped
    writer = _Writer(plan, npy=plan.files == "npy" and surface.startswith("mindspore"))
    names = [file for one in dumped for file in writer.files(one)]
    rows = sum(len(one.pieces) for one in dumped) if writer.table else 0
    listed = max(1, MAX_TENSORS // max(len(names), 1))
    turns, more = len(iterations[:listed]), max(0, len(iterations) - listed)
    folder = _folder(graph, surface, places)
    files: list[FileEntry] = []
    if surface == "mindspore-o2" and iterations:
        files.append(_acl_form(plan, places["device_id"], iterations[-1]))
    for iteration in iterations[:listed] if dumped else ():
        place = folder.replace("{iteration}", str(iteration))
        files += _leaf(place, names, iteration, rows)
    counts: dict[str, int] = {}
    for op, pieces in dumped:
        counts[op.name] = counts.get(op.name, 0) + len(pieces) * turns
    return Forecast(
        tuple(files),
        counts if turns else {},
        rows * turns,
        sum(_payload(one.pieces) for one in dumped) if turns else 0,
        operators.silent,
        more,
        (*_doubts(graph, operators, files), *beyond(more, listed)),
    )


def _folder(graph: Graph, surface: str, places: Mapping[str, str]) -> str:
    known = dict(places)
    if graph.dialect == "ge":
        known.setdefault("model_name", sanitize(graph.name))
    folder = TREES[surface]
    for key, text in known.items():
        folder = folder.replace(f"{{{key}}}", text)
    return folder


def _doubts(graph: Graph, operators: _Operators, files: Iterable[FileEntry]) -> Iterator[str]:
    yield "ids, times and the model's number are given by the device: names carry placeholders"
    yield "bytes are those of the tensors and an estimate of each header"
    if graph.dialect != "ge":
        yield (
            "the graph engine renames, fuses and removes operators of this graph: "
            "a ge_proto_*_Build.txt shows those that run"
        )
    if operators.fed:
        yield f"data operators are dumped because they feed a chosen operator: {operators.fed}"
    yield from branches((graph,))
    yield from shapeless(files)


class _Operators:
    """The operators of a graph by what a plan does with them.

    Attributes
    ----------
    dumped : list of Dumped
    silent : dict
        Operators that were chosen and leave no dump, with the reason.
    fed : list of str
        Data operators that are dumped because they feed a chosen one.
    """

    def __init__(self, graph: Graph, plan: DumpPlan, *, feeders: bool) -> None:
        self._plan, self._is_ge = plan, graph.dialect == "ge"
        self._blocks = (graph, *graph.subgraphs)
        self._stated = {} if self._is_ge else _outlined(graph)
        self.dumped: list[Dumped] = []
        self.silent: dict[str, str] = {}
        self.fed: list[str] = []
        self._choice = choice = Choice(plan, self._blocks)
        for block in self._blocks:
            fed = _feeders(block, choice) if feeders and plan.select else set()
            for op in block.ops:
                if op.name in fed:
                    self.fed.append(op.name)
                    self._add(op, "", frozenset(("output",)))
                elif choice.selects(op.name, op.op_type):
                    self._add(op, self._silence(op), plan.io)

    def _add(self, op: Op, silence: str, io: frozenset[Io]) -> None:
        pieces = tuple(p for p in self._pieces(op) if p.io in io and not self._barred(op, p))
        silence = silence or _emptiness(pieces)
        if silence:
            self.silent[op.name or op.op_type] = silence
        else:
            self.dumped.append(Dumped(op, pieces))

    def watched(self) -> list[Dumped]:
        """Outputs of the watched operators: after themselves, and after each chosen operator.

        Collective operators and the watched ones themselves do not count as chosen.
        """
        layers = sum(
            op.name not in self._plan.watched and not op.op_type.startswith("Hcom")
            for op, _ in self.dumped
        )
        found = []
        for block in self._blocks:
            for op in block.ops:
                if op.name in self._plan.watched and not self._silence(op):
                    outputs = tuple(p for p in self._pieces(op) if p.io == "output")
                    found += [Dumped(op, outputs)] * (layers + 1)
        return found

    def _silence(self, op: Op) -> str:
        if self._is_ge:
            return never_dumps(op)
        return CONTROL if op.op_type in CONTROL_FLOW else ""

    def _barred(self, op: Op, piece: Piece) -> bool:
        return self._choice.bars(op.name, op.op_type, piece.io, piece.slot)

    def _pieces(self, op: Op) -> Iterable[Piece]:
        """Tensors of an operator; a graph of GE describes them as they lie on the device."""
        if not self._is_ge:
            return self._stated.get(op.name, {}).values()
        if not op.device_inputs and not op.device_outputs:  # a file of edges alone
            inputs = (Piece("input", slot, UNKNOWN) for slot in range(len(op.inputs)))
            return (*inputs, Piece("output", 0, UNKNOWN))
        inputs = (Piece("input", slot, spec) for slot, spec in enumerate(op.device_inputs))
        outputs = (Piece("output", slot, spec) for slot, spec in enumerate(op.device_outputs))
        return [piece for piece in (*inputs, *outputs) if piece.spec.dtype]


def _emptiness(pieces: Sequence[Piece]) -> str:
    """Why tensors leave no file: there are none, or the device writer finds no bytes in them."""
    if not pieces:
        return "it has no tensor of the kind that is asked for"
    sizes = [stored_bytes(piece.spec.dtype, piece.spec.size) for piece in pieces]
    return "its tensors hold no bytes" if all(size == 0 for size in sizes) else ""


def _feeders(block: Graph, choice: Choice) -> set[str]:
    """Data operators that feed a chosen operator."""
    return {
        block.ops[operand.op].name
        for op in block.ops
        if choice.selects(op.name, op.op_type)
        for operand in op.flat_inputs()
        if isinstance(operand, Value) and block.ops[operand.op].op_type in _FEEDS
    }


def _outlined(graph: Graph) -> dict[str, dict[tuple[Io, int], Piece]]:
    """Tensors of every operator as the graph states them; should a name repeat, the first counts."""
    found: dict[str, dict[tuple[Io, int], Piece]] = {}
    for record in outline(graph):
        _, name, io, slot, *_ = record.key
        found.setdefault(name, {}).setdefault((io, slot), Piece(io, slot, record.label))
    return found


class _Writer:
    """How one operator becomes files; ``table`` says whether there is one statistic.csv for all."""

    def __init__(self, plan: DumpPlan, *, npy: bool) -> None:
        self._npy, self._saved = npy, plan.saved
        self.table = npy and plan.saved != "tensor"

    def files(self, one: Dumped) -> Iterator[tuple[str, int | None]]:
        """Names and bytes."""
        op, pieces = one
        base = f"{sanitize(op.op_type)}.{sanitize(op.name)}." + ".".join(_DIGITS)
        if self._npy:
            if self._saved != "statistic":
                for piece in pieces:
                    yield f"{base}.{_npy_suffix(piece)}", _npy_bytes(piece.spec)
        elif self._saved == "statistic":
            yield f"{base}.csv", _CSV_HEADER + _CSV_ROW * len(pieces)
        else:
            yield base, _container_bytes(op, pieces)


def _npy_suffix(piece: Piece) -> str:
    """End of an npy file's name; four dimensions are written as NCHW, all others as ND."""
    layout = "NCHW" if piece.spec.shape is not None and len(piece.spec.shape) == 4 else "ND"
    return f"{piece.io}.{piece.slot}.{layout}.{type_word(piece.spec.dtype).lower()}.npy"


def _npy_bytes(spec: TensorSpec) -> int | None:
    size = stored_bytes(_AS_NPY.get(spec.dtype, spec.dtype), spec.size)
    if size is None or spec.shape is None:
        return None
    return size + len(npy_header("float32", spec.shape))


def _container_bytes(op: Op, pieces: Sequence[Piece]) -> int | None:
    total = _PREFIX + _HEADER + len(op.name.encode("utf-8", "surrogateescape"))
    for _, _, spec in pieces:
        size = stored_bytes(spec.dtype, spec.size)
        if size is None:
            return None
        total += _TENSOR + _DIM * len(spec.shape or ()) + size
    return total


def _payload(pieces: Iterable[Piece]) -> int:
    return sum(stored_bytes(piece.spec.dtype, piece.spec.size) or 0 for piece in pieces)


def _leaf(
    folder: str, names: Iterable[tuple[str, int | None]], iteration: int, rows: int
) -> Iterator[FileEntry]:
    """Files of one iteration; a name that is too long becomes a number, its line is counted."""
    mapping = 0
    for name, size in names:
        length = _length(name)
        if length > MAX_NAME_BYTES:
            mapping += _NUMBER_DIGITS + length + 2
            name = _NUMBER + (".npy" if name.endswith(".npy") else "")
        yield FileEntry(f"{folder}/{name}", size, iteration)
    if rows:
        size = _CSV_HEADER + _CSV_ROW * rows
        yield FileEntry(f"{folder}/statistic.csv", size, iteration, bound=True)
    if mapping:
        yield FileEntry(f"{folder}/mapping.csv", mapping, iteration)


def _acl_form(plan: DumpPlan, device: str, iteration: int) -> FileEntry:
    """The configuration that MindSpore hands to AscendCL, as it is after the last iteration."""
    layers = [{"layer": [entry.text]} for entry in plan.select if entry.kind == "name"]
    form = {
        "dump_list": layers,
        "dump_mode": "all" if len(plan.io) == 2 else next(iter(plan.io), "all"),
        "dump_op_switch": "on",
        "dump_path": f"{plan.path}/{iteration}",
    }
    text = json.dumps({"dump": form}, separators=(",", ":"))
    return FileEntry(f"acl_dump_{device}.json", len(text))


def _length(name: str) -> int:
    """Bytes of a name when its placeholders are filled in."""
    length = len(name.encode("utf-8", "surrogateescape"))
    return length + sum(digits - len(key) for key, digits in _DIGITS.items())
