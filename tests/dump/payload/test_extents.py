"""Every format keeps one contract: where a tensor's bytes lie, inside the file, in memory that does not grow with it.

A case is a format with a tensor that a hand-made file holds; what it is comes from `struct`, `numpy.frombuffer` and
loops. Each case is read sound, cut off at every place, damaged at random, and from a file of more than 64 MiB.
"""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from kit.arrays import read_all
from kit.build.foreign_files import pickled_tensor, torch_file
from kit.build.small_dumps import LEAF
from kit.cases import thinned
from kit.memory import measured, peak_below
from kit.oracle.dump_files import (
    counted,
    device_by_loops,
    field,
    grouped_by_loops,
    matrix_by_loops,
    mutate,
)
from kit.wire import varint
from workbench.core.dtypes import data_type_of
from workbench.core.errors import FormatError
from workbench.dump.formats import raw
from workbench.dump.formats.container import list_tensors, read_container
from workbench.dump.formats.ffts import read_part, slice_records
from workbench.dump.formats.raw import parse_raw_name
from workbench.dump.formats.table import parse_name
from workbench.dump.payload import blocks, rearrange
from workbench.dump.payload.blocks import Buffer, ExtentSource
from workbench.dump.readers import npy_source, saved_sources

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.dump.payload.extent import Extent

Files = dict[str, bytes]
MIB = 1 << 20
SPARE = 4 * MIB
"""Memory that reading may take beside the tensor."""

CODES = {"float32": 1, "float16": 2, "int8": 3, "int32": 4, "bfloat16": 27, "int4": 28}
OPERATOR = "Conv2D.net_conv.2.7.1700000000000001"


class Case(NamedTuple):
    """A format: files of a small dump that holds one tensor as its last output, and what the tensor is."""

    name: str
    files: Files
    array: np.ndarray


def npy(descr: str, shape, data: bytes, fortran=False) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


def dims(shape) -> bytes:
    return field(1, b"".join(map(varint, shape)))


def output(dtype, shape, size, form=2, original=(), groups=0) -> bytes:
    """Message of an output, field by field."""
    message = field(1, CODES[dtype]) + field(2, form) + field(3, dims(shape)) + field(6, size)
    message += field(7, dims(original)) if original else b""
    return field(3, message + (field(8, groups) if groups else b""))


def container(header: bytes, data: bytes) -> bytes:
    header = field(1, b"2.0") + header
    return len(header).to_bytes(8, "little") + header + data


def held(dtype, array, form, original, groups=0) -> Files:
    """A container of one output as it lies on the device, behind an input of an odd size."""
    odd = field(4, field(1, 3) + field(3, dims((3,))) + field(5, 3))
    one = output(dtype, array.shape, array.nbytes, form, original, groups)
    return {OPERATOR: container(one + odd, b"odd" + array.tobytes())}


def slices(array, form=2, original=()) -> Files:
    """Two threads of an operator, each with one half of its output along the first axis."""
    ends = [{"lower": 0, "higher": size} for size in array.shape[1:]]
    half = len(array) // 2
    places = [[[{"lower": at, "higher": at + half}, *ends]] for at in (0, half)]
    said = {"threadMode": True, "slice_instance_num": 2, "output_tensor_slice": places,
            "outputCutList": [[2, *[1] * (array.ndim - 1)]], "inputCutList": []}  # fmt: skip
    found = {}
    for number, part in enumerate((array[:half], array[half:])):
        header = output("float32", part.shape, part.nbytes, form, original)
        header += field(7, field(1, b"_sgt_json_info") + field(2, json.dumps(said).encode()))
        found[f"Conv2D.conv.2.7.170000000000000{number}.4.9.{number}.0"] = container(
            header, part.tobytes()
        )
    return found


def torch(array, strides, data) -> Files:
    pickle = pickled_tensor(array.dtype.name, array.shape, strides, held=data.size)
    return {"Add_add_output.0.pt": torch_file(pickle, {"0": data.tobytes()})}


