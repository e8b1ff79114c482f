"""How long a small comparison takes from the shell: ``python benchmarks/start.py``.

The whole command on one pair of dumps, in processor time, over ``python -c "import numpy"``; best of five rounds in
which all cases take turns. Byte code is compiled first. ``PYTHONDONTWRITEBYTECODE``, which makes every start a
compilation, and ``OPENBLAS_CORETYPE`` are taken out of the environment.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import workbench

PACKAGE = Path(workbench.__file__).parent
PAIR = PACKAGE.parent / "sample_dumps" / "simulated_pair"
LEFT_OUT = ("PYTHONDONTWRITEBYTECODE", "OPENBLAS_CORETYPE")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
GOALS = {"equal": 2.5, "within rounding": 2.5, "diverging": 4.0}
COUNT = """
import sys
from workbench.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(sum(name.partition(".")[0] == "workbench" for name in sys.modules), file=sys.stderr)
"""


def round_anew(golden: Path, target: Path) -> None:
    """Copy a dump, every fourth float of its outputs one unit in the last place away."""
    shutil.copytree(golden, target)
    for path in target.rglob("*.output.*.npy"):
        values = np.load(path)
        if values.dtype.kind == "f":
            some = values.reshape(-1)[::4]
            some[...] = np.nextafter(some, np.inf, dtype=values.dtype)
            np.save(path, values)


def processor_time(*arguments: str) -> float:
    """Seconds of processor time of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=ENVIRONMENT, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(*arguments: str) -> int:
    """Modules of ours that a command has loaded when it ends."""
    command = [sys.executable, "-c", COUNT, *arguments]
    run = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return int(run.stderr.split()[-1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    compileall.compile_dir(PACKAGE, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        rounded = Path(folder) / "rounded"
        round_anew(PAIR / "golden", rounded)
        targets = (PAIR / "golden", rounded, PAIR / "target")
        commands = {
            case: ("compare", str(target), str(PAIR / "golden"))
            for case, target in zip(GOALS, targets, strict=True)
        }
        cases = {"import numpy": ("-c", "import numpy")}
        cases |= {case: ("-m", "workbench", *command) for case, command in commands.items()}
        times = [{case: processor_time(*one) for case, one in cases.items()} for _ in range(rounds)]
        best = {case: min(one[case] for one in times) for case in cases}
        print(f"import numpy: {best['import numpy']:.3f} s")
        for case, command in commands.items():
            ratio = best[case] / best["import numpy"]
            print(f"{case}: {ratio:.2f} (goal {GOALS[case]}), {modules(*command)} modules")


if __name__ == "__main__":
    main()
