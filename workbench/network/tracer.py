"""The tracer: runs a network's Python code once and writes down its operators."""

from __future__ import annotations

import inspect
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError, check_seed
from workbench.core.tensors import TensorSpec
from workbench.graph import graph as nodes
from workbench.graph.graph import Bundle, Const, Op, Param, Value, at_operator
from workbench.graph.marks import is_marked, mark
from workbench.graph.source import FrameReader
from workbench.network.cell import Cell
from workbench.network.finish import finish
from workbench.network.partition import split
from workbench.network.regions import Regions
from workbench.network.symbolic import ACTIVE, Operators, Parameter, Tensor
from workbench.ops import OPS, Call, infer_outputs, op_def

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Operand, SourceFrame
    from workbench.network.regions import Region

ROOT = "Default"
"""Scope of the outermost network, MindSpore's word."""

BACKWARD = "Gradients"
"""Scope in front of that of a forward operator where its gradient is computed, MindSpore's word."""

LARGEST_CONSTANT = 30  # elements; from here on MindSpore's IR prints `[...]` for a constant


class Trace:
    """Collects operators and parameters while a network runs."""

    def __init__(self, root: object, seed: int) -> None:
        self.ops: list[Op] = []
        self.parameters: list[nodes.Parameter] = []
        self._names: set[str] = set()
        self._seed = seed
        self._frames = FrameReader()
        self._scopes = [ROOT]
        self._marked: set[str] = set()  # scopes whose operators are marked for a dump
        self._floats = [root.float_dtype if isinstance(root, Cell) else ""]
        self._cast: dict[tuple[int, str], Tensor] = {}  # weights in the dtype of a cell
        self._forward: Op | None = None  # whose gradient is being recorded
        self.layout = Regions(self.ops)
        self._flag = ""  # operator whose result leaves out what is being recorded
        self._ids: Counter[tuple[str, str]] = Counter()
        self._strays: Counter[str] = Counter()
        self._paths: dict[int, tuple[str, str]] = {id(root): (ROOT, "")}
        self._params: dict[int, Param] = {}
        self._alive: list[object] = [root]  # an id stays unique only while its object lives
        if isinstance(root, Cell):
            self._register(root)

    def _register(self, cell: Cell) -> None:
        """Give every cell below ``cell`` its scope and every weight its name; first path wins."""
        scope, prefix = self._paths[id(cell)]
        if cell.dumps:
            self._marked.add(scope)
        for name, parameter in cell.own_parameters():
            self._weight(parameter, f"{prefix}{parameter.given_name or name}")
        for name, child in cell.cells():
            if id(child) not in self._paths:
                self._alive.append(child)
                path = f"{scope}/{name}-{type(child).__name__}"
                self._paths[id(child)] = (path, f"{prefix}{name}." if cell.auto_prefix else prefix)
                self._register(child)

    def _weight(self, parameter: Parameter, name: str) -> Param:
        known = self._params.get(id(parameter))
        if known is None:
            self._alive.append(parameter)
            value = parameter.array(name, self._seed)
            known = self._add_parameter(nodes.Parameter(name, parameter.spec, True, name, value))
            self._params[id(parameter)] = known
        return known

    def _add_parameter(self, parameter: nodes.Parameter) -> Param:
        if parameter.name in self._names:
            raise GraphError("graph/parameter-twice", got=parameter.name)
        self._names.add(parameter.name)
        self.parameters.append(parameter)
        return Param(len(self.parameters) - 1)

    def feed(self, name: str, value: Any) -> Tensor:
        """Return the symbolic tensor of one network input, an array or a TensorSpec."""
        if isinstance(value, TensorSpec):
            return Tensor(value, self._add_parameter(nodes.Parameter(name, value)))
        array = np.asarray(value)
        spec = TensorSpec(array.dtype.name, array.shape)
        return Tensor(spec, self._add_parameter(nodes.Parameter(name, spec, default=array)))

    @contextmanager
    def within(self, cell: object) -> Iterator[None]:
        """Put the operators of the block into the scope of ``cell``."""
        if id(cell) not in self._paths and isinstance(cell, Cell):
            kind = type(cell).__name__
            name = f"{kind.lower()}{self._strays[kind]}"  # not an attribute of any known cell
            self._strays[kind] += 1
            self._alive.append(cell)
            self._paths[id(cell)] = (f"{self._scopes[-1]}/{name}-{kind}", f"{name}.")
            self._register(cell)
        self._scopes.append(self._paths[id(cell)][0])
        self._floats.append(cell.float_dtype if isinstance(cell, Cell) else "")
        try:
            yield
        finally:
            self._scopes.pop()
            self._floats.pop()

    def symbol(self, item: Any) -> Tensor:
        """Return the tensor that a tensor, a weight, an array or a number stands for."""
        operand, spec = self._tensor(item, ())
        return Tensor(spec, operand)

    def captured(self, name: str, spec: TensorSpec) -> Tensor:
        """Return a value that control flow hands over under a name."""
        return Tensor(spec, self._add_parameter(nodes.Parameter(name, spec, captured=True)))

    def control_name(self, kind: str) -> str:
        """Return a name for a loop or a choice."""
        name = f"{kind}{self._strays[kind]}"
        self._strays[kind] += 1
        return name

    def where(self, name: str) -> str:
        """Return a name and the line of the user's code that is being run."""
        line = Op(name, "", frames=self._source()).frame
        return f"{name} ({line})" if line else name

    @contextmanager
    def part(self) -> Iterator[list[Region]]:
        """Gather what the block records apart from what is around it, which may not run with it."""
        cast = dict(self._cast)
        try:
            with self.layout.inside() as parts:
                yield parts
        finally:
            self._cast = cast

    @contextmanager
    def unless(self, flag: Tensor) -> Iterator[None]:
        """Leave the operators of the block out of steps in which a flag, of an operator, is true."""
        if not isinstance(flag.value, Value):
            raise GraphError("graph/flag", got=flag.value)
        before, self._flag = self._flag, self.ops[flag.value.op].name
        try:
            yield
        finally:
            self._flag = before

    def gradient_of(self, number: int) -> AbstractContextManager[None]:
        """Record the operators of the block as the gradient of operator ``number``."""
        op = replace(self.ops[number], unique_id=str(number))
        self.ops[number] = op
        return self._backward(f"{op.scope}/Grad_{op.op_type}", op)

    def gradient_sum(self, scope: str, *, marked: bool) -> AbstractContextManager[None]:
        """Record the operators of the block as sums of gradients that meet in ``scope``."""
        forward = Op(f"{scope}/", "")
        return self._backward(scope, mark(forward) if marked else forward)

    @contextmanager
    def _backward(self, scope: str, forward: Op) -> Iterator[None]:
        before, self._forward = self._forward, forward
        self._scopes.append(f"{BACKWARD}/{scope}")
        try:
            yield
        finally:
            self._scopes.pop()
            self._forward = before

    def weight(self, parameter: Parameter) -> Param:
        """Return where a weight stands among the parameters."""
        return self._weight(parameter, parameter.name or f"parameter{len(self.parameters)}")

    def read(self, parameter: Parameter) -> Tensor:
        """Return a weight in the dtype that the current cell computes in."""
        weight, dtype = Tensor(parameter.spec, self.weight(parameter)), self._floats[-1]
        if dtype in ("", parameter.dtype) or "float" not in parameter.dtype:
            return weight
        key = (id(parameter), f"{self._scopes[-1]}:{dtype}")
        if key not in self._cast:
            self._cast[key] = self.record("Cast", (weight,), {"dst_type": dtype})[0]
        return self._cast[key]

    def _source(self) -> tuple[SourceFrame, ...]:
        """Source lines of the operator that is being added, or those of its forward operator."""
        if self._forward is not None:
            return tuple(replace(frame, group="forward") for frame in self._forward.frames)
        return self._frames.capture(_run.__code__)

    def record(
        self,
        op_type: str,
        operands: Sequence[Any],
        attrs: dict[str, Any],
        *,
        marked: bool | None = None,
    ) -> tuple[Tensor, ...]:
        """Add an operator, which its scope marks for a dump if ``marked`` does not say; a gradient, its operator.

        Raises GraphError with its name and source line if inputs do not fit.
        """
        if self._floats[-1] and not (op_type in OPS and OPS[op_type].writes):
            operands = [self._inside(item) for item in operands]
        scope = self._scopes[-1]
        name = f"{scope}/{op_type}-op{self._ids[scope, op_type]}"
        frames = self._source()
        try:
            op = self._op(name, op_type, operands, attrs)
        except GraphError as error:
            raise at_operator(error, Op(name, op_type, frames=frames)) from error
        self._ids[scope, op_type] += 1
        forward = self._forward.unique_id if self._forward else ""
        op = replace(op, frames=frames, forward_id=forward, unless=self._flag)
        if self._forward:
            marked = is_marked(self._forward)
        elif marked is None:
            marked = scope in self._marked
        self.ops.append(mark(op) if marked else op)
        number = len(self.ops) - 1
        return tuple(Tensor(spec, Value(number, slot)) for slot, spec in enumerate(op.outputs))

    def _inside(self, item: Any) -> Any:
        """Weights among the arguments of an operator as the current cell reads them."""
        if isinstance(item, list | tuple):
            return tuple(self._inside(one) for one in item)
        return self.read(item) if isinstance(item, Parameter) else item

    def _op(self, name: str, op_type: str, operands: Sequence[Any], attrs: dict[str, Any]) -> Op:
        row = op_def(op_type)
        tensors = [operands[place] for place in row.positions]
        others = [item for place, item in enumerate(operands) if place not in row.positions]
        plain = [item.tolist() if isinstance(item, np.ndarray) else item for item in others]
        read = {place: self._argument(operands[place], tensors) for place in row.positions}
        specs = tuple(spec for _, found in read.values() for spec in found)
        call = Call(op_type, specs, dict(row.defaults) | attrs | row.named(plain))
        constants = iter([_constant(item) for item in others])
        inputs: list[tuple[Operand, TensorSpec | None]] = []
        for place in range(len(operands)):
            if place in read:
                operand, found = read[place]
                inputs.append((operand, found[0] if row.tensors >= 0 else None))
            else:
                constant = next(constants)
                inputs.append((constant, _constant_spec(constant)))
        return Op(
            name=name,
            op_type=op_type,
            inputs=tuple(operand for operand, _ in inputs),
            attrs=attrs | dict(row.derived(call)),
            outputs=infer_outputs(op_type, specs, call.settings),
            input_specs=tuple(spec for _, spec in inputs),
        )

    def _argument(self, item: Any, others: Sequence[Any]) -> tuple[Operand, tuple[TensorSpec, ...]]:
        """Operand and specs of a tensor argument, or of one that is a tuple of tensors."""
        if not isinstance(item, list | tuple):
            operand, spec = self._tensor(item, others)
            return operand, (spec,)
        pairs = [self._tensor(one, item) for one in item]
        return Bundle(tuple(operand for operand, _ in pairs)), tuple(spec for _, spec in pairs)

    def _tensor(self, item: Any, others: Sequence[Any]) -> tuple[Operand, TensorSpec]:
        if isinstance(item, Tensor):
            return item.value, item.spec
        if isinstance(item, Parameter):
            return self.weight(item), item.spec
        if isinstance(item, bool | int | float | np.generic | np.ndarray):
            return self._array(np.asarray(item, _common_dtype(item, others)))
        raise GraphError("graph/input-type", got=item)

    def _array(self, array: np.ndarray[Any, Any]) -> tuple[Operand, TensorSpec]:
        spec = TensorSpec(array.dtype.name, array.shape)
        if array.size < LARGEST_CONSTANT:
            numbers = [_shortest(number) for number in array.ravel()]
            value = tuple(numbers) if array.ndim else numbers[0]
            return Const(value, spec.dtype, spec.shape), spec
        if id(array) not in self._params:
            self._alive.append(array)
            name = f"constant{len(self.parameters)}"
            parameter = nodes.Parameter(name, spec, True, name, array)
            self._params[id(array)] = self._add_parameter(parameter)
        return self._params[id(array)], spec


