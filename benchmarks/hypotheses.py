"""How often the right kind of fault is told from an operator's inputs and output, and how far a probability holds.

``python benchmarks/hypotheses.py --seeds 2000-2019``: a confusion matrix and the calibration, over faults of the
simulated device and over edited outputs, of which some have no name: whatever is said of these is wrong. ``--json
FILE`` keeps the records; a second run goes on where the first one ended, and judges all by the weights of its day.
``--markdown FILE`` writes the calibration. ``--fit --seeds 1000-1079,3000-3149``: the weights of
`workbench.comparison.explain.explain`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from one_thread import start_anew

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1]))

BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Lower ends of the bins of stated probability."""

INTRODUCTION = Path(__file__).parent / "diagnosing" / "causes.md"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="2000-2009")
    parser.add_argument("--kinds", default=None, help="planted and edited kinds, by commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--json", type=Path, help="keeps every record; what is there is not done again"
    )
    parser.add_argument("--markdown", type=Path, help="writes the calibration")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    records = measured(
        seeds_in(options.seeds),
        options.kinds and options.kinds.split(","),
        options.jobs,
        options.json,
    )
    if options.fit:
        show_fit(records)
        return
    if options.misses:
        show_misses(records)
    show_matrix(records)
    print(calibration(records))
    if options.markdown:
        command = (
            f"python benchmarks/hypotheses.py --seeds {options.seeds} --markdown {options.markdown}"
        )
        options.markdown.write_text(document(records, command), encoding="utf-8")


def seeds_in(text):
    """Seeds of ranges with commas between them."""
    for part in text.split(","):
        first, last = map(int, part.split("-"))
        yield from range(first, last + 1)


