"""Rows of other tools' results as rows of ours. What a table does not say stays empty.

A status is the tool's own verdict where it states one. Two things weigh more: a tensor without a
partner has no verdict, and neither has one of which nothing was measured, or NaN, that the tool calls
right. ``error`` is the tool's relative Euclidean distance, or what its figures tell of it:

``relative``    the distance itself
``euclid``      distance over the norm of the golden
``largest``     largest difference over the largest magnitude of the golden
``statistics``  lower bound by minimum, maximum, mean and norm (`workbench.comparison.measure.statistics`)
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from typing import TYPE_CHECKING

from workbench.comparison.measure.statistics import measure_statistics
from workbench.comparison.result import Row
from workbench.comparison.results.tables.layouts import NO_FIGURES, VERDICTS
from workbench.comparison.results.tables.names import Name, parse_tensor
from workbench.core.dtypes import dtype_name
from workbench.core.tensors import TensorSpec
from workbench.core.text import shorten
from workbench.core.words import Message
from workbench.graph.graph import SourceFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.comparison.result import Status
    from workbench.comparison.results.tables.layouts import ErrorWay, Layout

_NOTHING = frozenset(("", "n/a", "na", "nan", "none", "null", "*"))
_NUMBER = re.compile(
    r"[+-]?(?:(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:e[+-]?\d{1,5})?|inf|nan)(%?)", re.I | re.A
)
_COMPLEX = re.compile(r"\(?([-+.\dein afj]{1,80})\)?", re.I | re.A)
_WORDS = {"true": 1.0, "false": 0.0}
_SHAPE = re.compile(r"(?:torch\.Size)?[\[(]{0,2}([\d,\s]{0,400})[\])]{0,2}", re.A)
_SLOT = re.compile(r"(.+):(input|output):(\d{1,9})", re.A | re.S)
_DEVIATION = re.compile(r"\(([^;()]+);([^;()]+)\),\(([^;()]+);([^;()]+)\)")
_FRAME = re.compile(r"File ([^\n]{1,4096}?), line (\d{1,9}), in [^\n]{1,400}?, ?\n ?([^\n]{0,400})")
_LIBRARY = ("site-packages", "dist-packages", "/lib/python")
_MOST_TEXT = 600


def read_row(layout: Layout, cells: Mapping[str, str]) -> Row:
    """Return one row; ``cells`` are texts under unique titles. Never raises: odd text stays text.

    Position, rank, iteration and turn are left at 0.
    """
    said = {role: cells.get(title, "").strip() for role, title in layout.columns.items()}
    target, golden = _names(said)
    paired = bool(target.op_name and golden.op_name)
    metrics = _metrics(cells) | (_blanks(cells) if paired else {})
    status, reason = _judge(layout, cells, metrics, paired=paired)
    known = target if target.op_name else golden
    return Row(
        op_name=target.op_name,
        op_type=_known(said.get("op_type", "")) or known.op_type,
        graph_id=0,
        iteration=0,
        io=known.io,
        slot=known.slot,
        golden_op_name=golden.op_name,
        match_rule=layout.tool if paired else "",
        match_score=math.nan,
        status=status,
        reason=reason,
        metrics=metrics,
        source=_source(said.get("stack", "")),
        error=_error(layout, metrics, status) if paired else None,
        target_spec=_spec(said, "target") if target.op_name else None,
        golden_spec=_spec(said, "golden") if golden.op_name else None,
        target_path=target.path or _known(said.get("target_path", "")),
        golden_path=golden.path or _known(said.get("golden_path", "")),
    )


def _known(text: str) -> str:
    return "" if text.lower() in _NOTHING else text


def _names(said: Mapping[str, str]) -> tuple[Name, Name]:
    """Both tensors; msaccucmp says in a column of its own which one of an operator is meant."""
    target, golden = (_known(said.get(side, "")) for side in ("target", "golden"))
    tensor = _SLOT.fullmatch(_known(said.get("tensor", "")))
    if "tensor" in said:
        where = (tensor[2], int(tensor[3])) if tensor else ("", 0)
        if not golden and not said.get("golden"):  # results of PyTorch name the operator once
            golden = target
        return Name(target, "", *where), Name(golden, "", *where)
    return parse_tensor(target), parse_tensor(golden)


def _spec(said: Mapping[str, str], side: str) -> TensorSpec:
    word = _known(said.get(f"{side}_dtype", ""))
    name = dtype_name(word.rpartition(".")[2]) or word
    return TensorSpec(name, _shape(said.get(f"{side}_shape", "")), "")


def _shape(text: str) -> tuple[int, ...] | None:
    found = _SHAPE.fullmatch(text.strip())
    if not text or not found:
        return None
    pieces = [piece.strip() for piece in found[1].rstrip(", ").split(",")]
    if pieces == [""]:
        return ()
    fits = all(piece.isdecimal() and len(piece) < 19 for piece in pieces)
    return tuple(map(int, pieces)) if fits else None


def figure(text: str) -> float | None:
    """Number of a cell, a percentage as a share; ``None`` if it is a word (``N/A``, ``unsupported``).

    The largest of a bool tensor stands there as a word of Python.

    >>> figure(" inf"), figure("12.5%"), figure("unsupported"), figure("nan"), figure("True")
    (inf, 0.125, None, nan, 1.0)
    """
    if (word := text.strip().lower()) in _WORDS:
        return _WORDS[word]
    found = _NUMBER.fullmatch(text.strip())
    if not found:
        return None
    value = float(text.strip().removesuffix("%"))
    return value / 100 if found[1] else value


def complex_figure(text: str) -> complex | None:
    """Complex number of a cell as Python prints it, with both parts or the imaginary one alone.

    >>> complex_figure("(1-2j)"), complex_figure("0.5j"), complex_figure("12"), complex_figure("j j")
    ((1-2j), 0.5j, None, None)
    """
    found = _COMPLEX.fullmatch(text.strip())
    if not found or not found[1].lower().endswith("j"):
        return None
    try:
        return complex(found[1].replace(" ", ""))
    except ValueError:
        return None


def _metrics(cells: Mapping[str, str]) -> dict[str, float]:
    """Figures under their titles; of a complex number the two parts."""
    metrics: dict[str, float] = {}
    for title, text in cells.items():
        if title in NO_FIGURES or not title:
            continue
        value = figure(text)
        if value is not None:
            metrics[title] = value
        elif (number := complex_figure(text)) is not None:
            metrics |= {f"{title} (real)": number.real, f"{title} (imaginary)": number.imag}
        elif title == "StandardDeviation" and (four := _DEVIATION.fullmatch(text.strip())):
            sides = ("TargetMean", "TargetStd", "GoldenMean", "GoldenStd")
            read = {side: figure(piece) for side, piece in zip(sides, four.groups(), strict=True)}
            metrics |= {side: value for side, value in read.items() if value is not None}
    return metrics


def _blanks(cells: Mapping[str, str]) -> dict[str, float]:
    """Statistics of one side that are blank beside a number of the other: pandas writes NaN so."""
    found: dict[str, float] = {}
    for word in _STATISTICS.values():
        sides = [(f"{side} {word}", cells.get(f"{side} {word}")) for side in ("NPU", "Bench")]
        numbers = [figure(text or "") for _, text in sides]
        if numbers.count(None) == 1:
            found |= {
                title: math.nan for title, text in sides if text is not None and not text.strip()
            }
    return found


def _judge(
    layout: Layout, cells: Mapping[str, str], metrics: Mapping[str, float], *, paired: bool
) -> tuple[Status, str | Message]:
    """Status and reason: the tool's verdict, or the layout's thresholds, unless nothing was measured."""
    said = _message(cells.get(layout.columns.get("reason", ""), ""))
    if not paired:
        return "uncomparable", said or Message("compare/tool-unmatched")
    status, why = _verdict(layout, cells, metrics)
    if status in ("pass", "warn") and (doubt := _doubt(layout, cells, metrics)):
        status, why = "uncomparable", doubt
    if status == "uncomparable" and not (said or why):
        why = Message("compare/tool-silent", tool=layout.tool)
    if said and why:
        return status, Message("compare/tool-said", said=said, why=why)
    return status, said or why or ""


def _verdict(
    layout: Layout, cells: Mapping[str, str], metrics: Mapping[str, float]
) -> tuple[Status, Message | None]:
    for column, known in VERDICTS.items():
        word = cells[column].strip().lower() if column in cells else None
        if word is not None and word in known:
            return known[word], None
    beyond = [
        Message("compare/tool-limit", limit=str(limit), got=metrics[limit.metric])
        for limit in layout.thresholds
        if not math.isnan(metrics.get(limit.metric, math.nan)) and not limit.holds(metrics)
    ]
    if beyond:
        return "fail", Message("compare/tool-limits", limits=tuple(beyond))
    return ("pass" if layout.thresholds else "uncomparable"), None


def _doubt(
    layout: Layout, cells: Mapping[str, str], metrics: Mapping[str, float]
) -> Message | None:
    """Why a pass means nothing; ``None`` if it does mean something."""
    if layout.kind == "digests":
        pair = [_known(cells.get(title, "").strip()) for title in ("NPU MD5", "BENCH MD5")]
        return None if all(pair) else Message("compare/tool-digest")
    measured = {title: metrics[title] for title in layout.measures if title in metrics}
    if not measured:
        shown = {cells.get(title, "").strip() for title in layout.measures} - {""}
        if not shown:
            return Message("compare/tool-unmeasured")
        return Message("compare/tool-cells", cells=tuple(shorten(one, 80) for one in sorted(shown)))
    odd = [title for title, value in measured.items() if math.isnan(value)]
    return Message("compare/tool-nan", figures=tuple(odd)) if odd else None


def _message(text: str) -> str:
    """What a tool says of a row; msprobe writes it as a list."""
    text = text.strip()
    if text.startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            text = "; ".join(str(piece) for piece in json.loads(text))
    return " ".join(text.split())[:_MOST_TEXT] if _known(text) else ""


def _source(stack: str) -> SourceFrame | None:
    """First line of a stack, the innermost, that is not a library's."""
    text = stack.replace("\\n", "\n")[: 64 << 10]
    frames = [
        SourceFrame(found[1], int(found[2]), found[3].strip().rstrip("'\",] "))
        for found in _FRAME.finditer(text)
    ]
    own = (frame for frame in frames if not any(word in frame.file for word in _LIBRARY))
    return next(own, None)


