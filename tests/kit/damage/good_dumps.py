"""Good dump files of every kind, to be damaged by `mutations`, and all that can be asked of one or of a tree."""

from __future__ import annotations

import io
import json
import random
import re
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import workbench as wb
from kit.arrays import stored
from kit.build.foreign_files import DATA, saved_by_torch
from kit.build.small_dumps import container_bytes, write_ms_pb
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.core.text import readable
from workbench.dump.formats.container import (
    Container,
    Origin,
    TensorEntry,
    block_bytes,
    locate,
    read_container,
)
from workbench.dump.formats.container_write import tensor_block
from workbench.dump.formats.file import FileName, Ids
from workbench.dump.formats.ge_name import format_ge_name
from workbench.dump.formats.mindspore_name import format_name
from workbench.dump.formats.npy import NpySource, fingerprint, npy_header
from workbench.dump.formats.renamed import RENAME_RULES, renamed
from workbench.dump.payload.blocks import Buffer, FileSource
from workbench.dump.payload.extent import HostLayout, spec_of
from workbench.dump.reports.core_elf import Core, read_core
from workbench.dump.reports.exception import (
    Argument,
    exception_container,
    failed_core,
    read_exception,
    role,
)
from workbench.dump.reports.opdebug import overflow_container, parse_record, read_overflow
from workbench.dump.reports.opdebug_json import parse_json, record_json
from workbench.dump.statistics.compute import ge_statistics_of, statistics_of
from workbench.dump.statistics.dialects import FIXED_CATEGORIES
from workbench.dump.statistics.parse import StatisticRow
from workbench.dump.statistics.print import (
    format_ge_statistics,
    format_header,
    format_l2_statistics,
    format_row,
)
from workbench.graph_files.mindspore.write_text import write_ms_text
from workbench.network.models import load_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from workbench.dump.payload.blocks import Reading

    Files = dict[str, bytes]

START = 1_700_000_000_000_000
DATE = 20231114221320123
LEAF = "20231114221320/0/net/1/0"
MS_LEAF = "rank_0/Net/0/0"
FLOATS = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)
DEVICE = {"format": "NC1HWC0", "original_shape": (1, 20, 2, 3)}


BYTE = r" byte \d+: "


@contextmanager
def placed(path: object, place: str = "") -> Iterator[None]:
    """Let errors pass that begin with the file, and the place in it."""
    try:
        yield
    except FormatError as error:
        said = str(error)
        if not re.match(f"{re.escape(readable(path))}:{place}", said):  # as messages show it
            raise AssertionError(f"no place: {said}") from error
        raise


def attempt(path: object, act: Callable[[], Any], place: str = "") -> Any:
    """Do something that may be refused with its place; ``None`` if it was."""
    with suppress(FormatError), placed(path, place):
        return act()
    return None


# ---------------------------------------------------------------- dump files


def npy_files() -> Files:
    """Headers of every version, order and kind of number; bfloat16 as MindSpore names it."""
    found: Files = {}
    arrays = {
        "float32": FLOATS,
        "scalar": np.float16(3),
        "empty": np.zeros((0, 3), np.int64),
        "fortran": np.asfortranarray(FLOATS),
        "big": FLOATS.astype(">f8"),
        "bool": np.array([True, False]),
        "complex": np.complex64([1, 2j]),
    }
    for number, (name, array) in enumerate(arrays.items()):
        file = io.BytesIO()
        np.lib.format.write_array(file, array, version=((1, 0), (2, 0), (3, 0))[number % 3])
        found[f"{name}.npy"] = file.getvalue()
    found["bfloat16.npy"] = npy_header("bfloat16", (2, 3)) + bytes(range(12))
    return found


def ask_npy(_root: Path, path: Path, number: int) -> None:
    source = NpySource(str(path))
    with placed(path, BYTE):
        fingerprint(str(path))
        ask_source(path, source, BYTE)
        source.array()


def ask_source(path: object, source: Any, place: str = "") -> None:
    """A tensor at once and front to back: the same elements, or refused both."""
    attempt(path, source.spec, place)
    array = attempt(path, source.array, place)
    if not hasattr(source, "reading"):  # what is deflated is read at once
        return
    reading = attempt(path, lambda: source.reading(Buffer(1 << 17)) or array, place)
    if reading is not None and reading is not array:
        size = attempt(path, lambda: agree(reading, array), place)
        assert (array is None) == (size is None)


