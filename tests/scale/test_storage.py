"""Trees elsewhere: the same result as from disk, from an S3 server, from memory and from archives."""

from __future__ import annotations

import shutil

import fsspec
import pytest

import workbench as wb
from kit.build.object_store import serve_bucket, upload
from kit.cases import nightly
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.storage import remote
from workbench.scale.compare_job import compare_job
from workbench.scale.units import plan_job

NAMES = ("wrong", "golden")


@pytest.fixture(scope="module")
def small(trees, tmp_path_factory):
    """Outputs of rank 1 in iteration 1 alone: a server on this machine takes milliseconds a file."""
    top = tmp_path_factory.mktemp("small")
    for name in NAMES:
        shutil.copytree(trees[name] / "rank_1", top / name / "rank_1")
        shutil.rmtree(top / name / "rank_1/Net/0/0")
        for path in top.joinpath(name).rglob("*.input.*.npy"):
            path.unlink()
    return {name: top / name for name in NAMES}


@pytest.fixture(scope="module")
def bucket(small):
    """The server with both trees, and their URLs."""
    with serve_bucket("dumps") as (store, client):
        yield store, {name: upload(client, "dumps", name, small[name]) for name in NAMES}


@pytest.fixture(autouse=True)
def forgotten(request):
    """Nothing is kept of the test before."""
    remote.BLOCKS.clear()
    if "bucket" in request.fixturenames:
        store, _ = request.getfixturevalue("bucket")
        store.fail, store.read, store.gets, store.failed = "", 0, 0, 0


def said(job):
    return job.verdict, str(job.sentence), job.units, job.groups, job.diagnoses


@pytest.fixture(scope="module")
def local(small, client, tmp_path_factory):
    out = tmp_path_factory.mktemp("local") / "r"
    return compare_job(*(small[name] for name in NAMES), out=out, client=client)


def test_an_object_store_gives_the_same_and_reads_each_byte_once(
    bucket, small, local, client, tmp_path
):
    """Compared, and compared again in full: its blocks are kept meanwhile."""
    store, urls = bucket
    found = compare_job(*(urls[name] for name in NAMES), out=tmp_path / "r", client=client)
    assert said(found) == said(local)
    files = [path for tree in small.values() for path in tree.rglob("*") if path.is_file()]
    needed = sum(path.stat().st_size for path in files)
    assert plan_job(*(urls[name] for name in NAMES)).nbytes <= store.read <= 1.05 * needed
    kept = b"".join(path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert b"hidden-secret" not in kept


@pytest.mark.parametrize("failure", nightly(["429", "503", "cut"], ["cut"]))
def test_what_a_store_refuses_for_a_time_is_asked_for_again(bucket, small, failure, monkeypatch):
    monkeypatch.setattr(remote, "_PAUSE", 0.01)
    store, urls = bucket
    store.fail, store.each = failure, 15  # every so many reads
    found = wb.compare(*(urls[name] for name in NAMES))
    expected = wb.compare(*(small[name] for name in NAMES))
    assert store.failed > 3
    assert str(found.sentence) == str(expected.sentence)
    assert [row.error for row in found.rows] == [row.error for row in expected.rows]


def test_no_such_bucket_is_an_error(bucket):
    _, urls = bucket
    with refused(("core/unreadable", "core/missing"), FormatError):
        wb.load("s3://nowhere/dump")
    with refused(("core/unreadable", "core/missing"), FormatError):
        wb.load(f"{urls['golden']}/nothing")


def test_memory_gives_the_same(small, local, client, tmp_path):
    system = fsspec.filesystem("memory")
    for name in NAMES:
        for path in small[name].rglob("*"):
            if path.is_file():
                system.pipe(f"/{name}/{path.relative_to(small[name])}", path.read_bytes())
    found = compare_job("memory://wrong", "memory://golden", out=tmp_path / "r", client=client)
    assert said(found) == said(local)
    system.store.clear()


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_gives_the_same(small, local, client, tmp_path, kind):
    archive = shutil.make_archive(str(tmp_path / "wrong"), kind, small["wrong"])
    found = compare_job(archive, small["golden"], out=tmp_path / "r", client=client)
    assert said(found) == said(local)