def _error(layout: Layout, metrics: Mapping[str, float], status: Status) -> float | None:
    """Relative error; none where nothing can be judged and the figures still say 0."""
    found = (_WAYS[way](metrics) for way in layout.errors)
    error = next((error for error in found if error is not None), None)
    return None if status == "uncomparable" and not error else error


def _relative(metrics: Mapping[str, float]) -> float | None:
    titles = ("RelativeEuclideanDistance", "relative_euclidean_distance")
    return next((metrics[title] for title in titles if title in metrics), None)


def _share(part: float | None, whole: float | None) -> float | None:
    if part is None or whole is None or not math.isfinite(whole):
        return None
    if whole == 0:
        return 0.0 if part == 0 else math.inf
    return abs(part) / abs(whole)


def _euclid(metrics: Mapping[str, float]) -> float | None:
    return _share(metrics.get("EucDist"), metrics.get("Bench l2norm"))


def _largest(metrics: Mapping[str, float]) -> float | None:
    ends = [abs(metrics[title]) for title in ("Bench max", "Bench min") if title in metrics]
    return _share(metrics.get("MaxAbsErr"), max(ends) if len(ends) == 2 else None)


_STATISTICS = {
    "Max Value": "max",
    "Min Value": "min",
    "Avg Value": "mean",
    "L2Norm Value": "l2norm",
}


def _statistics(metrics: Mapping[str, float]) -> float | None:
    target, golden = (
        {
            title: metrics[f"{side} {word}"]
            for title, word in _STATISTICS.items()
            if f"{side} {word}" in metrics
        }
        for side in ("NPU", "Bench")
    )
    if not target.keys() & golden.keys():
        return None
    found = measure_statistics(target, golden)
    return math.nan if found.mismatch else found.error


_WAYS: dict[ErrorWay, Callable[[Mapping[str, float]], float | None]] = {
    "relative": _relative,
    "euclid": _euclid,
    "largest": _largest,
    "statistics": _statistics,
}