def agree(reading: Reading, array: Any) -> int:
    """Take all elements; raises AssertionError if they are not those of the array."""
    at = 0
    if array is not None:
        array = array.ravel()
    try:
        while count := reading.available():
            taken = reading.read(count)
            if array is not None:
                ours = array[at : at + taken.size].view(np.uint8)
                assert taken.view(np.uint8).data == ours.data
            at += taken.size
    finally:
        reading.close()
    return at


def container_files() -> Files:
    """Containers of several tensors under every name that a container may have."""
    rng = np.random.default_rng(4)
    blocks = [
        tensor_block("input", 0, FLOATS, address=1 << 40),
        tensor_block("input", 1, rng.integers(-8, 8, (5,)), "int4", address=1 << 41),
        tensor_block("output", 0, FLOATS, "bfloat16", origin=Origin("a/b", 0, 1, 1)),
        tensor_block("output", 1, rng.standard_normal(9), "hifloat8", dim_range=((0, 1),)),
        tensor_block("output", 2, np.zeros((1, 2, 2, 3, 16), np.float16), **DEVICE),
        (TensorEntry("buffer", 0, 7), rng.bytes(7)),
        (TensorEntry("space", 0, 5, type=0), rng.bytes(5)),
    ]

    def made(*places: int, **more: Any) -> bytes:
        some = [blocks[place] for place in places]
        if len({bool(block.address) for block, _ in some if block.part in ("input", "output")}) > 1:
            some = [(block._replace(address=0), data) for block, data in some]
        numbers = dict.fromkeys(("input", "output", "buffer", "space"), -1)
        renumbered = []
        for block, _ in some:
            numbers[block.part] += 1
            renumbered.append(block._replace(slot=numbers[block.part]))
        return container_bytes(Container(tuple(renumbered), **more), [data for _, data in some])

    ids = FileName("tensors", "MatMul", "net/mm", START, 3, 1)
    part = ids._replace(ids=Ids(12, 0, 0))
    captured = ids._replace(kind="captured", op_name="net.mm", ids=Ids(dump=2))
    whole = made(0, 1, 5, 6, op_name="net/mm", attrs=(("a", "{}"),))
    return {
        f"{LEAF}/{format_ge_name(ids)}": whole,
        f"{LEAF}/{format_ge_name(part)}": made(2, 3, 4, op_name="net/mm", dump_time=START),
        f"{LEAF}/{format_ge_name(ids._replace(stream_id=None))}": made(4, 2, op_name="x" * 5000),
        f"{LEAF}/{format_ge_name(captured)}": made(*range(7)),
    }


def slice_files() -> Files:
    """Two threads of an operator, and two operators that are slices of one."""
    found: Files = {}
    ends = [{"lower": 0, "higher": 3}, {"lower": 0, "higher": 4}]
    places = [[[{"lower": at, "higher": at + 1}, *ends]] for at in range(2)]
    told = {"slice_instance_num": 2, "outputCutList": [[2, 1, 1]], "inputCutList": [[1, 1, 1]]}
    modes = {
        "mm": told | {"threadMode": True, "output_tensor_slice": places},
        "mm_lxslice{}": told | {"threadMode": False},
    }
    for number in range(2):
        tensors = [
            tensor_block("input", 0, FLOATS),
            tensor_block("output", 0, FLOATS[number : number + 1]),
        ]
        for name, attribute in modes.items():
            attrs = (("_sgt_json_info", json.dumps(attribute)),)
            container = Container(tuple(block for block, _ in tensors), attrs=attrs)
            path = f"{LEAF}/MatMul.{name.format(number)}.3.1.{START}.4.9.{number}.0"
            found[path] = container_bytes(container, [data for _, data in tensors])
    return found