def measured(seeds, kinds, jobs, file):
    """Records of all seeds, those in the file and those still to do."""
    seeds = [*seeds]
    done = json.loads(file.read_text()) if file is not None and file.exists() else {}
    left = [(seed, kinds) for seed in seeds if str(seed) not in done]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for seed, records in pool.imap_unordered(measure_seed, left):
            done[str(seed)] = records
            if file is not None:
                file.write_text(json.dumps(done) + "\n", encoding="utf-8")
            print(f"\r{len(done)} seeds", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [judged(record) for seed in seeds for record in done[str(seed)]]


def judged(record):
    """A record as it is judged by today's weights: the guesses do not depend on them, what is said of the best does."""
    from workbench.comparison.explain.explain import chance_of
    from workbench.comparison.limits import limits

    chance = chance_of(record["features"]) if record["features"] else 0.0
    if chance < limits().cause_likely:
        return {**record, "said": "", "probability": None}
    return {**record, "said": record["first"], "probability": chance}


def measure_seed(task):
    """What is said of every fault of a seed, with the features that the probability is made of."""
    from kit.build.edits import EDITS, edited
    from kit.build.runs import KINDS, planted

    seed, wanted = task
    trials = (
        one
        for kind in wanted or (*KINDS, *EDITS)
        for one in (edited if kind in EDITS else planted)(kind, seed)
        if one.trial.error > one.visible * one.trial.floor
    )
    found = [measure(one, seed) for one in trials]
    return seed, found


def measure(one, seed):
    """What is said of one fault."""
    import numpy as np

    from workbench.comparison.explain.case import BUDGET, with_fitted_arithmetic
    from workbench.comparison.explain.explain import (
        features,
        rank_explanations,
        score_hypotheses,
    )
    from workbench.comparison.explain.symptoms import describe_symptom

    start = time.perf_counter()
    with np.errstate(all="ignore"):
        case = with_fitted_arithmetic(one.trial, BUDGET)
        tried, missed = score_hypotheses(case) if case.error > case.floor else ([], [])
        found = rank_explanations(case, tried, missed)
        took = time.perf_counter() - start
        causes = [row.cause for row in found if row.cause is not None]
        about = features(case, tried) if tried else {}
        symptom = describe_symptom(one.trial.given, one.trial.expected, one.trial.floor)
    return {
        "seed": seed, "kind": one.kind, "mode": one.mode, "place": one.place, "right": sorted(one.right),
        "said": causes[0].kind if causes else "", "probability": causes[0].probability if causes else None,
        "text": str(causes[0].evidence[0]) if causes else "", "first": tried[0].candidate.kind if tried else "",
        "features": {name: float(value) for name, value in about.items()},
        "symptom": symptom.kind if symptom else "", "seconds": took,
    }  # fmt: skip


def show_fit(records):
    rows = [one["features"] for one in records if one["features"]]
    right = [one["first"] in one["right"] for one in records if one["features"]]
    print(len(rows), sum(right) / len(rows), fit(rows, right))


def fit(rows, right, ridge=1.0):
    """Return the weights that make rows of features say best whether a guess was right.

    Newton's method for the logistic model, with a ridge against weights that grow without end.
    """
    import numpy as np

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


def show_misses(records):
    for one in records:
        if one["said"] and one["said"] not in one["right"]:
            print(
                f"{one['probability']:.3f} {one['kind']}: {one['said']}: {one['text']}  {one['mode']} {one['place']}"
            )


def show_matrix(records):
    table, seen = defaultdict(Counter), defaultdict(Counter)
    for one in records:
        table[one["kind"]][one["said"] or "-"] += 1
        seen[one["kind"]][one["symptom"] or "-"] += 1
    for kind, row in table.items():
        said = ", ".join(f"{name} {count}" for name, count in row.most_common())
        symptoms = ", ".join(f"{name} {count}" for name, count in seen[kind].most_common())
        print(f"{kind:22} {sum(row.values()):4}: {said}   | {symptoms}")
    known = [one for one in records if one["right"]]
    told = sum(one["said"] in one["right"] for one in known)
    print(f"known kinds told: {told} of {len(known)} = {told / max(len(known), 1):.1%}")
    silent = [not one["said"] for one in records if not one["right"]]
    print(
        f"unknown kinds left alone: {sum(silent)} of {len(silent)} = {sum(silent) / max(len(silent), 1):.1%}"
    )
    times = sorted(one["seconds"] for one in records)
    print(f"time: median {times[len(times) // 2] * 1e3:.1f} ms, most {times[-1] * 1e3:.0f} ms")


def calibration(records):
    """The table of the document: of what is stated, how much is right."""
    lines = ["| stated confidence | answers | mean | right |", "| --- | ---: | ---: | ---: |"]
    said = [(one["probability"], one["said"] in one["right"]) for one in records if one["said"]]
    for low, high in (*zip(BINS, (*BINS[1:], 1.01), strict=True), (0.9, 1.01)):
        rows = [pair for pair in said if low <= pair[0] < high]
        name = f"{low:.2f} to {min(high, 1.0):.2f}"
        if not rows:
            lines.append(f"| {name} | 0 | – | – |")
            continue
        mean, right = (sum(column) / len(rows) for column in zip(*rows, strict=True))
        lines.append(f"| {name} | {len(rows):,} | {mean:.1%} | {right:.1%} |")
    return "\n".join(lines)


def document(records, command):
    """The page of measured calibration."""
    known = [one for one in records if one["right"]]
    told = sum(one["said"] in one["right"] for one in known)
    unknown = len(records) - len(known)
    silent = sum(not one["said"] for one in records if not one["right"])
    symptoms = sum(bool(one["symptom"]) for one in records)
    head = INTRODUCTION.read_text(encoding="utf-8").format(
        command=command, count=len(records), known=len(known), unknown=unknown
    )
    facts = (
        f"* Known kinds told rightly: {told:,} of {len(known):,} ({told / len(known):.1%}).\n"
        f"* Unknown kinds of which nothing is said: {silent:,} of {unknown:,} ({silent / unknown:.1%}).\n"
        f"* Outputs with a [symptom](../reference/findings.md#symptoms): {symptoms:,} of {len(records):,}."
    )
    return f"{head}\n{calibration(records)}\n\n{facts}\n"


if __name__ == "__main__":
    start_anew()
    main()
