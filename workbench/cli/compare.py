"""``workbench compare``: two dumps, compared; what was found as lines of a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import click

from workbench.cli.commands import Command, argument, flag, option, repeated
from workbench.cli.options import MODEL_BY
from workbench.cli.terminal import STATUS_OF_VERDICT, Exit, print_lines, print_text, progress
from workbench.comparison.stages import timed
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.comparison.result import Finding
    from workbench.comparison.stages import StageTime
    from workbench.session.comparison import Comparison

INCOMPLETE = "incomplete"
"""Kind of a finding that is no defect and still asks for something to be done."""

_SHOWN = 10

ONE_ALONE = (
    "rank", "iteration", "envelope", "orders", "repeat", "next_config", "next_golden", "surface",
    "extract", "explain", "profile_time",
)  # fmt: skip
"""Options of one comparison that a job does not have."""

JOB_ALONE = (
    "ranks", "iterations", "scheduler", "workers", "memory", "ranks_per_node", "quick",
    "target_parallel", "golden_parallel", "target_layouts", "golden_layouts",
)  # fmt: skip
"""Options that a job alone has."""


def is_job(given: Mapping[str, Any]) -> bool:
    """Whether the options of ``compare`` ask for a job; raises WorkbenchError for those that do not go together."""
    if given["out"]:
        refused = next((name for name in ONE_ALONE if given[name]), None)
        code = "job/option"
    else:
        refused = next((name for name in JOB_ALONE if given[name]), None)
        code = "job/option-job"
    if refused is not None:
        raise WorkbenchError(code, option=f"--{refused.replace('_', '-')}")
    return bool(given["out"])


@click.command(cls=Command)
@argument("target", help="Dump of the run in question.")
@argument("golden", help="Dump of the trusted run.")
@option("--json", default="", metavar="FILE|-", help="Write the result as JSON (- for stdout).")
@option("--html", default="", metavar="FILE", help="Write an HTML report.")
@option("--csv", default="", metavar="FILE", help="Write all rows as CSV.")
@option(
    "--map",
    "map_",
    default="",
    metavar="FILE",
    help="Map file: manual matches, ignored operators, tolerated errors.",
)
@option("--target-graph", default="", metavar="FILE", help="Graph file of the target.")
@option("--golden-graph", default="", metavar="FILE", help="Graph file of the golden.")
@option(
    "--target-model",
    "--model",
    default="",
    metavar="NAME",
    help=f"Model of the target: {MODEL_BY}",
)
@option("--golden-model", default="", metavar="NAME", help=f"Model of the golden: {MODEL_BY}")
@option("--rank", default="", metavar="T[:G]", help="Rank to compare: target, or target:golden.")
@option(
    "--iteration",
    default="",
    metavar="N[:M]",
    help="Iteration to compare: target, or target:golden.",
)
@option(
    "--profile",
    default="",
    metavar="NAME",
    help="Thresholds to judge by. Default: expected rounding error.",
)
@option(
    "--envelope",
    default="",
    metavar="FILE",
    help="Envelope of the network (workbench envelope): what rounding of inputs moves.",
)
@option(
    "--orders",
    default="",
    metavar="FILE",
    help="Orders of summation of the target's device (workbench order).",
)
@repeated(
    "--repeat",
    metavar="DIR",
    help="Dump of another run of the target, to measure its noise (repeatable).",
)
@option(
    "--require",
    default=100.0,
    metavar="PERCENT",
    help="Share of each side's tensors to compare. Network outputs are always required.",
)
@repeated(
    "--allow-missing",
    metavar="GLOB",
    help="Operators that may be missing on one or both sides (repeatable).",
)
@option(
    "--next-config",
    default="",
    metavar="FILE",
    help="Write a configuration that re-dumps the suspect operators in full.",
)
@option("--next-golden", default="", metavar="FILE", help="Write the same for the golden run.")
@option(
    "--surface",
    default="",
    help="Surface of --next-config. Default: the one that wrote the dump.",
)
@option(
    "--extract",
    default="",
    metavar="DIR",
    help="Write a minimal reproducer of the suspect operator.",
)
@option(
    "--explain",
    default="",
    metavar="OP",
    help="Print what was concluded of an operator, and why.",
)
@option(
    "--out",
    default="",
    metavar="RESULT",
    help="Compare all ranks and iterations as a job into this folder.",
)
@option("--ranks", default="", metavar="all|0-7,12", help="Ranks of a job. Default: all.")
@option("--iterations", default="", metavar="all|0-99", help="Iterations of a job. Default: all.")
@option(
    "--scheduler",
    default="",
    metavar="ADDRESS",
    help="dask scheduler of a job, e.g. tcp://host:8786.",
)
@option(
    "--workers", default=0, help="Worker processes of a job on this machine. Default: one per core."
)
@option("--memory", default="", metavar="SIZE", help="Memory limit of each worker, e.g. 2GB.")
@option("--ranks-per-node", default=0, help="Ranks of a node, to name nodes in the job's result.")
@option(
    "--target-parallel",
    "--parallel",
    default="",
    metavar="tp=8,pp=4,dp=16",
    help="Axes of the target's ranks in a job.",
)
@option(
    "--golden-parallel",
    default="",
    metavar="tp=8,pp=4,dp=16",
    help="Axes of the golden's ranks. Default: the target's, none for one rank.",
)
@option(
    "--target-layouts",
    "--layouts",
    default="",
    metavar="FILE",
    help="How tensors lie on the target's ranks. Default: from the dumps if the golden is one rank.",
)
@option(
    "--golden-layouts",
    default="",
    metavar="FILE",
    help="How tensors lie on the golden's ranks. Default: --layouts.",
)
@flag(
    "--quick",
    help="Do not replay operators in a job: faster, misses faults within the rounding of inputs.",
)
@flag("--profile-time", help="Print the time of each stage to stderr.")
def compare(
    target: str,
    golden: str,
    json: str,
    html: str,
    csv: str,
    map_: str,
    target_graph: str,
    golden_graph: str,
    target_model: str,
    golden_model: str,
    rank: str,
    iteration: str,
    profile: str,
    envelope: str,
    orders: str,
    repeat: tuple[str, ...],
    require: float,
    allow_missing: tuple[str, ...],
    next_config: str,
    next_golden: str,
    surface: str,
    extract: str,
    explain: str,
    profile_time: bool,
    **job: object,
) -> int:
    """Compare two dumps and find the first divergent operator.

    Exit status: 0 agree, 1 diverge, 2 trouble, 3 not decided (incomplete, inconclusive).
    """
    given = click.get_current_context().params
    if is_job(given):
        from workbench.cli.job import compare_job

        return compare_job(given)
    from workbench.session.compare import compare as run

    options: dict[str, Any] = {"map_file": map_, "target_graph": target_graph}
    options |= {"golden_graph": golden_graph, "profile": profile, "envelope": envelope}
    options |= {"orders": orders, "repeats": repeat}
    options |= {"target_model": target_model, "golden_model": golden_model}
    options |= {"allow_missing": allow_missing}
    with timed() as times:
        comparison = run(
            target,
            golden,
            rank=_two("rank", rank),
            iteration=_two("iteration", iteration),
            require=require,
            progress=progress(),
            pack=False,  # the process ends with what it shows
            **{name: value for name, value in options.items() if value},
        )
    if profile_time:
        print_lines(*_stage_times(times), err=True)
    _write(comparison, json, html, csv)
    if next_config:
        _write_next(comparison, next_config, surface)
    if next_golden:
        _write_next(comparison, next_golden, "", "golden")
    if extract:
        _extract(comparison, extract)
    if explain:
        _explain(comparison, explain, to_stderr=json == "-")
    if json != "-":
        print_lines(*summary(comparison))
    return _status(comparison)


def _two(name: str, text: str) -> tuple[int, int] | None:
    """Read ``N`` or ``N:M``; the second number is the golden's."""
    if not text:
        return None
    first, _, second = text.partition(":")
    if not first.isdecimal() or not (second or first).isdecimal():
        raise WorkbenchError("cli/two-numbers", name=name, got=text)
    return int(first), int(second or first)