def ask_container(root: Path, path: Path, number: int) -> object:
    with placed(path, BYTE):
        for record in wb.load(root).records:
            source = record.source
            if number % 2 and isinstance(source, FileSource):
                told = ("NHWC", (1, 2, 3, 20)), ("ND", None), ("x", (1, 20, 2, 3))
                form, shape = told[number % 3]
                source = source.with_host(HostLayout(shape, form))
            ask_source(path, source, BYTE)
        container = read_container(path)
        for block in container.blocks:
            spec_of(locate(str(path), block))
            attempt(path, partial(block_bytes, str(path), block), BYTE)
    return ask_tree(root, path, number)


def ask_conversion(root: Path, path: Path, number: int) -> object:
    form = ("NCHW", "", "ND", "NHWC", "HWCN")[number % 5]
    return wb.convert(path, root / "out", format=form, type=("npy", "bin", "msnpy")[number % 3])


def device_npy_files() -> Files:
    """A tensor in a device format as MindSpore O2 keeps it."""
    name = f"Conv2D.net.1.2.{START}.output.0.NC1HWC0.npy"
    return {name: npy_header("float16", (1, 20, 2, 3)) + bytes(1 * 2 * 2 * 3 * 16 * 2)}


RECORDS = {
    "classic": bytes(256)
    + np.array([514, 563, 57, 0, 0x1008005B0000, 0x100800297000], "<u8").tobytes()
    + bytes(720)
    + np.array([0x1008005AE000, 1, 32], "<u8").tobytes()
    + bytes(1000),
    "magic": np.array([0x5A5A5A5A, 0, 1, 1, 0, 88], "<u4").tobytes()
    + np.array([9, 12, 4, 0, 65535, 65535, 0x1240, 0x1260, 0, 3, 32], "<u8").tobytes()
    + bytes(1936),
}
"""Both layouts, by their offsets."""


def overflow_files() -> Files:
    name = FileName("overflow", "Opdebug", "Node_OpDebug", START, 57, 563)
    return {
        f"{LEAF}/{format_ge_name(name._replace(task_id=number))}": container_bytes(
            *overflow_container(parse_record(data), START)
        )
        for number, data in enumerate(RECORDS.values())
    }


def overflow_texts() -> Files:
    name = FileName("overflow-json", "Opdebug", "Node_OpDebug", START, 57, 563, slot=0)
    texts = [
        record_json(parse_record(RECORDS["classic"]), "msaccucmp"),
        record_json(parse_record(RECORDS["classic"]), "mindspore"),
        record_json(parse_record(RECORDS["magic"]), "msaccucmp"),
    ]
    return {
        f"{LEAF}/{format_ge_name(name._replace(slot=slot))}": text.encode()
        for slot, text in enumerate(texts)
    }


ARGUMENTS = [
    Argument("workspace", np.zeros(4, np.uint8), arg_index=3),
    Argument("output", FLOATS, format=0, arg_index=2),
    Argument("input", FLOATS.astype(np.float16)),
    Argument("tiling data", np.arange(5, dtype=np.uint8), arg_index=4),
    Argument("general", FLOATS, arg_index=1, shaped=False),
]
EXCEPTIONS = {
    "brief": (FileName("brief", "", "", DATE, 3, 1), {}),
    "callback": (FileName("callback", "", "kernel", DATE, 3, 1, ids=Ids(core_type=0, core=2)), {}),
    "norm": (FileName("norm", "Add", "net/Add", DATE, 3), {"op_name": "net/Add", "message": "log" * 9}),
}  # fmt: skip


def exception_files() -> Files:
    return {
        f"extra-info/data-dump/0/{format_ge_name(name)}": container_bytes(
            *exception_container(ARGUMENTS, START, **more)
        )
        for name, more in EXCEPTIONS.values()
    }


def core_files() -> Files:
    """A core with arguments that have addresses."""
    named = FileName("core", "", "te_add", DATE, 3, 1)
    placed = [one._replace(address=(number + 1) << 20) for number, one in enumerate(ARGUMENTS)]
    core = failed_core(placed, Core("te_add", chip=5, vectors=(2,)))
    return {f"extra-info/data-dump/0/{format_ge_name(named)}": core}


def ask_record(root: Path, path: Path, number: int) -> object:
    if path.suffix == ".json":
        text = path.read_bytes().decode("utf-8", "replace")
        attempt(path, lambda: parse_json(text, str(path)))
    else:
        attempt(path, lambda: read_overflow(path), BYTE)
    return ask_tree(root, path, number)


