"""Pair the tensors of kernels that stand for other operators than those of the other side.

Outputs correspond that are the same tensor of the network, inputs that read the same value. What only
one side has, because the other one hands it on inside a kernel, is skipped with its reason:

``fused``      it lies between operators that are one kernel on the other side
``inserted``   the compiler inserted the operator
``part``       it is handed on between kernels that are one operator on the other side, or read once more
``attribute``  the other side's graph states it as a setting of the operator
``no-task``    the other side's operator runs nothing on the device
``communication``  ranks of a job meet there, whose tensors are joined; the other side's layout has no such operator
``own-shape``  a rank's shape of its part of a result, whose ranks are joined
``quantised``  it is an integer of another scale (`workbench.comparison.graphs.quantization`): an operator
               that quantizes reads what the original layer reads, and the one that ends it gives what the
               layer gives; what lies between is left out, as msaccucmp filters it
``folded``     a constant that the compiler has computed, or a weight that went into one; an operator that no
               input reaches, of a model, or where the other side's compiler has computed constants
``copy``       it has the elements of a golden that is compared, where no graph tells who only hands on
``unread``     nothing reads it, as the golden data say where no graph does
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.ge_origins import is_inserted, is_part, original_types
from workbench.comparison.graphs.roles import FOLDABLE, LEAVES, OF_MODELS
from workbench.comparison.graphs.traverse import ALIAS, path_back
from workbench.comparison.graphs.view import Origin
from workbench.comparison.pair.pairing import Sides
from workbench.core.dtypes import DTYPES
from workbench.dump.dump import WATCHED
from workbench.graph.graph import Const, Value
from workbench.graph_files import ge
from workbench.ops import RESHAPING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.comparison.align.alignment import Alignment, Fusion
    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.graphs.view import GraphView
    from workbench.comparison.pair.claims import Claims, ExecutionPair
    from workbench.comparison.result import Side
    from workbench.core.tensors import TensorRecord, TensorSpec
    from workbench.graph.graph import Graph, Op

    Runs = Mapping[int, OperatorRun]

FUSED, INSERTED, PART, ATTRIBUTE = "fused", "inserted", "part", "attribute"
NO_TASK, FOLDED, QUANTISED, COPY = "no-task", "folded", "quantised", "copy"
UNREAD = "unread"
COMMUNICATION, OWN_SHAPE = "communication", "own-shape"
EXPECTED = frozenset(
    (
        FUSED,
        INSERTED,
        PART,
        ATTRIBUTE,
        NO_TASK,
        FOLDED,
        QUANTISED,
        COPY,
        UNREAD,
        COMMUNICATION,
        OWN_SHAPE,
        WATCHED,
        "inside-group",
        "not-selected",
    )
)
"""Reasons for leaving a tensor out that say nothing odd about a dump."""


def pair_fusions(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what crosses the edges of fused operators, and skip what lies inside."""
    found = at.alignment
    for fusion in found.fusions:
        for a, b in fusion.values:
            ours, theirs = _dumped(found.target, at.target, a), _dumped(found.golden, at.golden, b)
            if ours is not None and theirs is not None:
                runs = at.target[ours.op], at.golden[theirs.op]
                places = ("output", ours.slot), ("output", theirs.slot)
                claims.pair(at, runs, places, fusion.rule, score)
        for number in fusion.target:
            if number in at.target:
                _pair_inputs(claims, at, fusion, at.target[number], score)
        _take_folded(claims, at, fusion, score)
        _skip_inside(claims, at, fusion)


def _dumped(view: GraphView, runs: Runs, origin: Origin) -> Value | None:
    """The nearest output with a file that is a value: an operator that runs nothing hands on another's."""
    for operand in path_back(view.graph, Value(origin.number, origin.slot), ALIAS):
        if isinstance(operand, Value) and operand.op in runs:
            return operand
    return None


