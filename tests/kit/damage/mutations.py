"""Seeded damage to a file and to a folder, as a broken disk, a killed writer, an editor or an attacker would do it.

`DAMAGE` has one row for every kind that a file suffers, of which it has one to four; `TREE_DAMAGE` one for what
happens in a folder: contents, names, links, pipes, folders that come and go. The same seed gives the same
damage. Nothing leaves the folder: a link may lead out of it, and what it leads to must stay as it is.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Damage = Callable[[random.Random, bytearray], None]
    TreeDamage = Callable[[random.Random, Path, Path], None]

EXTREME = (
    0,
    1,
    -1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**53 + 1,
    2**62,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
)
NUMBERS = (
    *(str(number).encode() for number in EXTREME),
    b"9" * 400, b"9" * 5000, b"-" + b"1" * 4400, b"1e999", b"-1e-999", b"1e5", b"nan", b"-inf", b"0x7f", b"1_000",
    b"+5", b"-0", b"007", b"1.5", b"", "²".encode(), "٣".encode(), "１".encode(),
)  # fmt: skip
"""What a text has in place of a number; the last three are digits to some functions of Python's."""

PATHS = (
    b"../../x", b"/etc/passwd", b"..", b".", b"a/../../b", b"..\\..\\x", b"C:\\x", b"~/x", b"x\0y", b"\n/x",
    b"/dev/zero", b"//", b"x" * 300, b"%2e%2e%2f", b"$HOME", b"`id`",
)  # fmt: skip
SCRAPS = (
    b"\x00", b"\x00" * 64, b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\xe2\x80\xa8", b"\r",
    b"\r\n", b"\n", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\t", b" " * 200, b'"', b"'", b'"""', b"\\", b"\\u",
    b"\\ud800", b"\\x", b"#", b"//", b",", b",,,", b":", b"=", b"=1+1",
    b"%", b"%para", b"{}", b"${x}", b"None", b"null", b"true", b"()",
)  # fmt: skip
VALUES = (
    b"null",
    b"true",
    b"None",
    b"[]",
    b"{}",
    b"()",
    b'""',
    b"''",
    b"-1",
    b"0",
    b"1e400",
    b"1.5",
    b"[[]]",
    b'{"a": 1}',
    b"nan",
    b"x",
    b"*",
    b"_",
)
PAIRS = (b"()", b"[]", b"{}", b"<>", b'""', b"\x0a\x7f")
DEPTHS = (3, 60, 400, 990, 5000)
NAMES = re.compile(rb"[\w.\-/]{3,}")
DIGITS = re.compile(rb"\d+")
TOKENS = re.compile(rb"""["'](?:[^"'\\\n]|\\.)*["']|[\w.+\-]+|[(\[{][^()\[\]{}\n]*[)\]}]""")
LINES = re.compile(rb"[^\n]*\n")


def mutated(good: bytes, others: Sequence[bytes], seed: object) -> bytes:
    """Return a good file with a few kinds of damage, sometimes with the end of another."""
    draw = random.Random(repr(seed))
    data = bytearray(good)
    if others and draw.random() < 0.05:
        _splice(draw, data, draw.choice(others))
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        draw.choice(DAMAGE)(draw, data)
    return bytes(data)


def _at(draw: random.Random, data: bytearray, room: int = 0) -> int:
    """Return a place; most structure lies in front."""
    last = max(0, len(data) - room)
    return draw.randint(0, last if draw.random() < 0.6 else min(last, 200))


def _flip(draw: random.Random, data: bytearray) -> None:
    for _ in range(draw.choice((1, 1, 2, 8))):
        if data:
            data[_at(draw, data, 1)] ^= 1 << draw.randrange(8)


def _set(draw: random.Random, data: bytearray) -> None:
    if data:
        data[_at(draw, data, 1)] = draw.choice((0, 1, 9, 10, 127, 128, 255, draw.randrange(256)))


def _cut(draw: random.Random, data: bytearray) -> None:
    del data[_at(draw, data) :]


def _drop(draw: random.Random, data: bytearray) -> None:
    at = _at(draw, data)
    del data[at : at + draw.choice((1, 2, 4, 8, 30, 300))]


