"""A tree larger than a worker's memory, made when it is read: nothing of it is held whole."""

from __future__ import annotations

import tracemalloc

from kit.build.made_storage import MadeSystem, url
from workbench.core.storage import remote
from workbench.scale.compare_job import compare_job
from workbench.scale.units import plan_job

SIZE = (2, 3, 4, 24)
"""Ranks, iterations, tensors a unit, MiB a tensor."""


def test_a_unit_holds_a_part_of_what_it_reads(client, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "KEPT", 64 << 20)
    trees = [url(side, *SIZE) for side in ("target", "golden")]
    read = []
    real = MadeSystem.cat_file

    def counted(self, path, **more):
        found = real(self, path, **more)
        read.append(len(found))
        return found

    monkeypatch.setattr(MadeSystem, "cat_file", counted)
    tracemalloc.start()
    job = compare_job(*trees, out=tmp_path / "r", client=client, iterations="0")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    needed = sum(one.nbytes for one in plan_job(*trees, iterations="0").units)
    assert job.verdict == "pass"
    assert (
        needed <= sum(read) <= 1.05 * needed
    )  # threads of one file may be further apart than what is kept
    assert most < needed / 2


def test_the_rank_that_is_wrong_is_found(client, tmp_path):
    trees = [url(side, 2, 3, 4, 1) for side in ("target", "golden")]
    job = compare_job(*trees, out=tmp_path / "r", client=client)
    assert (job.first.ranks, job.first.iteration) == ((1,), 2)
    assert "layer3" in job.first.divergence.op_name
