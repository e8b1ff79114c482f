"""What the dump options of a session meet in the graph engine (GE), after a surface let them pass.

GE reads them when a session starts: ``dump_properties.cc`` and ``dump_manager.cc`` of hicann/ge.
Because that is a later component than the reader of a form, a breach is a warning with GE's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.context import Context
    from workbench.core.tensors import Io

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

IO: dict[str, frozenset[Io]] = {
    "all": frozenset(("input", "output")),
    "input": frozenset(("input",)),
    "output": frozenset(("output",)),
}
"""Mode of a dump → what is written of each operator."""

_LARGEST = 2**31 - 1


class GeBreach(NamedTuple):
    """What GE refuses: the option, what it got (``None``: nothing), its code, and what is to be said."""

    id: str
    option: str
    got: str | None
    code: str = WRONG
    values: Mapping[str, Any] = {}


def ge_breaches(options: Mapping[str, str], context: Context) -> Iterator[GeBreach]:
    """Yield what GE would refuse of session options, in the order of its checks.

    ``options`` are the session options by name, as text; one that is not set is absent.
    """
    for option in (ENABLE, ENABLE_DEBUG):
        value = options.get(option, "")
        if value not in ("", "0", "1"):
            yield GeBreach("ge-enable", option, value)
    dumps, debugs = options.get(ENABLE) == "1", options.get(ENABLE_DEBUG) == "1"
    if dumps and debugs:
        yield GeBreach("ge-both", ENABLE, "1")
    if dumps or debugs:
        yield from _path_breaches(options.get(PATH), context)
        if collect := context.variable("NPU_COLLECT_PATH"):
            option = ENABLE if dumps else ENABLE_DEBUG
            yield GeBreach("ge-collect-path", option, "1", BOTH, {"folder": collect})
    if dumps:
        yield from _step_breaches(options.get(STEP, ""))
        yield from _choice("ge-mode", MODE, options.get(MODE), MODES)
    if debugs:
        yield from _choice("ge-debug-mode", DEBUG_MODE, options.get(DEBUG_MODE), DEBUG_MODES)


def _path_breaches(path: str | None, context: Context) -> Iterator[GeBreach]:
    if path is None:
        yield GeBreach("ge-path", PATH, None, MISSING)
    elif not path or not context.own_folder(path):
        yield GeBreach("ge-path", PATH, path)


def _choice(
    id_: str, option: str, value: str | None, allowed: tuple[str, ...]
) -> Iterator[GeBreach]:
    if value is not None and value not in allowed:
        yield GeBreach(id_, option, value)


def _step_breaches(text: str) -> Iterator[GeBreach]:
    if fault := step_fault(text):
        said = Message(f"config/ge-{fault}", limit=MAX_PIECES, largest=_LARGEST)
        yield GeBreach("ge-step", STEP, text, values={"fault": said})


def step_fault(text: str) -> str:
    """Name what GE refuses of ``dumpStep``: ``pieces``, ``numbers``, ``order``; empty if it is fine.

    >>> step_fault("0|5-8"), step_fault("3-3")
    ('', 'order')
    """
    pieces = text.split("|") if text else []
    if len(pieces) > MAX_PIECES:
        return "pieces"
    for piece in pieces:
        ends = piece.split("-")
        if len(ends) > 2 or not all(map(_is_step, ends)):
            return "numbers"
        if len(ends) == 2 and int(ends[0].lstrip("0") or 0) >= int(ends[1].lstrip("0") or 0):
            return "order"
    return ""


def _is_step(text: str) -> bool:
    digits = text.isascii() and text.isdigit()
    text = text.lstrip("0")
    return digits and len(text) <= 10 and int(text or 0) <= _LARGEST
