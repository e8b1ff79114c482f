"""The one graph type: every IR reader, the tracer and the importers produce it.

A graph holds *operators* (kernels) in listing order. Structural nodes of an IR (Load, Depend,
MakeTuple, TupleGetItem, UpdateState, Return) are resolved while reading: operands point straight to
the operator, parameter or constant that the value comes from.
"""

from __future__ import annotations

from copy import copy
from dataclasses import field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import GraphError
from workbench.core.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from workbench.core.tensors import TensorSpec

_LAYERS = "/workbench/network/nn/"
_NETWORKS = "/workbench/network/models/networks.py"


@lru_cache(4096)
def _is_library(file: str) -> bool:
    path = "/" + file.replace("\\", "/")
    if _LAYERS in path:
        return True
    if path.endswith(_NETWORKS):
        return False
    return any(part in path for part in ("/site-packages/", "/dist-packages/", "/lib/python"))


CERTAINTIES = ("own", "candidate", "forward")
"""How a source line is known of an operator, the surest first."""

COMPILED = "compiled"
"""Dialect of a graph that the graph engine runs: MindSpore's words for operators, GE's kernels."""


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """One line of a source-line traceback, 1-based lines, 0-based columns (0: unknown).

    ``group`` says how the frame is known: ``own`` (the operator's line), ``candidate`` (one of the
    lines it may come from after merging), ``forward`` (the line of its forward operator).
    """

    file: str
    line: int
    code: str = ""
    line_end: int = 0
    column: int = 0
    column_end: int = 0
    group: str = "own"

    @property
    def library(self) -> bool:
        """Whether the file belongs to an installed package, or to the workbench's own layers.

        The workbench's example networks count as the user's code wherever they are installed.
        """
        return _is_library(self.file)

    def __str__(self) -> str:
        return one_line(f"{self.file}:{self.line}  {self.code.strip()}".rstrip())


@dataclass(frozen=True, slots=True)
class Value:
    """Output ``slot`` of operator number ``op`` of the same graph."""

    op: int
    slot: int = 0


@dataclass(frozen=True, slots=True)
class Param:
    """Parameter number ``index`` of the same graph."""

    index: int


