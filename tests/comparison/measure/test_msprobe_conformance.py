"""Our figures against those of msprobe, for trees that we simulated and trees that MindSpore wrote.

The record comes from `make conformance-msprobe`; ``docs/evidence/conformance.md`` says how. The trees are made
again here. Products of the simulated device may round otherwise with another BLAS: checksums in the
record tell, and what comes of such a product is held to `LOOSE` only.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from kit.build import msprobe_pairs as pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.result import Row

pytestmark = pytest.mark.slow

RECORD = json.loads((pairs.ROOT / "tests/data/conformance/msprobe_26.2.0.json").read_text())

VERDICT = "Accuracy Reached or Not"
ABSOLUTE = ("Cosine", "EucDist", "MaxAbsErr")
RELATIVE = ("MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio")
MEASURED = (VERDICT, *ABSOLUTE, *RELATIVE)
SIDES = {"NPU": "Target", "Bench": "Golden"}
SUMMARY = {"max": "MaxValue", "min": "MinValue", "mean": "AvgValue", "l2norm": "L2NormValue"}
OWN = tuple(f"{side} {figure}" for side in SIDES for figure in SUMMARY)
SINGLE = float(np.finfo(np.float32).eps)
LOOSE = 0.01
"""Share of the golden's magnitude by which figures may part if the tensors are not the same."""


class Pair(NamedTuple):
    """What both tools say about two tensors; ``target`` and ``golden`` are None for statistics."""

    key: pairs.Key
    row: Row
    theirs: dict[str, Any]
    same: bool
    target: NDArray[Any] | None
    golden: NDArray[Any] | None

    def arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        assert self.target is not None
        assert self.golden is not None
        return self.target, self.golden


# --- what each figure is on our side -----------------------------------------------------------


def our_figures(pair: Pair) -> dict[str, float]:
    """Our figures under msprobe's titles; empty where we measured nothing."""
    if not pair.row.metrics:
        return {}
    return _of_statistics(pair.row) if pair.target is None else _of_tensors(pair)


def _of_tensors(pair: Pair) -> dict[str, float]:
    metrics, (target, golden) = pair.row.metrics, pair.arrays()
    parts = 2 if np.iscomplexobj(target) else 1
    both = np.isfinite(target) & np.isfinite(golden) if target.shape == golden.shape else target
    figures = {
        "Cosine": metrics["CosineSimilarity"],
        "EucDist": metrics["RootMeanSquareError"] * math.sqrt(parts * np.count_nonzero(both)),
        "MaxAbsErr": metrics["MaxAbsoluteError"],
        "MaxRelativeErr": metrics["MaxRelativeError"],
        "One Thousandth Err Ratio": metrics["OneThousandthErrRatio"],
        "Five Thousandths Err Ratio": metrics["FiveThousandthsErrRatio"],
    }
    for (theirs, ours), data in zip(SIDES.items(), (target, golden), strict=True):
        mean, spread = metrics[f"{ours}Mean"], metrics[f"{ours}Std"]
        size = parts * np.count_nonzero(np.isfinite(data))
        figures |= {f"{theirs} max": metrics[f"{ours}Max"], f"{theirs} min": metrics[f"{ours}Min"]}
        figures |= {
            f"{theirs} mean": mean,
            f"{theirs} l2norm": math.hypot(mean, spread) * size**0.5,
        }
    return figures


def _of_statistics(row: Row) -> dict[str, float]:
    metrics, figures = row.metrics, {}
    names = ("Max", "Min", "Mean", "L2norm"), ("Max", "Min", "Mean", "Norm")
    for (figure, ours), name, short in zip(SUMMARY.items(), *names, strict=True):
        target, golden = metrics[f"Target{ours}"], metrics[f"Golden{ours}"]
        figures |= {f"NPU {figure}": target, f"Bench {figure}": golden}
        figures[f"{name} diff"] = target - golden
        percent = abs(target - golden) / abs(golden) * 100 if golden else math.nan
        figures[f"{short}RelativeErr"] = percent
    return figures


# --- how near figures must be ----------------------------------------------------------------------