def _skip_inside(claims: Claims, at: ExecutionPair, fusion: Fusion) -> None:
    """Skip what never leaves a group: ``fused`` of the side that has more operators, ``part`` of the other."""
    members = Sides(fusion.target, fusion.golden)
    views = Sides(at.alignment.target, at.alignment.golden)
    edges = Sides({a for a, _ in fusion.values}, {b for _, b in fusion.values})
    larger = "golden" if len(members.golden) >= len(members.target) else "target"
    for side, runs in at.runs.named:
        reason = FUSED if side == larger else PART
        for run in (runs[number] for number in members.of(side) if number in runs):
            inside = _inside(run, views.of(side), members.of(side), edges.of(side))
            claims.skip(side, run.op_name, inside, reason)


def _pair_inputs(
    claims: Claims, at: ExecutionPair, fusion: Fusion, run: OperatorRun, score: float
) -> None:
    """Pair the inputs of one kernel with those golden inputs that read the same value.

    A value that several kernels read, but fewer golden operators, is compared as often as these do.
    """
    found, theirs = at.alignment, at.golden
    readers = _readers(found.golden, fusion)
    for slot, origin in enumerate(found.target.origins(run.op)):
        value, place = found.mapped(origin), ("input", slot)
        same = readers.get(value, ()) if value is not None else ()
        partners = [
            (theirs[number], other)
            for number, other in same
            if number in theirs and ("input", other) in theirs[number].tensors
        ]
        for there, other in partners:
            if claims.pair(at, (run, there), (place, ("input", other)), fusion.rule, score):
                break
        else:
            if partners and place in run.tensors and len(fusion.target) > 1:
                claims.skip("target", run.op_name, [run.tensors[place]], PART)


def _take_folded(claims: Claims, at: ExecutionPair, fusion: Fusion, score: float) -> None:
    """Pair or skip constants that the target's compiler has computed.

    What has only been converted is the weight of that shape. A normalization changes it, and the graph
    does not say what has gone into a constant.
    """
    ours, theirs = at.runs
    waiting = list(_weights(claims, at.alignment.golden, fusion, theirs))
    graph, skipped = at.alignment.target.graph, False
    for run in (ours[number] for number in fusion.target if number in ours):
        op = graph.ops[run.op]
        normal = is_part(op) or FOLDABLE.isdisjoint(original_types(op))
        for slot in _folded(graph, op):
            place = "input", slot
            spec = op.input_specs[slot] if slot < len(op.input_specs) else None
            shape = None if spec is None else spec.shape
            same = next((one for one in waiting if normal and one[2] == shape), None)
            if same is not None and claims.pair(
                at, (run, theirs[same[0]]), (place, same[1]), "fusion", score
            ):
                waiting.remove(same)
            elif place in run.tensors and claims.is_free("target", run.tensors[place]):
                claims.skip("target", run.op_name, [run.tensors[place]], FOLDED)
                skipped = True
    for number, there, _ in waiting if skipped else ():
        other = theirs[number]
        claims.skip("golden", other.op_name, [other.tensors[there]], FOLDED)


_CONSTANTS = frozenset(("Const", "Constant"))
_HOLDERS = _CONSTANTS | {"Variable", "RefData"}
"""Data operators of GE that hold weights."""


def _folded(graph: Graph, op: Op) -> Iterator[int]:
    """Slots in which an operator of GE reads what its compiler has computed."""
    for slot, operand in enumerate(op.flat_inputs()):
        leaf = graph.ops[operand.op] if isinstance(operand, Value) else None
        if leaf is not None and leaf.op_type in LEAVES and is_inserted(leaf):
            yield slot


def _weights(
    claims: Claims, view: GraphView, fusion: Fusion, runs: Runs
) -> Iterator[tuple[int, tuple[str, int], tuple[int, ...] | None]]:
    """Weights that no pair has claimed: operator, place and shape."""
    for number in fusion.golden:
        run = runs.get(number)
        for slot, origin in enumerate(view.origins(number)) if run is not None else ():
            record = run.tensors.get(("input", slot)) if run is not None else None
            spec = _weight(view.graph, origin)
            if record is None or spec is None or not claims.is_free("golden", record):
                continue
            yield number, ("input", slot), spec.shape