def ask_failure(root: Path, path: Path, number: int) -> object:
    if path.suffix == ".core":
        core = attempt(path, lambda: read_core(path), BYTE)
        ends = [memory.start + memory.size for memory in core.memories] if core else []
        assert max(ends, default=0) <= path.stat().st_size
    else:
        attempt(path, lambda: read_exception(path), BYTE)
    return ask_tree(root, path, number)


def ask_tree(root: Path, _path: Path | None = None, _number: int = 0) -> object:
    """Everything that a dump holds."""
    dump = wb.load(root)
    for record in dump.records:
        if record.source is not None:
            ask_source(record.path, record.source)
    for skipped in dump.skipped:
        if skipped.reason in ("unreadable", "bad-row"):
            assert str(skipped.detail).startswith(f"{root}/"), skipped
    for failure in dump.failures:
        for block in failure.container.blocks:
            role(block)
            attempt(failure.path, partial(stored, failure.path, block))
    for graph in dump.graphs.values():
        touch(graph)
    json.dumps(wb.inspect(dump))
    return [*dump.records, *dump.skipped, *(op for order in dump.orders.values() for op in order)]


def raw_files() -> Files:
    return {f"{LEAF}/MatMul.mm.3.1.{START}.output.0.ND.HIFLOAT8": bytes(range(200))}


def pytorch_files() -> Files:
    """Files that PyTorch wrote, and one made by hand, as nodes of a captured graph."""
    names = ("plain", "list", "transposed", "float8", "protocol5", "pair_device_0_0", "dictionary")
    found = {f"{name}_device_0_0.pt": (DATA / f"torch/{name}.pt").read_bytes() for name in names}
    return found | {"hand_device_0_0.pt": saved_by_torch(FLOATS)}


def archives() -> Files:
    """Archives of NumPy, stored and deflated, whose entries are called like tensors and like nodes."""
    found = {}
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        file = io.BytesIO()
        save(file, **{"conv1": FLOATS, "/features/0/Conv_output_0": FLOATS.astype(np.float16)})
        found[f"{name}.npz"] = file.getvalue()
    return found


def golden_files() -> Files:
    file = io.BytesIO()
    np.save(file, FLOATS)
    return {"conv1.0.1700000000000008.npy": file.getvalue()}


def role_files() -> Files:
    """What golden data say of their files."""
    lines = "file,role,of", "conv1.0.1700000000000008.npy,copy,inputs/x.npy", "b.0.9.npy,unread,"
    return {"roles.csv": "\n".join((*lines, "")).encode()}


# ---------------------------------------------------------------- tables


def rows() -> Iterator[StatisticRow]:
    for number, dtype in enumerate(("float32", "int8", "bool", "float16")):
        parts = FileName("npy", "MatMul", "net/mm", START, 3, 1, "input", number, "ND", dtype)
        array = FLOATS.astype(dtype)
        figures = statistics_of(array, ("max", "min", "avg", "count", "l2norm", "md5"))
        yield StatisticRow(parts, array.nbytes, array.shape, figures)


def mindspore_table(categories: tuple[str, ...]) -> str:
    lines = [format_header(categories)]
    for row in rows():
        array = FLOATS.astype(row.parts.dtype)
        spec = TensorSpec(row.parts.dtype, row.shape)
        figures = statistics_of(array, categories)
        lines.append(format_row(row.parts, spec, row.data_size, figures, categories))
    return "".join(lines)


def ge_rows(dialect: str) -> list[StatisticRow]:
    found = []
    for row in rows():
        figures = ge_statistics_of(FLOATS.astype(row.parts.dtype), dialect)
        found.append(row._replace(statistics=figures))
    return found


