"""Jobs whose ranks share one network, simulated and compared by the command; tests of joined ranks use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import workbench as wb
from workbench.cli import main
from workbench.scale.job import JobResult

if TYPE_CHECKING:
    from pathlib import Path


def simulate_job(graph: str, out: Path, *options: str, reference: bool = True) -> Path:
    """Run ``workbench simulate`` for one iteration; return the tree."""
    surface = "mindspore-cpu" if reference else "mindspore-o0o1"
    form = out.with_suffix(".json")
    wb.config.new(surface).save(form)
    device = "reference" if reference else "a2"
    args = ["--config", str(form), "--surface", surface, "--device", device, "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        main(["simulate", "--graph", graph, *args, *options])
    assert ended.value.code == 0
    return out


def compare_job(
    trees: tuple[Path, Path], said: list[str], out: Path, client: Any
) -> tuple[JobResult, int]:
    """Run ``workbench compare`` of a job with one rank; return its result, and the exit status."""
    where = ["--out", str(out), "--scheduler", client.scheduler.address]
    with pytest.raises(SystemExit) as ended:
        main(["compare", *map(str, trees), *said, *where])
    return JobResult.from_json(out), int(ended.value.code or 0)


def check_job(
    job: JobResult, finding: tuple[Any, ...] | None, first: tuple[Any, ...] | None
) -> None:
    """Check the first finding on the target's ranks (code, ranks, end of the operator's name; none: there is none),
    and where the job parts first (operator, ranks).
    """  # fmt: skip
    found = [(one.code, one.ranks, one.op_name) for one in job.found if one.side == "target"]
    if finding is None:
        assert found == []
    else:
        code, ranks, op_name = finding
        assert found[0][:2] == (code, ranks)
        assert found[0][2].endswith(op_name.replace("/", "_"))
    if first is not None:
        assert job.first is not None
        assert job.first.divergence.op_name.replace("/", "_") == first[0].replace("/", "_")
        assert job.first.ranks == first[1]