def _weight(graph: Graph, origin: Origin) -> TensorSpec | None:
    """What a weight looks like: a parameter, or a data operator of GE that holds no input."""
    if origin.kind == "param":
        parameter = graph.parameters[origin.number]
        return parameter.spec if parameter.is_weight else None
    if origin.kind != "op" or graph.ops[origin.number].op_type not in _HOLDERS:
        return None
    outputs = graph.ops[origin.number].outputs
    return outputs[origin.slot] if origin.slot < len(outputs) else None


def _readers(golden: GraphView, fusion: Fusion) -> dict[Origin, list[tuple[int, int]]]:
    """Who reads a value among the golden operators of a fusion: operator and slot."""
    table: dict[Origin, list[tuple[int, int]]] = {}
    for number in fusion.golden:
        for slot, origin in enumerate(golden.origins(number)):
            if origin.kind in ("op", "param"):
                table.setdefault(origin, []).append((number, slot))
    return table


def _inside(
    run: OperatorRun, view: GraphView, members: tuple[int, ...], edges: set[Origin]
) -> Iterator[TensorRecord]:
    """Tensors of an operator that never leave its group: what members hand on, and constants."""
    origins = view.origins(run.op)
    for (io, slot), record in run.tensors.items():
        if io == "output":
            if Origin("op", run.op, slot) not in edges:
                yield record
        elif slot < len(origins):
            origin = origins[slot]
            if origin.kind == "const" or (origin.kind == "op" and origin.number in members):
                yield record


def skip_unequalled(claims: Claims, at: ExecutionPair, _score: float) -> None:
    """Skip what one side cannot have: inserted operators, settings, operators that run nothing."""
    found = at.alignment
    graphs = Sides(found.target.graph, found.golden.graph)
    others = Sides(graphs.golden, graphs.target)
    partners = Sides(found.match_of, {g: t for t, g in found.match_of.items()})
    from workbench.ops.compile_time import computed_before_the_run

    for side, runs in at.runs.named:
        graph, partner = graphs.of(side), partners.of(side)
        if graph.dialect in OF_MODELS and others.of(side).dialect == "ge":
            _skip_unrun(claims, side, runs, graph, partner)
        elif _folds(others.of(side)):
            left = computed_before_the_run(graph) - partner.keys()
            claims.skip_left(side, [run for n, run in runs.items() if n in left], FOLDED)
        for number, run in runs.items():
            op = graph.ops[number] if number >= 0 else None
            if op is None:
                continue
            if is_inserted(op):
                claims.skip_left(side, [run], INSERTED)
            elif number in partner and others.of(side).dialect == "ge":
                _skip_lone(claims, side, run, op, others.of(side).ops[partner[number]])


def _skip_unrun(
    claims: Claims, side: Side, runs: Runs, graph: Graph, partner: Mapping[int, int]
) -> None:
    """Skip nodes of a model that its compiler leaves nothing of.

    A result of the network that only renames a value is left unless that was compared: something must show it.
    """
    results = {one.op for one in graph.outputs if isinstance(one, Value)}
    reshaping = {number for number, op in enumerate(graph.ops) if op.op_type in RESHAPING}
    unseen = {number for number in results if not _is_shown(claims, side, runs, graph, number)}
    from workbench.ops.compile_time import computed_before_the_run, never_read, taken_away

    for reason, numbers in (
        (FOLDED, computed_before_the_run(graph)),
        (NO_TASK, (taken_away(graph) | reshaping | never_read(graph)) - unseen),
    ):
        left = numbers - partner.keys()
        claims.skip_left(side, [run for number, run in runs.items() if number in left], reason)


