"""The ``workbench`` command. Results go to stdout, progress and errors to stderr.

Exit status: `compare` follows ``diff`` (0 agree, 1 diverge, 2 trouble), ``config check`` says 1 for a
form that its vendor would refuse; every other command gives 0 or 2.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
OWN_VARIABLES = {name: "1" for name in _THREADS if name not in os.environ}
# Before NumPy loads: on chunks of 32 K elements BLAS threads only spin against each other.
os.environ.update(OWN_VARIABLES)

from workbench.cli.config import (  # noqa: E402 - after the environment is set
    FUSION,
    QUANTIZATION,
    VERSION,
    variables,
)
from workbench.cli.config import app as config_app  # noqa: E402
from workbench.cli.lab import lab  # noqa: E402
from workbench.cli.terminal import complain, emit, emit_json, progress, tell  # noqa: E402
from workbench.core.errors import WorkbenchError  # noqa: E402

if TYPE_CHECKING:
    from workbench.compare.result import Finding
    from workbench.pipeline.compare import Comparison

AGREE, DIVERGE, TROUBLE = 0, 1, 2
_SHOWN = 10

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Find the operator that makes a network's numbers differ on an Ascend NPU.",
)


app.add_typer(config_app, name="config")

_BY = "its folder, or an operator of it."


@app.command()
def compare(
    target: Annotated[str, typer.Argument(help="Dump tree of the run in question.")],
    golden: Annotated[str, typer.Argument(help="Dump tree of the run you trust.")],
    json: Annotated[str, typer.Option(metavar="FILE|-", help="Write the result as JSON.")] = "",
    html: Annotated[str, typer.Option(metavar="FILE", help="Write the report.")] = "",
    csv: Annotated[str, typer.Option(metavar="FILE", help="Write every row as CSV.")] = "",
    map_: Annotated[
        str,
        typer.Option(
            "--map", metavar="FILE", help="Your own pairs, ignored and tolerated operators."
        ),
    ] = "",
    target_graph: Annotated[str, typer.Option(metavar="FILE", help="Graph of the target.")] = "",
    golden_graph: Annotated[str, typer.Option(metavar="FILE", help="Graph of the golden.")] = "",
    target_model: Annotated[
        str,
        typer.Option(
            "--target-model", "--model", metavar="NAME", help=f"Model of the target: {_BY}"
        ),
    ] = "",
    golden_model: Annotated[
        str, typer.Option(metavar="NAME", help=f"Model of the golden: {_BY}")
    ] = "",
    rank: Annotated[str, typer.Option(metavar="T[:G]", help="Rank on both sides.")] = "",
    iteration: Annotated[str, typer.Option(metavar="N[:M]", help="Iteration on both sides.")] = "",
    profile: Annotated[str, typer.Option(metavar="NAME", help="Rule of the verdicts.")] = "",
    next_config: Annotated[
        str, typer.Option(metavar="FILE", help="Write the form that dumps the suspects in full.")
    ] = "",
    next_golden: Annotated[
        str, typer.Option(metavar="FILE", help="Write the same form for the golden's run.")
    ] = "",
    surface: Annotated[
        str, typer.Option(help="Whose form --next-config is; told by the tree.")
    ] = "",
    extract: Annotated[
        str, typer.Option(metavar="DIR", help="Write the guilty operator alone, with a script.")
    ] = "",
) -> int:
    """Compare two dump trees and name the operator where they part. Exits 0, 1 or 2 as diff does."""
    from workbench.pipeline.compare import compare as run

    options: dict[str, Any] = {"map_file": map_, "target_graph": target_graph}
    options |= {"golden_graph": golden_graph, "profile": profile}
    options |= {"target_model": target_model, "golden_model": golden_model}
    comparison = run(
        target,
        golden,
        rank=_two("rank", rank),
        iteration=_two("iteration", iteration),
        progress=progress(),
        **{name: value for name, value in options.items() if value},
    )
    _write(comparison, json, html, csv)
    if next_config:
        _write_next(comparison, next_config, surface)
    if next_golden:
        _write_next(comparison, next_golden, "", "golden")
    if extract:
        _extract(comparison, extract)
    if json != "-":
        tell(*_summary(comparison))
    return _status(comparison)


def _two(name: str, text: str) -> tuple[int, int] | None:
    """Read ``N`` or ``N:M``; the second number is the golden's."""
    if not text:
        return None
    first, _, second = text.partition(":")
    if not first.isdecimal() or not (second or first).isdecimal():
        message = (
            f"--{name} must be a number or two joined by ':', got {text!r}; for example 0 or 0:1"
        )
        raise WorkbenchError(message)
    return int(first), int(second or first)


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
        tell("no defect: nothing to dump again", err=True)
        return
    found = comparison.next_config(surface or None, side=side)
    found.save(path)
    what = f"{side}: {found.surface} form for {len(found.operators)} operators: {path}"
    tell(*map(str, found.why), *found.losses, what, err=True)


