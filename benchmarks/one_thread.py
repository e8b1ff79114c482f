"""Run a benchmark in one thread, whatever the environment says."""

from __future__ import annotations

import os
import sys

THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}


def start_anew() -> None:
    """Start again with one thread and without a pinned core: both are read when NumPy is loaded."""
    pinned = "OPENBLAS_CORETYPE" in os.environ
    if pinned or any(os.environ.get(name) != count for name, count in THREADS.items()):
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"} | THREADS
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