GE_TABLE = f"{LEAF}/MatMul.net_mm.3.1.{START}.csv"
TABLES: dict[str, Callable[[str], dict[str, str]]] = {
    "mindspore": lambda name: {
        f"{MS_LEAF}/statistic.csv": mindspore_table(("max", "md5", "l2norm"))
    },
    "mindspore-fixed": lambda name: {
        f"{MS_LEAF}/statistic.csv": mindspore_table(
            FIXED_CATEGORIES
        )
    },
    "ge": lambda name: {GE_TABLE: format_ge_statistics(ge_rows(name))},
    "ge-kfc": lambda name: {
        GE_TABLE: format_ge_statistics(ge_rows(name), ("max", "l2norm"), name)
    },
    "msprobe-l2": lambda name: {
        "rank_0/20231114221320/step_0/statistic.csv": format_l2_statistics(rows(), ("max", "min", "avg", "l2norm")),
        "rank_1/20231114221320/step_0/statistic.csv": format_l2_statistics(rows(), ("md5",)),
    },
}  # fmt: skip


def tables(name: str) -> Callable[[], Files]:
    return lambda: {path: text.encode() for path, text in TABLES[name](name).items()}


# ---------------------------------------------------------------- what lies beside tensors


LONG = "Add.{}.0.0.{}.output.0.DefaultFormat.float32.npy"


def mapped() -> tuple[dict[str, list[str]], Files]:
    """Lines of a mapping.csv by every writer, and the files that it names."""
    draw = random.Random(3)
    lines: dict[str, list[str]] = {}
    files: Files = {}
    npy, container = io.BytesIO(), container_files()
    np.save(npy, FLOATS)
    for number, writer in enumerate(RENAME_RULES):
        name = LONG.format("x" * 250, START + number)
        leaf, content = MS_LEAF, npy.getvalue()
        if writer == "adump":
            leaf, content = LEAF, next(iter(container.values()))
            name = f"MatMul.{'x' * 250}.3.1.{START}"
        change = renamed(writer, name, leaf, draw)
        assert change is not None
        folder = f"{writer}/{leaf}"
        lines[folder] = [change[1]]
        files[f"{folder}/{change[0]}"] = content
    return lines, files


def mapped_tree() -> Files:
    """MindSpore's files with too long names."""
    lines, files = mapped()
    prefix = "mindspore/"
    found = {at.removeprefix(prefix): data for at, data in files.items() if at.startswith(prefix)}
    return found | {f"{MS_LEAF}/mapping.csv": "".join(lines[f"mindspore/{MS_LEAF}"]).encode()}


def ask_mapping(root: Path, path: Path, number: int) -> object:
    return ask_tree(next(one for one in path.parents if one.parent == root))


def mindspore_tree() -> Files:
    file = io.BytesIO()
    np.save(file, FLOATS)
    parts = FileName(
        "npy",
        "MatMul",
        "Default/net/mm",
        START,
        0,
        0,
        "output",
        0,
        "DefaultFormat",
        dtype="float32",
    )
    ir = write_ms_text(load_graph("mlp")).encode()
    return {
        f"{MS_LEAF}/{format_name(parts)}": file.getvalue(),
        IR_PLACE: ir,
    }


ORDER = b"NodeExecutionOrder-FullNameWithScope\nDefault/net/mm\nDefault/net/Add-op1\n"
IR_PLACE = "rank_0/graphs/ms_output_trace_code_graph_0.ir"


def side_files() -> Files:
    return {
        "rank_0/execution_order/ms_execution_order_graph_0.csv": ORDER,
        "rank_0/execution_order/ms_global_execution_order_graph_0.csv": b"0,1\n0,2\n",
        "rank_0/.dump_metadata/config.json": b'{"ms_version": "2.10.0", "device_target": "Ascend", "net_name": "Net"}',
        "rank_0/.dump_metadata/data_dump.json": b'{"common_dump_settings": {"dump_mode": 0}}',
        IR_PLACE: mindspore_tree()[IR_PLACE],
        "rank_0/graphs/ms_output_trace_code_graph_1.pb": write_ms_pb(load_graph("mlp")),
    }  # fmt: skip


def touch(value: Any) -> None:
    """Look at everything inside a graph: much of it is decoded when it is asked for."""
    for op in value.ops:
        dict(op.attrs)
        repr(op.attrs)
        assert op.frame or not op.frames
        list(op.flat_inputs())
    assert len(value.by_name) <= len(value.ops)
    assert value.consumers is not None
    hash((value.name, value.parameters))
