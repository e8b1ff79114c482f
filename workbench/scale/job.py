"""The result of a job: what every unit shows in a few numbers, and what they show together."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench._faces import make_face
from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import file_content, write_bytes, write_text
from workbench.core.text import one_line
from workbench.core.words import Message
from workbench.scale.layouts.ledger import add_lines
from workbench.scale.merge import Disagreement, Group
from workbench.scale.summary import (
    FirstDivergence,
    UnitSummary,
    divergence_from_json,
    plain,
    summary_from_json,
    summary_to_json,
)
from workbench.scale.units import NO_FILES, GivenFiles, Missing, spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.scale.layouts.ledger import LedgerLine, RankFinding
    from workbench.session.comparison import Comparison

    Progress = Callable[[int, int, str], None]
    Cancelled = Callable[[], bool]
    Compare = Callable[[int, int, Progress | None, Cancelled | None], Comparison]
    """Compares the unit of a rank and an iteration."""

SCHEMA = "workbench.job/1"
FILE = "job.json"
_MOST = 1 << 30

_VERDICTS = ("fail", "incomplete", "inconclusive", "warn", "pass")
"""Verdicts of units, the one first that decides for the job."""


class JobAxes(NamedTuple):
    """Axes of both sides as text, where their ranks were joined; ``trust`` is ``given`` or ``inferred``."""

    target: str
    golden: str
    trust: str


class Diagnosis(NamedTuple):
    """What a full comparison of one unit says: that of the first of a group that parts by itself."""

    rank: int
    iteration: int
    sentence: str
    kind: str
    evidence: tuple[str, ...]
    causes: tuple[tuple[str, float], ...]
    advice: str


@dataclass(frozen=True, repr=False)
class JobResult:
    """A job, compared; it shows itself in a notebook and is written as files.

    ``units`` are in order of rank and iteration; ``groups`` are ranks that show the same, in the order in which they
    part; ``apart`` is what ranks should hold alike and do not; ``missing`` what one side does not have; ``diagnoses``
    are full comparisons of the first unit of groups that part by themselves. ``folder`` is where files of units are,
    ``node`` how many ranks a node has (0: unknown). With ``axes`` both sides share their tensors in different ways: a
    unit is an iteration, under rank 0, whose ranks were joined. ``given`` are the graph and model files that were given
    for the sides, where the settings of the job are known.
    """

    target: str
    golden: str
    units: tuple[UnitSummary, ...]
    groups: tuple[Group, ...] = ()
    apart: tuple[Disagreement, ...] = ()
    missing: tuple[Missing, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    folder: str = ""
    node: int = 0
    axes: JobAxes | None = None
    compare: Compare | None = field(default=None, compare=False)
    given: GivenFiles = field(default=NO_FILES, compare=False)

    @property
    def first(self) -> Group | None:
        """The ranks that part first, by themselves or in their communication; ``None`` if none does."""
        return next((one for one in self.groups if one.role in ("origin", "communication")), None)

    @property
    def found(self) -> tuple[RankFinding, ...]:
        """What is wrong with ranks that were joined, the earliest first: each kind and set of ranks once."""
        seen: dict[tuple[object, ...], RankFinding] = {}
        for one in sorted(self.units, key=lambda unit: unit.iteration):
            for finding in one.found:
                place = finding.side, finding.code, finding.ranks, str(finding.values.get("axis"))
                seen.setdefault(place, finding)
        return tuple(seen.values())

    @property
    def ledger(self) -> tuple[LedgerLine, ...]:
        """What was done to join ranks, in all units."""
        return add_lines(line for one in self.units for line in one.ledger)

    @property
    def partial(self) -> bool:
        """Whether units wait: the job was interrupted."""
        return any(one.state == "waiting" for one in self.units)

    @property
    def verdict(self) -> str:
        """``pass``, ``warn``, ``fail``, ``incomplete`` or ``inconclusive``, as of a comparison."""
        found = {one.verdict for one in self.units if one.state == "done"}
        if self.first is not None or self.apart or any(one.defect for one in self.found):
            found.add("fail")
        if self.found:
            found = {"warn" if one == "pass" else one for one in found}
        if self.missing or any(one.state != "done" for one in self.units):
            found.add("incomplete")
        return next((one for one in _VERDICTS if one in found), "incomplete")

    @cached_property
    def sentence(self) -> Message:
        """What was found, in one sentence."""
        from workbench.scale.said import sentence

        return sentence(self)

    @property
    def counts(self) -> Counter[str]:
        """Units by verdict; those that failed or wait by that."""
        return Counter(one.verdict if one.state == "done" else one.state for one in self.units)

    def unit(self, rank: int, iteration: int) -> UnitSummary:
        """Return a unit; raises WorkbenchError if the job has none there."""
        for one in self.units:
            if one.place == (rank, iteration):
                return one
        for gone in self.missing:
            if (gone.rank, gone.iteration) == (rank, iteration):
                raise WorkbenchError(
                    "job/unit-missing", rank=rank, iteration=iteration, side=gone.side
                )
        ranks = spans({one.rank for one in self.units})
        iterations = spans({one.iteration for one in self.units})
        raise WorkbenchError(
            "job/no-unit", rank=rank, iteration=iteration, ranks=ranks, iterations=iterations
        )

    def comparison(
        self,
        rank: int,
        iteration: int,
        *,
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
    ) -> Comparison:
        """Return the whole comparison of a unit, made now, with the settings of the job.

        ``progress`` and ``cancelled`` are those of `workbench.session.compare.compare`: once ``cancelled()`` is true,
        the rest stays uncompared. Raises WorkbenchError if the dumps are not there.
        """
        self.unit(rank, iteration)
        if self.compare is None:
            raise WorkbenchError("job/no-dumps")
        return self.compare(rank, iteration, progress, cancelled)

    def rows(self, rank: int, iteration: int) -> Comparison:
        """Return the comparison of a unit as its file has it; raises FormatError if that is not there."""
        from workbench.session.comparison import Comparison

        name = f"rank_{rank:05d}/iteration_{iteration:07d}.parquet"
        self.unit(rank, iteration)
        return Comparison.from_parquet(Path(self.folder) / "units" / name)

    def frame(self) -> pd.DataFrame:
        """Return a row for every unit as a DataFrame."""
        import pandas as pd

        return pd.DataFrame([_flat(one) for one in self.units])

    def to_json(self, path: str | Path | None = None) -> dict[str, Any]:
        """Return schema ``workbench.job/1``; write it too if ``path`` is given."""
        values = _to_json(self)
        if path is not None:
            write_text(path, json.dumps(values, indent=1, allow_nan=False) + "\n")
        return values

    @classmethod
    def from_json(cls, path: str | Path) -> JobResult:
        """Read what `to_json` wrote, or the folder of a job; raises FormatError if it is none."""
        # `os.path`, unlike `Path`, takes a name that is too long for no folder
        file = Path(path) / FILE if os.path.isdir(path) else Path(path)
        text = file_content(file, _MOST, "job result")
        try:
            return _from_json(json.loads(text), str(file.parent))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise FormatError("job/json", place=str(file), why=str(error)[:200]) from error

    def to_parquet(self, path: str | Path) -> Path:
        """Write a row for every unit as parquet, with what all show together as JSON in its metadata."""
        from workbench.scale.tables import parquet_of

        return write_bytes(path, parquet_of(self))

    def heatmap(self, value: str = "error") -> Figure:
        """Return ranks × iterations as a matplotlib Figure; ``value`` is a key of `workbench.scale.heatmap.VALUES`."""
        from workbench.scale.heatmap import heatmap_figure

        return heatmap_figure(self, value)

    def explore(self) -> Any:
        """Return the widget that shows ranks × iterations; a click or Enter on a unit compares it and shows it below.

        Its ``comparison`` is the one that is shown; without anywidget lists beside a picture choose the unit.
        """
        return make_face("job", self)

    def to_html(self, path: str | Path) -> Path:
        """Write the report: one file, offline, the same bytes for the same job."""
        from workbench.scale.report import report_text

        return write_text(path, report_text(self))

    def _repr_html_(self) -> str:
        from workbench.scale.report import summary_html

        return summary_html(self)

    def __repr__(self) -> str:
        return one_line(f"<JobResult {self.verdict}: {self.sentence}>")


# --- as values of JSON -------------------------------------------------------------------------


def _flat(one: UnitSummary) -> dict[str, Any]:
    """A unit as a row of a table."""
    values = summary_to_json(one)
    for name in ("collectives_digest", "ranks", "ledger", "found", "carried"):
        values.pop(name, None)
    for name in ("first", "received"):
        divergence: FirstDivergence | None = getattr(one, name)
        values[name] = "" if divergence is None else divergence.op_name
    return values | {"error": one.error}


def _to_json(job: JobResult) -> dict[str, Any]:
    groups = [
        {**one._asdict(), "divergence": plain(one.divergence._asdict()), "ranks": [*one.ranks]}
        for one in job.groups
    ]
    return {
        "schema": SCHEMA,
        "verdict": job.verdict,
        "sentence": str(job.sentence),
        "partial": job.partial,
        "target": job.target,
        "golden": job.golden,
        "groups": groups,
        "apart": [one._asdict() for one in job.apart],
        "node": job.node,
        "missing": [one._asdict() for one in job.missing],
        "diagnoses": [one._asdict() for one in job.diagnoses],
        "units": [summary_to_json(one) for one in job.units],
    } | _joined_to_json(job)


def _joined_to_json(job: JobResult) -> dict[str, Any]:
    """What a job says of its layouts, as people and programs read it; nothing where rank was compared with rank."""
    if job.axes is None:
        return {}
    ledger = [
        {"side": one.side, "step": one.code, "tensors": one.tensors, "said": str(one.message)}
        for one in job.ledger
    ]
    found = [
        {
            "side": one.side, "kind": one.code, "defect": one.defect, "iteration": one.iteration,
            "op_type": one.op_type, "op_name": one.op_name, "io": one.io, "slot": one.slot,
            "ranks": [*one.ranks], "tensors": one.tensors, "said": str(one.message),
        }
        for one in job.found
    ]  # fmt: skip
    return {"layouts": {**job.axes._asdict(), "ledger": ledger, "findings": found}}


def _from_json(values: Mapping[str, Any], folder: str) -> JobResult:
    if values["schema"] != SCHEMA:
        raise ValueError(values["schema"])
    groups = (_group(one) for one in values["groups"])
    return JobResult(
        values["target"], values["golden"],
        tuple(map(summary_from_json, values["units"])), tuple(groups),
        tuple(_tuples(Disagreement, one) for one in values["apart"]),
        tuple(Missing(**one) for one in values["missing"]),
        tuple(_diagnosis(one) for one in values["diagnoses"]), folder, values["node"],
        _axes(values.get("layouts")),
    )  # fmt: skip


def _axes(values: Mapping[str, Any] | None) -> JobAxes | None:
    return None if values is None else JobAxes(*(str(values[name]) for name in JobAxes._fields))


def _group(values: Mapping[str, Any]) -> Group:
    one = _tuples(Group, values)
    return one._replace(divergence=divergence_from_json(values["divergence"]))  # type: ignore[no-any-return]


def _diagnosis(values: Mapping[str, Any]) -> Diagnosis:
    one = Diagnosis(**values)
    causes = tuple((str(kind), float(share)) for kind, share in one.causes)
    return one._replace(evidence=tuple(one.evidence), causes=causes)


def _tuples(kind: Any, values: Mapping[str, Any]) -> Any:
    held = {key: tuple(one) if isinstance(one, list) else one for key, one in values.items()}
    return kind(**held)
