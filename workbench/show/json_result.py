"""Schema ``workbench.comparison/2``: a result as plain JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from workbench.comparison.columns import TEXT
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.result import (
    Anomaly,
    Cause,
    Coverage,
    Finding,
    IterationRow,
    NotDeterministic,
    OverrideUse,
    RepeatRun,
    Result,
    Row,
    Side,
    SideInfo,
    Status,
    Symptom,
    Verdict,
)
from workbench.comparison.trust import GROUNDS, ORDERS, OWN, Trust
from workbench.core.errors import FormatError
from workbench.core.text import NOT_FINITE, json_number, json_visible
from workbench.graph.graph import CERTAINTIES, SourceFrame
from workbench.show.spelling import AT_ONCE, spell_figures, spell_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.comparison.result import Rows
    from workbench.comparison.trust import Ground, Order

SCHEMA = "workbench.comparison/2"
READABLE = ("workbench.comparison/1", SCHEMA)
"""Schemas of results that are read: the first lacks what later releases know."""

_LEAST, _MOST = -(2**63), 2**63 - 1
"""Bounds of whole numbers, which rows keep in 64 bits."""


def to_json(result: Result) -> dict[str, Any]:
    """Return the result as JSON values, keys in the order of the contract.

    ``repeats`` and ``not_deterministic`` come last if other runs of the target were given.
    ``iterations`` and ``overrides`` (of a map file) come behind them if there are any, and ``rank`` behind
    those of findings and operators if several ranks were compared; ``own_error``, ``envelope``,
    ``envelope_slice``, ``between_runs`` and ``dont_care`` behind those of operators if they are known of any, and
    ``dont_care`` and ``shared`` behind those of coverage. ``fault`` and ``probability`` come behind those of
    findings that look like a fault of the device.

    JSON has no not-finite numbers; they are the strings ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.
    """
    return dict(json.loads(dumps(result)))


def without_operators(result: Result) -> dict[str, Any]:
    """Return `to_json` with an empty list of operators, which are most of it."""
    return {key: [] if key == "operators" else value for key, value in _parts(result)}


def _parts(result: Result) -> Iterator[tuple[str, object]]:
    """Keys and values in order; the ``operators`` are texts that are made one by one."""
    several = result.by_rank
    yield "schema", SCHEMA
    yield "verdict", result.verdict
    yield "sentence", str(result.sentence)
    yield "target", _side(result.target)
    yield "golden", _side(result.golden)
    yield "coverage", _coverage(result.coverage)
    yield (
        "anomalies",
        [
            {"side": a.side, "kind": a.kind, "op_name": a.op_name, "detail": str(a.detail)}
            for a in result.anomalies
        ],
    )
    findings = [_finding(one) | _looks(one) | _ranked(one, several) for one in result.findings]
    yield "findings", findings
    yield "operators", _operators(result.columns, several)
    if result.iterations:
        yield "iterations", [_iteration(step) for step in result.iterations]
    if result.overrides:
        yield "overrides", [asdict(use) for use in result.overrides]
    if result.repeats:
        yield "repeats", [_repeat(run) for run in result.repeats]
        told = [asdict(one) | {"error": _number(one.error)} for one in result.not_deterministic]
        yield "not_deterministic", told


def _coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "matched": coverage.matched,
        "unmatched_target": coverage.unmatched_target,
        "unmatched_golden": coverage.unmatched_golden,
        "skipped": dict(coverage.skipped),
        "compared": coverage.compared,
        "explained": dict(coverage.explained),
        "gaps": dict(coverage.gaps),
        "outputs": list(coverage.outputs),
        **({"dont_care": dict(coverage.dont_care)} if coverage.dont_care else {}),
        **({"shared": coverage.shared} if coverage.shared else {}),
    }


def _repeat(run: RepeatRun) -> dict[str, Any]:
    return asdict(run) | {"reason": str(run.reason or "")}


def _ranked(item: Finding, several: bool) -> dict[str, Any]:
    """The rank of a finding, if there are several."""
    return {"rank": item.rank} if several else {}


def dumps(result: Result) -> str:
    """Return `to_json` as text."""
    return "".join(pieces(result))


def pieces(result: Result) -> Iterator[str]:
    """Yield `to_json` as text piece by piece, with one line for every anomaly, finding and operator.

    The same result always gives the same text. Indentation throughout would be written by Python's
    slow encoder, twenty times slower on large results.
    """
    before = "{\n"
    for key, value in _parts(result):
        yield f"{before}{_encode(key)}: "
        yield from _lines(value)
        before = ",\n"
    yield "\n}"


_to_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _encode(value: object) -> str:
    """Return the text of a value, readable."""
    return json_visible(_to_text(value))


_BETWEEN = ",\n "


def _lines(value: object) -> Iterator[str]:
    """Text of a value; of a list with a line for each item; of operators piece by piece, as their texts come."""
    if not isinstance(value, list | Iterator):
        yield _encode(value)
        return
    texts = value if isinstance(value, Iterator) else map(_encode, value)
    before = "[\n "
    for text in texts:
        yield before + text
        before = _BETWEEN
    yield "[]" if before.startswith("[") else "\n]"


def _side(info: SideInfo) -> dict[str, Any]:
    return {"path": info.path, "layout": info.layout, "tensors": info.tensors}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "op_name": finding.op_name,
        "op_type": finding.op_type,
        "graph_id": finding.graph_id,
        "iteration": finding.iteration,
        "io": finding.io,
        "slot": finding.slot,
        "score": _number(finding.score),
        "own_error": _number(finding.own_error),
        "inherited_error": _number(finding.inherited_error),
        "noise_floor": _number(finding.noise_floor),
        "evidence": [str(one) for one in finding.evidence],
        "advice": str(finding.advice),
        "symptom": _symptom(finding.symptom),
        "causes": [_cause(one) for one in finding.causes],
        "trust": finding.trust._asdict(),
        "source": _source(finding.source),
        "frames": [_frame(one) for one in finding.frames],
    }


def _symptom(one: Symptom | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"kind": one.kind, "where": str(one.where), "detail": str(one.detail)}


def _cause(one: Cause) -> dict[str, Any]:
    said = [str(line) for line in one.evidence]
    return {"kind": one.kind, "probability": _number(one.probability), "evidence": said}


def _looks(finding: Finding) -> dict[str, Any]:
    """The first of the causes, as earlier releases wrote it."""
    if not finding.fault:
        return {}
    return {"fault": finding.fault, "probability": _number(finding.probability)}


_ALWAYS = (
    "op_name", "op_type", "graph_id", "iteration", "io", "slot", "golden_op_name", "match", "status", "reason",
    "metrics", "source",
)  # fmt: skip
_WHERE_KNOWN = ("own_error", "envelope", "envelope_slice", "between_runs")
"""Figures of operators that stand there if one of any operator is known."""


def _operators(rows: Rows, several: bool) -> Iterator[str]:
    """Yield the lines of some pairs after the other, put together of whole columns: no pair is an object on the way.

    Its rank stands there where there are several, own errors if one is known of any.
    """
    for some, keys in _pieces_of(rows, several):
        line = _template(keys)
        columns = (_texts(some, key) for key in keys)
        yield _BETWEEN.join(map(line.__mod__, zip(*columns, strict=True)))


def _pieces_of(rows: Rows, several: bool) -> Iterator[tuple[Rows, tuple[str, ...]]]:
    """Pairs, so many at once, with the keys that stand there in all of them."""
    more = [name for name in _WHERE_KNOWN if rows.table.known(name).any()]
    left_out = ["dont_care"] * bool(rows.table.rows["dont_care"].any())
    ranks = ["rank"] * several
    keys = (*_ALWAYS, *ranks, *more, *left_out)
    pairs = np.flatnonzero(rows.table.where("match_rule", bool))
    for first in range(0, len(pairs), AT_ONCE):
        yield rows.take(pairs[first : first + AT_ONCE].tolist()), keys


def _texts(rows: Rows, key: str) -> list[str]:
    """Return the texts of what pairs have under a key: what many of them say is put into words once."""
    if key == "match":
        matches = zip(_texts(rows, "match_rule"), _texts(rows, "match_score"), strict=True)
        return [f'{{"rule": {rule}, "score": {score}}}' for rule, score in matches]
    if key == "metrics":
        return _metric_texts(rows)
    kind = rows.table.declared.formats[key]
    if kind == TEXT:
        made = _JSON_VALUES.get(key)
        return rows.column(key, _encode if made is None else lambda value: _encode(made(value)))
    if kind == "i8":
        return [*map(str, rows.column(key))]
    values, known = rows.numbers(key)
    texts: list[str] = np.where(known, spell_figures(values, _encode), "null").tolist()
    return texts


def _metric_texts(rows: Rows) -> list[str]:
    """Metrics of every row, those of one kind at once; a row with what is not finite holds no whole numbers."""
    found = np.full(len(rows), "{}", object)
    for kind, at in rows.kinds():
        block = rows.figures_of(kind, at)
        line, finite = _template(kind.places), np.isfinite(block).all(axis=1)
        texts = spell_figures(block.T, _encode)
        for whole in kind.whole:
            texts[whole, finite] = spell_whole(block[finite, whole])
        found[at] = [*map(line.__mod__, zip(*texts.tolist(), strict=True))] if kind.places else "{}"
    return found.tolist()


def _template(keys: Iterable[str]) -> str:
    """Return the text of an object with a place for the text of each value."""
    return f"{{{', '.join(f'{_encode(key)}: '.replace('%', '%%') + '%s' for key in keys)}}}"


def _iteration(step: IterationRow) -> dict[str, Any]:
    values = asdict(step)
    return values | {name: _number(values[name]) for name in _STEP_ERRORS}


_STEP_ERRORS = ("error", "inherited_error", "noise_floor")


def _source(frame: SourceFrame | None) -> dict[str, Any] | None:
    if frame is None:
        return None
    return {"file": frame.file, "line": frame.line, "code": frame.code, "library": frame.library}


def _frame(frame: SourceFrame) -> dict[str, Any]:
    """One line of the user's stack, and how sure it is."""
    return {
        "file": frame.file, "line": frame.line, "code": frame.code, "library": frame.library,
        "certainty": frame.group,
    }  # fmt: skip


