"""Core files: an ELF file by the ELF standard, described as adump describes it, and nothing believed."""

from __future__ import annotations

import shutil
import struct
import subprocess
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.cases import examples
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.reports.core_elf import Core, Memory, core_bytes, read_core

X, Y = bytes(range(24)), bytes(16)
CORE = Core(
    "te_add_1__kernel0",
    device=3,
    chip=5,
    cubes=(1, 67),
    vectors=(0,),
    memories=(
        Memory(101, 0x12C0_0000_0000, 8),
        Memory(2, 0x12C0_4000_0000, 24, (2, 3)),
        Memory(3, 0x12C0_4000_0200, 16, (), valid=False),
    ),
)
DATA = [b"ARGUMENT", X, Y]


def unpacked(form: str, names: str, data: bytes, at: int = 0) -> dict:
    return dict(zip(names.split(), struct.unpack_from(form, data, at), strict=True))


def elf(data: bytes):
    """Header and (name, fields, content) of every section, by the offsets of the ELF standard."""
    header = unpacked(
        "<16sHHI3QI6H",
        "ident type machine version entry phoff shoff flags ehsize phentsize phnum shentsize shnum shstrndx",
        data,
    )
    rows = [
        unpacked(
            "<IIQQQQIIQQ",
            "name type flags addr offset size link info align entsize",
            data,
            header["shoff"] + 64 * at,
        )
        for at in range(header["shnum"])
    ]
    contents = [data[row["offset"] : row["offset"] + row["size"]] for row in rows]
    text = contents[header["shstrndx"]]
    names = [text[row["name"] : text.index(b"\0", row["name"])].decode() for row in rows]
    return header, list(zip(names, rows, contents, strict=True))


def test_the_file_is_an_elf_core_of_an_ascend_with_sections_alone():
    header, sections = elf(core_bytes(CORE, DATA))
    assert header["ident"] == b"\x7fELF\2\1\1" + bytes(9)
    assert {key: header[key] for key in ("type", "machine", "version", "phoff", "phnum")} == {
        "type": 4, "machine": 0x1029, "version": 1, "phoff": 0, "phnum": 0,
    }  # fmt: skip
    assert (header["ehsize"], header["shentsize"], header["shoff"] % 16) == (64, 64, 0)
    assert [name for name, _, _ in sections] == [
        "", ".ascend.devtbl", ".ascend.global", ".ascend.global", ".ascend.global",
        ".ascend.auxinfo.global", ".ascend.kernel_info", ".shstrtab",
    ]  # fmt: skip
    user = [row["type"] - 0x80000000 for _, row, _ in sections[1:-1]]
    assert user == [4, 1, 1, 1, 5, 10]
    assert (sections[0][1]["type"], sections[-1][1]["type"]) == (0, 3)
    places = [(row["offset"], row["size"]) for _, row, _ in sections]
    assert all(end[0] == start[0] + start[1] for start, end in pairwise(places))


def test_the_table_of_the_device_names_the_cores_that_stood_still():
    _, sections = elf(core_bytes(CORE, DATA))
    words = struct.unpack("<4Q2I", sections[1][2])
    assert words == (1 << 1, 1 << 3, 1 << 0, 0, 3, 5)
    assert sections[6][2] == struct.pack("<I", 17) + b"te_add_1__kernel0"


def test_every_piece_of_memory_is_a_section_that_one_other_describes():
    _, sections = elf(core_bytes(CORE, DATA))
    assert [data for _, _, data in sections[2:5]] == DATA
    assert [(row["link"], row["info"]) for _, row, _ in sections[2:5]] == [(5, 0), (5, 1), (5, 2)]
    assert [row["addr"] for _, row, _ in sections[2:5]] == [m.address for m in CORE.memories]
    described = sections[5]
    assert (described[1]["entsize"], len(described[2])) == (232, 3 * 232)
    first, second, third = (described[2][at : at + 232] for at in (0, 232, 464))
    assert struct.unpack_from("<QQIHH", first) == (0x12C0_0000_0000, 8, 2, 101, 0)
    assert struct.unpack_from("<QQIHH", second) == (0x12C0_4000_0000, 24, 3, 2, 0)
    assert struct.unpack_from("<2I3Q", second, 24) == (2, 0, 2, 3, 0)
    assert struct.unpack_from("<QQIHH", third)[1:4] == (16 | 1 << 63, 4, 3)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_readelf_takes_it_for_a_core(tmp_path):
    path = tmp_path / "a.core"
    path.write_bytes(core_bytes(CORE, DATA))
    run = subprocess.run(
        ["readelf", "-h", "-S", "-W", path], capture_output=True, text=True, check=True
    )
    assert "CORE (Core file)" in run.stdout
    assert run.stdout.count(".ascend.global") == 3
    assert run.stderr == ""


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a.core"
    path.write_bytes(core_bytes(CORE, DATA))
    found = read_core(path)
    assert (found.kernel, found.device, found.chip) == (CORE.kernel, 3, 5)
    assert (found.cubes, found.vectors) == ((1, 67), (0,))
    assert [memory._replace(start=-1) for memory in found.memories] == list(CORE.memories)
    held = path.read_bytes()
    assert [held[m.start : m.start + m.size] for m in found.memories] == DATA
    assert [section.name for section in found.sections][2:4] == [".ascend.global"] * 2


