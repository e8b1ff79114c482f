"""``workbench convert``: what it prints where, and its exit status."""

from __future__ import annotations

import io

import numpy as np
import pytest

import workbench as wb
from kit.commands import run
from workbench.core.transdata import to_device
from workbench.core.words import Message
from workbench.dump.formats.container import Container
from workbench.dump.formats.container_write import tensor_block, write_container

NAME = "Conv2D.net_conv1.2.7.1700000000000004"
IMAGE = np.arange(2 * 20 * 4 * 5, dtype=np.float16).reshape(2, 20, 4, 5)


@pytest.fixture
def dump(tmp_path):
    block, data = tensor_block(
        "output", 0, to_device(IMAGE, "NCHW", "NC1HWC0"), format=3, original_shape=IMAGE.shape
    )
    file = io.BytesIO()
    write_container(file, Container((block,)), [data])
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / NAME).write_bytes(file.getvalue())
    return folder


def test_a_folder_is_converted_as_the_options_say(capsys, dump, tmp_path):
    out = tmp_path / "out"
    status, shown, errors = run(capsys, "convert", dump, "--out", out, "--format", "NCHW")
    assert (status, errors) == (0, "")
    assert shown == f"{Message('cli/converted', files=1, written=1, out=out, remarks=0)}\n"
    assert np.array_equal(np.load(out / f"{NAME}.output.0.2x20x4x5.npy"), IMAGE)


@pytest.mark.parametrize(
    "options",
    [[], ["--format", "NCHW"], ["--type", "msnpy"], ["--type", "msnpy", "--format", "NCHW"]],
)
def test_what_was_converted_is_a_dump_again(capsys, dump, tmp_path, options):
    out = tmp_path / "out"
    assert run(capsys, "convert", dump, "--out", out, *options)[0] == 0
    (record,) = wb.load(out).records
    assert (record.key.op_type, record.key.io, record.key.slot) == ("Conv2D", "output", 0)
    assert record.label.shape is None
    assert record.label.format in ("", "NCHW", "NC1HWC0")
    want = IMAGE if "NCHW" in options else to_device(IMAGE, "NCHW", "NC1HWC0")
    assert np.array_equal(record.source.array(), want)
    status, _, errors = run(capsys, "convert", out, "--out", tmp_path / "again")
    assert status == 2
    why = Message("dump/convert-nothing", why=Message("dump/npy-already"))
    assert errors.endswith(f": {why}\n")


def test_bin_files_are_written_on_request(capsys, dump, tmp_path):
    options = ("--out", tmp_path / "out", "--type", "bin", "--format", "NHWC")
    status, _, _ = run(capsys, "convert", dump / NAME, *options)
    found = (tmp_path / "out" / f"{NAME}.output.0.800.float16.NHWC.bin").read_bytes()
    assert status == 0
    assert found == IMAGE.transpose(0, 2, 3, 1).tobytes()


def test_texts_beside_containers_are_called_texts(capsys, dump, tmp_path):
    for name in ("acl_dump_0.json", "ge_proto_00000000_Build.txt", "statistic.csv"):
        (dump / name).write_bytes(b"graph {\n}\n" * 20)
    status, _, errors = run(capsys, "convert", dump, "--out", tmp_path / "out")
    assert status == 0
    assert errors.splitlines() == [
        f"{dump}/{name}: {Message('dump/convert-text', suffix=name[name.index('.') :])}"
        for name in ("acl_dump_0.json", "ge_proto_00000000_Build.txt", "statistic.csv")
    ]


def test_a_container_with_the_suffix_of_a_text_is_one(capsys, dump, tmp_path):
    (dump / NAME).rename(dump / "good.txt")
    status, _, errors = run(capsys, "convert", dump / "good.txt", "--out", tmp_path / "out")
    assert (status, errors) == (0, "")


def test_remarks_go_to_stderr_and_the_status_stays_0(capsys, dump, tmp_path):
    for number in range(7):
        (dump / f"note{number}.dat").write_bytes(b"\xff" * 50)
    status, shown, errors = run(capsys, "convert", dump, "--out", tmp_path / "out")
    assert status == 0
    assert shown.endswith("1 written to " + str(tmp_path / "out") + ", 7 remarks\n")
    lines = errors.splitlines()
    for number, line in enumerate(lines[:5]):
        assert line.startswith(f"{dump}/note{number}.dat: byte 0")
    assert len(lines) == 6
    assert lines[5].startswith("… 2 more: byte 0: ")


def test_the_face_has_it(dump, tmp_path):
    result = wb.convert(dump, tmp_path / "out", format="NHWC")
    assert result.written == (f"{NAME}.output.0.2x4x5x20.npy",)
    assert repr(result).endswith("1 file, 1 written, 0 remarks>")
