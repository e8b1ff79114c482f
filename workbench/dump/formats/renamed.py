"""Names that are too long for a file: four writers, four ways, one ``mapping.csv``.

Each writer gives the file another name and adds a line to the ``mapping.csv`` beside it. Sources:
MindSpore ``dump_json_parser.cc``/``Common``, adump ``file_utils.cpp``, msprobe
``AclDumpDataProcessor.cpp``, msaccucmp ``file_utils.py``.
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import MAX_NAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

Writer = Literal["mindspore", "adump", "msprobe", "msaccucmp"]

FILE_NAME = "mapping.csv"
MANY = 1000
"""Wrong lines of one file that are told one by one."""

_RAND_MAX = (1 << 31) - 1
_THREE_DIGITS = 100  # with fewer, readers take the file for something else
_MASK = (1 << 64) - 1


class RenameRule(NamedTuple):
    """How a writer renames: the shortest length it renames, and the name it gives.

    ``new_name`` takes the folder, the name and a source of random numbers.
    """

    shortest: int
    new_name: Callable[[str, str, Random], str]


def _random_number(_folder: str, _name: str, random: Random) -> str:
    return f"{random.randint(_THREE_DIGITS, _RAND_MAX)}.npy"


def _path_hash(folder: str, name: str, _random: Random) -> str:
    return str(string_hash(f"{folder}/{name}".encode()))


def _random_digits(_folder: str, name: str, random: Random) -> str:
    digits = "".join(random.choices("0123456789", k=32))
    return f"{digits}.{name.rpartition('.')[2]}" if "." in name else digits


def _name_hash(_folder: str, name: str, _random: Random) -> str:
    suffix = ".bin" if name.endswith(".bin") else ".npy"
    text = name.encode("utf-8", "replace").decode()  # a name of the file system may be no text
    return uuid.uuid3(uuid.NAMESPACE_DNS, text).hex + suffix


RENAME_RULES: dict[Writer, RenameRule] = {
    "mindspore": RenameRule(MAX_NAME_BYTES + 1, _random_number),
    "adump": RenameRule(MAX_NAME_BYTES + 1, _path_hash),
    "msprobe": RenameRule(MAX_NAME_BYTES + 1, _random_digits),
    "msaccucmp": RenameRule(MAX_NAME_BYTES, _name_hash),
}
"""Writer → its way. adump waits for the file system's refusal: 255 bytes is the limit of most."""

_RENAMED = re.compile(r"\d{3,20}(\.npy)?|\d{32}(\.\w{1,16})?|[0-9a-f]{32}\.(npy|bin)", re.ASCII)


def renamed(writer: Writer, name: str, folder: str, random: Random) -> tuple[str, str] | None:
    """Return the name that a writer gives in place of ``name``, and its line of ``mapping.csv``.

    ``None`` if the name stays. ``folder`` is the full path of the file's folder, which adump's number
    depends on; ``random`` is the source of the numbers of MindSpore and msprobe.
    """
    if not is_too_long(writer, name):
        return None
    new = RENAME_RULES[writer].new_name(folder, name, random)
    return new, f"{new},{name}\n"


def is_too_long(writer: Writer, name: str) -> bool:
    """Whether a writer gives a file another name; the limit counts bytes.

    >>> is_too_long("mindspore", "x" * 255), is_too_long("msaccucmp", "x" * 255)
    (False, True)
    """
    return len(name.encode("utf-8", "surrogateescape")) >= RENAME_RULES[writer].shortest


def is_renamed(name: str) -> bool:
    """Whether a name is one that any of the four writers gives to too long ones.

    >>> is_renamed("3141592653589793.npy"), is_renamed("conv1.0.1700000000000008.npy")
    (True, False)
    """
    return _RENAMED.fullmatch(name) is not None


def parse_mapping(lines: Iterable[str]) -> tuple[dict[str, str], list[Message]]:
    """Given name → intended name, and what is wrong with the other lines.

    A name that leads to another folder is refused; of two lines for one name the later counts.
    """
    table: dict[str, str] = {}
    wrong: list[Message] = []
    count = 0
    for number, line in enumerate(lines, 1):
        new, comma, name = line.strip().partition(",")
        new, name = new.strip(), name.strip()
        if new and name and not re.search(r"[/\\\0]", new + name):
            table[new] = name
        elif comma or new:
            count += 1
            if count <= MANY:
                place = f"{FILE_NAME}:{number}"
                wrong.append(Message("dump/mapping-row", place=place, got=line[:120]))
    if count > MANY:
        place = f"{FILE_NAME}:{number}"
        wrong.append(Message("dump/mapping-more", place=place, more=count - MANY))
    return table, wrong


def string_hash(data: bytes) -> int:
    """``std::hash`` of a string as GNU's library computes it on 64 bits (MurmurHash64A).

    >>> string_hash(b"hello")
    2762169579135187400
    """
    factor = 0xC6A4A7935BD1E995
    state = 0xC70F6907 ^ (len(data) * factor & _MASK)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * factor & _MASK
        word = (word ^ word >> 47) * factor & _MASK
        state = (state ^ word) * factor & _MASK
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * factor & _MASK
    state = (state ^ state >> 47) * factor & _MASK
    return state ^ state >> 47