def tolerance(pair: Pair, title: str, theirs: float) -> float:
    """How far our figure may be from theirs."""
    if pair.target is None:
        return _statistic_tolerance(pair.theirs, title, theirs)
    if title in OWN:
        return _summary_tolerance(pair, title, theirs)
    return {
        "Cosine": 5.1e-7 if theirs > 0.9999 else 1e-11,  # rounded to six decimals above
        "EucDist": 1e-9 * abs(theirs),
        "MaxAbsErr": 1e-11 * abs(theirs) + 1e-12,  # printed with twelve decimals
        "MaxRelativeErr": 2 * SINGLE * abs(theirs) + 1e-12,  # computed in float32
    }.get(title, 1e-11)


def _summary_tolerance(pair: Pair, title: str, theirs: float) -> float:
    """msprobe computes these in the tensor's own number format and prints as few digits as tell it."""
    data = pair.arrays()[list(SIDES).index(title.split()[0])]
    known = np.finfo(data.dtype) if np.issubdtype(data.dtype, np.floating) else np.finfo(float)
    rounding = max(float(known.eps), 1e-11)  # the record keeps twelve digits
    if title.endswith("mean"):
        finite = np.abs(data[np.isfinite(data)])
        return 8 * rounding * float(np.max(finite, initial=0)) + float(known.tiny)
    return (64 if title.endswith("norm") else 1) * rounding * abs(theirs) + float(known.tiny)


def _statistic_tolerance(theirs: dict[str, Any], title: str, value: float) -> float:
    """Everything is float32, differences of two float32 too."""
    figure = next(name for name in SUMMARY if title.lower().startswith(name.removeprefix("l2"))
                  or name in title.lower())  # fmt: skip
    sides = [abs(number(theirs[f"{side} {figure}"])) for side in SIDES]
    largest = max(filter(math.isfinite, sides), default=0.0)
    if title.endswith("RelativeErr"):
        bench = abs(number(theirs[f"Bench {figure}"]))
        return 100 * SINGLE * largest / bench + SINGLE * value if bench else 0.0
    return SINGLE * largest


def number(value: float | str) -> float:
    """A figure of the record; NaN for words."""
    try:
        return float({"True": "1", "False": "0"}.get(str(value), str(value).removesuffix("%")))
    except ValueError:
        return math.nan


def agrees(pair: Pair, title: str, ours: float) -> bool:
    theirs = number(pair.theirs[title])
    if math.isfinite(ours) and math.isfinite(theirs):
        return abs(ours - theirs) <= tolerance(pair, title, theirs)
    if math.isnan(ours) and pair.target is None:
        return math.isnan(theirs)
    return ours == theirs


def same_verdict(pair: Pair) -> bool:
    passes = {"Yes": True, "No": False}.get(pair.theirs[VERDICT])
    ours = {"equal": True, "pass": True, "fail": False}.get(pair.row.status)
    return passes is ours


# --- where we disagree, and why --------------------------------------------------------------------


def _not_finite(data: NDArray[Any]) -> bool:
    return bool(np.any(~np.isfinite(data)))


def _one_shape(pair: Pair) -> bool:
    return pair.target is not None and pair.arrays()[0].shape == pair.arrays()[1].shape


def _elements(test: Callable[[Any, Any], Any]) -> Callable[[Pair], bool]:
    """Whether any two elements pass the test."""
    return lambda pair: _one_shape(pair) and bool(np.any(test(*pair.arrays())))


def _tensors(test: Callable[[Any, Any], Any]) -> Callable[[Pair], bool]:
    return lambda pair: pair.target is not None and bool(test(*pair.arrays()))


def _norm(data: NDArray[Any]) -> float:
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(np.abs(data).astype(np.float64)))


def _one_limit(pair: Pair) -> bool:
    cosine, largest = (number(pair.theirs[title]) for title in ("Cosine", "MaxAbsErr"))
    return (cosine >= 0.9 and largest <= 1) and (cosine < 0.99) != (largest > 0.001)


class Explained(NamedTuple):
    titles: tuple[str, ...]
    holds: Callable[[Pair], bool]
    why: str