def _number(value: float | None) -> float | str | None:
    return None if value is None else json_number(float(value))


_JSON_VALUES: dict[str, Callable[[Any], Any]] = {
    "reason": str, "source": _source, "match_score": _number,
    **dict.fromkeys(_WHERE_KNOWN, _number),
}  # fmt: skip
"""Key → what makes JSON of a value of its column, where it is none."""


class _Node:
    """A JSON object together with its place, so that every complaint says where."""

    def __init__(self, value: object, place: str) -> None:
        if not isinstance(value, dict):
            raise FormatError(
                "show/json-type", place=place, key="value", expected=["object"], got=value
            )
        self.value = value
        self.place = place

    def get(self, key: str, *types: type) -> Any:
        if key not in self.value:
            raise FormatError("show/json-key", place=self.place, key=key, held=sorted(self.value))
        value = self.value[key]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            wanted = ["null" if one is type(None) else one.__name__ for one in types]
            raise FormatError(
                "show/json-type", place=self.place, key=key, expected=wanted, got=value
            )
        if type(value) is int and not _LEAST <= value <= _MOST:
            raise FormatError(
                "show/json-type", place=self.place, key=key, expected=["int64"], got=value
            )
        return value

    def word(self, key: str, allowed: Iterable[str]) -> str:
        value = str(self.get(key, str))
        known = sorted(allowed)
        if value not in known:
            raise FormatError("show/json-choice", place=self.place, key=key, known=known, got=value)
        return value

    def number(self, key: str) -> float | None:
        value = self.get(key, int, float, str, type(None))
        if isinstance(value, str):
            if value not in NOT_FINITE:
                wanted = ["number", *NOT_FINITE]
                raise FormatError(
                    "show/json-type", place=self.place, key=key, expected=wanted, got=value
                )
            return NOT_FINITE[value]
        return None if value is None else float(value)

    def node(self, key: str) -> _Node:
        return _Node(self.get(key, dict), f"{self.place}.{key}")

    def nodes(self, key: str) -> list[_Node]:
        items = self.get(key, list)
        return [_Node(item, f"{self.place}.{key}[{i}]") for i, item in enumerate(items)]