def _common_dtype(item: Any, others: Sequence[Any]) -> str | None:
    """Dtype that a bare Python number takes: that of the first tensor beside it."""
    if isinstance(item, np.ndarray | np.generic):
        return None
    return next((one.dtype for one in others if isinstance(one, Operators)), None)


def _shortest(number: Any) -> Any:
    """Python's number of the fewest digits that NumPy's is the nearest to: what a file shows."""
    return number.item() if number.dtype.kind in "biu" else float(str(number))


def _constant(value: Any) -> Const:
    """Return a setting as a constant operand."""
    if value is None:
        return Const(None, "None")
    if isinstance(value, np.ndarray) and value.dtype.kind == "i":
        return Const(
            tuple(value.tolist()) if value.ndim else value.item(), value.dtype.name, value.shape
        )
    if isinstance(value, bool | np.bool_):
        return Const(bool(value), "bool", ())
    if isinstance(value, int | np.integer):
        return Const(int(value), "int64", ())
    if isinstance(value, float | np.floating):
        return Const(_shortest(np.float32(value)), "float32", ())
    if isinstance(value, tuple | list) and all(
        isinstance(item, int | np.integer) for item in value
    ):
        return Const(tuple(int(item) for item in value), "tuple", (len(value),))
    raise GraphError("graph/setting-type", got=value)