def _folds(graph: Graph) -> bool:
    """Whether a graph is GE's and has constants that its compiler computed."""
    return graph.dialect == "ge" and any(
        op.op_type in _CONSTANTS and is_inserted(op) for op in graph.ops
    )


def _is_shown(claims: Claims, side: Side, runs: Runs, graph: Graph, number: int) -> bool:
    """Whether a value that an operator only renames was compared under another name."""
    values = path_back(graph, Value(number), RESHAPING | {"Identity"})
    before = (one for one in values if isinstance(one, Value) and one.op != number)
    records = (runs[v.op].tensors.get(("output", v.slot)) for v in before if v.op in runs)
    return any(one is not None and claims.is_paired(side, one) for one in records)


def _skip_lone(claims: Claims, side: Side, run: OperatorRun, op: Op, other: Op) -> None:
    """Skip what the partner of an operator in a graph of GE has not."""
    if ge.why_no_dump(other):
        claims.skip_left(side, [run], NO_TASK)
        return
    from workbench.ops import argument_name

    settings = [
        run.tensors["input", slot]
        for slot in _constants(op)
        if ("input", slot) in run.tensors and argument_name(op, slot) in other.attrs
    ]
    claims.skip(side, run.op_name, settings, ATTRIBUTE)


def _constants(op: Op) -> Iterator[int]:
    return (slot for slot, operand in enumerate(op.flat_inputs()) if isinstance(operand, Const))


def pair_quantised(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair the inputs of quantizing operators, and skip the integers."""
    graph, quantised = at.alignment.target.graph, at.alignment.quantised
    for number, run in at.target.items():
        hidden = [
            record
            for (io, slot), record in run.tensors.items()
            if number >= 0 and quantised.hides(number, io, slot, graph.ops[number])
        ]
        claims.skip("target", run.op_name, hidden, QUANTISED)
    for number in sorted(quantised.quant & at.target.keys()):
        for other, slot in _quantizing_readers(at.alignment, number):
            there = at.golden.get(other)
            places = ("input", 0), ("input", slot)
            if there is not None and claims.pair(
                at, (at.target[number], there), places, "fusion", score
            ):
                break


def hide_integers(claims: Claims, at: ExecutionPair, _score: float) -> None:
    """Skip the integers of kernels that work on int8, where files alone tell which these are."""
    block = next((run.block for run in at.target.values()), None)
    if block is None or claims.sides.target.trust(block).graph == "own":
        return
    if any(run.in_int8 for run in at.golden.values()):
        return
    for run in at.target.values():
        if run.in_int8:
            integers = [one for one in run.tensors.values() if not _is_of_floats(one)]
            claims.skip("target", run.op_name, integers, QUANTISED)


def _is_of_floats(record: TensorRecord) -> bool:
    row = DTYPES.get(record.label.dtype)
    return row is not None and row.is_float


def _quantizing_readers(found: Alignment, number: int) -> Iterator[tuple[int, int]]:
    """Golden operators, and their input, that read what a quantizing operator reads for them."""
    value = found.mapped(next(iter(found.target.origins(number)), Origin("none", -1)))
    for reader, _ in found.target.readers(Origin("op", number)):
        for g in _counterparts(found, reader) if value is not None else ():
            for slot, origin in enumerate(found.golden.origins(g)):
                if origin == value:
                    yield g, slot


def _counterparts(found: Alignment, number: int) -> tuple[int, ...]:
    """Golden operators that do the work of a target's."""
    if number in found.fused:
        return found.fused[number].golden
    return (found.match_of[number],) if number in found.match_of else ()


def skip_floats(claims: Claims, at: ExecutionPair, _score: float) -> None:
    """Skip what is left of layers whose partners have integers in its place."""
    quantised = at.alignment.quantised
    for number in sorted((quantised.quant | quantised.inside) & at.target.keys()):
        members = _counterparts(at.alignment, number)
        claims.skip_left("golden", [at.golden[g] for g in members if g in at.golden], QUANTISED)
