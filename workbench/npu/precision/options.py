"""Options of the graph engine's compiler in a file, under ATC's names: what they ask of formats and fusions.

The file has an option a line, ``--precision_mode=force_fp16`` as on ATC's command line, or is a JSON object such as
frameworks hand to the graph engine, whose keys may begin with ``ge.`` or ``ge.exec.``. Options that name a file are
read beside it.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.files import file_content
from workbench.npu.precision.modes import Precision, read_precision

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST = 1 << 20
"""Bytes of a file; those of networks of a hundred thousand operators have less."""

_FILES = ("op_precision_mode", "modify_mixlist", "keep_dtype", "customize_dtypes")
"""Options whose value is the path of a file that is read here."""

_VALUES = (
    "precision_mode", "precision_mode_v2", "allow_hf32", "op_select_implmode",
    "optypelist_for_implmode", "graph_run_mode",
)  # fmt: skip

_FUSIONS = "fusion_switch_file"
_PREFIX = re.compile(r"(?:--)?(?:ge\.(?:exec\.)?)?")


class CompilerOptions(NamedTuple):
    """What is asked of the compiler: precision (``None``: nothing), fusions, and names that change nothing here.

    ``fusion`` is ``on``, ``off`` or the path of a ``fusion_switch_file``.
    """

    precision: Precision | None = None
    fusion: str = "on"
    others: tuple[str, ...] = ()


def read_compiler_options(path: str | Path) -> CompilerOptions:
    """Read a file of options.

    Raises FormatError for what is no option, is said twice or cannot be read, GraphError for an unknown value.
    """
    path = Path(path)
    text = _content(path, "options of the compiler")
    options: dict[str, str] = {}
    for place, name, value in _read(text, str(path)):
        if name in options:
            raise FormatError("run/option-twice", place=place, name=name)
        options[name] = value
    files = {
        name: _content(path.parent / options[name], name) for name in _FILES if options.get(name)
    }
    values = {name: options[name] for name in _VALUES if name in options}
    switches = options.get(_FUSIONS, "")
    return CompilerOptions(
        read_precision({**values, **files}),
        str(path.parent / switches) if switches else "on",
        tuple(name for name in options if name not in (*_FILES, *_VALUES, _FUSIONS)),
    )


def _content(path: Path, what: str) -> str:
    return file_content(path, _LARGEST, what).decode("utf-8", "replace")


def _read(text: str, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield (place, name without its prefix, value) of every option."""
    found = _of_object(text, path) if text.lstrip().startswith("{") else _of_lines(text, path)
    for place, name, value in found:
        yield place, _PREFIX.sub("", name, count=1), value


def _of_object(text: str, path: str) -> Iterator[tuple[str, str, str]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError("run/options-json", place=path, why=error) from None
    for name, value in content.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise FormatError("run/option-value", place=path, name=name, got=value)
        yield path, name, str(value)


def _of_lines(text: str, path: str) -> Iterator[tuple[str, str, str]]:
    """A line may hold several, as a command line does, whose first word and whose ends of lines are passed over."""
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}:{number}"
        try:
            words = shlex.split(line.rstrip().removesuffix("\\"), comments=True)
        except ValueError as error:
            raise FormatError("run/option-quotes", place=place, why=error) from None
        for word in words[words[:1] == ["atc"] :]:
            name, equals, value = word.partition("=")
            if not equals or not name.strip("-"):
                raise FormatError("run/option-line", place=place, got=word)
            yield place, name, value
