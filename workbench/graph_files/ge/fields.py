"""What operators of GE have that others have not: fields beside their attributes, inputs that are not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.graph.graph import Const

if TYPE_CHECKING:
    from collections.abc import Iterator

ITERATOR = "IteratorGetNext"
"""Operator that feeds a training graph of TensorFlow; by it the computational graph is found."""

UNCONNECTED = Const(None, "None")
"""An optional input that is not there."""

_OWN = ("name", "type", "attr")


class OpAttrs(Mapping[str, Any]):
    """Attributes of an operator, and behind them the other fields of its ``OpDef``.

    ``input`` (edges with control edges), ``id``, ``stream_id``, ``input_desc``, ``output_desc`` and
    ``subgraph_name`` are such fields; an attribute of the same name hides the field. A tensor
    descriptor is a mapping of its own: ``op.attrs["output_desc"][0]["attr"]["origin_format"]``.
    """

    __slots__ = ("_attrs", "_fields")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self._attrs: Mapping[str, Any] = fields.get("attr", {})

    @property
    def fields(self) -> Mapping[str, Any]:
        """The ``OpDef`` itself, its attributes under ``attr``."""
        return self._fields

    def __getitem__(self, key: str) -> Any:
        if key in self._attrs:
            return self._attrs[key]
        if key in _OWN:
            raise KeyError(key)
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        yield from self._attrs
        for key in self._fields:
            if key not in _OWN and key not in self._attrs:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))
