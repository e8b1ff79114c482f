"""Which golden files repeat others, and which hold what nothing reads: what a reader without the model cannot know.

A file is a copy where its node computes nothing and gives the elements that it reads, in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.dump.reports.golden_roles import Role
from workbench.ops.compile_time import never_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.golden_data.model import OnnxNode, OnnxSource, Value

COMPUTING_NOTHING = frozenset(
    ("Cast", "CastLike", "Concat", "Dropout", "Expand", "Flatten", "Gather", "Identity", "Pad", "Reshape", "Slice",
     "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze")
)  # fmt: skip
"""Types of ONNX whose results are elements that they read: no others and, where all are given in order, a copy."""


class RoleFinder:
    """Roles of files while a model is run; values are known by the names in the model."""

    def __init__(self, inputs: Mapping[str, str]) -> None:
        """``inputs`` are the files of what is fed, in the golden folder."""
        self._files = dict(inputs)
        self._copies: dict[str, str] = {}
        self._written: set[str] = set()

    def add(
        self, node: OnnxNode, name: str, value: NDArray[Any], file: str, read: Mapping[str, Value]
    ) -> None:
        """Take note of an output that has a file; ``read`` is what its node read, by the names of who gave it."""
        self._files[name] = file
        self._written.add(name)
        if node.type not in COMPUTING_NOTHING:
            return
        for source, other in read.items():
            if source in self._files and _has_elements(value, other):
                self._copies[name] = self._files[source]
                break

    def roles(self, source: OnnxSource) -> dict[str, Role]:
        """Return the roles of files that have one; ``source`` is the model with the branches that were taken."""
        unread = Role("unread")
        found = {self._files[name]: Role("copy", of) for name, of in self._copies.items()}
        return found | {
            self._files[name]: unread for name in _unread(source) if name in self._written
        }


def _has_elements(value: NDArray[Any], other: Value) -> bool:
    """Whether a value has all elements of another, of one type and in one order, whatever their shapes."""
    return (
        isinstance(other, np.ndarray)
        and other.dtype == value.dtype
        and other.size == value.size
        and np.array_equal(_bytes_of(other), _bytes_of(value))
    )


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _unread(source: OnnxSource) -> Iterator[str]:
    """Yield values that no node needs when the model runs, and that are no result of it."""
    read = {source.own_name(name) for node in source.nodes for name in node.reads}
    inside = {
        source.own_name(name) for node in source.nodes if node.has_subgraphs for name in node.reads
    }
    results = {source.own_name(name) for name in source.outputs}
    useless = never_read(source.graph)
    for number, node in enumerate(source.nodes):
        needed = inside if number in useless else read
        yield from (name for name in node.outputs if name not in needed and name not in results)
