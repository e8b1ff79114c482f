"""The kernels that there are, each variant of the compiled one by itself, and libraries built to measure."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from workbench.comparison.measure import kernel_compiled
from workbench.comparison.measure.kernel_compiled import CompiledKernel, Library, library, load
from workbench.comparison.measure.kernel_numpy import NumpyKernel

SOURCES = [Path(kernel_compiled.__file__).with_name(n) for n in ("kernel.c", "kernel_loops.h")]
FLAGS = ("-O2", "-ftree-vectorize", "-ffp-contract=off", "-fvisibility=hidden", "-Wno-psabi")

KERNELS = {"numpy": NumpyKernel}
if library() is not None:  # tests/comparison/measure/test_kernel_library.py fails where it could be
    KERNELS["compiled"] = CompiledKernel


def compiler() -> str | None:
    """A compiler that can build the library."""
    return next(filter(None, map(shutil.which, ("gcc", "clang", "cc"))), None)


def build(folder: Path, **sizes: int) -> Library | None:
    """Build the library with other sizes of blocks; ``None``: there is no compiler."""
    command = compiler()
    if command is None:
        return None
    path = folder / ("_".join(f"{name}{size}" for name, size in sizes.items()) + ".so")
    macros = [f"-D{name}={size}" for name, size in sizes.items()]
    warned = subprocess.run(
        [command, *FLAGS, *macros, *("-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"), "-o", path, SOURCES[0], "-lm"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not warned.returncode, warned.stderr
    made = load(path)
    assert made is not None
    return made


def variants_here() -> list[int]:
    """Numbers of the variants that this processor can run."""
    found = library()
    return list(range(found.variants)) if found is not None else []