EXPLAINED: dict[str, Explained] = {
    "no dimension": Explained(
        MEASURED,
        _tensors(lambda t, g: t.ndim == 0),
        "msprobe skips tensors without dimensions; we measure them as one element",
    ),
    "other shape": Explained(
        MEASURED,
        _tensors(lambda t, g: t.shape != g.shape),
        "msprobe skips; we measure equally many elements in order and say that they were reshaped",
    ),
    "other dtype": Explained(
        MEASURED,
        _tensors(lambda t, g: t.dtype != g.dtype),
        "msprobe skips, so a half-precision run is never compared with a float32 golden; we measure",
    ),
    "not finite at different positions": Explained(
        MEASURED,
        _elements(lambda t, g: (np.isnan(t) != np.isnan(g)) | (np.isinf(t) != np.isinf(g))),
        "msprobe measures nothing and gives no verdict; we measure the rest, count, and fail",
    ),
    "NaN on both sides": Explained(
        MEASURED,
        _elements(lambda t, g: np.isnan(t) & np.isnan(g)),
        "msprobe puts 0 on both sides, so NaN agrees; for us NaN is never agreement",
    ),
    "+Inf against -Inf": Explained(
        (VERDICT, *RELATIVE[1:]),
        _elements(lambda t, g: np.isinf(t) & np.isinf(g) & (t != g)),
        "msprobe puts 0 on both sides whatever the sign; for us only the same infinity agrees",
    ),
    "not finite in the tensor": Explained(
        OWN,
        _tensors(lambda t, g: _not_finite(t) or _not_finite(g)),
        "msprobe's maximum, minimum, mean and norm are of all elements, ours of the finite ones",
    ),
    "golden is 0": Explained(
        RELATIVE,
        _elements(lambda t, g: (g == 0) & (t != 0)),
        "msprobe adds 1.2e-7 to both and divides; we divide by the golden's largest magnitude",
    ),
    "golden is nearly 0": Explained(
        RELATIVE,
        _elements(lambda t, g: (np.abs(g) <= 2.0**-52) & (g != 0) & (t != g)),
        "msprobe divides by it; we divide by the golden's largest magnitude up to 2^-52",
    ),
    "one side is all 0": Explained(
        ("Cosine", VERDICT),
        _tensors(lambda t, g: np.any(t) != np.any(g)),
        "msprobe gives no cosine and no verdict; our cosine is 0",
    ),
    "tiny tensors": Explained(
        ("Cosine", VERDICT),
        _tensors(lambda t, g: 0 < max(_norm(t), _norm(g)) <= 2.3e-16),
        "msprobe calls tensors whose norm is at most 2.2e-16 equal; we measure them",
    ),
    "one element": Explained(
        ("Cosine", VERDICT),
        _tensors(lambda t, g: t.size == 1),
        "msprobe gives no cosine of one element and then no verdict; we give the sign",
    ),
    "complex": Explained(
        (*MEASURED, *OWN),
        _tensors(lambda t, g: np.iscomplexobj(t)),
        "msprobe drops imaginary parts; for us they are numbers like the real ones",
    ),
    "integers over 2^53": Explained(
        (VERDICT, *ABSOLUTE),
        _tensors(lambda t, g: t.dtype == np.int64 and np.max(np.abs(t)) > 2**53),
        "msprobe converts to float64 before it subtracts, we subtract first",
    ),
    "norm beyond float16": Explained(
        OWN,
        _tensors(lambda t, g: t.dtype == np.float16 and max(_norm(t), _norm(g)) > 65504),
        "msprobe's norm of a float16 tensor overflows to Inf",
    ),
    "squares beyond float64": Explained(
        (*ABSOLUTE, *OWN, VERDICT),
        _tensors(lambda t, g: t.dtype == np.float64 and np.max(np.abs(t)) > 1e154),
        "msprobe's squares overflow to Inf; we scale first",
    ),
    "nobody reads the output": Explained(
        (VERDICT,),
        lambda pair: "unused-output" in getattr(pair.row.reason, "values", {}).values(),
        "we do not judge memory that no operator reads; msprobe knows no graph",
    ),
    "one limit of two": Explained(
        (VERDICT,),
        _one_limit,
        "msprobe needs both a cosine < 0.99 and an error > 0.001 to fail; its guideline, our"
        " profile 'msprobe', either",
    ),
}
"""Where we disagree with msprobe: the figures, the condition under which they may, and why."""