def _extract(comparison: Comparison, folder: str) -> None:
    """Write the guilty operator alone; without a defect there is none, which is said on stderr."""
    if any(finding.defect for finding in comparison.findings):
        tell(str(comparison.extract(folder)), err=True)
    else:
        tell("no defect: no operator to extract", err=True)


def _status(comparison: Comparison) -> int:
    if comparison.verdict == "fail":
        return DIVERGE
    return TROUBLE if comparison.verdict == "inconclusive" or comparison.result.partial else AGREE


def _summary(comparison: Comparison) -> list[str]:
    """Ledger and findings for a terminal; verdict and sentence last."""
    cover = comparison.coverage
    lines = []
    for side in ("target", "golden"):
        info = getattr(comparison.result, side)
        skipped = {
            key.partition(":")[2]: count
            for key, count in cover.skipped.items()
            if key.startswith(f"{side}:")
        }
        reasons = "".join(f", {count} {reason}" for reason, count in skipped.items())
        lone = getattr(cover, f"unmatched_{side}")
        text = f"{info.tensors} tensors = {cover.matched} matched + {lone} unmatched"
        lines.append(f"{side}:  {text} + {sum(skipped.values())} skipped{reasons}")
    for number, finding in enumerate(comparison.findings, 1):
        lines.append(f"{number}. [{finding.kind}] {finding.op_name}{_when(comparison, finding)}")
        if finding.source is not None:
            lines.append(f"     {finding.source}")
        lines += [f"     {evidence}" for evidence in finding.evidence]
        lines += [f"     next: {finding.advice}"] * finding.defect
    lines += [
        f"{anomaly.side} model {anomaly.op_name}: {anomaly.detail}"
        for anomaly in comparison.anomalies
        if anomaly.kind == "model"
    ]
    lines += [
        f"map file: {use.kind} {use.what}: {use.tensors} tensors"
        + " (fits nothing)" * (not use.operators)
        for use in comparison.result.overrides[:_SHOWN]
    ]
    if comparison.anomalies:
        lines.append(f"{len(comparison.anomalies)} anomalies: {_kinds(comparison)}")
    reported = [one for one in comparison.anomalies if one.kind in ("overflow", "exception")]
    lines += [f"  {one.side} {one.op_name}: {one.detail}" for one in reported[:_SHOWN]]
    return [*lines, f"{comparison.verdict}: {comparison.sentence}"]


def _when(comparison: Comparison, finding: Finding) -> str:
    """Iteration and rank of a finding, where there are several."""
    several = len({row.iteration for row in comparison.rows if row.iteration >= 0}) > 1
    parts = [f"iteration {finding.iteration}"] if several else []
    parts += [f"rank {finding.rank}"] if comparison.result.by_rank else []
    return f" ({', '.join(parts)})" if parts and finding.op_name else ""


def _kinds(comparison: Comparison) -> str:
    counts: dict[str, int] = {}
    for anomaly in comparison.anomalies:
        key = f"{anomaly.side} {anomaly.kind}"
        counts[key] = counts.get(key, 0) + 1
    return ", ".join(f"{count} {key}" for key, count in counts.items())