def ms(form: str, dtype: str = "float32") -> str:
    return f"Conv2D.conv.2.7.1700000000000001.output.0.{form}.{dtype}.npy"


FLOATS = counted((2, 3, 4), np.float32)
IMAGE = counted((2, 17, 3, 2), np.float32)
WEIGHT = counted((6, 3, 2, 2), np.float32)
MATRIX = counted((2, 17, 20), np.float32)
CHWN = counted((17, 3, 2, 5), np.float32)
NIBBLES = np.array([1, -2, 7, -8, 3])
BRAIN = np.arange(6, dtype="<u2") + 0x3F80

CASES = [
    Case("container", held("float32", FLOATS, 2, (2, 3, 4)), FLOATS),
    Case("container of bfloat16", held("bfloat16", BRAIN, 2, ()),
         (BRAIN.astype(np.uint32) << 16).view(np.float32).astype(ml_dtypes.bfloat16)),
    Case("container of int4",
         {OPERATOR: container(output("int4", (5,), 3), b"\xe1\x87\x03")}, NIBBLES.astype(ml_dtypes.int4)),
    Case("container in NC1HWC0",
         held("float32", device_by_loops(IMAGE, "NCHW", "NC1HWC0", 16), 3, IMAGE.shape), IMAGE),
    Case("container in NC1HWC0 of CHWN",
         held("float32", device_by_loops(CHWN, "CHWN", "NC1HWC0", 16), 3, CHWN.shape), CHWN),
    Case("container in FRACTAL_NZ", held("float32", matrix_by_loops(MATRIX, 16), 29, MATRIX.shape), MATRIX),
    Case("container in FRACTAL_Z of groups",
         held("float32", grouped_by_loops(WEIGHT[:, :, None], 3, 16), 4, WEIGHT.shape, 3), WEIGHT),
    Case("npy", {ms("ND"): npy("<f4", FLOATS.shape, FLOATS.tobytes())}, FLOATS),
    Case("npy in Fortran order",
         {ms("ND"): npy("<f4", FLOATS.shape, FLOATS.tobytes("F"), True)}, FLOATS),
    Case("npy in the other byte order",
         {ms("ND"): npy(">f4", FLOATS.shape, FLOATS.astype(">f4").tobytes())}, FLOATS),
    Case("npy in FRACTAL_NZ with the host's shape",
         {ms("FRACTAL_NZ"): npy("<f4", MATRIX.shape, matrix_by_loops(MATRIX, 16).tobytes())}, MATRIX),
    Case("npy in NC1HWC0 with the device's shape",
         {ms("NC1HWC0"): npy("<f4", (2, 2, 3, 2, 16), device_by_loops(IMAGE, "NCHW", "NC1HWC0", 16).tobytes())},
         device_by_loops(IMAGE, "NCHW", "NC1HWC0", 16)),
    Case("bare bytes", {ms("ND", "INT16").removesuffix(".npy"): bytes(range(10))},
         np.frombuffer(bytes(range(10)), "<i2")),
    Case("slices", slices(FLOATS), FLOATS),
    Case("slices in NC1HWC0",
         slices(device_by_loops(IMAGE, "NCHW", "NC1HWC0", 16), 3, IMAGE.shape), IMAGE),
    Case("torch", torch(FLOATS, (12, 4, 1), FLOATS.ravel()), FLOATS),
    Case("torch with strides", torch(FLOATS.T, (1, 4, 12), FLOATS.ravel()), FLOATS.T),
]  # fmt: skip
NAMES = [case.name for case in CASES]


def save(root: Path, files: Files) -> Path:
    leaf = root / LEAF
    leaf.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (leaf / name).write_bytes(data)
    return leaf