def _stage_times(times: list[StageTime]) -> Iterator[Message]:
    """How long each stage took, and all of them."""
    for one in times:
        yield Message("cli/stage-time", name=one.name, seconds=one.seconds)
    yield Message("cli/stage-total", seconds=sum(one.seconds for one in times))


def _write(comparison: Comparison, json: str, html: str, csv: str) -> None:
    """Write the files that were asked for."""
    if json == "-":
        from workbench.show.json_result import dumps

        print_text(dumps(comparison.result))
    elif json:
        comparison.write_json(json)
    if html:
        comparison.to_html(html)
    if csv:
        comparison.to_csv(csv)


def _write_next(
    comparison: Comparison, path: str, surface: str, side: Literal["target", "golden"] = "target"
) -> None:
    """Write the next configuration; without a defect there is none, which is said on stderr."""
    if not any(finding.defect for finding in comparison.findings):
        print_lines(Message("cli/no-next"), err=True)
        return
    found = comparison.next_config(surface or None, side=side)
    found.save(path)
    operators = len(found.operators)
    written = Message(
        "cli/next-written", side=side, surface=found.surface, operators=operators, path=path
    )
    print_lines(*found.why, *found.losses, written, err=True)


def _extract(comparison: Comparison, folder: str) -> None:
    """Write the guilty operator alone; without a defect there is none, which is said on stderr."""
    if any(finding.defect for finding in comparison.findings):
        print_lines(str(comparison.extract(folder)), err=True)
    else:
        print_lines(Message("cli/no-extract"), err=True)


