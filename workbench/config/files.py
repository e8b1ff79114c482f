"""Forms out of text and files, and how a file finds its surface."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.config.config import Config, read_text
from workbench.config.form.json_text import decode_json, json_kind
from workbench.config.surface import SURFACES, get
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    pass

MAX_BYTES = 1 << 24
"""Largest file that is read as a configuration."""

MAX_SCRIPT = 1 << 18
"""Most characters of a script; one of six thousand lines has fewer."""

_DECLARED = re.compile(
    rb"(?:[ \t\f]*(?:#[^\r\n]*)?\r?\n)?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]{1,40})"
)
_ENCODINGS = re.compile(
    r"utf-8(-sig)?|ascii|iso8859-\d+|cp\d+|gb\w+|hz|big5\w*|euc_\w+|shift_jis\w*|koi8-\w|mac-\w+"
)


def read(text: str, surface: str = "", where: str = "<text>") -> Config:
    """Read a form; without ``surface`` its content tells which one it is.

    Raises FormatError if the text cannot be decoded or is no surface's form, ConfigError for an
    unknown surface.
    """
    found = get(surface or recognise(text, where))
    if found.language == "python" and len(text) > MAX_SCRIPT:
        raise FormatError("config/script-long", place=f"{where}:1", got=len(text), limit=MAX_SCRIPT)
    return read_text(found, text, where)


def load(path: str | Path, surface: str = "") -> Config:
    """Read the form in a file; see `read`."""
    return read(_text(Path(path)), surface, str(path))


def recognise(text: str, where: str = "<text>") -> str:
    """Name the surface whose form a text is; raises FormatError if that cannot be told."""
    is_json = text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[", "") or where.endswith("json")
    content: Any = decode_json(text, where).data if is_json else text
    language = "json" if is_json else "python"
    for name in SURFACES:
        surface = get(name)
        if surface.language == language and surface.recognises(content):
            return name
    known = [name for name in SURFACES if get(name).language == language]
    place = f"{where}:1"
    if not is_json:
        raise FormatError("config/unknown-script", place=place, known=known)
    if not isinstance(content, dict):
        raise FormatError("config/not-an-object", place=place, got=json_kind(content))
    raise FormatError("config/unknown-form", place=place, keys=sorted(content), known=known)


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise FormatError("core/not-a-file", place=str(path), subject="configuration")
        if (size := path.stat().st_size) > MAX_BYTES:
            raise FormatError(
                "core/too-large",
                place=str(path),
                subject="configuration",
                got=size,
                limit=MAX_BYTES,
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FormatError(
            "core/unreadable", place=str(path), subject="configuration", why=why
        ) from error
    encoding = _encoding(data, path)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            "config/encoding",
            place=f"{path}:{line}",
            byte=error.start,
            encoding=encoding,
            why=error.reason,
        ) from error


def _encoding(data: bytes, path: Path) -> str:
    """Return the encoding that a comment on the first two lines of a script declares, else UTF-8.

    Source: PEP 263. Codecs that Python would take and that no editor writes are refused.
    """
    match = _DECLARED.match(data)
    if match is None:
        return "UTF-8"
    name = match[1].decode("ascii")
    try:
        known = _ENCODINGS.fullmatch(codecs.lookup(name).name)
    except LookupError:
        known = None
    if known is None:
        line = data.count(b"\n", 0, match.start(1)) + 1
        raise FormatError("config/unknown-encoding", place=f"{path}:{line}", got=name)
    return name
