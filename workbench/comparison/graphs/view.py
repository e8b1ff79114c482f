"""A graph as alignment and blame see it: values traced through casts, readers, ancestry."""

from __future__ import annotations

from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from workbench import ops
from workbench._values import NamedTuple
from workbench.comparison.graphs.roles import OF_MODELS
from workbench.comparison.limits import limits
from workbench.graph.graph import Param, Value
from workbench.ops import COMMUTATIVE, IDENTITY, IN_PLACE, RESHAPING
from workbench.ops.compile_time import gives_other_each_time, taken_away

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.graph import Graph, Op, Operand


class Origin(NamedTuple):
    """Where a value comes from, casts looked through: an operator's slot, a parameter, a constant."""

    kind: Literal["op", "param", "const", "none"]
    number: int
    slot: int = 0


_JOINTS = frozenset(("", "Fused", "fused", "fusion", "Fusion"))
"""Words in types of kernels that name no operator."""


class GraphView:
    """Read-only index over a graph.

    *Kernels* are operators that are neither identities nor computed *again*: ``recomputed`` maps operators to
    an earlier one of the same type that reads the same values under the same settings, whose result counts for theirs.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.identities: list[int] = []
        self.kernels: list[int] = []
        self.recomputed: dict[int, int] = {}
        self._sources: dict[int, Origin] = {}
        self._origins: list[list[Origin]] = []
        seen: dict[object, list[int]] = {}
        work = cache(lambda number: (shapes(graph.ops[number]), ops.settings(graph.ops[number])))
        changing = changed_parameters(graph)
        away = taken_away(graph) if graph.dialect in OF_MODELS else set[int]()
        for number, op in enumerate(graph.ops):
            inputs = [self.origin(operand) for operand in op.flat_inputs()]
            self._origins.append(inputs)
            if hands_on(op.op_type) or number in away:
                self.identities.append(number)
                self._sources[number] = inputs[0] if inputs else Origin("none", -1)
                continue
            if is_repeatable(op, inputs, changing):
                alike = seen.setdefault((op.op_type, *inputs), [])
                first = next((one for one in alike if work(one) == work(number)), None)
                if first is not None:
                    self.recomputed[number] = first
                    continue
                alike.append(number)
            self.kernels.append(number)

    def origin(self, operand: Operand | None) -> Origin:
        """Trace an operand back through identities, to the first who computes it."""
        if isinstance(operand, Value):
            if operand.op in self._sources:
                return self._sources[operand.op]
            return Origin("op", self.recomputed.get(operand.op, operand.op), operand.slot)
        if isinstance(operand, Param):
            return Origin("param", operand.index)
        return Origin("const", -1) if operand is not None else Origin("none", -1)

    def computed(self, origin: Origin) -> Origin:
        """An operator's value by who computes it: what only hands it on is looked through."""
        return self.origin(Value(origin.number, origin.slot)) if origin.kind == "op" else origin

    def first(self, origin: Origin) -> Origin:
        """A value by who computes it first."""
        if origin.kind != "op" or origin.number not in self.recomputed:
            return origin
        return origin._replace(number=self.recomputed[origin.number])

    def direct(self, number: int) -> set[int]:
        """Operators that read any output of an operator, identities among them."""
        return self._direct.get(number, set())

    def handed_to(self, number: int) -> Iterator[int]:
        """Identities that an operator reads directly."""
        for operand in self.graph.ops[number].flat_inputs():
            if isinstance(operand, Value) and operand.op in self._sources:
                yield operand.op

    @cached_property
    def _direct(self) -> dict[int, set[int]]:
        table: dict[int, set[int]] = {}
        for number, op in enumerate(self.graph.ops):
            for operand in op.flat_inputs():
                if isinstance(operand, Value):
                    table.setdefault(operand.op, set()).add(number)
        return table

    def source(self, number: int) -> Origin:
        """Where the value of an identity comes from."""
        return self._sources[number]

    def origins(self, number: int) -> list[Origin]:
        """Origin of every flat input of an operator."""
        return self._origins[number]

    @cached_property
    def _readers(self) -> dict[Origin, list[tuple[int, int]]]:
        table: dict[Origin, list[tuple[int, int]]] = {}
        for number in self.kernels:
            for slot, origin in enumerate(self._origins[number]):
                if origin.kind in ("op", "param"):
                    table.setdefault(origin, []).append((number, slot))
        return table

    def label(self, origin: Origin) -> str:
        """Name of a value for people."""
        if origin.kind == "param":
            return self.graph.parameters[origin.number].name
        return f"{self.graph.ops[origin.number].name}:{origin.slot}"

    def readers(self, origin: Origin) -> list[tuple[int, int]]:
        """Kernels that read a value, with their input slot, casts looked through."""
        return self._readers.get(origin, [])

    def alike_readers(self, origin: Origin, op_type: str) -> list[int]:
        """Kernels of a type that read a value; none if too many do, for then it tells nothing."""
        found = self._typed_readers.get((origin, op_type), [])
        return found if len(found) <= limits().hint_most else []

    @cached_property
    def _typed_readers(self) -> dict[tuple[Origin, str], list[int]]:
        table: dict[tuple[Origin, str], list[int]] = {}
        for origin, readers in self._readers.items():
            for number, _ in readers:
                table.setdefault((origin, self.graph.ops[number].op_type), []).append(number)
        return table

    @cached_property
    def _readers_of(self) -> dict[int, list[tuple[int, int]]]:
        table: dict[int, list[tuple[int, int]]] = {}
        for origin, readers in self._readers.items():
            if origin.kind == "op":
                table.setdefault(origin.number, []).extend(readers)
        return table

    def readers_of(self, number: int) -> list[tuple[int, int]]:
        """Kernels that read any output of an operator."""
        return self._readers_of.get(number, [])

    @cached_property
    def _results(self) -> dict[int, set[int]]:
        table: dict[int, set[int]] = {}
        for position, operand in enumerate(self.graph.outputs):
            origin = self.origin(operand)
            if origin.kind == "op":
                table.setdefault(origin.number, set()).add(position)
        return table

    def results(self, number: int) -> set[int]:
        """Positions of the graph's outputs that an operator produces."""
        return self._results.get(number, set())

    def ancestry(self, params: dict[int, str]) -> dict[int, int]:
        """Digest of the whole ancestry of every kernel, types and slots down to named parameters.

        Constants, attributes, shapes and casts do not count: an altered operator keeps its digest.
        Kernels below a parameter that ``params`` does not name have none.
        """
        digests: dict[int, int] = {}
        for number in self.kernels:
            parts: list[object] = []
            for origin in self._origins[number]:
                if origin.kind == "param":
                    parts.append(params.get(origin.number))
                elif origin.kind == "op":
                    below = digests.get(origin.number)
                    parts.append(None if below is None else (below, origin.slot))
            if self.graph.ops[number].op_type in COMMUTATIVE:
                parts.sort(key=repr)
            if None not in parts:
                digests[number] = hash((self.graph.ops[number].op_type, *parts))
        return digests

    @cached_property
    def _alike(self) -> dict[object, list[int]]:
        table: dict[object, list[int]] = {}
        for number in self.kernels:
            for key in _alike_keys(self.graph.ops[number]):
                table.setdefault(key, []).append(number)
        return table

    def alike(self, op: Op) -> Iterator[int]:
        """Kernels with the name, source line or scope of an operator of another graph.

        A line or scope that too many share (the body of a loop over layers) tells nothing.
        """
        for key in _alike_keys(op):
            found = self._alike.get(key, ())
            if len(found) <= limits().hint_most:
                yield from found


