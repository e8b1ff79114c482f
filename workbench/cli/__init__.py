"""The ``workbench`` command. Results go to stdout, progress and errors to stderr.

Exit status: `compare` follows ``diff`` (0 agree, 1 diverge, 2 trouble) and adds 3, not decided; ``config check``
says 1 for a form that its vendor would refuse; every other command gives 0 or 2.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
OWN_VARIABLES = {name: "1" for name in _THREADS if name not in os.environ}
# Before NumPy loads: on chunks of 32 K elements BLAS threads only spin against each other.
os.environ.update(OWN_VARIABLES)

from workbench.cli.config import app as config_app  # noqa: E402 - after the environment is set
from workbench.cli.golden import golden  # noqa: E402
from workbench.cli.lab import lab  # noqa: E402
from workbench.cli.noise import envelope, order_app  # noqa: E402
from workbench.cli.simulate import simulate  # noqa: E402
from workbench.cli.terminal import (  # noqa: E402
    complain,
    emit,
    emit_json,
    flush,
    progress,
    tell,
)
from workbench.comparison.stages import timed  # noqa: E402
from workbench.core.errors import WorkbenchError  # noqa: E402
from workbench.core.words import Message  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.result import Finding, Verdict
    from workbench.comparison.stages import StageTime
    from workbench.session.comparison import Comparison

AGREE, DIVERGE, TROUBLE, UNDECIDED = 0, 1, 2, 3
NOTHING = 1
INCOMPLETE = "incomplete"
"""Kind of a finding that is no defect and still asks for something to be done."""
_SHOWN = 10

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Find the operator that makes a network's results differ on an Ascend NPU.",
)


app.add_typer(config_app, name="config")
app.add_typer(order_app, name="order")

_BY = "its folder, or one of its operators."


@app.command()
def compare(
    target: Annotated[str, typer.Argument(help="Dump of the run in question.")],
    golden: Annotated[str, typer.Argument(help="Dump of the trusted run.")],
    json: Annotated[
        str, typer.Option(metavar="FILE|-", help="Write the result as JSON (- for stdout).")
    ] = "",
    html: Annotated[str, typer.Option(metavar="FILE", help="Write an HTML report.")] = "",
    csv: Annotated[str, typer.Option(metavar="FILE", help="Write all rows as CSV.")] = "",
    map_: Annotated[
        str,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Map file: manual matches, ignored operators, tolerated errors.",
        ),
    ] = "",
    target_graph: Annotated[
        str, typer.Option(metavar="FILE", help="Graph file of the target.")
    ] = "",
    golden_graph: Annotated[
        str, typer.Option(metavar="FILE", help="Graph file of the golden.")
    ] = "",
    target_model: Annotated[
        str,
        typer.Option(
            "--target-model", "--model", metavar="NAME", help=f"Model of the target: {_BY}"
        ),
    ] = "",
    golden_model: Annotated[
        str, typer.Option(metavar="NAME", help=f"Model of the golden: {_BY}")
    ] = "",
    rank: Annotated[
        str, typer.Option(metavar="T[:G]", help="Rank to compare: target, or target:golden.")
    ] = "",
    iteration: Annotated[
        str, typer.Option(metavar="N[:M]", help="Iteration to compare: target, or target:golden.")
    ] = "",
    profile: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Thresholds to judge by. Default: expected rounding error."
        ),
    ] = "",
    envelope: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Envelope of the network (workbench envelope): what rounding of inputs moves.",
        ),
    ] = "",
    orders: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Orders of summation of the target's device (workbench order).",
        ),
    ] = "",
    repeat: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="Dump of another run of the target, to measure its noise (repeatable).",
        ),
    ] = None,
    require: Annotated[
        float,
        typer.Option(
            metavar="PERCENT",
            help="Share of each side's tensors to compare. Network outputs are always required.",
        ),
    ] = 100.0,
    allow_missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Operators that may be missing on one or both sides (repeatable)."
        ),
    ] = None,
    next_config: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Write a configuration that re-dumps the suspect operators in full.",
        ),
    ] = "",
    next_golden: Annotated[
        str, typer.Option(metavar="FILE", help="Write the same for the golden run.")
    ] = "",
    surface: Annotated[
        str, typer.Option(help="Surface of --next-config. Default: the one that wrote the dump.")
    ] = "",
    extract: Annotated[
        str, typer.Option(metavar="DIR", help="Write a minimal reproducer of the suspect operator.")
    ] = "",
    explain: Annotated[
        str, typer.Option(metavar="OP", help="Print what was concluded of an operator, and why.")
    ] = "",
    profile_time: Annotated[
        bool, typer.Option("--profile-time", help="Print the time of each stage to stderr.")
    ] = False,
) -> int:
    """Compare two dumps and find the first divergent operator.

    Exit status: 0 agree, 1 diverge, 2 trouble, 3 not decided (incomplete, inconclusive).
    """
    from workbench.session.compare import compare as run

    options: dict[str, Any] = {"map_file": map_, "target_graph": target_graph}
    options |= {"golden_graph": golden_graph, "profile": profile, "envelope": envelope}
    options |= {"orders": orders, "repeats": tuple(repeat or ())}
    options |= {"target_model": target_model, "golden_model": golden_model}
    options |= {"allow_missing": tuple(allow_missing or ())}
    with timed() as times:
        comparison = run(
            target,
            golden,
            rank=_two("rank", rank),
            iteration=_two("iteration", iteration),
            require=require,
            progress=progress(),
            **{name: value for name, value in options.items() if value},
        )
    if profile_time:
        tell(*_stage_times(times), err=True)
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
        tell(*_summary(comparison))
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

        emit(dumps(comparison.result))
    elif json:
        comparison.to_json(json)
    if html:
        comparison.to_html(html)
    if csv:
        comparison.to_csv(csv)


def _write_next(
    comparison: Comparison, path: str, surface: str, side: Literal["target", "golden"] = "target"
) -> None:
    """Write the next configuration; without a defect there is none, which is said on stderr."""
    if not any(finding.defect for finding in comparison.findings):
        tell(Message("cli/no-next"), err=True)
        return
    found = comparison.next_config(surface or None, side=side)
    found.save(path)
    operators = len(found.operators)
    written = Message(
        "cli/next-written", side=side, surface=found.surface, operators=operators, path=path
    )
    tell(*found.why, *found.losses, written, err=True)


def _extract(comparison: Comparison, folder: str) -> None:
    """Write the guilty operator alone; without a defect there is none, which is said on stderr."""
    if any(finding.defect for finding in comparison.findings):
        tell(str(comparison.extract(folder)), err=True)
    else:
        tell(Message("cli/no-extract"), err=True)


def _explain(comparison: Comparison, name: str, *, to_stderr: bool) -> None:
    """Print what was concluded of an operator; not among JSON."""
    from workbench.session.conclusions import explain

    tell(*explain(comparison, name), err=to_stderr)


def _status(comparison: Comparison) -> int:
    """A canceled comparison is trouble, unless it has found a defect already."""
    if comparison.result.partial and comparison.verdict != "fail":
        return TROUBLE
    return _STATUS[comparison.verdict]


_STATUS: dict[Verdict, int] = {
    "pass": AGREE,
    "warn": AGREE,
    "fail": DIVERGE,
    "incomplete": UNDECIDED,
    "inconclusive": UNDECIDED,
}
"""Exit status of each verdict."""


def _summary(comparison: Comparison) -> list[Message | str]:
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
    return [*lines, _verdict(comparison)]


def _repeats(comparison: Comparison) -> list[Message | str]:
    """What other runs of the target show, and the operators that differ most between them."""
    result = comparison.result
    listed = sorted(result.not_deterministic, key=lambda one: -one.error)
    said = [
        Message("cli/repeat-operator", op_type=one.op_type, op_name=one.op_name, error=one.error)
        for one in listed[:_SHOWN]
    ]
    return [Message("cli/repeats", said=result.facts["repeats"]), *map("  {}".format, said)]


def _verdict(comparison: Comparison) -> Message:
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


@app.command()
def inspect(
    dump: Annotated[str, typer.Argument(help="Dump to read.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    at: Annotated[
        str, typer.Option(metavar="FILE:LINE", help="Show operators and files of a source line.")
    ] = "",
    model: Annotated[str, typer.Option(metavar="NAME", help=f"Model to read: {_BY}")] = "",
    graph: Annotated[str, typer.Option(metavar="FILE", help="Graph file of the dump.")] = "",
) -> int:
    """Show what a dump holds, its anomalies, and the operators of a source line."""
    from workbench.dump.reader import load
    from workbench.views.dump import inspect_dump

    info = inspect_dump(load(dump, graph=graph or None, model=model or None), at or None)
    if json:
        emit_json(info)
    else:
        from workbench.cli.inspection import text_of

        tell(*text_of(info))
    return AGREE


app.command()(simulate)


@app.command()
def convert(
    dump: Annotated[str, typer.Argument(help="Dump file or folder.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Output folder, new or empty.")],
    format_: Annotated[
        str, typer.Option("--format", metavar="F", help="Host format, e.g. NCHW.")
    ] = "",
    type_: Annotated[
        str, typer.Option("--type", metavar="npy|bin|msnpy", help="Output file type.")
    ] = "npy",
) -> int:
    """Convert binary dumps to npy, in a host format if asked; overflow records to JSON."""
    from workbench.dump.convert import convert as run

    result = run(dump, out, format=format_, type=type_, progress=progress("files"))
    for line in result.remark_lines():
        tell(line, err=True)
    counts = {"files": result.files, "written": len(result.written)}
    tell(Message("cli/converted", **counts, out=result.out, remarks=len(result.remarks)))
    return TROUBLE if result.unread else AGREE


@app.command()
def demo(
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Output folder, new or empty.")
    ] = "demo_out",
) -> int:
    """Inject a fault into a simulated run, find it by comparison, write a report."""
    from workbench.cli.demo import demo as run

    comparison, report, found = run(out, say=lambda text: tell(text, err=True))
    tell(*_summary(comparison)[:-1])
    if not found:
        complain(Message("cli/demo-missed"))
    tell(_verdict(comparison))
    tell(Message("cli/report", path=report))
    return AGREE if found else TROUBLE


app.command("envelope")(envelope)
app.command()(golden)
app.command()(lab)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; every error of the workbench is one line on stderr and status 2."""
    gc.disable()  # the command ends soon; collecting while it reads costs a tenth of its time
    try:
        status = _status_of(sys.argv[1:] if arguments is None else arguments)
        flush()
    except Exception as error:
        said = _said_of(error)
        if said is None:
            raise
        complain(said)
        status = TROUBLE
    except KeyboardInterrupt:
        complain(Message("cli/interrupted"))
        status = TROUBLE
    finally:
        gc.enable()
    sys.exit(status)


def _status_of(arguments: list[str]) -> int:
    """Run a command and return its exit status.

    Not by ``app()``: typer ends the process itself where the output is a closed pipe or the user interrupts, with
    statuses that mean something else here.
    """
    command = typer.main.get_command(app)
    try:
        with command.make_context("workbench", arguments) as context:
            status = command.invoke(context)
    except typer.Exit as error:
        return error.exit_code
    return status if isinstance(status, int) else AGREE


def _said_of(error: Exception) -> object:
    """What a person is told of an error; ``None`` if it is a defect of the workbench."""
    if isinstance(error, WorkbenchError):
        return error
    if isinstance(error, OSError):
        if error.filename is None:
            return Message("cli/io", why=error.strerror or error)
        return Message("cli/path", got=error.filename, why=error.strerror)
    if isinstance(error, MemoryError):
        return Message("cli/memory", why=error)
    if isinstance(error, typer.Abort):
        return Message("cli/interrupted")
    if hasattr(error, "format_message"):  # what typer raises for wrong usage
        return error.format_message()
    return None
