"""How many small faults in the package the nearest tests see, area by area.

``python benchmarks/mutation.py --out RESULT.json [--count N] [--seed N] [--areas A,B] [--base REV]
[--against RESULT.json] [--markdown PATH]``

Each of N mutants is one small fault in one function: a comparison swapped, a condition turned around, a number
that is one larger, a statement left out. It stands in a copy of the repository, where the test files run that
import its module, or else those that import what does. Mutants are drawn by the names of functions, so another
revision (``--base``) is measured by the same draw. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import compileall
import json
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mutating.measuring import Bench
from mutating.mutants import drawn, mutants
from mutating.reporting import document, table
from mutating.running import load_libraries

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "workbench/comparison/measure/_kernel.so"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="results, written as they come")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--areas", default="", help="folders of workbench/, all if left out")
    parser.add_argument("--base", default="", help="a revision in place of the files that are here")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds of tests for one mutant")
    parser.add_argument("--against", type=Path, help="results of another revision")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    load_libraries()
    with checkout(options.base) as root:
        results = measure(root, options)
    other = json.loads(options.against.read_text()) if options.against else None
    print("\n".join(table(results, other)))
    if options.markdown:
        options.markdown.write_text(document(results, other), encoding="utf-8")


def measure(root: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Results of all mutants of a draw, those included that the file holds already."""
    found = mutants(root)
    areas = [one for one in options.areas.split(",") if one] or sorted(found)
    chosen = drawn({area: found[area] for area in areas}, options.seed, options.count)
    results = read(options.out, options.seed, revision(options.base))
    results["budget"] = options.budget
    results["candidates"] = {area: len(some) for area, some in found.items()}
    bench = Bench(root, results["baseline"], options.budget)
    for number, mutant in enumerate(chosen, 1):
        if mutant.identity not in results["mutants"]:
            results["mutants"][mutant.identity] = one = bench.outcome(mutant)
            write(options.out, results)
            print(
                f"{number}/{len(chosen)} {one['seconds']:5.1f} s {one['outcome']:9} {mutant.path}:{mutant.line}",
                flush=True,
            )
    wanted = {mutant.identity for mutant in chosen}
    return results | {"mutants": {k: v for k, v in results["mutants"].items() if k in wanted}}


def read(path: Path, seed: int, where: str) -> dict[str, Any]:
    """What a file holds; nothing if it is of another seed or revision."""
    empty = {"seed": seed, "revision": where, "baseline": {}, "mutants": {}}
    if not path.exists():
        return empty
    found = json.loads(path.read_text(encoding="utf-8"))
    if (found["seed"], found["revision"]) != (seed, where):
        raise SystemExit(f"{path} is of seed {found['seed']} and revision {found['revision']}")
    return found


def write(path: Path, results: dict[str, Any]) -> None:
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(results, indent=1), encoding="utf-8")
    beside.replace(path)


def revision(base: str) -> str:
    """Name of a revision; of the files that are here, with what is not committed."""
    name = git("rev-parse", "--short", base or "HEAD").strip()
    return name if base or not git("status", "--porcelain", "--untracked-files=no") else f"{name}+"


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


@contextmanager
def checkout(base: str) -> Iterator[Path]:
    """Give a copy of the files that are here, or of a revision, compiled."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        root = Path(folder, "copy")
        if base:
            git("worktree", "add", "--detach", str(root), base)
        else:
            for name in git("ls-files", "-z").split("\0"):
                if (ROOT / name).is_file():
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, root / name)
        if LIBRARY.exists():  # built, and no file of the revision
            shutil.copy2(LIBRARY, root / LIBRARY.relative_to(ROOT))
        try:
            for part in ("workbench", "tests", "benchmarks"):
                compileall.compile_dir(root / part, quiet=2, workers=1)
            yield root
        finally:
            if base:
                git("worktree", "remove", "--force", str(root))


if __name__ == "__main__":
    main()