def sources(leaf: Path, files: Iterable[str]):
    """Sources of the tensors of files as the folder's reader makes them; of a container those of its outputs."""
    names = [*files]
    path = str(leaf / names[0])
    if len(names) > 1:
        parts = [
            read_part(str(leaf / name), parse_name(name), read_container(leaf / name))
            for name in names
        ]
        if None in parts:
            return []
        records = slice_records(parts, (0, 0, 0, ""))
        return [one.source for one in records if one.key.io == "output"]
    if path.endswith(".npy"):
        return [npy_source(path, parse_name(names[0]))]
    if path.endswith(".pt"):
        return saved_sources(path)
    if (bare := parse_raw_name(names[0])) is not None:
        return [ExtentSource(raw.locate(path, data_type_of(bare.dtype)))]
    return [ExtentSource(extent) for extent in list_tensors(path).outputs]


def check_inside(extent: Extent) -> None:
    if extent.problem is not None:
        return
    for one in extent.slices or (extent,):
        assert 0 <= one.start <= os.stat(one.path).st_size
    if not extent.slices:
        assert extent.end <= os.stat(extent.path).st_size


def agrees(source, expected: np.ndarray) -> None:
    """At once and piece by piece, of any length, a source gives what is expected."""
    array = source.array()
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
    assert array.tobytes() == expected.tobytes()
    spec = source.spec()
    assert spec.shape == expected.shape
    for buffer, most in ((Buffer(256), 10**9), (Buffer(4096), 5)):
        assert read_all(source, buffer, most).tobytes() == expected.tobytes()


@pytest.mark.parametrize("pieces", [1 << 20, 64])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_sound_file_gives_its_elements(tmp_path, monkeypatch, case, pieces):
    monkeypatch.setattr(blocks, "STEP", pieces)
    monkeypatch.setattr(rearrange, "PIECE", pieces)
    leaf = save(tmp_path, case.files)
    (source,) = sources(leaf, case.files)
    check_inside(source.located())
    agrees(source, case.array)
    if isinstance(source, ExtentSource):
        scattered = case.name in ("slices", "slices in NC1HWC0", "torch with strides")
        assert source.place == (None if scattered else source.located())


