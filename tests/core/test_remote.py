"""Files elsewhere: paths, ranges, blocks that are kept, retries."""

from __future__ import annotations

import io
import tarfile
import zipfile

import fsspec
import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import (
    file_content,
    file_size,
    folder_files,
    is_file,
    is_remote,
    open_file,
)
from workbench.core.storage import remote
from workbench.core.storage.remote import BLOCK, HEAD, SMALL, RemoteFile, spelled

DATA = np.random.default_rng(0).integers(0, 256, HEAD + 2 * BLOCK + 77, np.uint8).tobytes()


@pytest.fixture(autouse=True)
def memory():
    """A file system in memory with files of three sizes; nothing is kept of the test before."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    remote.BLOCKS.clear()
    for name, size in (("small", 100), ("medium", SMALL + 1), ("large", len(DATA)), ("empty", 0)):
        system.pipe(f"/top/{name}", DATA[:size])
    yield system
    system.store.clear()


@pytest.fixture
def ranges(memory, monkeypatch):
    """Bytes of every range that was asked for."""
    asked = []
    real = type(memory).cat_file

    def counted(self, path, start=None, end=None, **more):
        asked.append((path, start, end))
        return real(self, path, start=start, end=end, **more)

    monkeypatch.setattr(type(memory), "cat_file", counted)
    return asked


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://b/x", "s3://b/x"),
        ("s3:/b/x", "s3://b/x"),
        ("hdfs://h:8020/x", "hdfs://h:8020/x"),
        ("ssh://me@h/x", "ssh://me@h/x"),
        ("memory:///top", "memory://top"),
        ("x.zip!/a", "x.zip!/a"),
        ("x.tar!", "x.tar!"),
        ("s3:/b/x.zip!/a", "s3://b/x.zip!/a"),
    ],
)
def test_a_path_elsewhere_is_known(path, expected):
    if path != "memory:///top":
        assert is_remote(path)
        assert spelled(path) == expected


@pytest.mark.parametrize(
    "path", ["/a/b", "a/b", "C:/x", "C:\\x", "a:b", "", "~/x", "./s3:x", "x!y"]
)
def test_a_path_here_is_not(path):
    assert not is_remote(path)


def test_a_password_is_refused_and_not_repeated():
    with refused("core/url-password", WorkbenchError) as caught:
        RemoteFile("ssh://me:secret@host/x")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["small", "medium", "large", "empty"])
@pytest.mark.parametrize("step", [1 << 30, 1 << 20, 99_991])
def test_a_file_is_read_front_to_back_each_byte_once(memory, ranges, name, step):
    expected = memory.cat_file(f"/top/{name}")
    ranges.clear()
    with RemoteFile(f"memory://top/{name}") as file:
        pieces = []
        while piece := file.read(step):
            pieces.append(piece)
    assert b"".join(pieces) == expected
    assert sum(end - start for _, start, end in ranges) == len(expected)


@pytest.mark.parametrize("at", [0, 50, HEAD - 1, HEAD, HEAD + BLOCK - 3, len(DATA) - 5])
def test_a_header_costs_a_block(ranges, at):
    file = RemoteFile("memory://top/large")
    file.seek(at)
    assert file.read(5) == DATA[at : at + 5]
    assert file.tell() == at + 5
    read = sum(end - start for _, start, end in ranges)
    assert read <= (HEAD if at + 5 <= HEAD else HEAD + BLOCK if at < HEAD else 2 * BLOCK)


def test_what_was_read_is_not_asked_for_again(ranges):
    for _ in range(3):
        assert RemoteFile("memory://top/small").read(100) == DATA[:100]
    assert len(ranges) == 1


def test_a_file_that_changed_is_asked_for_again(memory, ranges):
    assert RemoteFile("memory://top/small").read(100) == DATA[:100]
    memory.pipe("/top/small", DATA[1:101])
    assert RemoteFile("memory://top/small").read(100) == DATA[1:101]


def test_blocks_that_are_kept_are_bounded(monkeypatch):
    monkeypatch.setattr(remote, "KEPT", 2 * BLOCK)
    with RemoteFile("memory://top/large") as file:
        file.read(len(DATA))
    assert 0 < sum(map(len, remote.BLOCKS._kept.values())) <= 2 * BLOCK


def test_small_files_are_fetched_together(ranges):
    room = remote.fetch_small("memory://top", 1000)
    assert room == 900
    asked = len(ranges)
    assert RemoteFile("memory://top/small").read(100) == DATA[:100]
    assert len(ranges) == asked


def test_what_opens_files_opens_those_elsewhere():
    assert file_content("memory://top/medium", 1 << 20) == DATA[: SMALL + 1]
    assert file_size("memory://top/medium") == SMALL + 1
    with open_file("memory://top/small") as file:
        assert (file.read(4), file.seek(0, io.SEEK_END)) == (DATA[:4], 100)
    assert folder_files("memory://top") == ["empty", "large", "medium", "small"]
    assert folder_files("memory://nothing") == []
    assert [is_file(f"memory://top{name}") for name in ("/small", "", "/x")] == [True, False, False]
    with refused("core/missing", FormatError):
        open_file("memory://top/x")
    with refused("core/not-a-file", FormatError):
        open_file("memory://top")
    with refused("core/too-large", FormatError):
        file_content("memory://top/large", 1000)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_is_read_in_place(memory, tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("d/x", DATA[:5000])
    else:
        with tarfile.open(path, "w") as file:
            info = tarfile.TarInfo("d/x")
            info.size = 5000
            file.addfile(info, io.BytesIO(DATA[:5000]))
    memory.pipe(f"/top/b.{kind}", path.read_bytes())
    for top in (str(path), f"memory://top/b.{kind}"):
        assert folder_files(f"{top}!") == ["d"]
        assert folder_files(f"{top}!/d") == ["x"]
        assert file_content(f"{top}!/d/x", 1 << 20) == DATA[:5000]
        with RemoteFile(f"{top}!/d/x") as file:
            file.seek(4000)
            assert file.read(10) == DATA[4000:4010]


@pytest.mark.parametrize("path", ["nosuch://x/y", "a.rar!/x"])
def test_what_nobody_reads_is_refused(path):
    with refused(("core/url", "core/archive"), WorkbenchError):
        RemoteFile(path)


class Cut(Exception):
    """What a library raises whose connection is cut; no OSError."""


@pytest.mark.parametrize("error", [Cut("cut"), OSError("503"), TimeoutError(), None])
def test_what_fails_for_a_time_is_tried_again(memory, monkeypatch, error):
    left = [2]
    real = type(memory).cat_file
    monkeypatch.setattr(remote, "_PAUSE", 0)

    def failing(self, path, **more):
        if left[0]:
            left[0] -= 1
            if error is None:
                return b"short"
            raise error
        return real(self, path, **more)

    monkeypatch.setattr(type(memory), "cat_file", failing)
    assert RemoteFile("memory://top/small").read(100) == DATA[:100]
    left[0] = 1000
    remote.BLOCKS.clear()
    with pytest.raises(OSError):
        RemoteFile("memory://top/small").read(100)


def test_threads_that_want_one_block_ask_for_it_once(memory, ranges, monkeypatch):
    """Two that read a file together meet at its blocks."""
    import time
    from concurrent.futures import ThreadPoolExecutor

    real = remote.read_range

    def slow(path, start, end):
        time.sleep(0.05)
        return real(path, start, end)

    monkeypatch.setattr(remote, "read_range", slow)
    with ThreadPoolExecutor(4) as pool:
        pieces = [*pool.map(lambda _: RemoteFile("memory://top/large").read(len(DATA)), range(4))]
    assert pieces == [DATA] * 4
    assert sum(end - start for _, start, end in ranges) == len(DATA)
    assert remote.BLOCKS._asked == {}
