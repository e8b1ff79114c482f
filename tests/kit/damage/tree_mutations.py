"""Seeded damage to a folder of files: contents, names, links, pipes, folders that come and go.

Nothing leaves the folder: a link may lead out of it, and what it leads to must stay as it is.
"""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kit.damage.mutations import PATHS, mutated

if TYPE_CHECKING:
    from collections.abc import Callable

    Damage = Callable[[random.Random, Path, Path], None]

LONGEST = 255


def damage(root: Path, seed: object) -> int:
    """Damage some files and folders below ``root``; return how many."""
    draw = random.Random(repr(seed))
    count = draw.choice((1, 2, 3, 5, 8, 13))
    for _ in range(count):
        files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
        if files:
            draw.choice(DAMAGE)(draw, root, draw.choice(files))
    return count


def _content(draw: random.Random, _root: Path, path: Path) -> None:
    path.write_bytes(mutated(path.read_bytes(), [], draw.random()))


def _cut(draw: random.Random, _root: Path, path: Path) -> None:
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


DAMAGE: tuple[Damage, ...] = (
    *(_content,) * 6, _cut, _cut, _delete, _duplicate, _duplicate, _rename, _rename, _swap, _other_kind, _folder,
)  # fmt: skip