# --- the comparison -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> dict[str, list[Pair]]:
    root = tmp_path_factory.mktemp("msprobe")
    return {name: list(_pairs(name, root / str(number))) for number, name in enumerate(pairs.NAMES)}


def _pairs(name: str, folder: Any) -> Iterator[Pair]:
    trees = pairs.build(name, folder)
    found = [pairs.tensors(tree) for tree in trees]
    rows = _by_key(wb.compare(*trees, profile="msprobe").rows, found[0])
    record = RECORD["pairs"][name]
    theirs = {tuple(line[:5]): line[5:] for line in record["rows"]}
    # msprobe looks up whole paths in mapping.csv, so it never sees a file with a number for a name
    assert theirs.keys() == {key for key in rows if not found[0][key].path.stem.isdigit()}
    for key, line in theirs.items():
        files = [tree[key] for tree in found]
        arrays = [np.load(file.path) if file.path.suffix == ".npy" else None for file in files]
        same = [file.checksum for file in files] == line[:2]
        figures = dict(zip(RECORD["titles"][record["kind"]], line[2:], strict=True))
        yield Pair(key, rows[key], figures, same, *arrays)


def _by_key(rows: Sequence[Row], tree: dict[pairs.Key, pairs.Tensor]) -> dict[pairs.Key, Row]:
    """Our pairs as files name them; the graph may number its operators otherwise."""
    files = {str(tensor.path): key for key, tensor in tree.items() if tensor.path.suffix == ".npy"}
    paired = [row for row in rows if row.match_rule]
    return {
        files.get(
            row.target_path,
            (row.iteration, row.op_name.replace("/", "_"), row.io, row.slot, row.turn),
        ): row
        for row in paired
    }


def disagreements(pair: Pair) -> list[str]:
    titles = [title for title, ours in our_figures(pair).items() if not agrees(pair, title, ours)]
    return titles + ([] if pair.target is None or same_verdict(pair) else [VERDICT])


class Disagreement(NamedTuple):
    """A figure of the same two tensors that differs, and what explains it."""

    text: str
    explained: tuple[str, ...]


@pytest.fixture(scope="module")
def found(compared) -> dict[str, list[Disagreement]]:
    return {
        name: [_disagreement(p, title) for p in each if p.same for title in disagreements(p)]
        for name, each in compared.items()
    }


def _disagreement(pair: Pair, title: str) -> Disagreement:
    ours = our_figures(pair).get(title, pair.row.status)
    reasons = [n for n, e in EXPLAINED.items() if title in e.titles and e.holds(pair)]
    text = f"{pair.key} {title}: ours {ours}, theirs {pair.theirs[title]}"
    return Disagreement(text, tuple(reasons))


@pytest.mark.parametrize("name", pairs.NAMES)
def test_figures_are_msprobes_or_the_difference_is_explained(found, name):
    assert [item.text for item in found[name] if not item.explained] == []


@pytest.mark.parametrize("name", pairs.NAMES)
def test_tensors_that_another_blas_made_are_near_the_record(compared, name):
    """Cosine and largest error only, and only where both have no other definition."""
    apart = [
        f"{pair.key} {title}: ours {ours}, theirs {pair.theirs[title]}"
        for pair in compared[name]
        if not pair.same
        for title, ours in our_figures(pair).items()
        if title in ("Cosine", "MaxAbsErr") and math.isfinite(number(pair.theirs[title]))
        if abs(ours - number(pair.theirs[title])) > LOOSE * _magnitude(pair, title)
    ]
    assert apart == []


def _magnitude(pair: Pair, title: str) -> float:
    return 1.0 if title == "Cosine" else float(np.max(np.abs(pair.arrays()[1]), initial=0))


@pytest.mark.parametrize("name", [*pairs.SPECIAL, *pairs.REAL])
def test_tensors_that_nothing_computes_are_those_of_the_record(compared, name):
    assert all(pair.same for pair in compared[name])


@pytest.mark.parametrize("reason", EXPLAINED)
def test_every_explanation_is_needed(found, reason):
    """Without it, some disagreement would be unexplained."""
    assert any(item.explained == (reason,) for each in found.values() for item in each)