@dataclass(frozen=True, slots=True)
class Const:
    """A constant operand. ``dtype`` is the IR's word (``int64``, ``float32``, ``str``, ``monad``, …).

    ``value`` is a Python scalar, string, tuple of these, or nested lists for small tensors; for a
    tensor too large to be printed it is the text that stands in its place.
    """

    value: Any
    dtype: str = ""
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A tuple operand; kernels see its items as separate inputs if ``flatten`` is true."""

    items: tuple[Operand, ...]
    flatten: bool = True


@dataclass(frozen=True, slots=True)
class GraphRef:
    """A graph used as a value (`Switch`, `Partial`, `call`)."""

    name: str


@dataclass(frozen=True, slots=True)
class FreeRef:
    """A value of another graph, by graph and node name."""

    graph: str
    node: str


Operand = Value | Param | Const | Bundle | GraphRef | FreeRef


class SourceTensor(NamedTuple):
    """A tensor of the network as it was before compiling: output ``slot`` of operator ``op_name``."""

    op_name: str
    slot: int
    spec: TensorSpec


@dataclass(frozen=True, slots=True)
class Kernel:
    """What one kernel computes: operators in order, and which of their outputs it gives.

    In their operands ``Param(i)`` is flat input ``i`` of the kernel and ``Value(n, slot)`` an output
    of ``ops[n]``.
    """

    ops: tuple[Op, ...]
    results: tuple[Value, ...]

    @property
    def needed(self) -> frozenset[int]:
        """Flat inputs of the kernel that its operators read as tensors or as computed settings."""
        read = (operand for op in self.ops for operand in op.flat_inputs())
        return frozenset(operand.index for operand in read if isinstance(operand, Param))


@dataclass(frozen=True, slots=True)
class Op:
    """An operator.

    ``inputs`` are in the operator's own order; ``input_specs`` and ``outputs`` are host types,
    ``device_inputs`` and ``device_outputs`` what the kernel really uses (empty: as the host).
    ``forward_id`` links a gradient to its forward operator, ``unique_id`` is that operator's end of the link.
    ``unless`` names an operator of the graph: in a step in which its result is true this one is left out.
    Of a compiled operator ``fused`` says what it computes, unless its type does, and ``provenance``
    which tensor of the network each output is (``None``: no one's; empty: its own).
    """

    name: str
    op_type: str
    inputs: tuple[Operand, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[TensorSpec, ...] = ()
    input_specs: tuple[TensorSpec | None, ...] = ()
    device_inputs: tuple[TensorSpec, ...] = ()
    device_outputs: tuple[TensorSpec, ...] = ()
    frames: tuple[SourceFrame, ...] = ()
    unique_id: str = ""
    forward_id: str = ""
    unless: str = ""
    fused: Kernel | None = None
    provenance: tuple[SourceTensor | None, ...] = ()
    _flat: tuple[Operand, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_flat", tuple(_flatten(self.inputs)))

    @property
    def scope(self) -> str:
        """The name without its last part: ``Default/conv1-Conv2d``."""
        return self.name.rpartition("/")[0]

    def flat_inputs(self) -> Iterator[Operand]:
        """Operands as the kernel sees and dumps them: unfolded tuples, no monads."""
        return iter(self._flat)

    def operand(self, slot: int) -> Operand | None:
        """Operand of a flat input slot; ``None`` if there is none."""
        return self._flat[slot] if 0 <= slot < len(self._flat) else None

    @property
    def frame(self) -> SourceFrame | None:
        """The line to show: innermost frame outside installed packages, else innermost library frame."""
        for group in CERTAINTIES:
            frames = [f for f in self.frames if f.group == group]
            own = [f for f in frames if not f.library]
            if own:
                return own[-1]
        return self.frames[-1] if self.frames else None


def at_operator(error: GraphError, op: Op) -> GraphError:
    """Return an error with an operator as its place, behind the source line if there is one."""
    place, frame = f"{op.name} ({op.op_type})", op.frame
    return error.at(f"{frame.file}:{frame.line}: {place}" if frame else place)


def _flatten(operands: Iterable[Operand]) -> Iterator[Operand]:
    for operand in operands:
        if isinstance(operand, Bundle) and operand.flatten:
            yield from _flatten(operand.items)
        elif not (isinstance(operand, Const) and operand.dtype == "monad"):
            yield operand


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input of a graph: a weight (``is_weight``) or a feed.

    ``default`` is the initial value of a weight where the graph was traced; an IR file has none.
    ``folded`` says that a compiler computed it: the network has no such weight. ``captured`` says that another
    graph leaves it (`workbench.graph.control_flow`): MindSpore's files have no name for it.
    """

    name: str
    spec: TensorSpec
    is_weight: bool = False
    ref_key: str = ""
    default: Any = field(default=None, compare=False, repr=False)
    folded: bool = False
    captured: bool = False


@dataclass(frozen=True, repr=False)
class Graph:
    """Operators in listing order, which is a topological order.

    ``subgraphs`` are graphs of the same file that this one calls (only in stage files with control
    flow). ``inner`` says that other graphs decide when it runs (`workbench.graph.control_flow`): what goes into it lies
    elsewhere. ``unknown_lines`` counts lines that the reader did not understand, ``is_excerpt`` says that
    the file has operators alone: what they read may be missing. ``batches`` returns the feeds
    of an iteration, where they differ.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    ops: tuple[Op, ...] = ()
    outputs: tuple[Operand, ...] = ()
    graph_id: int = 0
    attrs: Mapping[str, Any] = field(default_factory=dict)
    subgraphs: tuple[Graph, ...] = ()
    dialect: str = ""
    batches: Callable[[int], Mapping[str, Any]] | None = field(default=None, compare=False)
    inner: bool = False
    unknown_lines: int = field(default=0, compare=False)
    is_excerpt: bool = field(default=False, compare=False)
    path: str = field(default="", compare=False)

    def __repr__(self) -> str:
        return one_line(
            f"<Graph {self.name}: {len(self.ops)} operators, {len(self.parameters)} parameters>"
        )

    @cached_property
    def by_name(self) -> dict[str, int]:
        """Operator number of every name (the first one, should a name repeat)."""
        index: dict[str, int] = {}
        for number, op in enumerate(self.ops):
            index.setdefault(op.name, number)
        return index

    @cached_property
    def consumers(self) -> dict[Value | Param, list[tuple[int, int]]]:
        """Who reads a value: ``(operator number, flat input slot)`` in order."""
        table: dict[Value | Param, list[tuple[int, int]]] = {}
        for number, op in enumerate(self.ops):
            for slot, operand in enumerate(op.flat_inputs()):
                if isinstance(operand, Value | Param):
                    table.setdefault(operand, []).append((number, slot))
        return table

    def spec(self, operand: Operand) -> TensorSpec | None:
        """Spec of an operand, as far as the graph states it; a constant's is that of its array."""
        from workbench.graph.constants import operand_spec  # which needs the values of this module

        return operand_spec(operand, self.ops, self.parameters)

    def op(self, name: str) -> Op:
        """Return the operator called ``name``."""
        try:
            return self.ops[self.by_name[name]]
        except KeyError:
            raise GraphError("graph/no-operator", graph=self.name, got=name) from None

    def elsewhere(self, path: str, graph_id: int) -> Graph:
        """Return the same graph as another file has it; the two share operators and parameters."""
        found = copy(self)
        for name, value in (("path", path), ("graph_id", graph_id)):
            object.__setattr__(found, name, value)
        return found

    def with_id(self, graph_id: int) -> Graph:
        """Return the same graph under another id."""
        return replace(self, graph_id=graph_id)


ORIGINAL_NAMES = "_datadump_original_op_names"
ORIGINAL_TYPES = "_datadump_original_op_types"
IS_PART = "_datadump_is_multiop"
"""Attributes by which operators say what they stand for, under GE's names (``graph_pass_util``)."""


def part_of(op: Op, whole: Op, given: Mapping[int, int]) -> Op:
    """Return an operator as one of several that came of one; ``given`` maps its slots to those of the whole."""
    tensors = tuple(
        SourceTensor(whole.name, given[slot], spec) if slot in given else None
        for slot, spec in enumerate(op.outputs)
    )
    names = {ORIGINAL_NAMES: (whole.name,), ORIGINAL_TYPES: (whole.op_type,), IS_PART: True}
    return replace(op, attrs={**op.attrs, **names}, provenance=tensors)