def shapes(op: Op) -> list[tuple[int, ...] | None]:
    """Shapes of what an operator gives."""
    return [spec.shape for spec in op.outputs]


@lru_cache(maxsize=4096)
def computing(op_type: str) -> tuple[str, ...]:
    """Types that a kernel's type is strung together of, without those that only hand on values.

    >>> computing("Fused_MatMul_BiasAdd_Reshape"), computing("ReLU"), computing("Cast")
    (('MatMul', 'BiasAdd'), ('ReLU',), ())
    """
    words = [word for word in op_type.split("_") if word not in _JOINTS] or [op_type]
    return tuple(word for word in words if word not in IDENTITY and word not in RESHAPING)


def hands_on(op_type: str) -> bool:
    """Whether a type gives the elements that it reads, in another format or shape at most."""
    return not computing(op_type)


def changed_parameters(graph: Graph) -> set[int]:
    """Parameters that an operator of the graph writes over: who reads them again may read something else."""
    found = set[int]()
    for op in graph.ops:
        places = IN_PLACE.get(op.op_type, ())
        for slot, operand in enumerate(op.flat_inputs() if places else ()):
            if slot in places and isinstance(operand, Param):
                found.add(operand.index)
    return found


def is_repeatable(op: Op, inputs: list[Origin], changing: set[int]) -> bool:
    """Whether an operator gives the same whenever it reads the same, and leaves nothing behind."""
    if gives_other_each_time(op):
        return False
    if any(one.kind == "param" and one.number in changing for one in inputs):
        return False
    return any(one.kind in ("op", "param") for one in inputs)


def _alike_keys(op: Op) -> Iterator[object]:
    yield op.op_type, op.name
    if op.frame is not None and not op.frame.library:
        yield op.op_type, op.frame.line, op.frame.code.strip()
    yield op.op_type, op.scope
