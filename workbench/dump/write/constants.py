"""Constants of a graph as MindSpore dumps them: each once, under the number that the ``.pb`` gives it.

Sources: MindSpore ``E2eDump::DumpConstantData`` and ``GetConstantId``; a real dump of 2.0.0, whose files are
those of its ``.pb``. Monads have a number and no file, nor has text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workbench.core.tensors import ArraySource
from workbench.graph_files.mindspore.values import parse_const
from workbench.run.constants import constant, constant_spec
from workbench.run.outline import Outlined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.core.tensors import Source, TensorSpec


class Constant(NamedTuple):
    """A constant with its number; ``source`` has no data where the graph's text leaves them out."""

    number: int
    spec: TensorSpec
    source: Source


def constants_of(texts: Iterable[str]) -> Iterator[Constant]:
    """Yield the constants that are tensors, of texts in the order of their numbers."""
    for number, text in enumerate(texts):
        operand = parse_const(text)
        spec = None if text.startswith("@") else constant_spec(operand)
        if spec is not None:
            array = constant(operand)
            source = Outlined(spec) if array is None else ArraySource(array)
            yield Constant(number, spec, source)
