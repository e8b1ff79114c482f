"""``workbench compare --out RESULT``: a job of many ranks and iterations, on all cores or a dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli.terminal import (
    STATUS_OF_VERDICT,
    Exit,
    print_error,
    print_json,
    print_lines,
    progress,
)
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.scale.job import JobResult
    from workbench.scale.units import JobPlan


def compare_job(given: Mapping[str, Any]) -> int:
    """Compare a job, print what it shows, and return the exit status of `workbench compare`."""
    options = {
        "target_graph": given["target_graph"], "golden_graph": given["golden_graph"],
        "target_model": given["target_model"], "golden_model": given["golden_model"],
        "map_file": given["map_"], "profile": given["profile"], "ranks": given["ranks"],
        "iterations": given["iterations"], "scheduler": given["scheduler"],
        "workers": given["workers"], "memory": given["memory"], "node": given["ranks_per_node"],
        "depth": "measured" if given["quick"] else "", "parallel": given["target_parallel"],
        "golden_parallel": given["golden_parallel"], "layouts": given["target_layouts"],
        "golden_layouts": given["golden_layouts"],
    }  # fmt: skip
    try:
        job = _run(given, options)
    except KeyboardInterrupt:
        print_error(_interrupted(given["out"]))
        return Exit.TROUBLE
    _write(job, given)
    if given["json"] != "-":
        from workbench.scale.said import lines

        print_lines(*lines(job))
        print_lines(Message("job/result", path=str(Path(given["out"]) / "report.html")))
    return STATUS_OF_VERDICT[job.verdict]


def _run(given: Mapping[str, Any], options: Mapping[str, Any]) -> JobResult:
    from workbench.scale.compare_job import compare_job as run

    return run(
        given["target"], given["golden"], out=given["out"], require=given["require"],
        allow_missing=given["allow_missing"], progress=progress("bytes"), begun=_begun,
        **{name: value for name, value in options.items() if value},
    )  # fmt: skip


def _interrupted(out: str) -> Message:
    """Say how much is done; where nothing was begun, that it was interrupted."""
    from workbench.scale.job import FILE, JobResult

    if not (Path(out) / FILE).is_file():
        return Message("cli/interrupted")
    units = JobResult.from_json(out).units
    done = sum(one.state == "done" for one in units)
    return Message("job/interrupted", done=done, units=len(units))


def _begun(plan: JobPlan, client: Any) -> None:
    """Say what the job will cost, and where it can be watched."""
    from workbench.scale.compare_job import axes_of
    from workbench.scale.said import ranks_said
    from workbench.scale.units import spans

    axes = axes_of(plan)
    held = {"units": len(plan.units), "iterations": spans(plan.iterations)}
    held |= {"files": plan.files, "bytes": plan.nbytes}
    if axes is None:
        said = Message("job/plan", ranks=ranks_said(plan.ranks), **held)
    else:
        said = Message("job/plan-joined", target=axes.target, golden=axes.golden, **held)
    print_lines(said, Message("job/dashboard", link=client.dashboard_link), err=True)


def _write(job: JobResult, given: Mapping[str, Any]) -> None:
    """Write the files that were asked for."""
    if given["json"] == "-":
        print_json(job.to_json())
    elif given["json"]:
        job.to_json(given["json"])
    if given["html"]:
        job.to_html(given["html"])
    if given["csv"]:
        from workbench.core.files import write_text

        write_text(given["csv"], job.frame().to_csv(index=False))