def attempt(leaf: Path, files: Iterable[str]) -> list[np.ndarray]:
    """What a file gives, or nothing: whatever it is, it is read inside itself or refused with its place."""
    found = []
    try:
        for source in sources(leaf, files):
            check_inside(source.located())
            array = source.array()
            assert read_all(source, Buffer(4096)).tobytes() == array.tobytes()
            found.append(array)
    except FormatError as error:
        place = error.place
        if not place.startswith((str(leaf), "slice ", "output 0", "input 0")) and len([*files]) < 2:
            raise AssertionError(place) from error
    return found


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_file_that_is_cut_off_never_gives_its_tensor(tmp_path, case):
    """But for bare bytes, which state no length: they are the beginning of it."""
    leaf = save(tmp_path, case.files)
    name, data = [*case.files.items()][-1]
    places = {*range(0, len(data), max(1, len(data) // 23)), len(data) - 1}
    for end in sorted(places):
        (leaf / name).write_bytes(data[:end])
        for array in attempt(leaf, case.files):
            if case.name == "bare bytes":
                assert array.tobytes() == case.array[: end // 2].tobytes()
            else:
                assert array.shape != case.array.shape


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_damaged_file_is_read_inside_itself_or_refused(tmp_path, case):
    rng = np.random.default_rng(6)
    leaf = save(tmp_path, case.files)
    names = [*case.files]
    attempt(leaf, names)  # modules are not counted
    with peak_below(SPARE):
        for number in thinned(range(60), 3):
            name = names[number % len(names)]
            (leaf / name).write_bytes(mutate(case.files[name], rng))
            attempt(leaf, names)
            (leaf / name).write_bytes(case.files[name])


LONG, ON_DEVICE, ON_HOST = (80, MIB // 4), (80, 16, 32, 32, 16), (80, 250, 32, 32)
SIZE = 4 * 80 * 16 * 32 * 32 * 16


def large_torch() -> bytes:
    pickle = pickled_tensor("float32", LONG, (LONG[1], 1), held=20 * MIB)
    return torch_file(pickle, {"0": bytes(80 * MIB)})


LARGE = {
    "npy": (lambda: {ms("ND"): (npy("<f4", LONG, b""), 80 * MIB)}, LONG, 0),
    "container": (
        lambda: {OPERATOR: (container(output("float32", LONG, 80 * MIB), b""), 80 * MIB)}, LONG, 0,
    ),
    "container in NC1HWC0": (
        lambda: {OPERATOR: (container(output("float32", ON_DEVICE, SIZE, 3, ON_HOST), b""), SIZE)},
        ON_HOST, 4 * rearrange.PIECE,
    ),
    "bare bytes": (lambda: {ms("ND", "FLOAT").removesuffix(".npy"): (b"", 80 * MIB)}, (20 * MIB,), 0),
    "slices": (
        lambda: {name: (data[: -40 * MIB], 40 * MIB)
                 for name, data in slices(np.zeros(LONG, np.float32)).items()}, LONG, 0,
    ),
    "torch": (lambda: {"Add_add_output.0.pt": (large_torch(), 0)}, LONG, 0),
}  # fmt: skip
"""Format → files with the size of the hole behind their bytes, shape of the tensor, bytes of the pieces that it is
rearranged in."""


@pytest.mark.parametrize("name", LARGE)
def test_memory_beside_a_large_tensor_is_bounded(tmp_path, name):
    """To find it, to read it in pieces, and to hold it whole: 4 MiB more than what is asked for."""
    made, shape, pieces = LARGE[name]
    for file, (head, hole) in made().items():
        (tmp_path / file).write_bytes(head)
        os.truncate(tmp_path / file, len(head) + hole)  # it takes no room on the disk
    files, buffer = sorted(path.name for path in tmp_path.iterdir()), Buffer()
    sources(tmp_path, files)  # modules are not counted
    with measured() as peak:
        (source,) = sources(tmp_path, files)
        assert source.spec().shape == shape
        check_inside(source.located())
        assert peak() < SPARE
        reading, size = source.reading(buffer), 0
        while count := reading.available():
            size += reading.read(count).size
        reading.close()
        assert size == int(np.prod(shape))
        assert peak() < pieces + SPARE
        tracemalloc.reset_peak()
        array = source.array()
        assert peak() < array.nbytes + pieces + SPARE
    assert (array.shape, bool(array.any())) == (shape, False)


HOSTILE = {
    "fields that nobody declares": lambda: field(99, b"") * 20_000,
    "attributes without text": lambda: field(7, b"") * 20_000,
    "outputs without fields": lambda: field(3, b"") * 20_000,
    "outputs of many dimensions": lambda: field(3, field(3, dims([2**40] * 31))) * 6_000,
    "a name of 60 MiB": lambda: field(6, bytes(60 * MIB)),
    "an original operator of 60 MiB": lambda: field(3, field(4, field(1, bytes(60 * MIB)))),
    "a text of 60 MiB": lambda: field(7, field(2, bytes(60 * MIB))),
    "a field of 60 MiB that nobody declares": lambda: field(77, bytes(60 * MIB)),
}
"""What a header of a container may claim to make its reader take memory."""


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_header_takes_no_memory(tmp_path, what):
    header, path = HOSTILE[what](), tmp_path / OPERATOR
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    del header
    with peak_below(SPARE):
        try:
            found = list_tensors(str(path))
        except FormatError as error:
            assert error.place.startswith(f"{path}: byte ")  # noqa: PT017
        else:
            assert (found.inputs, found.outputs) == ((), ())


def test_a_header_is_read_once(tmp_path, monkeypatch):
    """What an index has found is all that whoever compares asks for."""
    leaf = save(tmp_path, held("float32", FLOATS, 2, FLOATS.shape))
    (source,) = sources(leaf, [OPERATOR])
    for name in ("parse_short", "read_fields", "read_container"):
        monkeypatch.setattr(f"workbench.dump.formats.container.{name}", None)
    agrees(source, FLOATS)
    assert (source.place.nbytes, source.place.address, source.place.origin) == (96, 0, None)
