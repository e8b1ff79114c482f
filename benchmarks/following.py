"""Follow a comparison through the code: what of ours runs, and how often the way leads back.

    python benchmarks/following.py                        this revision
    python benchmarks/following.py --root CHECKOUT        another one, on the same dumps
    python benchmarks/following.py --pair real            the other sample pair

A sample pair is compared twice in one process, and calls of ours are counted the second time.
"""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType, FrameType

HERE = Path(__file__).parents[1]
PAIRS = {
    "simulated": (
        HERE / "sample_dumps/simulated_pair/target",
        HERE / "sample_dumps/simulated_pair/golden",
    ),
    "real": (HERE / "sample_dumps/real_pair/dump_a", HERE / "sample_dumps/real_pair/dump_b"),
}


class Call(NamedTuple):
    """One call: the module as a path below the package, and the code."""

    module: str
    code: CodeType


class Way(NamedTuple):
    """How many places are entered, and how often one that was left."""

    places: int
    returns: int


def way(places: Iterable[str]) -> Way:
    """Follow places in order.

    >>> way(["a", "a", "b", "a", "c"])
    Way(places=3, returns=1)
    """
    entered = [place for place, _ in groupby(places)]
    return Way(len({*entered}), len(entered) - len({*entered}))


def recorded(root: Path, pair: tuple[Path, Path]) -> list[Call]:
    """Calls of ours during a warm comparison, without lambdas and comprehensions.

    ``pair`` is a target and a golden tree.
    """
    sys.path.insert(0, str(root))
    import workbench as wb

    package = Path(wb.__file__).parent
    if package.parent != root:
        raise SystemExit(f"error: {package} is imported instead of {root / 'workbench'}")
    calls: list[Call] = []
    modules: dict[str, str] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<"):
            return
        if code.co_filename not in modules:
            path = Path(code.co_filename)
            inside = path.is_relative_to(package)
            modules[code.co_filename] = str(path.relative_to(package)) if inside else ""
        if modules[code.co_filename]:
            calls.append(Call(modules[code.co_filename], code))

    wb.compare(*pair)
    sys.setprofile(note)
    wb.compare(*pair)
    sys.setprofile(None)
    return calls


def takes_target(call: Call) -> bool:
    """Whether a function has a parameter ``target``."""
    code = call.code
    return "target" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def told(title: str, calls: list[Call]) -> str:
    """Say where a list of calls leads."""
    packages = way(call.module.rpartition("/")[0] for call in calls)
    modules = way(call.module for call in calls)
    return (
        f"{title} ({len(calls)}): {packages.places} packages, {packages.returns} returns; "
        f"{modules.places} modules, {modules.returns} returns"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=HERE, help="checkout whose code runs")
    parser.add_argument("--pair", choices=PAIRS, default="simulated")
    parser.add_argument("--steps", type=int, default=400)
    chosen = parser.parse_args()
    calls = recorded(chosen.root.resolve(), PAIRS[chosen.pair])
    functions = list(dict.fromkeys(calls))
    modules = {call.module for call in calls}
    area = {one for one in modules if one.startswith(("comparison/", "compare/"))}
    print(f"{len(functions)} functions in {len(modules)} modules, {len(area)} of the comparison")
    print(told("functions with a parameter target", [*filter(takes_target, functions)]))
    inside = [call for call in calls if call.module in area]
    print(told("first calls inside the comparison", inside[: chosen.steps]))
    print(told("first functions, each when it is first called", functions[: chosen.steps]))


if __name__ == "__main__":
    main()
