"""The configuration file as AscendCL takes it in: file, depth, syntax, content, in this order.

Sources: ``json_parser.cpp``, ``acl.cpp`` and ``dump.cpp`` of hicann/runtime. ``aclInit`` parses a file
itself before adump does, so that the same text fails there with another code.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.config.acl.rules import MAX_BYTES, examine
from workbench.config.acl.surface import ACL
from workbench.config.config import Config
from workbench.core.errors import FormatError
from workbench.pipeline.acl_errors import AclError, AclRefusal

if TYPE_CHECKING:
    from workbench.config.context import Context

_PATH, _FILE, _SYNTAX = "EH0003", "EH0004", ACL.syntax_code


def read_config(path: str) -> bytes:
    """Return the content of a configuration file; raises AclRefusal as the file does not do."""
    place = _place(path)
    if not os.path.isfile(place):
        message = f"configuration must be a regular file, got {path!r}"
        raise AclRefusal(AclError.ACL_ERROR_INVALID_FILE, message, _FILE)
    size = os.path.getsize(place)
    if size > MAX_BYTES:
        message = f"configuration must have at most {MAX_BYTES} bytes, got {size} in {path!r}"
        raise AclRefusal(AclError.ACL_ERROR_INVALID_FILE, message, _FILE)
    try:
        with open(place, "rb") as file:
            data = file.read()
    except OSError as error:
        message = f"configuration must be readable, got {path!r} ({error.strerror})"
        raise AclRefusal(AclError.ACL_ERROR_INVALID_FILE, message, _FILE) from error
    for problem in examine(data.decode("utf-8", "replace")):
        raise AclRefusal(AclError.ACL_ERROR_PARSE_FILE, str(problem), _FILE)
    return data


def _place(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"path of a configuration must lead to a file, got {path!r} ({reason})"
        raise AclRefusal(AclError.ACL_ERROR_INVALID_FILE, message, _PATH) from error


def parse_config(data: bytes, path: str, context: Context, *, by_init: bool) -> Config | None:
    """Return the form that a file asks for dumps with; ``None`` if it asks for none.

    ``by_init`` says that ``aclInit`` reads it. Raises AclRefusal with the code of the first problem
    that AscendCL would meet.
    """
    try:
        decoded = ACL.decode(data.decode("utf-8"), path)
    except (UnicodeDecodeError, FormatError) as error:
        raise _unreadable(str(error), by_init=by_init) from error
    if decoded.trailing:
        message = f"{path}:{decoded.trailing}: text must end behind the form, got more"
        raise _unreadable(message, by_init=by_init)
    if not isinstance(decoded.data, dict) or "dump" not in decoded.data:
        return None
    form = Config(ACL, decoded.data, decoded, path)
    for problem in form.check(context):
        if problem.severity == "error":
            code = AclError.ACL_ERROR_INVALID_DUMP_CONFIG
            raise AclRefusal(code, str(problem), problem.code)
    return form


def _unreadable(message: str, *, by_init: bool) -> AclRefusal:
    if by_init:
        return AclRefusal(AclError.ACL_ERROR_PARSE_FILE, message, _FILE)
    return AclRefusal(AclError.ACL_ERROR_INVALID_DUMP_CONFIG, message, _SYNTAX)