def _constant_spec(constant: Const) -> TensorSpec | None:
    return None if constant.dtype == "tuple" else TensorSpec(constant.dtype, ())


def trace(
    network: Cell | Callable[..., Any], *inputs: Any, name: str | None = None, seed: int = 0
) -> Network:
    """Return the graph of a network; its flow if `while_loop` or `cond` choose what runs.

    Parameters
    ----------
    network : Cell or function
        Its code runs once; Python's own control flow must not depend on values of tensors.
    inputs : ndarray or TensorSpec
        One for each argument. Arrays become the feeds' example values.
    name : str, optional
        Name of the graph; the class or function name if left out.
    seed : int
        Seed of the weights that have no values yet.

    Raises
    ------
    GraphError
        An operator is unknown or its inputs do not fit; the message names operator and line.
    """
    check_seed(seed)
    function = network.construct if isinstance(network, Cell) else network
    label = name or getattr(network, "__name__", None) or type(network).__name__
    arguments = _arguments(function, inputs, label)
    tracing = Trace(network, seed)
    feeds = [tracing.feed(key, value) for key, value in arguments]
    token = ACTIVE.set(tracing)
    try:
        outputs = _run(function, network.taken(feeds) if isinstance(network, Cell) else feeds)
    finally:
        ACTIVE.reset(token)
    results = tuple(_outputs(outputs, label))
    if not tracing.layout.parts:
        return finish(label, tracing, results)
    return split(label, tracing.parameters, tracing.ops, results, tracing.layout.whole())


