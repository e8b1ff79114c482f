"""Tensors of files come front to back as they come whole, in the memory of a few pieces."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.arrays import read_all, sources_of
from kit.build.small_dumps import save_container
from kit.cases import examples
from kit.words import refused
from workbench.comparison.measure.reading import SEGMENT
from workbench.comparison.measure.tensors import measure
from workbench.core.dtypes import DATA_TYPES, data_type_of
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource
from workbench.dump.formats.container import Container, TensorEntry
from workbench.dump.formats.container_write import write_container
from workbench.dump.formats.raw import locate, parse_raw_name
from workbench.dump.payload import blocks, rearrange
from workbench.dump.payload.blocks import Buffer, ExtentSource


def source_of(path) -> ExtentSource:
    """The last output of a container."""
    return sources_of(path)[-1]


def small_pieces(size: int):
    """Read 64 bytes at a time, and ``size`` bytes of what is rearranged."""
    return mock.patch.multiple(blocks, STEP=64), mock.patch.multiple(rearrange, PIECE=size)


@given(data=st.data(), most=st.integers(1, 40))
@settings(max_examples=examples(60), deadline=None)
def test_every_number_format_comes_in_order(tmp_path_factory, data, most):
    """Also those of several elements a byte, from any byte of the file on."""
    rows = [row for row in DATA_TYPES.values() if row.packing]
    row = data.draw(st.sampled_from(rows))
    count = data.draw(st.integers(0, 300))
    noise = np.random.default_rng(count).integers(0, 256, 16 * count, np.uint8)
    size = (count * row.bits + 7) // 8
    raw = noise[:size]
    odd = np.zeros(data.draw(st.integers(0, 5)), np.uint8)
    path = tmp_path_factory.mktemp("one") / "Add.a.1.2.3"
    first = TensorEntry("input", 0, odd.size, 4, 2, (odd.size,))
    with path.open("wb") as file:
        block = TensorEntry("output", 0, size, row.code, 2, (count,))
        write_container(file, Container((first, block)), [odd, raw])
    source = source_of(path)
    chunked, whole = small_pieces(64)
    with chunked, whole:
        array = read_all(source, Buffer(4096), most)
    want = source.array()
    assert array.tobytes() == want.tobytes()
    assert (array.dtype, array.shape) == (want.dtype, want.shape)


def test_a_container_compares_as_its_elements_do(tmp_path):
    """Several segments, read by two threads, in a file where elements begin at an odd byte."""
    rng = np.random.default_rng(3)
    golden = rng.standard_normal(2 * SEGMENT + 5).astype(np.float32)
    target = golden * np.float32(1 + 1e-3)
    sources = []
    for name, array in (("t", target), ("g", golden)):
        save_container(tmp_path / name, [(np.zeros(1, np.int8), {})], [array])
        sources.append(source_of(tmp_path / name))
    found = measure(*sources, kernel="numpy", threads=2)
    want = measure(ArraySource(target), ArraySource(golden), kernel="numpy")
    assert found.error == pytest.approx(want.error, rel=1e-12)
    assert found.size == golden.size


def test_a_file_cut_meanwhile_is_refused_with_the_byte(tmp_path):
    path = save_container(tmp_path / "a", [], [np.zeros(5000, np.float32)])
    source = source_of(path)
    source.array()
    reading = source.reading(Buffer(4096))
    assert reading.available() == 1024
    reading.read(1024)
    os.truncate(path, 10_000)
    reading.read(reading.available())
    with refused("dump/npy-short", FormatError, place=f"{path}: byte 10000", held=10000):
        reading.available()
    reading.close()


def test_a_block_outside_its_file_is_refused(tmp_path):
    path = save_container(tmp_path / "a", [], [(np.zeros(8, np.float32), {"shape": (16,)})])
    with refused("dump/block-short", FormatError, needed=64, held=32) as caught:
        source_of(path).reading(Buffer())
    assert caught.value.place.endswith(": output 0")


def test_a_file_larger_than_memory_is_refused(tmp_path, monkeypatch):
    name = "MatMul.mm.3.1.17.output.0.ND.HIFLOAT8"
    (tmp_path / name).write_bytes(bytes(10))

    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr("workbench.dump.payload.blocks.np.empty", no_memory)
    source = ExtentSource(locate(str(tmp_path / name), data_type_of(parse_raw_name(name).dtype)))
    with refused("dump/file-memory", FormatError, got=10):
        source.array()


def test_bytes_of_a_place_come_in_steps_and_end_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "STEP", 8)
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(40)))
    pieces = [bytes(piece) for piece in blocks.raw_chunks(str(path), 3, 20)]
    assert pieces == [bytes(range(3, 11)), bytes(range(11, 19)), bytes(range(19, 23))]


def test_a_tensor_that_its_file_lost_lies_nowhere(tmp_path):
    path = save_container(tmp_path / "a", [], [np.zeros(2, np.float32)])
    extent = source_of(path).extent
    assert ExtentSource(extent).place == extent
    assert ExtentSource(extent._replace(start=-1)).place is None
