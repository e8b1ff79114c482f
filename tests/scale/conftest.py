"""A job of three ranks and two iterations, of which rank 1 is wrong in iteration 1; and a cluster in this process."""

from __future__ import annotations

import distributed
import pytest

from kit.build.jobs import PRODUCT, write_job

FAULT = f"scaled-output:{PRODUCT}:1.5,rank=1,iteration=1"


@pytest.fixture(scope="session")
def trees(tmp_path_factory):
    """Golden, clean and wrong target by name; nobody writes to them."""
    top = tmp_path_factory.mktemp("job")
    return {
        "golden": write_job(top / "golden", device="reference"),
        "clean": write_job(top / "clean"),
        "wrong": write_job(top / "wrong", faults=(FAULT,)),
    }


@pytest.fixture(scope="module")
def client():
    """A client whose only worker is a thread of this process.

    It ends with the module: its threads take memory all the time, which tests of other modules bound.
    """
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as made,
    ):
        yield made
