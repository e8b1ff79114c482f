"""Dumps of kernels as an offline model leaves them, and golden data as another framework does: files, no graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kit.build.small_dumps import LEAF, START, save_container
from workbench.dump.reader import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from workbench.dump.dump import Dump


class Call(NamedTuple):
    """A kernel: its name, what it reads and gives, and its type."""

    name: str
    inputs: tuple[np.ndarray, ...]
    output: np.ndarray | tuple[np.ndarray, ...]
    op_type: str = "Conv2D"


def save_calls(root: Path, calls: Iterable[Call], step: int = 10) -> Dump:
    """Write a container for every kernel, ``step`` µs apart."""
    for number, (name, inputs, output, op_type) in enumerate(calls):
        file = f"{op_type}.{name}.{number}.3.{START + step * number}"
        outputs = output if isinstance(output, tuple) else (output,)
        save_container(root / LEAF / file, inputs, outputs, op_name=name)
    return load(root)


def save_golden(root: Path, arrays: Mapping[str, np.ndarray]) -> Dump:
    """Write a file for every output 0, by name and in the order of time."""
    root.mkdir()
    for number, (name, array) in enumerate(arrays.items()):
        np.save(root / f"{name}.0.{START + number}.npy", array)
    return load(root)