def from_json(data: object) -> Result:
    """Read what `to_json` wrote.

    The schema is a projection: execution order is that of the list, the error of a row its
    RelativeEuclideanDistance, and dtypes, shapes and file names are unknown. Raises FormatError
    with the place of the first value that breaks the schema.
    """
    top = _Node(data, "comparison")
    top.word("schema", READABLE)
    return Result(
        verdict=cast("Verdict", top.word("verdict", get_args(Verdict))),
        sentence=top.get("sentence", str),
        target=_read_side(top.node("target")),
        golden=_read_side(top.node("golden")),
        coverage=_read_coverage(top.node("coverage")),
        anomalies=tuple(_read_anomaly(node) for node in top.nodes("anomalies")),
        findings=tuple(_read_finding(node) for node in top.nodes("findings")),
        rows=tuple(_read_row(node, order) for order, node in enumerate(top.nodes("operators"))),
        iterations=tuple(_read_iteration(node) for node in _later_nodes(top, "iterations")),
        overrides=tuple(_read_use(node) for node in _later_nodes(top, "overrides")),
        repeats=tuple(_read_repeat(node) for node in _later_nodes(top, "repeats")),
        not_deterministic=tuple(
            _read_not_deterministic(node) for node in _later_nodes(top, "not_deterministic")
        ),
    )


