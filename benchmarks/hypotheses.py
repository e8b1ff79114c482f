"""How often the right kind of fault is told from an operator's inputs and output, kind by kind.

``python benchmarks/hypotheses.py --seeds 2000-2019``: a confusion matrix. ``--fit --seeds 1000-1099``: the
weights of `workbench.comparison.explain.explain`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from kit.build.runs import KINDS, planted
from workbench.comparison.explain.case import BUDGET, with_fitted_arithmetic
from workbench.comparison.explain.explain import explain, features, score_hypotheses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="2000-2009")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--mode", default=None)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    first, last = (int(part) for part in options.seeds.split("-"))
    kinds = options.kinds.split(",")
    cases = (
        p
        for kind in kinds
        for seed in range(first, last + 1)
        for p in planted(kind, seed, mode=options.mode)
    )
    if options.fit:
        show_fit(cases)
    else:
        show_matrix(cases, misses=options.misses)


def show_fit(cases):
    rows, right = [], []
    np.seterr(all="ignore")
    for one in cases:
        if one.trial.error > one.visible * one.trial.floor:
            case = with_fitted_arithmetic(one.trial, BUDGET)
            tried, _ = score_hypotheses(case)
            if tried:
                rows.append(features(case, tried))
                right.append(tried[0].candidate.kind == one.kind)
    print(len(rows), sum(right) / len(rows), fit(rows, right))


def fit(rows, right, ridge=1.0):
    """Return the weights that make rows of features say best whether a guess was right.

    Newton's method for the logistic model, with a ridge against weights that grow without end.
    """
    names = list(rows[0])
    matrix = np.array([[row[name] for name in names] for row in rows])
    target = np.array(right, np.float64)
    weights = np.zeros(len(names))
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        slope = matrix.T @ (target - chance) - ridge * weights
        bend = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + ridge * np.eye(len(names))
        move = np.linalg.solve(bend, slope)
        weights += move
        if float(np.abs(move).max()) < 1e-8:
            break
    return dict(zip(names, (round(float(w), 3) for w in weights), strict=True))


def show_matrix(cases, misses):
    table, seen, times = defaultdict(Counter), Counter(), []
    chance = defaultdict(list)
    for one in cases:
        if not one.trial.error > one.visible * one.trial.floor:
            seen["hidden"] += 1
            continue
        start = time.perf_counter()
        found = explain(one.trial)
        times.append(time.perf_counter() - start)
        kind = found[0].kind if found else "nothing"
        table[one.kind][kind] += 1
        if found:
            chance[min(int(found[0].probability * 10), 9)].append(kind == one.kind)
        if misses and kind != one.kind:
            print(
                one.kind,
                one.mode,
                one.place,
                one.trial.given.shape,
                f"error {one.trial.error:.3g} floor {one.trial.floor:.3g}",
            )
            for row in found[:3]:
                print(
                    f"      {row.probability:.2f} {row.share:.4f} {row.exact:.3f} {row.kind}: {str(row.text)[:150]}"
                )
            if all(row.kind != one.kind for row in found[:3]):
                print(
                    "      ",
                    [
                        (row.kind, round(row.share, 3), round(row.probability, 3))
                        for row in found
                        if row.kind == one.kind
                    ],
                )
    right = sum(row[kind] for kind, row in table.items())
    total = sum(sum(row.values()) for row in table.values())
    for kind, row in table.items():
        others = ", ".join(f"{name} {count}" for name, count in row.most_common() if name != kind)
        print(f"{kind:22} {row[kind]:4} of {sum(row.values()):4}   {others}")
    print(
        f"all {right} of {total} = {right / max(total, 1):.1%}; too small to be seen: {seen['hidden']}"
    )
    times.sort()
    if times:
        print(f"time: median {times[len(times) // 2] * 1e3:.1f} ms, most {times[-1] * 1e3:.0f} ms")
    for part in sorted(chance):
        rows = chance[part]
        print(
            f"said {part / 10:.1f} to {part / 10 + 0.1:.1f}: right {sum(rows) / len(rows):.2f} of {len(rows)}"
        )


if __name__ == "__main__":
    main()
