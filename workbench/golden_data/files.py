"""Files of golden data: ``op_name.output_index.timestamp.npy``, as msaccucmp reads them.

In a name every character outside ``A-Za-z0-9_-`` is ``_``, so that two operators may have one name. Their files then
differ in time alone, in the order of the model; readers take them for the first and the second of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeGuard

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.words import Message
from workbench.dump.formats.file import FileName
from workbench.dump.formats.ge_name import (
    CONSTANTS,
    INPUTS,
    ROLES,
    format_ge_name,
    input_files,
    standard_name,
)
from workbench.dump.formats.npy import save_npy
from workbench.dump.formats.renamed import FILE_NAME, renamed
from workbench.dump.new_folder import NewFolder
from workbench.dump.reports.golden_roles import format_role, header
from workbench.dump.write.targets import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.dump.reports.golden_roles import Role

    Array = NDArray[Any]


class GoldenFiles:
    """A new folder while golden data are written to it.

    Raises FormatError on entry if the folder is not empty, OutputError where it cannot be written.
    """

    def __init__(self, root: str | Path, seed: int = 0) -> None:
        self._folder = NewFolder(root)
        self.root = self._folder.root
        self.tensors = self.nbytes = self.constants = 0
        self._clock = Clock(seed)
        self._owners: dict[str, dict[str, None]] = {}
        self._lost: set[str] = set()
        self._widened: dict[tuple[str, str], int] = {}
        self._inputs: dict[str, str] = {}

    @property
    def inputs(self) -> Mapping[str, str]:
        """Files of what is fed, in the folder, by its names."""
        return self._inputs

    def __enter__(self) -> Self:
        self._folder.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._folder.__exit__(*error)

    def put_inputs(self, feeds: Mapping[str, Array]) -> None:
        """Write what is fed, each under its own name or, where that is taken, with a number behind it."""
        for name, file_name in input_files(feeds).items():
            if not is_storable(feeds[name]):
                continue
            self._inputs[name] = f"{INPUTS}/{file_name}"
            with self._folder.file(self._inputs[name]) as file:
                save_npy(file, stored(feeds[name]))

    def lose(self, op_name: str) -> None:
        """Take note that an operator has no files: those of a later one of its name must not pass for them."""
        name = standard_name(op_name)
        self._owners.setdefault(name, {})[op_name] = None
        self._lost.add(name)

    def put(self, op_name: str, slot: int, array: Array, *, constant: bool = False) -> Path:
        """Write one output of an operator; return its file. A constant is no golden data and lies aside."""
        name = standard_name(op_name)
        self._owners.setdefault(name, {})[op_name] = None
        if name in self._lost:
            op_name = f"{op_name}_{list(self._owners[name]).index(op_name) + 1}"
        stamp = self._clock.tick()
        file_name = format_ge_name(FileName("golden", "", op_name, stamp, slot=slot))
        other = renamed("msaccucmp", file_name, "", self._clock.random)
        if other is not None:
            file_name = other[0]
            self._folder.late_line(FILE_NAME, other[1])
        held = stored(array)
        if held.dtype != array.dtype:
            kind = array.dtype.name, held.dtype.name
            self._widened[kind] = self._widened.get(kind, 0) + 1
        if constant:
            file_name = f"{CONSTANTS}/{file_name}"
            self.constants += 1
        else:
            self.tensors += 1
            self.nbytes += held.nbytes
        with self._folder.file(file_name) as file:
            save_npy(file, held)
        return self.root / file_name

    def put_roles(self, roles: Mapping[str, Role]) -> None:
        """Write which files repeat others and which nothing reads, if there are any."""
        if roles:
            lines = [header(), *(format_role(file, role) for file, role in sorted(roles.items()))]
            with self._folder.file(ROLES) as table:
                table.write("".join(lines).encode())

    def remarks(self) -> Iterator[Message]:
        """Say what lies aside, which operators share a name, and which number formats npy has none for."""
        if self.constants:
            yield Message("golden/constants", outputs=self.constants, folder=CONSTANTS)
        for name, owners in self._owners.items():
            if len(owners) > 1:
                yield Message("golden/one-name", name=name, operators=list(owners))
        for (own, held), count in self._widened.items():
            yield Message("golden/widened", own=own, held=held, tensors=count)


def is_storable(value: object) -> TypeGuard[Array]:
    """Whether a value is an array of numbers; sequences, texts and absent values are none."""
    return isinstance(value, np.ndarray) and value.dtype.name in DTYPES and value.dtype.kind != "O"


def stored(array: Array) -> Array:
    """Return an array of a type that every NumPy reads: one that it lacks becomes wider, and no value another.

    >>> import ml_dtypes
    >>> stored(np.ones(1, ml_dtypes.bfloat16)).dtype.name, stored(np.ones(1, ml_dtypes.int4)).dtype.name
    ('float32', 'int8')
    """
    if array.dtype.isbuiltin != 2:  # 2: registered by another package
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    return array.astype("float32" if DTYPES[array.dtype.name].is_float else "int8")