def _later_nodes(top: _Node, key: str) -> list[_Node]:
    """Objects under a key that earlier releases did not write."""
    return top.nodes(key) if key in top.value else []


def _read_repeat(node: _Node) -> RepeatRun:
    return RepeatRun(
        node.get("path", str),
        node.get("tensors", int),
        node.get("differing", int),
        node.get("uncounted", int),
        node.get("used", bool),
        node.get("reason", str) or None,
    )


def _read_not_deterministic(node: _Node) -> NotDeterministic:
    counts = {name: node.get(name, int) for name in ("rank", "graph_id", "iteration", "slot")}
    error = node.number("error")
    return NotDeterministic(
        node.get("op_name", str),
        node.get("op_type", str),
        **counts,
        error=math.nan if error is None else error,
    )


def _read_iteration(node: _Node) -> IterationRow:
    return IterationRow(
        **{name: node.get(name, int) for name in ("rank", "iteration", *_STEP_COUNTS)},
        error=node.number("error"),
        inherited_error=node.number("inherited_error"),
        noise_floor=node.number("noise_floor"),
        part=node.get("part", str),
        op_name=node.get("op_name", str),
        status=cast("Status", node.word("status", get_args(Status))),
    )


def _read_use(node: _Node) -> OverrideUse:
    return OverrideUse(
        **{name: node.get(name, str) for name in ("kind", "what", "reason")},
        operators=node.get("operators", int),
        tensors=node.get("tensors", int),
    )


_STEP_COUNTS = ("tensors", "equal", "warned", "failed")


def _read_side(node: _Node) -> SideInfo:
    return SideInfo(node.get("path", str), node.get("layout", str), node.get("tensors", int))


def _read_coverage(node: _Node) -> Coverage:
    """Read the ledger; the first schema does not say what was compared, and what is missing."""
    told = "compared" in node.value
    return Coverage(
        matched=node.get("matched", int),
        unmatched_target=node.get("unmatched_target", int),
        unmatched_golden=node.get("unmatched_golden", int),
        skipped=_read_counts(node, "skipped"),
        compared=node.get("compared", int) if told else 0,
        explained=_read_counts(node, "explained") if told else {},
        gaps=_read_counts(node, "gaps") if told else {},
        outputs=tuple(map(str, node.get("outputs", list))) if told else (),
        dont_care=_read_counts(node, "dont_care") if "dont_care" in node.value else {},
        shared=node.get("shared", int) if "shared" in node.value else 0,
    )


def _read_counts(node: _Node, key: str) -> dict[str, int]:
    counts = node.node(key)
    return {reason: counts.get(reason, int) for reason in counts.value}


