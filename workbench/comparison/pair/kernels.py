"""Pair the tensors of kernels that stand for other operators than those of the other side.

Outputs correspond that are the same tensor of the network, inputs that read the same value. What only
one side has, because the other one hands it on inside a kernel, is skipped with its reason:

``fused``      it lies between operators that are one kernel on the other side
``inserted``   the compiler inserted the operator
``part``       it is handed on between kernels that are one operator on the other side, or read once more
``attribute``  the other side's graph states it as a setting of the operator
``no-task``    the other side's operator runs nothing on the device
``quantised``  it is an integer of another scale (`workbench.comparison.graphs.quantization`)
``folded``     a constant that the compiler has computed, or a weight that went into one
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.ge_origins import is_inserted, is_part, original_types
from workbench.comparison.graphs.roles import LEAVES
from workbench.comparison.graphs.view import Origin
from workbench.comparison.pair.pairing import Pair
from workbench.dump.tree import WATCHED, Skipped
from workbench.graph.nodes import Const, Value
from workbench.graph.traits import argument_name
from workbench.ir.ge_ops import never_dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.align.alignment import Alignment, Fusion
    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.graphs.view import GraphView
    from workbench.comparison.pair.pairing import Pairing
    from workbench.core.tensors import TensorRecord, TensorSpec
    from workbench.graph.nodes import Graph, Op

    Runs = Mapping[int, OperatorRun]

FUSED, INSERTED, PART, ATTRIBUTE = "fused", "inserted", "part", "attribute"
NO_TASK, FOLDED, QUANTISED = "no-task", "folded", "quantised"
EXPECTED = frozenset(
    (
        FUSED,
        INSERTED,
        PART,
        ATTRIBUTE,
        NO_TASK,
        FOLDED,
        QUANTISED,
        WATCHED,
        "inside-group",
        "not-selected",
    )
)
"""Reasons for leaving a tensor out that say nothing odd about a dump."""


def pair_fusions(pairing: Pairing, found: Alignment, ours: Runs, theirs: Runs, base: int) -> None:
    """Pair what crosses the edges of fused operators, and skip what lies inside."""
    for fusion in found.fusions:
        for a, b in fusion.values:
            run, other = ours.get(a.number), theirs.get(b.number)
            if run is not None and other is not None:
                pair_places(
                    pairing, run, other, ("output", a.slot), ("output", b.slot), base, fusion.rule
                )
        for number in fusion.target:
            if number in ours:
                _pair_inputs(pairing, found, fusion, ours[number], theirs, base)
        _take_folded(pairing, found, fusion, ours, theirs, base)
        more = len(fusion.golden) >= len(fusion.target)
        for side, view, members, runs, edges in (
            ("target", found.target, fusion.target, ours, {a for a, _ in fusion.values}),
            ("golden", found.golden, fusion.golden, theirs, {b for _, b in fusion.values}),
        ):
            reason = FUSED if more == (side == "golden") else PART
            for run in (runs[number] for number in members if number in runs):
                inside = _inside(run, view, members, edges)
                skip_records(pairing, side, run.op_name, inside, reason)


def _pair_inputs(
    pairing: Pairing, found: Alignment, fusion: Fusion, run: OperatorRun, theirs: Runs, base: int
) -> None:
    """Pair the inputs of one kernel with those golden inputs that read the same value.

    A value that several kernels read, but fewer golden operators, is compared as often as these do.
    """
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
            if pair_places(pairing, run, there, place, ("input", other), base, fusion.rule):
                break
        else:
            if partners and place in run.tensors and len(fusion.target) > 1:
                skip_records(pairing, "target", run.op_name, [run.tensors[place]], PART)


def _take_folded(
    pairing: Pairing, found: Alignment, fusion: Fusion, ours: Runs, theirs: Runs, base: int
) -> None:
    """Pair or skip constants that the target's compiler has computed.

    What has only been converted is the weight of that shape. A normalization changes it, and the graph
    does not say what has gone into a constant.
    """
    waiting = list(_weights(pairing, found.golden, fusion, theirs))
    graph, skipped = found.target.graph, False
    for run in (ours[number] for number in fusion.target if number in ours):
        op = graph.ops[run.op]
        normal = is_part(op) or _NORMALIZATIONS.isdisjoint(original_types(op))
        for slot in _folded(graph, op):
            place = "input", slot
            spec = op.input_specs[slot] if slot < len(op.input_specs) else None
            shape = None if spec is None else spec.shape
            same = [one for one in waiting if normal and one[2] == shape]
            if same and pair_places(pairing, run, theirs[same[0][0]], place, same[0][1], base):
                waiting.remove(same[0])
            elif place in run.tensors and id(run.tensors[place]) not in pairing.claimed["target"]:
                skip_records(pairing, "target", run.op_name, [run.tensors[place]], FOLDED)
                skipped = True
    for number, place, _ in waiting if skipped else ():
        skip_records(
            pairing, "golden", theirs[number].op_name, [theirs[number].tensors[place]], FOLDED
        )


_NORMALIZATIONS = frozenset(
    ("BatchNorm", "BNInference", "BNInfer", "FusedBatchNorm", "FusedBatchNormV3")
)


_HOLDERS = frozenset(("Const", "Constant", "Variable", "RefData"))
"""Data operators of GE that hold weights."""


def _folded(graph: Graph, op: Op) -> Iterator[int]:
    """Slots in which an operator of GE reads what its compiler has computed."""
    for slot, operand in enumerate(op.flat_inputs()):
        leaf = graph.ops[operand.op] if isinstance(operand, Value) else None
        if leaf is not None and leaf.op_type in LEAVES and is_inserted(leaf):
            yield slot


def _weights(
    pairing: Pairing, view: GraphView, fusion: Fusion, runs: Runs
) -> Iterator[tuple[int, tuple[str, int], tuple[int, ...] | None]]:
    """Weights that no pair has claimed: operator, place and shape."""
    for number in fusion.golden:
        run = runs.get(number)
        for slot, origin in enumerate(view.origins(number)) if run is not None else ():
            record = run.tensors.get(("input", slot)) if run is not None else None
            spec = _weight(view.graph, origin)
            if record is None or spec is None or id(record) in pairing.claimed["golden"]:
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


def pair_places(
    pairing: Pairing,
    run: OperatorRun,
    other: OperatorRun,
    place: tuple[str, int],
    there: tuple[str, int],
    base: int,
    rule: str = "fusion",
) -> bool:
    """Pair two tensors, if both are there and free."""
    record, partner = run.tensors.get(place), other.tensors.get(there)
    claimed = pairing.claimed
    if record is None or partner is None:
        return False
    if id(record) in claimed["target"] or id(partner) in claimed["golden"]:
        return False
    order = base + abs(run.op)  # operators of no graph are counted downwards
    pairing.add(Pair(record, partner, run, other, *place, rule, 1.0, run.op_name, order))
    return True


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


def skip_left(pairing: Pairing, side: str, runs: Iterable[OperatorRun], reason: str) -> None:
    """Skip what no pair has claimed of some operators."""
    for run in runs:
        skip_records(pairing, side, run.op_name, run.tensors.values(), reason)


def skip_records(
    pairing: Pairing, side: str, name: str, records: Iterable[TensorRecord], reason: str
) -> None:
    """Skip those of some records that nothing has claimed."""
    skipped: list[Skipped] = getattr(pairing, f"skipped_{side}")
    claimed = pairing.claimed[side]
    left = [record for record in records if id(record) not in claimed]
    skipped += [Skipped(name, reason) for _ in left]
    claimed.update(map(id, left))


def skip_unequalled(pairing: Pairing, found: Alignment, ours: Runs, theirs: Runs) -> None:
    """Skip what one side cannot have: inserted operators, settings, operators that run nothing."""
    target, golden = found.target.graph, found.golden.graph
    back = {g: t for t, g in found.partner.items()}
    for side, graph, runs, partner, other in (
        ("target", target, ours, found.partner, golden),
        ("golden", golden, theirs, back, target),
    ):
        for number, run in runs.items():
            op = graph.ops[number] if number >= 0 else None
            if op is None:
                continue
            if is_inserted(op):
                skip_left(pairing, side, [run], INSERTED)
            elif number in partner:
                _skip_lone(pairing, side, run, op, other, partner[number])


def _skip_lone(
    pairing: Pairing, side: str, run: OperatorRun, op: Op, graph: Graph, partner: int
) -> None:
    """Skip what the partner of an operator has not."""
    other = graph.ops[partner]
    if graph.dialect != "ge":
        return
    if never_dumps(other):
        skip_left(pairing, side, [run], NO_TASK)
        return
    settings = [
        run.tensors["input", slot]
        for slot in _constants(op)
        if ("input", slot) in run.tensors and argument_name(op, slot) in other.attrs
    ]
    skip_records(pairing, side, run.op_name, settings, ATTRIBUTE)


def _constants(op: Op) -> Iterator[int]:
    return (slot for slot, operand in enumerate(op.flat_inputs()) if isinstance(operand, Const))
