"""What a run that makes golden data has written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.core.words import Message


@dataclass(frozen=True, slots=True)
class Golden:
    """Golden data on disk.

    ``tensors`` were written to ``path``, ``nbytes`` in all. ``engine`` computed them: ``onnxruntime``, ``reference``,
    or the name of a framework. ``missing`` says of every operator that was not computed why; if there is none, all
    tensors of the model are there.
    """

    path: Path
    engine: str
    tensors: int
    nbytes: int
    missing: tuple[Message, ...] = ()
