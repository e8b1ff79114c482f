"""What happens to a graph on its way to another framework, compiler or precision; one row a change.

A change gets a twin, a generator and the share of places it happens at, and says whether it found any.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aligning.decomposing import can_decompose, decompose
from aligning.twin import NOTHING, Twin, overwrites
from workbench.comparison.graphs.view import RESHAPING
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Op, Param, Value
from workbench.npu.compile.fusions import fuse
from workbench.npu.compile.provenance import ORIGINAL_NAMES
from workbench.ops import COMMUTATIVE, CONTRACTIONS, IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator

    from workbench.graph.graph import Graph

    Change = Callable[[Twin, Generator, float], bool]

ANOTHER = {
    "ReLU": "LeakyRelu", "GeLU": "SiLU", "MaxPool": "AvgPool", "Add": "Sub", "Mul": "RealDiv", "LayerNorm": "RmsNorm",
    "Softmax": "LogSoftmax", "Flatten": "Reshape", "MatMul": "BatchMatMul", "ReduceMean": "ReduceSum",
    "ApplyMomentum": "SGD", "Adam": "AdamWeightDecay", "BiasAdd": "Add", "Reshape": "Flatten",
}  # fmt: skip
"""Operator type → one that might stand in its place."""


def chosen(rng: Generator, places: Sequence[int], share: float) -> list[int]:
    """Some of the places, one at least if there is any, in order."""
    if not places:
        return []
    count = max(1, round(share * len(places)))
    return sorted(int(places[i]) for i in rng.permutation(len(places))[:count])


def fused(twin: Twin, rng: Generator, share: float) -> bool:
    """Fusion passes of the device: graph level and buffer level."""
    before = len(twin.ops)
    graph, truth = twin.graph(), twin.truth()
    for level in ("graph", "buffer"):
        graph = fuse(graph, level)
    stands = {op.name: _union(truth, op.attrs.get(ORIGINAL_NAMES, (op.name,))) for op in graph.ops}
    shuffled = twin.shuffled
    twin.__init__(_untold(graph), stands)
    twin.shuffled = shuffled
    return len(twin.ops) != before


def _union(truth, names):
    return NOTHING.union(*(truth.get(name, NOTHING) for name in names))


def _untold(graph: Graph) -> Graph:
    """The graph without a word of what its kernels stand for."""

    def plain(op: Op) -> Op:
        attrs = {key: value for key, value in op.attrs.items() if not key.startswith("_datadump")}
        return replace(op, attrs=attrs, provenance=())

    return replace(graph, ops=tuple(map(plain, graph.ops)))


def joined(twin: Twin, rng: Generator, share: float) -> bool:
    """Adjacent operators joined into one kernel with its own type, as in MindSpore O1."""
    free = {n for n in twin.ops if _joins(twin, n)}
    ends = chosen(rng, sorted(free), share)
    for end in ends:
        members = [end]
        while end in free and len(members) < 2 + int(rng.integers(3)):
            first = twin.ops[members[0]]
            before = [
                one.op
                for one in first.flat_inputs()
                if isinstance(one, Value) and one.op in free and one.slot == 0
                and {*twin.outside(one.op)} == {members[0]}
                and not twin.is_result(one.op) and one.op not in members
            ]  # fmt: skip
            if not before:
                break
            members.insert(0, before[0])
        if len(members) > 1:
            _join(twin, members)
            free -= {*members}
    return bool(ends)


def _joins(twin: Twin, number: int) -> bool:
    op = twin.ops[number]
    return len(op.outputs) == 1 and twin.is_alone(number) and op.op_type not in IDENTITY


def _join(twin: Twin, members: Sequence[int]) -> None:
    *inner, last = members
    own = twin.ops[last]
    operands = [
        operand
        for number in members
        for operand in twin.ops[number].flat_inputs()
        if not (isinstance(operand, Value) and operand.op in inner)
        and not isinstance(operand, Const)
    ]
    kinds = "_".join(twin.ops[number].op_type for number in members)
    stands = NOTHING.union(*(twin.stands[number] for number in members))
    name = f"{own.scope}/Fused_{kinds}-op{last}"
    kernel = replace(
        own, name=name, op_type=f"Fused_{kinds}", inputs=tuple(operands), attrs={},
        input_specs=(None,) * len(operands), device_inputs=(),
    )  # fmt: skip
    twin.put(last, kernel)
    twin.stands[last] = stands
    for number in reversed(inner):
        twin.remove(number)


def decomposed(twin: Twin, rng: Generator, share: float) -> bool:
    """LayerNorm, Softmax, GeLU, BatchNorm and others split into smaller operators."""
    places = chosen(rng, [n for n in twin.ops if can_decompose(twin, n)], share)
    for number in places:
        decompose(twin, number)
    return bool(places)


def casts(twin: Twin, rng: Generator, share: float) -> bool:
    """Autocast: products in float16 between casts, all names inside a wrapper scope."""
    places = [n for n, op in twin.ops.items() if op.op_type in CONTRACTIONS and not overwrites(op)]
    for number in places:
        _around(twin, number, "Cast", _half)
    twin.rename(lambda op, _: _wrapped(op.name))
    twin.parameters = [
        replace(one, name=f"_backbone.{one.name}") if one.is_weight else one
        for one in twin.parameters
    ]
    return bool(places)


def _half(spec: TensorSpec) -> TensorSpec:
    return spec._replace(dtype="float16") if spec.dtype == "float32" else spec


def _wrapped(name: str) -> str:
    first, _, rest = name.partition("/")
    return f"{first}/_backbone-AutoCast/{rest}" if rest else name


def transdata(twin: Twin, rng: Generator, share: float) -> bool:
    """Products and convolutions in a device format, with conversions."""
    places = [n for n, op in twin.ops.items() if op.op_type in CONTRACTIONS and not overwrites(op)]
    places = chosen(rng, places, share)
    for number in places:
        _around(twin, number, "TransData", lambda spec: spec._replace(format="FRACTAL_NZ"))
    return bool(places)


def _around(twin: Twin, number: int, kind: str, change: Callable[[TensorSpec], TensorSpec]) -> None:
    """Convert the tensors that an operator reads, and its first output back."""
    op = twin.ops[number]
    place = twin.places[number]
    inputs = []
    for slot, operand in enumerate(op.inputs):
        if isinstance(operand, Value | Param):
            spec = _spec(twin, operand)
            if spec is not None:
                name = f"{op.scope}/{kind}-in{number}x{slot}"
                made = Op(name, kind, (operand,), {}, (change(spec),), (spec,))
                operand = twin.add(made, (), place - 0.5 + slot / 100)
        inputs.append(operand)
    result = replace(op, inputs=tuple(inputs), outputs=tuple(map(change, op.outputs)))
    twin.put(number, result)
    back = Op(f"{op.scope}/{kind}-out{number}", kind, (Value(number, 0),), {}, op.outputs[:1])
    made = twin.add(back, (), place + 0.5)
    twin.redirect(Value(number, 0), made, keep=(made.op,))


def _spec(twin: Twin, operand: Value | Param) -> TensorSpec | None:
    if isinstance(operand, Param):
        return twin.parameters[operand.index].spec
    outputs = twin.ops[operand.op].outputs
    return outputs[operand.slot] if operand.slot < len(outputs) else None


def reshapes(twin: Twin, rng: Generator, share: float) -> bool:
    """Operators on flattened tensors, with the shape restored afterwards."""
    places = [
        n
        for n, op in twin.ops.items()
        if op.outputs and op.op_type not in RESHAPING and twin.is_alone(n)
    ]
    for number in chosen(rng, places, share):
        _around(twin, number, "Reshape", lambda spec: spec._replace(shape=(spec.size or 1,)))
    return bool(places)


def _behind(twin: Twin, number: int, op: Op, constants: tuple[Const, ...]) -> int:
    """Put an operator between another one and all its readers."""
    made = replace(op, inputs=(Value(number, 0), *constants))
    value = twin.add(made, (), twin.places[number] + 0.25)
    twin.redirect(Value(number, 0), value, keep=(value.op,))
    return value.op


def added(twin: Twin, rng: Generator, share: float) -> bool:
    """Additional operators: a ReLU, a factor, a clip."""
    places = [n for n, op in twin.ops.items() if op.outputs and twin.is_alone(n)]
    for number in chosen(rng, places, share / 4):
        op = twin.ops[number]
        kind = ("ReLU", "Mul", "Tanh", "Add")[int(rng.integers(4))]
        constants = (Const(0.5, "float32", ()),) if kind in ("Mul", "Add") else ()
        more = Op(f"{op.scope}/{kind}-more{number}", kind, (), {}, op.outputs[:1], frames=op.frames)
        _behind(twin, number, more, constants)
    return bool(places)


def removed(twin: Twin, rng: Generator, share: float) -> bool:
    """Operators removed whose input and output have the same shape."""
    places = []
    for number, op in twin.ops.items():
        first = next(op.flat_inputs(), None)
        same = isinstance(first, Value) and _spec(twin, first) == op.outputs[0]
        if same and len(op.outputs) == 1 and twin.is_alone(number):
            places.append(number)
    for number in chosen(rng, places, share / 4):
        twin.redirect(Value(number, 0), next(twin.ops[number].flat_inputs()))
        twin.remove(number)
    return bool(places)


def replaced(twin: Twin, rng: Generator, share: float) -> bool:
    """Operators replaced by another type."""
    places = [n for n, op in twin.ops.items() if op.op_type in ANOTHER and not op.fused]
    for number in chosen(rng, places, share / 4):
        op = twin.ops[number]
        kind = ANOTHER[op.op_type]
        name = f"{op.scope}/{kind}-instead{number}"
        twin.put(number, replace(op, name=op.name if op.unless else name, op_type=kind, attrs={}))
    return bool(places)


def repeated(twin: Twin, rng: Generator, share: float) -> bool:
    """Operators computed twice, for different readers (recomputation)."""
    places = [
        n
        for n, op in twin.ops.items()
        if len(op.outputs) == 1 and len({*twin.outside(n)}) > 1 and twin.is_alone(n)
    ]
    for number in chosen(rng, places, share / 2):
        op, readers = twin.ops[number], sorted({*twin.outside(number)}, key=twin.places.__getitem__)
        late = readers[1 + int(rng.integers(len(readers) - 1)) :]
        again = replace(op, name=f"{op.name}_again")
        place = twin.places[late[0]] - 0.3
        value = twin.add(again, twin.stands[number], place)
        kept = [one for one in twin.ops if one not in late]
        twin.redirect(Value(number, 0), value, keep=kept, results=False)
    return bool(places)


def swapped(twin: Twin, rng: Generator, share: float) -> bool:
    """Operands of commutative operators swapped."""
    places = [n for n, op in twin.ops.items() if op.op_type in COMMUTATIVE and len(op.inputs) == 2]
    for number in chosen(rng, places, share):
        op = twin.ops[number]
        twin.put(number, replace(op, inputs=op.inputs[::-1]))
    return bool(places)


def reordered(twin: Twin, rng: Generator, share: float) -> bool:
    """Independent branches in another order."""
    twin.shuffled = rng
    return True


def dtypes(twin: Twin, rng: Generator, share: float) -> bool:
    """All tensors in another float type."""
    for number, op in list(twin.ops.items()):
        outputs = tuple(_brief(spec) for spec in op.outputs)
        specs = tuple(spec and _brief(spec) for spec in op.input_specs)
        twin.put(number, replace(op, outputs=outputs, input_specs=specs))
    twin.parameters = [replace(one, spec=_brief(one.spec)) for one in twin.parameters]
    return True


def _brief(spec: TensorSpec) -> TensorSpec:
    return spec._replace(dtype="bfloat16") if spec.dtype == "float32" else spec


def nothing(twin: Twin, rng: Generator, share: float) -> bool:
    """Only names and source lines."""
    return True


CHANGES: dict[str, Change] = {
    "nothing": nothing,
    "fused": fused,
    "joined": joined,
    "decomposed": decomposed,
    "autocast": casts,
    "TransData": transdata,
    "Reshape": reshapes,
    "added": added,
    "removed": removed,
    "replaced": replaced,
    "computed again": repeated,
    "operands swapped": swapped,
    "reordered": reordered,
    "dtype": dtypes,
}
"""Every change by its name; the text of its function says what it does."""