memories = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, 7, 101]),
        st.integers(0, 2**64 - 1),
        st.binary(max_size=40),
        st.lists(st.integers(0, 2**63), max_size=25).map(tuple),
        st.booleans(),
    ),
    max_size=5,
)
cores = st.sets(st.integers(0, 127), max_size=4).map(lambda found: tuple(sorted(found)))


@given(memories, cores, cores, st.text(max_size=9))
@settings(derandomize=True, deadline=None, max_examples=examples(60))
def test_any_core_is_read_as_it_was_written(tmp_path_factory, pieces, cubes, vectors, kernel):
    core = Core(
        kernel.replace("\0", ""), 0, 14, cubes, vectors,
        tuple(
            Memory(kind, address, len(data), () if kind == 101 else shape, valid)
            for kind, address, data, shape, valid in pieces
        ),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("core") / "a.core"
    path.write_bytes(core_bytes(core, [piece[2] for piece in pieces]))
    found = read_core(path)
    assert (found.kernel, found.cubes, found.vectors) == (core.kernel, cubes, vectors)
    assert [memory._replace(start=-1) for memory in found.memories] == list(core.memories)


def spoilt(at: int, data: bytes) -> bytes:
    good = bytearray(core_bytes(CORE, DATA))
    good[at : at + len(data)] = data
    return bytes(good)


HEADER, SECTIONS = elf(core_bytes(CORE, DATA))
AUX = SECTIONS[5][1]["offset"]
TABLE = HEADER["shoff"]


@pytest.mark.parametrize(
    ("data", "place", "code", "values"),
    [
        (b"", 0, "core-cut", {"subject": "ELF header", "held": 0}),
        (core_bytes(CORE, DATA)[:63], 0, "core-cut", {"subject": "ELF header", "held": 63}),
        (spoilt(0, b"\x7fELG"), 0, "core-kind", {}),
        (spoilt(4, b"\1"), 0, "core-kind", {}),
        (spoilt(16, b"\2"), 0, "core-kind", {}),
        (spoilt(18, b"\x3e\0"), 18, "core-machine", {"got": 0x3E, "expected": 0x1029}),
        (spoilt(58, b"\x3f\0"), 58, "core-table", {"rows": 8, "size": 63}),
        (spoilt(62, b"\x09\0"), 58, "core-table", {"rows": 8, "size": 64}),
        (core_bytes(CORE, DATA)[:-1], TABLE, "core-cut", {"subject": "section table"}),
        (spoilt(TABLE + 64 * 3 + 32, b"\xff" * 8), TABLE + 64 * 3, "core-cut", {"subject": "section 3"}),
        (spoilt(TABLE + 64 * 2, b"\xff" * 4), SECTIONS[7][1]["offset"], "core-name", {"got": 0xFFFFFFFF}),
        (spoilt(AUX + 16, b"\1"), AUX + 16, "core-section", {"got": 1, "expected": ".ascend.global"}),
        (spoilt(AUX + 8, b"\x09"), AUX + 8, "core-memory", {"needed": 9, "held": 8}),
        (spoilt(TABLE + 64 * 5 + 32, b"\xe7"), AUX, "core-descriptions", {"size": 232}),
        (spoilt(SECTIONS[6][1]["offset"], b"\x12"), SECTIONS[6][1]["offset"], "large", {"subject": "kernel name"}),
    ],
)  # fmt: skip
def test_what_is_no_core_is_refused_with_its_place(tmp_path, data, place, code, values):
    path = tmp_path / "bad.core"
    path.write_bytes(data)
    whole = "core/too-large" if code == "large" else f"dump/{code}"
    with refused(whole, FormatError, place=f"{path}: byte {place}", **values):
        read_core(path)


def test_a_core_without_the_tables_of_a_device_is_one_without_memory(tmp_path):
    path = tmp_path / "bare.core"
    path.write_bytes(core_bytes(Core(), []).replace(b".ascend.", b".another"))
    found = read_core(path)
    assert (found.kernel, found.memories, found.cubes) == ("", (), ())
    assert [section.name for section in found.sections][1] == ".anotherdevtbl"
