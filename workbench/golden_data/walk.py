"""Run an ONNX model node by node and write what each gives.

The files are also what later nodes read: beyond `_HELD` bytes outputs that are still needed are dropped from memory and
read again. So a run takes the tensors of one node, its weights and that much.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.core.long_work import checkpoint
from workbench.core.words import Message
from workbench.golden_data.engines import choose_engine
from workbench.golden_data.files import is_storable
from workbench.golden_data.roles import RoleFinder
from workbench.graph.graph import Value as Output
from workbench.graph_files.onnx.branches import ELSE, THEN, branch_graph, is_choice
from workbench.ops.compile_time import computed_before_the_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Protocol

    from numpy.typing import NDArray

    from workbench.dump.reports.golden_roles import Role
    from workbench.golden_data.engines import Engine
    from workbench.golden_data.model import OnnxNode, OnnxSource, Value

    Array = NDArray[Any]
    Progress = Callable[[int, int, str], None]

    class Files(Protocol):
        """What takes the outputs of nodes; ``inputs`` are the files of what is fed, by its names."""

        @property
        def inputs(self) -> Mapping[str, str]: ...

        def put(
            self, op_name: str, slot: int, array: Array, *, constant: bool = False
        ) -> Path | None:
            """Take one output; return the file that has it, if there is one."""
            ...

        def lose(self, op_name: str) -> None:
            """Take note that an operator has no outputs."""
            ...


_HELD = 1 << 28
"""Bytes of outputs that stay in memory for the nodes that read them."""


class Written(NamedTuple):
    """What came of a run: why nodes were not computed, what else is to be said, and the model with its branches.

    ``roles`` are those of files of golden data, by file.
    """

    missing: list[Message]
    remarks: list[Message]
    source: OnnxSource
    roles: Mapping[str, Role]


def write_nodes(
    source: OnnxSource,
    feeds: Mapping[str, Array],
    engine: Engine,
    files: Files,
    progress: Progress | None = None,
) -> Written:
    """Write all outputs of a model; of a node that chooses between graphs those of the graph that it takes.

    ``progress`` is called after every node with how many tensors are done, how many there are, and its name.
    """
    values, finder = _Values(source, feeds), RoleFinder(files.inputs)
    missing: list[Message] = []
    unwritten: list[str] = []
    constant, number, done, total = _constants(source), 0, 0, _outputs_from(source, 0)
    while number < len(source.nodes):
        checkpoint()
        which = _branch(source, number, values)
        if which:
            source = source.with_branch(number, which)
            values.take_branch(source, number)
            constant, total = _constants(source), done + _outputs_from(source, number)
            continue
        node = source.nodes[number]
        try:
            ran = _computed(source, node, values, engine)
        except GraphError as error:
            why = error.message
            missing.append(Message("golden/node", name=node.name, type=node.type, why=why))
            values.lose(node)
            files.lose(node.name)
        else:
            unwritten += _written(node, ran, values, files, finder, number in constant)
        values.release(node)
        number, done = number + 1, done + len(node.outputs)
        if progress is not None and node.outputs:
            progress(done, total, node.name)
    return Written(missing, list(_remarks(source, unwritten)), source, finder.roles(source))


def branches_taken(source: OnnxSource, feeds: Mapping[str, Array], seed: int) -> Mapping[str, str]:
    """Return which graph each node that chooses takes for these inputs; ``{}`` for a model without any.

    ``seed`` is that of random operators. Raises GraphError where what a choice depends on cannot be computed.
    """
    if not any(map(is_choice, source.graph.ops)):
        return {}
    _, engine, _ = choose_engine(None, seed)
    found = write_nodes(source, feeds, engine, _Nowhere())
    if found.missing and any(map(is_choice, found.source.graph.ops)):
        raise GraphError("golden/nothing", place=source.where, why=found.missing[0])
    return found.source.taken


class _Nowhere:
    """Takes outputs that nobody wants to keep."""

    inputs: Mapping[str, str] = MappingProxyType({})

    def put(self, op_name: str, slot: int, array: Array, *, constant: bool = False) -> None:
        """Let it go."""

    def lose(self, op_name: str) -> None:
        """Nothing was kept."""


def _outputs_from(source: OnnxSource, number: int) -> int:
    """How many tensors nodes give from one on."""
    return sum(len(node.outputs) for node in source.nodes[number:])


def _branch(source: OnnxSource, number: int, values: _Values) -> str:
    """Which graph a node takes; empty if it does not choose, or nobody knows: then it is computed as a whole."""
    op, node = source.graph.ops[number], source.nodes[number]
    known = is_choice(op) and all(branch_graph(source.graph, op, one) for one in (THEN, ELSE))
    condition = node.proto.input[0] if known else ""
    if not condition or source.own_name(condition) in values.lost:
        return ""
    value = values.get(condition)
    if not isinstance(value, np.ndarray) or value.size != 1:
        return ""
    return THEN if bool(value.reshape(-1)[0]) else ELSE


def _constants(source: OnnxSource) -> set[int]:
    """Nodes that no input's values reach, but for those that give a result of the model."""
    results = {one.op for one in source.graph.outputs if isinstance(one, Output)}
    return computed_before_the_run(source.graph) - results


