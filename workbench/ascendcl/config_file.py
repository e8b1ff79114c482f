"""The configuration file as AscendCL takes it in: file, depth, syntax, content, in this order.

Sources: ``json_parser.cpp``, ``acl.cpp`` and ``dump.cpp`` of hicann/runtime. ``aclInit`` parses a file
itself before adump does, so that the same text fails there with another code.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.ascendcl.errors import AclError, AclRefusal
from workbench.config.acl.rules import MAX_BYTES, examine
from workbench.config.acl.surface import ACL
from workbench.config.config import Config
from workbench.core.errors import FormatError
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.context import Context

_PATH, _FILE, _SYNTAX = "EH0003", "EH0004", ACL.syntax_code


def read_config(path: str) -> bytes:
    """Return the content of a configuration file; raises AclRefusal as the file does not do."""
    place = _place(path)
    if not os.path.isfile(place):
        raise _no_file(Message("ascendcl/config-kind", got=path))
    size = os.path.getsize(place)
    if size > MAX_BYTES:
        raise _no_file(Message("ascendcl/config-size", got=path, size=size, limit=MAX_BYTES))
    try:
        with open(place, "rb") as file:
            data = file.read()
    except OSError as error:
        why = error.strerror
        raise _no_file(Message("ascendcl/config-unreadable", got=path, why=why)) from error
    for problem in examine(data.decode("utf-8", "replace")):
        raise AclRefusal(AclError.ACL_ERROR_PARSE_FILE, problem, _FILE)
    return data


def _no_file(said: Message, word: str = _FILE) -> AclRefusal:
    return AclRefusal(AclError.ACL_ERROR_INVALID_FILE, said, word)


def _place(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise _no_file(Message("ascendcl/config-missing", got=path, why=reason), _PATH) from error


def parse_config(data: bytes, path: str, context: Context, *, by_init: bool) -> Config | None:
    """Return the form that a file asks for dumps with; ``None`` if it asks for none.

    ``by_init`` says that ``aclInit`` reads it. Raises AclRefusal with the code of the first problem
    that AscendCL would meet.
    """
    try:
        decoded = ACL.decode(data.decode("utf-8"), path)
    except UnicodeDecodeError as error:
        said = Message("ascendcl/config-unreadable", got=path, why=error)
        raise _unreadable(said, by_init=by_init) from error
    except FormatError as error:
        raise _unreadable(error, by_init=by_init) from error
    if decoded.trailing:
        place = f"{path}:{decoded.trailing}"
        raise _unreadable(FormatError("ascendcl/config-trailing", place=place), by_init=by_init)
    if not isinstance(decoded.data, dict) or "dump" not in decoded.data:
        return None
    form = Config(ACL, decoded.data, decoded, path)
    for problem in form.check(context):
        if problem.severity == "error":
            code = AclError.ACL_ERROR_INVALID_DUMP_CONFIG
            raise AclRefusal(code, problem, problem.code)
    return form


def _unreadable(said: Message | FormatError, *, by_init: bool) -> AclRefusal:
    if by_init:
        return AclRefusal(AclError.ACL_ERROR_PARSE_FILE, said, _FILE)
    return AclRefusal(AclError.ACL_ERROR_INVALID_DUMP_CONFIG, said, _SYNTAX)
