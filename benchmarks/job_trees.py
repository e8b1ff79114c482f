"""Write big dumps of jobs for benchmarks: any number of ranks, iterations and tensors of one size, in seconds.

``python benchmarks/job_trees.py OUT [--ranks 64] [--iterations 20] [--operators 100] [--kib 16] [--sparse]``

A tree as MindSpore writes it on a CPU, without graphs: a chain of ``Add``, one output each. Ranks hold the same, values
differ by operator and iteration. ``--sparse`` writes headers alone and leaves holes of zeros behind them, so that
terabytes take no disk. ``--wrong 7 3 10`` makes operator 10 and all behind it in rank 7 from iteration 3 on 1.5 times
what they should be.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from pathlib import Path

import numpy as np

START = 1_700_000_000_000_000
"""Microseconds since the epoch of the first file."""


def file_name(operator: int, number: int) -> str:
    """Return the name of an output's file."""
    name = f"Default_blocks_{operator // 10}-Block_Add-op{operator}"
    return f"Add.{name}.0.0.{START + number}.output.0.DefaultFormat.Float32.npy"


def npy_head(size: int) -> bytes:
    """Return the header of an npy file of ``size`` float32."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": "<f4", "fortran_order": False, "shape": (size,)}
    )
    return out.getvalue()


def write_job(
    out: Path,
    ranks: int,
    iterations: int,
    operators: int,
    nbytes: int,
    *,
    sparse: bool = False,
    wrong: tuple[int, int, int] | None = None,
) -> int:
    """Write the trees of all ranks below a folder; return the number of files.

    Parameters
    ----------
    out : path
        A folder that is new or empty.
    nbytes : int
        Bytes of each tensor, a multiple of 4.
    sparse : bool
        Whether the data are holes in the files, which read as zeros.
    wrong : (rank, iteration, operator), optional
        From where on values are 1.5 times what they should be.
    """
    head = npy_head(nbytes // 4)
    for iteration in range(iterations):
        datas = [] if sparse else [_data(nbytes // 4, iteration, n) for n in range(operators)]
        for rank in range(ranks):
            folder = out / f"rank_{rank}" / "Net" / "0" / str(iteration)
            folder.mkdir(parents=True)
            for number in range(operators):
                path = f"{folder}/{file_name(number, iteration * operators + number)}"
                with open(path, "wb") as file:
                    file.write(head)
                    if sparse:
                        os.truncate(file.fileno(), len(head) + nbytes)
                        continue
                    is_wrong = wrong is not None and rank == wrong[0] and iteration >= wrong[1]
                    scale = 1.5 if is_wrong and wrong is not None and number >= wrong[2] else 1.0
                    file.write((datas[number] * np.float32(scale)).tobytes())
    return ranks * iterations * operators


def _data(size: int, iteration: int, operator: int) -> np.ndarray:
    return np.random.default_rng([iteration, operator]).standard_normal(size, np.float32)


def main() -> None:
    """Write a tree and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    for name, default in (("ranks", 64), ("iterations", 20), ("operators", 100), ("kib", 16)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--wrong", type=int, nargs=3)
    given = parser.parse_args()
    start = time.process_time()
    count = write_job(
        given.out,
        given.ranks,
        given.iterations,
        given.operators,
        given.kib * 1024,
        sparse=given.sparse,
        wrong=tuple(given.wrong) if given.wrong else None,
    )
    took, size = time.process_time() - start, count * given.kib / 1024
    sys.stdout.write(f"{count:,} files, {size:,.0f} MiB, {took:.1f} s of processor time\n")


if __name__ == "__main__":
    main()