def _read_anomaly(node: _Node) -> Anomaly:
    return Anomaly(
        side=cast("Side", node.word("side", get_args(Side))),
        kind=node.get("kind", str),
        op_name=node.get("op_name", str),
        detail=node.get("detail", str),
    )


def _read_finding(node: _Node) -> Finding:
    return Finding(
        kind=node.word("kind", KINDS),
        **_read_place(node),
        score=_known(node.number("score")),
        own_error=node.number("own_error"),
        inherited_error=node.number("inherited_error"),
        noise_floor=node.number("noise_floor"),
        evidence=tuple(str(line) for line in node.get("evidence", list)),
        advice=node.get("advice", str),
        frames=_read_frames(node),
        symptom=_read_symptom(node),
        causes=tuple(_read_causes(node)),
        trust=_read_trust(node.node("trust")) if "trust" in node.value else OWN,
    )


def _read_trust(node: _Node) -> Trust:
    return Trust(
        cast("Ground", node.word("graph", GROUNDS)), cast("Order", node.word("order", ORDERS))
    )


def _read_symptom(node: _Node) -> Symptom | None:
    """The symptom of a finding; earlier releases wrote none."""
    if "symptom" not in node.value or node.get("symptom", dict, type(None)) is None:
        return None
    one = node.node("symptom")
    return Symptom(one.get("kind", str), one.get("where", str), one.get("detail", str))


def _read_causes(node: _Node) -> Iterator[Cause]:
    """The causes of a finding; earlier releases wrote one at most, and ``unexplained`` for none."""
    if "causes" in node.value:
        for one in node.nodes("causes"):
            said = tuple(str(line) for line in one.get("evidence", list))
            yield Cause(one.get("kind", str), _known(one.number("probability")), said)
    elif "fault" in node.value and node.get("fault", str) != "unexplained":
        chance = node.number("probability") if "probability" in node.value else 0.0
        yield Cause(node.get("fault", str), chance or 0.0)


def _read_row(node: _Node, order: int) -> Row:
    match, metrics = node.node("match"), node.node("metrics")
    values = {title: metrics.number(title) for title in metrics.value}
    return Row(
        **_read_place(node),
        golden_op_name=node.get("golden_op_name", str),
        match_rule=match.get("rule", str),
        match_score=_known(match.number("score")),
        status=cast("Status", node.word("status", get_args(Status))),
        reason=node.get("reason", str),
        metrics={title: value for title, value in values.items() if value is not None},
        source=_read_source(node),
        order=order,
        error=values.get("RelativeEuclideanDistance"),
        own_error=_later_number(node, "own_error"),
        envelope=_later_number(node, "envelope"),
        envelope_slice=_later_number(node, "envelope_slice"),
        between_runs=_later_number(node, "between_runs"),
        dont_care=node.get("dont_care", int) if "dont_care" in node.value else 0,
    )


def _later_number(node: _Node, key: str) -> float | None:
    """Figure under a key that is there where one of any operator is known."""
    return node.number(key) if key in node.value else None


def _read_place(node: _Node) -> dict[str, Any]:
    return {
        "op_name": node.get("op_name", str),
        "op_type": node.get("op_type", str),
        "graph_id": node.get("graph_id", int),
        "iteration": node.get("iteration", int),
        "io": node.get("io", str),
        "slot": node.get("slot", int),
        "rank": node.get("rank", int) if "rank" in node.value else 0,
    }


def _read_source(node: _Node) -> SourceFrame | None:
    if node.get("source", dict, type(None)) is None:
        return None
    source = node.node("source")
    source.get("library", bool)
    return SourceFrame(source.get("file", str), source.get("line", int), source.get("code", str))


def _read_frames(node: _Node) -> tuple[SourceFrame, ...]:
    """Source lines of a finding; results of older versions know one at most, without its certainty."""
    source = _read_source(node)
    found = []
    for one in node.nodes("frames") if "frames" in node.value else ():
        one.get("library", bool)
        place = one.get("file", str), one.get("line", int), one.get("code", str)
        found.append(SourceFrame(*place, group=one.word("certainty", CERTAINTIES)))
    return tuple(found) if found or source is None else (source,)


def _known(value: float | None) -> float:
    return math.nan if value is None else value
