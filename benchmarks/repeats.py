"""What other runs of the target excuse, and what they must not: a device whose sums are off by noise of each run.

``python benchmarks/repeats.py [--runs 1 2 3] [--noise 1e-5 1e-4] [--models mlp transformer] [--count 3]``

The target and its repeats sum with noise of other seeds (`clearing.other_device`), far beyond what number formats
explain. Clean targets fail without repeats and have to pass with them. Then faults of every kind are planted, in the
target alone and in every run of it: the operator has to be named first with repeats as it is without noise.
Last, runs that are none: another batch, other weights, the golden and a copy of the target have to excuse nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from one_thread import start_anew

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

KINDS = (
    "scaled-output:strength=1.01", "wrong-sign", "saturated:strength=0.1", "nan-output", "overwritten-element",
    "bit-flip", "wrong-layout-lanes", "unwritten-tail-tile", "stale-output",
)  # fmt: skip
"""Faults that one run can have and another one not. Those of weights and attributes make another program of it."""

DEVICE = ("a2", "must_keep_origin_dtype")


class Bench:
    """Runs of one network of one seed, each made once."""

    def __init__(self, model: str, seed: int) -> None:
        import workbench as wb

        self.graph, self.seed = wb.models.load_graph(model, seed), seed
        self._kept: dict[Any, Any] = {}

    def golden(self) -> Any:
        from kit.build.runs import on_reference

        if None not in self._kept:
            self._kept[None] = on_reference(self.graph)
        return self._kept[None]

    def run(self, noise: float | None, number: int, faults: Sequence[str] = ()) -> Any:
        """Return run ``number`` of the device, with noise of its own and planted faults."""
        from clearing.other_device import computing_otherwise

        from kit.build.runs import on_device
        from workbench.npu.faults import parse_fault

        key = noise, number, tuple(faults)
        if key not in self._kept:
            planted = tuple(map(parse_fault, faults))
            with computing_otherwise(noise, 1000 * self.seed + number):
                self._kept[key] = on_device(self.graph, *DEVICE, faults=planted)
        return self._kept[key]


def compared(target: Any, golden: Any, repeats: Sequence[Any] = ()) -> Any:
    """Return the comparison of two runs."""
    import workbench as wb

    return wb.compare(target, golden, repeats=repeats)


def first_defect(found: Any) -> str:
    """Name of the operator that is blamed first; empty if none is."""
    return next((one.op_name for one in found.findings if one.defect), "")


def clean(
    bench: Bench, noise: float, most: int, said: Counter[str], worst: dict[tuple[int, bool], float]
) -> None:
    """Count verdicts of a clean target, alone and with one to ``most`` repeats; ``worst`` are its largest ratios."""
    target, golden = bench.run(noise, 0), bench.golden()
    for runs in range(most + 1):
        repeats = [bench.run(noise, number) for number in range(1, runs + 1)]
        found = compared(target, golden, repeats)
        said[f"clean, {runs} repeats: {found.verdict}"] += 1
        if runs:
            for few, ratio in ratios(target, golden, repeats):
                worst[runs, few] = max(worst.get((runs, few), 0.0), ratio)


def ratios(target: Any, golden: Any, repeats: Sequence[Any]) -> Iterator[tuple[bool, float]]:
    """Errors of results beyond 1e-6 over what repeats show, and whether they are of few elements."""
    from workbench.comparison.bind.borrow import bind_both
    from workbench.comparison.limits import limits
    from workbench.comparison.measure.measure import measure_pairs
    from workbench.comparison.pair.pair import pair_tensors
    from workbench.comparison.pair.pairing import EVERYTHING
    from workbench.comparison.repeats.runs import measure_repeats

    items = measure_pairs(pair_tensors(*bind_both(target, golden))).items
    spreads = measure_repeats(target, golden, repeats, EVERYTHING, items).spreads
    for item in items:
        one = spreads.get(item.pair.target.key)
        if one is not None and one.error and item.error > 1e-6:
            yield one.size < limits().repeat_elements, item.error / one.error


def planted(bench: Bench, noise: float, most: int, said: Counter[str], missed: list[str]) -> None:
    """Plant every kind of fault in one operator of each type that sums, and count who is named first."""
    golden, chosen = bench.golden(), {}
    for op in bench.graph.ops:
        if op.op_type in ("MatMul", "Conv2D", "Softmax", "LayerNorm", "BatchNorm", "BatchMatMul"):
            chosen.setdefault(op.op_type, op.name)
    for kind in KINDS:
        name, _, strength = kind.partition(":")
        for op_name in chosen.values():
            fault = f"{name}:{op_name}" + (f":{strength}" if strength else "")
            _plant(bench, noise, most, (fault, op_name, golden), said, missed)


def _plant(
    bench: Bench, noise: float, most: int, one: tuple[str, str, Any], said: Counter[str], missed: list[str]
) -> None:  # fmt: skip
    from workbench.core.errors import WorkbenchError

    fault, op_name, golden = one
    try:
        target = bench.run(noise, 0, [fault])
    except WorkbenchError:  # it cannot be in such an operator
        return
    # without noise the operator itself or nobody is named: what is told then must be told with repeats
    quiet = first_defect(compared(bench.run(0.0, 0, [fault]), golden))
    if quiet != op_name:
        said["fault not named first without noise either"] += 1
        return
    for where, planted_in in (("the target", ()), ("every run", (fault,))):
        repeats = [bench.run(noise, number, planted_in) for number in range(1, most + 1)]
        for runs in sorted({1, most}):
            blamed = first_defect(compared(target, golden, repeats[:runs]))
            what = "right" if blamed == op_name else "none" if not blamed else "wrong"
            said[f"fault in {where}, {runs} repeats: {what}"] += 1
            if what != "right":
                missed.append(f"{what} {fault} in {where}, noise {noise}, {runs} repeats: {blamed}")


def refused(bench: Bench, noise: float, model: str, said: Counter[str]) -> None:
    """Count what runs that are none excuse."""
    target, golden = bench.run(noise, 0), bench.golden()
    alone = compared(target, golden)
    others = {
        "other weights and batch": Bench(model, bench.seed + 50).run(noise, 1),
        "the golden": golden,
        "a copy of the target": bench.run(noise, 0),
    }
    for name, other in others.items():
        found = compared(target, golden, [other])
        same = (found.verdict, found.findings) == (alone.verdict, alone.findings)
        used = found.result.repeats[0].used
        said[f"{name}: {'excuses nothing' if same and not used else 'WRONG'}"] += 1


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=["mlp", "lenet", "resnet", "transformer"])
    parser.add_argument("--noise", nargs="*", type=float, default=[1e-5, 1e-4])
    parser.add_argument("--runs", type=int, default=3, help="most repeats")
    parser.add_argument("--count", type=int, default=3, help="seeds of each")
    parser.add_argument("--only-clean", action="store_true")
    arguments = parser.parse_args()
    said: Counter[str] = Counter()
    missed: list[str] = []
    worst: dict[tuple[int, bool], float] = {}
    for model in arguments.models:
        for seed in range(arguments.count):
            for noise in arguments.noise:
                bench = Bench(model, seed)
                clean(bench, noise, arguments.runs, said, worst)
                refused(bench, noise, model, said)
                if not arguments.only_clean:
                    planted(bench, noise, arguments.runs, said, missed)
            print(f"{model}, seed {seed}", file=sys.stderr, flush=True)
    for name, count in sorted(said.items()):
        print(f"{count:5d}  {name}")
    for (runs, few), ratio in sorted(worst.items()):
        size = "few" if few else "many"
        print(
            f"{ratio:5.2f}  largest error / largest between runs, {runs} repeats, {size} elements"
        )
    print(*missed, sep="\n")


if __name__ == "__main__":
    start_anew()
    main()