def _insert(draw: random.Random, data: bytearray) -> None:
    at = _at(draw, data)
    data[at:at] = draw.randbytes(draw.choice((1, 2, 8, 64)))


def _repeat(draw: random.Random, data: bytearray) -> None:
    at, size = _at(draw, data), draw.choice((1, 3, 10, 40, 200, 2000))
    piece = bytes(data[at : at + size])
    most = 1 << (20 if draw.random() < 0.03 else 14)
    times = draw.choice((1, 1, 2, 50, most // max(1, len(piece))))
    data[at:at] = piece * times


def _move(draw: random.Random, data: bytearray) -> None:
    at, size = _at(draw, data), draw.choice((1, 8, 60, 500))
    piece = bytes(data[at : at + size])
    del data[at : at + size]
    there = _at(draw, data)
    data[there:there] = piece


def _blank(draw: random.Random, data: bytearray) -> None:
    at, size = _at(draw, data), draw.choice((1, 8, 100))
    data[at : at + size] = draw.choice((b"\x00", b"\xff", b" ")) * size


def _word(draw: random.Random, data: bytearray) -> None:
    """A number of four or eight bytes, as lengths and sizes are."""
    size, number = draw.choice((4, 8)), draw.choice(EXTREME)
    at = _at(draw, data, size)
    at -= at % size * (draw.random() < 0.7)
    data[at : at + size] = struct.pack("<Q", number % (1 << 64))[:size]


def _varint(draw: random.Random, data: bytearray) -> None:
    """A number as protobuf stores it, in place of another."""
    at = _at(draw, data, 1)
    end = at
    while end < len(data) and data[end] > 127 and end < at + 9:
        end += 1
    number, out = draw.choice(EXTREME) % (1 << 64), bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    data[at : end + 1] = bytes((*out, number))


def _replace(draw: random.Random, data: bytearray, what: re.Pattern[bytes], by: bytes) -> None:
    start = _at(draw, data)
    found = what.search(data, start) or what.search(data)
    if found is not None:
        data[found.start() : found.end()] = by


def _number(draw: random.Random, data: bytearray) -> None:
    _replace(draw, data, DIGITS, draw.choice(NUMBERS))


def _numbers(draw: random.Random, data: bytearray) -> None:
    """Many numbers in place of one: a shape of kilobytes."""
    one = draw.choice((b"1", b"2", b"0", b"99999", b"-1", b"4294967296"))
    _replace(
        draw,
        data,
        DIGITS,
        draw.choice((b", ", b",", b"x", b" ")).join([one] * draw.choice((9, 33, 3000))),
    )


def _token(draw: random.Random, data: bytearray) -> None:
    """A word, number, text or list in place of another: what is damaged stays well-formed."""
    others = [found[0] for found in TOKENS.finditer(data, _at(draw, data))][:50]
    by = draw.choice(others) if others and draw.random() < 0.5 else draw.choice(VALUES)
    _replace(draw, data, TOKENS, by)


def _path(draw: random.Random, data: bytearray) -> None:
    _replace(draw, data, NAMES, draw.choice(PATHS))


def _scrap(draw: random.Random, data: bytearray) -> None:
    at = _at(draw, data)
    data[at:at] = draw.choice(SCRAPS)


def _nest(draw: random.Random, data: bytearray) -> None:
    at, pair, depth = _at(draw, data), draw.choice(PAIRS), draw.choice(DEPTHS)
    left, right = pair[:1], pair[1:]
    if draw.random() < 0.3:
        left += b'"a":'
    data[at:at] = left * depth + (right * depth if draw.random() < 0.6 else b"")


def _lines(draw: random.Random, data: bytearray) -> None:
    kind = draw.randrange(3)
    if kind == 0:
        data[:] = data.replace(b"\n", b"\r\n")
        return
    if kind == 1:
        data[:] = data.replace(b"\n", b"\r" if draw.random() < 0.5 else b"")
        return
    _replace(draw, data, LINES, b"")


DAMAGE: tuple[Damage, ...] = (
    _flip, _set, _cut, _drop, _insert, _repeat, _move, _blank, _word, _varint, _number, _numbers, _token, _token,
    _path, _scrap, _nest, _lines,
)  # fmt: skip


def _splice(draw: random.Random, data: bytearray, other: bytes) -> None:
    """The beginning of one file and the end of another."""
    data[_at(draw, data) :] = other[draw.randint(0, len(other)) :]


# ---------------------------------------------------------------- folders

LONGEST = 255


def damage(root: Path, seed: object) -> int:
    """Damage some files and folders below ``root``; return how many."""
    draw = random.Random(repr(seed))
    count = draw.choice((1, 2, 3, 5, 8, 13))
    for _ in range(count):
        files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
        if files:
            draw.choice(TREE_DAMAGE)(draw, root, draw.choice(files))
    return count


def _content(draw: random.Random, _root: Path, path: Path) -> None:
    path.write_bytes(mutated(path.read_bytes(), [], draw.random()))


def _truncate(draw: random.Random, _root: Path, path: Path) -> None:
    os.truncate(path, draw.randint(0, path.stat().st_size))


def _delete(_draw: random.Random, _root: Path, path: Path) -> None:
    path.unlink()


def _duplicate(draw: random.Random, root: Path, path: Path) -> None:
    folder = draw.choice(folders(root))
    _quietly(lambda: shutil.copyfile(path, folder / _name(draw, path.name)))


def _rename(draw: random.Random, root: Path, path: Path) -> None:
    folder = path.parent if draw.random() < 0.7 else draw.choice(folders(root))
    _quietly(lambda: path.rename(folder / _name(draw, path.name)))


def _swap(draw: random.Random, root: Path, path: Path) -> None:
    """The content of one file under the name of another."""
    files = sorted(one for one in root.rglob("*") if one.is_file() and not one.is_symlink())
    path.write_bytes(draw.choice(files).read_bytes())


def _other_kind(draw: random.Random, root: Path, path: Path) -> None:
    """A folder, a pipe or a link in the place of a file."""
    path.unlink()
    kind = draw.randrange(6)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    else:
        goals = (path, root.parent / "outside", root, Path("/dev/zero"))
        path.symlink_to(goals[kind - 2])


def _folder(draw: random.Random, root: Path, path: Path) -> None:
    """A folder deleted, renamed, copied, or many of them in one another."""
    folder = draw.choice(folders(root)[1:] or [root])
    kind = draw.randrange(5)
    if folder == root:
        return
    if kind == 0:
        shutil.rmtree(folder)
    elif kind == 1:
        _quietly(lambda: folder.rename(folder.parent / _name(draw, folder.name)))
    elif kind == 2:
        name = _name(draw, folder.name)
        _quietly(
            lambda: shutil.copytree(
                folder, folder.parent / name, symlinks=True, copy_function=_copy
            )
        )
    elif kind == 3:
        _quietly(
            lambda: folder.joinpath(*[str(draw.randrange(9))] * draw.choice((3, 20, 200))).mkdir(
                parents=True
            )
        )
    else:
        _quietly(
            lambda: (
                folder.symlink_to(root)
                if not folder.exists()
                else (folder / "loop").symlink_to(root)
            )
        )


def _copy(source: str, goal: str) -> str:
    return shutil.copyfile(source, goal) if os.path.isfile(source) else goal


def folders(root: Path) -> list[Path]:
    return [
        root,
        *sorted(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink()),
    ]


def _name(draw: random.Random, name: str) -> str:
    """A name like another, with what a file system takes."""
    data = mutated(os.fsencode(name), [*PATHS], draw.random())
    data = data.replace(b"/", b"_").replace(b"\0", b"_")[:LONGEST]
    return os.fsdecode(data) if data.strip(b".") else "x"


def _quietly(act: Callable[[], object]) -> None:
    """Do what the file system may refuse."""
    with suppress(OSError, shutil.Error):
        act()


TREE_DAMAGE: tuple[TreeDamage, ...] = (
    *(_content,) * 6, _truncate, _truncate, _delete, _duplicate, _duplicate, _rename, _rename, _swap, _other_kind,
    _folder,
)  # fmt: skip
