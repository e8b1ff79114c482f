"""Engines that compute one node of an ONNX model: rows of `ENGINES`, the first that is installed being the default."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.golden_data.evaluator import Reference
from workbench.golden_data.runtime import OnnxRuntime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Protocol

    from onnx import ModelProto

    from workbench.golden_data.model import Value

    class Engine(Protocol):
        """What computes a node."""

        def run(self, model: ModelProto, feeds: Mapping[str, Value]) -> Sequence[Value]:
            """Return the outputs of a model of one node; raises GraphError if it cannot be computed."""
            ...

        def remarks(self) -> Iterable[Message]:
            """Say what was peculiar to the nodes that were computed."""
            ...


class EngineRow(NamedTuple):
    """An engine: its name, the package that it needs beside onnx, and what makes it of a seed."""

    name: str
    package: str
    make: Callable[[int], Engine]


ENGINES = (
    EngineRow("onnxruntime", "onnxruntime", OnnxRuntime),
    EngineRow("reference", "", Reference),
)
"""Every engine."""


def choose_engine(name: str | None, seed: int) -> tuple[str, Engine, list[Message]]:
    """Return an engine by its name, or the first that is installed, and what is to be said of the choice.

    Raises GraphError for an unknown name, or where the package of a named one is missing.
    """
    rows = {row.name: row for row in ENGINES}
    if name is not None and name not in rows:
        raise GraphError("core/choice", subject="engine", got=name, known=list(rows))
    said: list[Message] = []
    for row in ENGINES if name is None else [rows[name]]:
        if not row.package or find_spec(row.package) is not None:
            return row.name, row.make(seed), said
        said.append(Message("golden/engine-fallback", package=row.package))
    raise GraphError("golden/engine-missing", package=row.package)