@app.command()
def inspect(
    dump: Annotated[str, typer.Argument(help="A dump tree.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    at: Annotated[
        str, typer.Option(metavar="FILE:LINE", help="Operators and files of one source line.")
    ] = "",
    model: Annotated[str, typer.Option(metavar="NAME", help=f"Model to read: {_BY}")] = "",
    graph: Annotated[str, typer.Option(metavar="FILE", help="Graph of the dump.")] = "",
) -> int:
    """Say what a dump tree holds, what is odd about it, and what came from a source line."""
    from workbench.dump.read.reader import load
    from workbench.pipeline.inspect import inspect_dump

    info = inspect_dump(load(dump, graph=graph or None, model=model or None), at or None)
    if json:
        emit_json(info)
    else:
        from workbench.cli.inspection import text_of

        tell(*text_of(info))
    return AGREE


@app.command()
def simulate(
    graph: Annotated[
        list[str],
        typer.Option(
            help="A model (lenet, alexnet, mlp, resnet, transformer, lstm), a training of one "
            "(lenet_train, mlp_train, resnet_train, transformer_train), file.py:Name or model.onnx. "
            "Several run in one process."
        ),
    ],
    config: Annotated[str, typer.Option(metavar="FILE", help="Dump configuration.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="New or empty folder for the tree.")],
    surface: Annotated[str, typer.Option(help="Any; told by the form if left out.")] = "",
    device: Annotated[
        str, typer.Option(help="reference, 910a, 310p, a2, a3 or 950.")
    ] = "reference",
    fault: Annotated[
        list[str] | None, typer.Option(metavar="KIND:OPERATOR[:SETTINGS]", help="A defect.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of weights, faults and names.")] = 0,
    iterations: Annotated[int, typer.Option(help="How many iterations run.")] = 1,
    schedule: Annotated[
        str,
        typer.Option(
            metavar="N,N,…",
            help="Which graph runs next, by its place from 0; instead of --iterations.",
        ),
    ] = "",
    max_turns: Annotated[int, typer.Option(help="Most turns of a loop.")] = 1000,
    ranks: Annotated[int, typer.Option(help="How many ranks train together.")] = 1,
    precision_mode: Annotated[str, typer.Option(help="Precision mode of the device.")] = "",
    fusion: FUSION = "on",
    quantization: QUANTIZATION = "",
    target_version: VERSION = "",
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Variable of the run, such as DUMP_GE_GRAPH or RANK_ID."
        ),
    ] = None,
) -> int:
    """Run graphs on the NumPy reference or a simulated NPU and write their dump tree."""
    from workbench.graph.networks import load_graph
    from workbench.pipeline.simulate import simulate as run

    tree = run(
        [load_graph(one, seed, ranks) for one in graph],
        None,
        config,
        out,
        device=device,
        surface=surface or None,
        faults=fault or (),
        seed=seed,
        iterations=iterations,
        ranks=ranks,
        precision_mode=precision_mode or None,
        fusion=fusion,
        quantization=quantization or None,
        version=target_version,
        env=variables(env),
        schedule=_places(schedule),
        max_turns=max_turns,
        say=lambda text: tell(text, err=True),
    )
    emit(str(tree))
    return AGREE


def _places(text: str) -> list[int] | None:
    """Read ``--schedule``; raises WorkbenchError for what is no list of places."""
    if not text:
        return None
    places = text.split(",")
    if not all(place.isascii() and place.isdecimal() and len(place) < 4 for place in places):
        raise WorkbenchError(f"--schedule must be places of graphs joined by commas, got {text!r}")
    return [int(place) for place in places]


@app.command()
def convert(
    dump: Annotated[str, typer.Argument(help="A dump file, or a folder of them.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="New or empty folder.")],
    format_: Annotated[
        str, typer.Option("--format", metavar="F", help="Host format, such as NCHW.")
    ] = "",
    type_: Annotated[
        str, typer.Option("--type", metavar="npy|bin|msnpy", help="Kind of file.")
    ] = "npy",
) -> int:
    """Convert binary dump files to npy, device formats to a host format, overflow records to JSON."""
    from workbench.dump.convert.files import convert as run

    result = run(dump, out, format=format_, type=type_, progress=progress("files"))
    for line in result.remark_lines():
        tell(line, err=True)
    tell(
        f"{result.files} files read, {len(result.written)} written to {result.out}, "
        f"{len(result.remarks)} remarks"
    )
    return AGREE


@app.command()
def demo(
    out: Annotated[str, typer.Option(metavar="DIR", help="New or empty folder.")] = "demo_out",
) -> int:
    """Simulate a network with a planted defect, compare it with the reference, write a report."""
    from workbench.pipeline.demo import demo as run

    comparison, report, found = run(out, say=lambda text: tell(text, err=True))
    tell(*_summary(comparison)[:-1])
    if not found:
        complain("the planted defect was not found")
    tell(f"{comparison.verdict}: {comparison.sentence}")
    tell(f"report: {report}")
    return AGREE if found else TROUBLE


app.command()(lab)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; every error of the workbench is one line on stderr and status 2."""
    gc.disable()  # the command ends soon; collecting while it reads costs a tenth of its time
    try:
        status = app(arguments, standalone_mode=False)
    except WorkbenchError as error:
        complain(error)
        status = TROUBLE
    except typer.Exit as error:
        status = error.exit_code
    except OSError as error:
        if error.filename is None:
            raise
        complain(f"path must be one that can be used, got {error.filename!r} ({error.strerror})")
        status = TROUBLE
    except MemoryError as error:
        complain(f"memory must suffice for what was asked, got none: {error}")
        status = TROUBLE
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted before there was anything to keep")
        status = TROUBLE
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer raises for wrong usage
            raise
        complain(error.format_message())
        status = TROUBLE
    finally:
        gc.enable()
    sys.exit(status if isinstance(status, int) else AGREE)
