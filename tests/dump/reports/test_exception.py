"""Files of failed operators: both scenes written as adump does, read back by another decoder."""

from __future__ import annotations

import numpy as np
import pytest

from kit.arrays import stored
from kit.build.small_dumps import container_bytes
from kit.oracle import dump_files as wire
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.formats.container import block_bytes, locate
from workbench.dump.formats.file import FileName
from workbench.dump.formats.ge_name import exception_stamp, format_ge_name
from workbench.dump.payload.extent import spec_of
from workbench.dump.reports.core_elf import Core, read_core
from workbench.dump.reports.exception import (
    Argument,
    exception_container,
    failed_core,
    read_exception,
    read_failed_core,
    role,
)

X = np.arange(6, dtype=np.float16).reshape(2, 3)
Y = np.full((2, 3), 7, np.float32)
TILING = np.arange(5, dtype=np.uint8)
WORK = np.zeros(4, np.uint8)

ALL = [
    Argument("workspace", WORK, arg_index=3),
    Argument("output", Y, format=0, arg_index=2),
    Argument("input", X, arg_index=0),
    Argument("tiling data", TILING, arg_index=4),
    Argument("general", X, arg_index=1, shaped=False),
]


def written(*args, **kwargs) -> bytes:
    return container_bytes(*exception_container(*args, **kwargs))


def numbers(message: dict) -> dict:
    return {key: value for key, value in message.items() if key != "order"}


def test_the_norm_scene_states_types_formats_and_shapes():
    data = written(ALL[:3], 17, op_name="net/Add", message="[AIC_INFO] x\n")
    header, blocks = wire.container(data)
    assert header["order"] == [1, 2, 3, 4, 6, 8, 9]
    assert (header["version"], header["dump_time"], header["op_name"]) == ("2.0", 17, "net/Add")
    assert header["dfx_message"] == "[AIC_INFO] x\n"
    (_, _, x, x_data), (_, _, y, y_data), (_, _, work, work_data) = blocks
    assert x["order"] == [1, 2, 3, 5, 11]
    assert (x["data_type"], x["format"], x["input_type"], x["size"]) == (2, 2, 2, 12)
    assert x["shape"]["dim"] == [2, 3]
    assert y["order"] == [1, 3, 6, 12]  # format 0 is not written
    assert (y["data_type"], y["arg_index"]) == (1, 2)
    assert work["order"] == [3, 4]
    assert (x_data, y_data, work_data) == (X.tobytes(), Y.tobytes(), WORK.tobytes())


def test_the_brief_scene_knows_bytes_and_some_shapes():
    header, blocks = wire.container(written(ALL, 17))
    assert "op_name" not in header
    stated = [(part, numbers(one)) for part, _, one, _ in blocks]
    shape = {"order": [1], "dim": [2, 3]}
    assert stated == [
        ("input", {"shape": shape, "size": 12, "input_type": 2}),
        ("input", {"size": 5, "arg_index": 4, "input_type": 7}),
        ("input", {"size": 12, "arg_index": 1, "input_type": 1}),
        ("output", {"shape": shape, "size": 24, "arg_index": 2}),
        ("space", {"size": 4, "arg_index": 3}),
    ]


@pytest.mark.parametrize("op_name", ["", "net/Add"])
def test_a_file_is_read_back(tmp_path, op_name):
    path = tmp_path / format_ge_name(FileName("brief", "", "", 20250102030405678, 5, 12))
    path.write_bytes(written(ALL, 17, op_name=op_name, message="log"))
    scene, container = read_exception(path)
    assert scene == ("norm" if op_name else "brief")
    assert (container.dfx_message, container.notes) == ("log", ())
    assert [role(block) for block in container.blocks] == [
        "input", "tiling data", "general", "output", "workspace",
    ]  # fmt: skip
    first = container.blocks[0]
    assert [block_bytes(str(path), block) for block in container.blocks] == [
        one.tobytes() for one in (X, TILING, X, Y, WORK)
    ]
    if op_name:
        assert np.array_equal(stored(path, first), X)
    else:  # a shape without a type says nothing about the elements
        assert spec_of(locate(str(path), first))[:2] == ("undefined", (12,))
        assert stored(path, first).tobytes() == X.tobytes()
        assert container.blocks[0].shape == (2, 3)


def test_a_task_without_arguments_has_no_file():
    with refused("dump/exception-empty", FormatError):
        exception_container([], 17)


def test_an_argument_of_another_role_is_refused():
    with refused("core/choice", FormatError, subject="argument role", got="FFTS address"):
        exception_container([Argument("FFTS address", X)], 17)


def test_the_detailed_scene_keeps_the_memory_of_the_arguments(tmp_path):
    placed = [one._replace(address=4096 * at) for at, one in enumerate(ALL, 1)]
    path = tmp_path / "te_add.12.5.20250102030405678.core"
    path.write_bytes(failed_core(placed, Core("te_add", 0, 5, (), (0,))))
    core, container = read_failed_core(path)
    assert (core.kernel, core.vectors) == ("te_add", (0,))
    stated = [(m.kind, m.address, m.size, m.shape) for m in read_core(path).memories]
    assert stated == [
        (101, 4096 - 40, 40, ()),
        (4, 4096, 4, ()),
        (3, 8192, 24, (2, 3)),
        (2, 12288, 12, (2, 3)),
        (7, 16384, 5, ()),
        (1, 20480, 12, ()),
    ]
    assert [(role(b), b.data_type, b.address) for b in container.blocks] == [
        ("input", 0, 12288),
        ("tiling data", 0, 16384),
        ("general", 0, 20480),
        ("output", 0, 8192),
        ("workspace", 0, 4096),
    ]
    data = [block_bytes(str(path), block) for block in container.blocks]
    assert data == [one.tobytes() for one in (X, TILING, X, Y, WORK)]
    start = core.memories[0].start
    table = np.frombuffer(path.read_bytes()[start : start + 40], "<u8")
    assert table.tolist() == [one.address for one in placed]


def test_a_stamp_is_cut_to_milliseconds():
    from datetime import datetime

    assert exception_stamp(datetime(2025, 12, 31, 23, 59, 59, 999999)) == 20251231235959999
