"""Run an ONNX model node by node and write what each gives.

The files are also what later nodes read: beyond `_HELD` bytes outputs that are still needed are dropped from memory and
read again. So a run takes the tensors of one node, its weights and that much.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.cancel import checkpoint
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.golden_data.files import is_storable
from workbench.graph.graph import Value as Output
from workbench.ops.compile_time import computed_before_the_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.golden_data.engines import Engine
    from workbench.golden_data.files import GoldenFiles
    from workbench.golden_data.model import OnnxNode, OnnxSource, Value

    Array = NDArray[Any]
    Progress = Callable[[int, int, str], None]

_HELD = 1 << 28
"""Bytes of outputs that stay in memory for the nodes that read them."""


def write_nodes(
    source: OnnxSource,
    feeds: Mapping[str, Array],
    engine: Engine,
    files: GoldenFiles,
    progress: Progress | None = None,
) -> tuple[list[Message], list[Message]]:
    """Write all outputs of a model; return why nodes were not computed, and what else is to be said.

    ``progress`` is called after every node with how many tensors are done, how many there are, and its name.
    """
    values = _Values(source, feeds)
    missing: list[Message] = []
    unwritten: list[str] = []
    constant = _constants(source)
    total, done = sum(len(node.outputs) for node in source.nodes), 0
    for number, node in enumerate(source.nodes):
        if not node.outputs:
            continue
        checkpoint()
        try:
            outputs = _computed(source, node, values, engine)
        except GraphError as error:
            missing.append(
                Message("golden/node", name=node.name, type=node.type, why=error.message)
            )
            values.lose(node)
            files.lose(node.name)
        else:
            unwritten += _written(node, outputs, values, files, constant=number in constant)
        values.release(node)
        done += len(node.outputs)
        if progress is not None:
            progress(done, total, node.name)
    return missing, list(_remarks(source, unwritten))


def _constants(source: OnnxSource) -> set[int]:
    """Nodes that no input's values reach, but for those that give a result of the model."""
    results = {one.op for one in source.graph.outputs if isinstance(one, Output)}
    return computed_before_the_run(source.graph) - results


def _computed(
    source: OnnxSource, node: OnnxNode, values: _Values, engine: Engine
) -> Sequence[Value]:
    """Outputs of a node; raises GraphError if it cannot be computed, or what it reads was not."""
    lost = [name for name in node.reads if name in values.lost]
    if lost:
        raise GraphError("golden/after", name=values.lost[lost[0]])
    fed = {name: values.get(name) for name in node.reads if values.is_fed(name)}
    found = engine.run(source.one_node(node, fed), fed)
    return [np.asarray(one) if isinstance(one, np.generic) else one for one in found]


def _written(
    node: OnnxNode,
    outputs: Sequence[Value],
    values: _Values,
    files: GoldenFiles,
    *,
    constant: bool,
) -> Iterator[str]:
    """Write what a node gave; yield the names of outputs that are no arrays of numbers."""
    slots = (slot for slot, name in enumerate(node.proto.output) if name)
    for name, slot, value in zip(node.outputs, slots, outputs, strict=True):
        if is_storable(value):
            values.put(name, value, files.put(node.name, slot, value, constant=constant))
        else:
            values.put(name, value)
            yield name


def _remarks(source: OnnxSource, unwritten: Sequence[str]) -> Iterator[Message]:
    """Say which values of a model are not written because of what they are."""
    if unwritten:
        yield Message("golden/no-array", names=list(unwritten))
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
        self._left = Counter(name for node in source.nodes for name in node.reads)
        self._held: dict[str, Value] = dict(feeds)
        self._files: dict[str, tuple[Path, np.dtype[Any]]] = {}
        self._nbytes = 0

    def is_fed(self, name: str) -> bool:
        """Whether a node is fed a value; else it is a small weight, which lies in the node's model."""
        return name not in self._source.weights or self._source.is_large(name)

    def get(self, name: str) -> Value:
        """Return a value; a weight, or one that was dropped, is read."""
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
        for name in node.reads:
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
