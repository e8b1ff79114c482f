"""What the dump options of a session meet in the graph engine (GE), after a surface let them pass.

GE reads them when a session starts: ``dump_properties.cc`` and ``dump_manager.cc`` of hicann/ge.
Because that is a later component than the reader of a form, a breach is a warning with GE's code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.config.context import Context

SOURCE = "hicann/ge base/common/dump/dump_properties.cc"

ENABLE = "ge.exec.enableDump"
ENABLE_DEBUG = "ge.exec.enableDumpDebug"
PATH = "ge.exec.dumpPath"
STEP = "ge.exec.dumpStep"
MODE = "ge.exec.dumpMode"
DATA = "ge.exec.dumpData"
LAYER = "ge.exec.dumpLayer"
DEBUG_MODE = "ge.exec.dumpDebugMode"

WRONG, MISSING, BOTH = "E10001", "E10058", "E10056"
"""GE's codes: a value it does not take, an option that is not there, two that exclude each other."""

MODES = ("input", "output", "all")
DEBUG_MODES = ("aicore_overflow", "atomic_overflow", "all")
MAX_PIECES = 100
_LARGEST = 2**31 - 1


class GeBreach(NamedTuple):
    """What GE refuses: the option, what it got (``None``: nothing), and the words of a message."""

    id: str
    option: str
    got: str | None
    must: str
    fix: str
    code: str = WRONG


def ge_breaches(options: Mapping[str, str], context: Context) -> Iterator[GeBreach]:
    """Yield what GE would refuse, in the order of its checks.

    ``options`` are the session options by name, as text; one that is not set is absent.
    """
    for option in (ENABLE, ENABLE_DEBUG):
        value = options.get(option, "")
        if value not in ("", "0", "1"):
            fix = "GE refuses the session"
            yield GeBreach("ge-enable", option, value, "be '1' or '0'", fix)
    dumps, debugs = options.get(ENABLE) == "1", options.get(ENABLE_DEBUG) == "1"
    if dumps and debugs:
        must = "be off while the overflow dump is on"
        yield GeBreach("ge-both", ENABLE, "1", must, "choose one; GE refuses both")
    if dumps or debugs:
        yield from _path_breaches(options.get(PATH), context)
        if collect := context.variable("NPU_COLLECT_PATH"):
            must = f"be off while NPU_COLLECT_PATH is set ({collect})"
            option = ENABLE if dumps else ENABLE_DEBUG
            yield GeBreach("ge-collect-path", option, "1", must, "unset the variable", BOTH)
    if dumps:
        yield from _step_breaches(options.get(STEP, ""))
        yield from _choice("ge-mode", MODE, options.get(MODE), MODES)
    if debugs:
        yield from _choice("ge-debug-mode", DEBUG_MODE, options.get(DEBUG_MODE), DEBUG_MODES)


def _path_breaches(path: str | None, context: Context) -> Iterator[GeBreach]:
    if path is None:
        yield GeBreach("ge-path", PATH, None, "be a folder", "set it", MISSING)
    elif not path or not context.usable_folder(path):
        must = "be an existing folder that can be read and written"
        yield GeBreach("ge-path", PATH, path, must, "create the folder")


def _choice(
    id_: str, option: str, value: str | None, allowed: tuple[str, ...]
) -> Iterator[GeBreach]:
    if value is not None and value not in allowed:
        must = f"be one of {list(allowed)}"
        yield GeBreach(id_, option, value, must, "GE refuses the session")


def _step_breaches(text: str) -> Iterator[GeBreach]:
    fault = step_fault(text)
    if fault:
        fix = "write numbers and rising ranges like '0|5-8'"
        yield GeBreach("ge-step", STEP, text, fault, fix)


def step_fault(text: str) -> str:
    """Say what GE demands of ``dumpStep`` and the text does not keep; empty if it is fine.

    >>> step_fault("0|5-8"), step_fault("3-3")
    ('', 'have ranges that rise')
    """
    pieces = text.split("|") if text else []
    if len(pieces) > MAX_PIECES:
        return f"have at most {MAX_PIECES} pieces"
    for piece in pieces:
        ends = piece.split("-")
        if len(ends) > 2 or not all(map(_is_step, ends)):
            return f"consist of numbers up to {_LARGEST} and ranges"
        if len(ends) == 2 and int(ends[0].lstrip("0") or 0) >= int(ends[1].lstrip("0") or 0):
            return "have ranges that rise"
    return ""


def _is_step(text: str) -> bool:
    digits = text.isascii() and text.isdigit()
    text = text.lstrip("0")
    return digits and len(text) <= 10 and int(text or 0) <= _LARGEST
