"""Only regular files are opened; nothing blocks, nothing is allocated for what is not there."""

import os
import threading

import pytest

from kit.memory import peak_below
from kit.words import refused
from workbench.core.errors import FormatError, OutputError
from workbench.core.files import (
    encoded,
    file_content,
    is_file,
    open_file,
    open_text,
    write_bytes,
    write_text,
)


def test_the_content_is_read_up_to_a_limit(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert file_content(path, 5) == b"12345"
    with refused("core/too-large", place=str(path), subject="graph", got=5, limit=4):
        file_content(path, 4, "graph")


def test_a_limit_costs_no_memory(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    with peak_below(100_000):
        file_content(tmp_path / "a", 1 << 40)


@pytest.mark.parametrize("name", ["pipe", "folder", "missing", "nul\0", "circle"])
@pytest.mark.parametrize("read", [open_file, open_text, lambda path: file_content(path, 9)])
def test_anything_but_a_regular_file_is_refused_at_once(tmp_path, name, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    codes = "core/missing" if name == "missing" else ("core/unreadable", "core/not-a-file")
    with refused(codes, FormatError):
        read(tmp_path / name)


def test_text_keeps_its_line_ends(tmp_path):
    (tmp_path / "a").write_bytes(b"a\r\nb\xff\n")
    with open_text(tmp_path / "a") as file:
        assert list(file) == ["a\r\n", "b�\n"]


def test_bytes_of_file_names_are_written_as_they_were():
    for data in (b"plain", "größe 权重 \U0001f600".encode(), bytes(range(256))):
        assert encoded(data.decode("utf-8", "surrogateescape")) == data
    assert encoded("a\ud800b\udcffc").decode("utf-8", "surrogateescape") == "a\ufffdb\udcffc"


def test_what_cannot_be_written_is_refused(tmp_path):
    with refused("core/unwritable", OutputError, place=str(tmp_path), subject="report"):
        write_text(tmp_path / ".", "text", "report")


def test_a_file_that_the_system_does_not_open_is_named(tmp_path):
    path = tmp_path / ("x" * 300)  # longer than a name can be
    with refused("core/unreadable", FormatError, place=str(path), subject="graph"):
        open_file(path, "graph")
    assert is_file(path) is False


def test_a_failed_write_leaves_the_old_file_and_no_half_one(tmp_path):
    path = tmp_path / "r.txt"
    write_text(path, "old")
    with pytest.raises(TypeError):
        write_bytes(path, 3)  # type: ignore[arg-type]
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.txt"]


def test_a_pipe_is_written_to_and_never_replaced_by_a_file(tmp_path):
    """A rename onto a device would destroy it; ``--json /dev/null`` is an ordinary wish."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    write_text(pipe, "all of it")
    reader.join(10)
    assert received == ["all of it"]
    assert pipe.is_fifo()


def test_a_link_is_written_through(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "real.json"]