def trace_batches(
    network: Cell | Callable[..., Any],
    batch: Callable[[int], Sequence[Any]],
    name: str | None = None,
    seed: int = 0,
) -> Network:
    """Return the graph of a network whose inputs are a new batch in every iteration."""
    graph = trace(network, *batch(0), name=name, seed=seed)
    names = [parameter.name for parameter in graph.parameters if not parameter.is_weight]

    def batches(iteration: int) -> dict[str, Any]:
        return dict(zip(names, batch(iteration), strict=True))

    return replace(graph, batches=batches)


def _run(function: Callable[..., Any], feeds: Sequence[Tensor]) -> Any:
    """Call the network; frames outside this function do not belong to it."""
    return function(*feeds)


def _arguments(
    function: Callable[..., Any], inputs: Sequence[Any], label: str
) -> list[tuple[str, Any]]:
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*inputs)
    except TypeError as error:
        raise GraphError(
            "graph/arguments", name=label, signature=signature, got=len(inputs), why=error
        ) from error
    pairs: list[tuple[str, Any]] = []
    for key, value in bound.arguments.items():
        if signature.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL:
            pairs += [(f"{key}{index}", item) for index, item in enumerate(value)]
        else:
            pairs.append((key, value))
    return pairs


def _outputs(value: Any, label: str) -> Iterator[Operand]:
    if isinstance(value, Tensor):
        yield value.value
    elif isinstance(value, tuple | list) and value:
        for item in value:
            yield from _outputs(item, label)
    else:
        raise GraphError("graph/result-type", name=label, got=value)