def _explain(comparison: Comparison, name: str, *, to_stderr: bool) -> None:
    """Print what was concluded of an operator; not among JSON."""
    from workbench.session.conclusions import explain

    print_lines(*explain(comparison, name), err=to_stderr)


def _status(comparison: Comparison) -> Exit:
    """A canceled comparison is trouble, unless it has found a defect already."""
    if comparison.result.partial and comparison.verdict != "fail":
        return Exit.TROUBLE
    return STATUS_OF_VERDICT[comparison.verdict]


def summary(comparison: Comparison) -> list[Message | str]:
    """Coverage and findings for a terminal; verdict and sentence last."""
    lines: list[Message | str] = [_coverage(comparison, side) for side in ("target", "golden")]
    for number, finding in enumerate(comparison.findings, 1):
        lines += _finding_lines(comparison, number, finding)
    lines += [
        Message("cli/model", side=one.side, name=one.op_name, detail=one.detail)
        for one in comparison.anomalies
        if one.kind == "model"
    ]
    for use in comparison.result.overrides[:_SHOWN]:
        code = "override" if use.operators else "override-unused"
        values = {"kind": use.kind, "what": use.what, "tensors": use.tensors}
        lines.append(Message(f"cli/{code}", **values))
    if comparison.anomalies:
        count = len(comparison.anomalies)
        lines.append(Message("cli/anomalies", count=count, kinds=_kinds(comparison)))
    reported = [one for one in comparison.anomalies if one.kind in ("overflow", "exception")]
    for one in reported[:_SHOWN]:
        said = Message("cli/anomaly", side=one.side, name=one.op_name, detail=one.detail)
        lines.append(f"  {said}")
    if "envelope" in comparison.result.facts:
        lines.append(Message("cli/envelope-said", said=comparison.result.facts["envelope"]))
    if "repeats" in comparison.result.facts:
        lines += _repeats(comparison)
    return [*lines, verdict_line(comparison)]


def _repeats(comparison: Comparison) -> list[Message | str]:
    """What other runs of the target show, and the operators that differ most between them."""
    result = comparison.result
    listed = sorted(result.not_deterministic, key=lambda one: -one.error)
    said = [
        Message("cli/repeat-operator", op_type=one.op_type, op_name=one.op_name, error=one.error)
        for one in listed[:_SHOWN]
    ]
    return [Message("cli/repeats", said=result.facts["repeats"]), *map("  {}".format, said)]


def verdict_line(comparison: Comparison) -> Message:
    """Verdict and sentence."""
    return Message("cli/verdict", verdict=comparison.verdict, sentence=comparison.sentence)


def _coverage(comparison: Comparison, side: Literal["target", "golden"]) -> Message:
    """How many tensors of a side were matched, unmatched and skipped."""
    cover = comparison.coverage
    skipped = {
        key.partition(":")[2]: count
        for key, count in cover.skipped.items()
        if key.startswith(f"{side}:")
    }
    said = Message(
        "cli/coverage",
        side=side,
        tensors=getattr(comparison.result, side).tensors,
        matched=cover.matched_of(side),
        unmatched=getattr(cover, f"unmatched_{side}"),
        skipped=sum(skipped.values()),
    )
    reasons = [
        Message("cli/coverage-reason", count=count, reason=reason)
        for reason, count in skipped.items()
    ]
    return Message("cli/coverage-reasons", said=said, reasons=reasons) if reasons else said


def _finding_lines(
    comparison: Comparison, number: int, finding: Finding
) -> Iterator[Message | str]:
    said = Message("cli/finding", number=number, kind=finding.kind, name=finding.op_name)
    parts = _when(comparison, finding)
    yield Message("cli/finding-when", said=said, parts=parts) if parts else said
    if finding.source is not None:
        from workbench.graph.source_lines import told

        yield f"     {told(finding.source)}"
    yield from (f"     {evidence}" for evidence in finding.evidence)
    if finding.defect or finding.kind == INCOMPLETE:
        yield f"     {Message('cli/next', advice=finding.advice)}"


def _when(comparison: Comparison, finding: Finding) -> list[Message]:
    """Iteration and rank of a finding, where there are several."""
    several = len({row.iteration for row in comparison.rows if row.iteration >= 0}) > 1
    parts = [Message("cli/finding-iteration", iteration=finding.iteration)] if several else []
    if comparison.result.by_rank:
        parts.append(Message("cli/finding-rank", rank=finding.rank))
    return parts if finding.op_name else []


def _kinds(comparison: Comparison) -> list[Message]:
    counts = Counter((one.side, one.kind) for one in comparison.anomalies)
    return [
        Message("cli/anomaly-kind", count=count, side=side, kind=kind)
        for (side, kind), count in counts.items()
    ]