class _Ran(NamedTuple):
    """What a node was fed, by the names of who gave it, and its outputs."""

    fed: Mapping[str, Value]
    outputs: Sequence[Value]


def _computed(source: OnnxSource, node: OnnxNode, values: _Values, engine: Engine) -> _Ran:
    """Run a node; raises GraphError if it cannot be computed, or what it reads was not."""
    if not node.outputs:
        return _Ran({}, ())
    lost = [name for name in map(source.own_name, node.reads) if name in values.lost]
    if lost:
        raise GraphError("golden/after", name=values.lost[lost[0]])
    fed = {name: values.get(name) for name in node.reads if values.is_fed(name)}
    found = engine.run(source.one_node(node, fed), fed)
    outputs = [np.asarray(one) if isinstance(one, np.generic) else one for one in found]
    return _Ran({source.own_name(name): value for name, value in fed.items()}, outputs)


def _written(
    node: OnnxNode,
    ran: _Ran,
    values: _Values,
    files: Files,
    finder: RoleFinder,
    constant: bool,
) -> Iterator[str]:
    """Write what a node gave; yield the names of outputs that are no arrays of numbers."""
    slots = (slot for slot, name in enumerate(node.proto.output) if name)
    for name, slot, value in zip(node.outputs, slots, ran.outputs, strict=True):
        if is_storable(value):
            path = files.put(node.name, slot, value, constant=constant)
            values.put(name, value, path)
            if path is not None and not constant:
                finder.add(node, name, value, path.name, ran.fed)
        else:
            values.put(name, value)
            yield name


def _remarks(source: OnnxSource, unwritten: Sequence[str]) -> Iterator[Message]:
    """Say which values of a model are not written because of what they are."""
    if unwritten:
        yield Message("golden/no-array", names=list(unwritten))
    if source.taken:
        branches = [
            Message("golden/branch", node=name, branch=which)
            for name, which in source.taken.items()
        ]
        yield Message("golden/branches", branches=branches)
    inside = [node.name for node in source.nodes if node.has_subgraphs]
    if inside:
        yield Message("golden/subgraphs", nodes=inside)
    functions = {(one.domain, one.name) for one in source.proto.functions}
    calls = [
        node.name for node in source.nodes if (node.proto.domain, node.proto.op_type) in functions
    ]
    if calls:
        yield Message("golden/functions", nodes=calls)


class _Values:
    """Values by name from the time they are there until nobody reads them any more."""

    def __init__(self, source: OnnxSource, feeds: Mapping[str, Array]) -> None:
        self.lost: dict[str, str] = {}
        self._source = source
        self._left = _reads(source, 0)
        self._held: dict[str, Value] = dict(feeds)
        self._files: dict[str, tuple[Path, np.dtype[Any]]] = {}
        self._nbytes = 0

    def take_branch(self, source: OnnxSource, number: int) -> None:
        """Go on with a model that has a branch from a node on."""
        self._source, self._left = source, _reads(source, number)
        for name in [name for name in self._held if not self._left[name]]:
            self._forget(name)

    def is_fed(self, name: str) -> bool:
        """Whether a node is fed a value; else it is a small weight, which lies in the node's model."""
        return name not in self._source.weights or self._source.is_large(name)

    def get(self, name: str) -> Value:
        """Return a value; a weight, or one that was dropped, is read."""
        name = self._source.own_name(name)
        if name in self._source.weights:
            return self._source.weights[name].array()
        if name in self._held:
            return self._held[name]
        if name not in self._files:  # a subgraph reads what comes behind its node
            raise GraphError("graph/onnx-input-later", got=name)
        path, kind = self._files[name]
        array: Array = np.load(path)
        return array.astype(kind, copy=False)

    def put(self, name: str, value: Value, path: Path | None = None) -> None:
        """Take an output that somebody reads; ``path`` is the file that has it."""
        if not self._left[name]:
            return
        self._held[name] = value
        if path is not None and isinstance(value, np.ndarray):
            self._files[name] = path, value.dtype
            self._nbytes += value.nbytes
            self._drop()

    def lose(self, node: OnnxNode) -> None:
        """Take note that a node was not computed."""
        self.lost |= dict.fromkeys(node.outputs, node.name)

    def release(self, node: OnnxNode) -> None:
        """Take note that a node has read its values."""
        for name in map(self._source.own_name, node.reads):
            self._left[name] -= 1
            if not self._left[name]:
                self._forget(name)
                self._files.pop(name, None)

    def _drop(self) -> None:
        """Drop the oldest outputs that have files until the rest is small enough."""
        for name in [name for name in self._held if name in self._files]:
            if self._nbytes <= _HELD:
                break
            self._forget(name)

    def _forget(self, name: str) -> None:
        value = self._held.pop(name, None)
        if name in self._files and isinstance(value, np.ndarray):
            self._nbytes -= value.nbytes


def _reads(source: OnnxSource, number: int) -> Counter[str]:
    """How often values are read from a node on."""
    return Counter(source.own_name(name) for node in source.nodes[number:] for name in node.reads)
