"""What the dump options of a session meet in the graph engine (GE), after a surface let them pass.

GE reads them when a session starts: ``dump_properties.cc`` and ``dump_manager.cc`` of hicann/ge.
Because that is a later component than the reader of a form, a breach is a warning with GE's code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from workbench.config.context import Context
from workbench.config.form.rules import Example, Row
from workbench.config.ge.steps import LARGEST, MAX_PIECES, ge_fault
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.form.rules import At

SOURCE = "hicann/ge base/common/dump/dump_properties.cc"

WRONG, BOTH = "E10001", "E10056"
"""GE's codes: a value that it does not take, and two options that exclude each other."""

MODES = ("input", "output", "all")
DEBUG_MODES = ("aicore_overflow", "atomic_overflow", "all")


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a surface hands to GE with a session, as far as GE may refuse it.

    ``dumps`` and ``debugs`` are the two kinds of dump, ``step`` is the text of the iterations, ``collect`` the
    folder of ``NPU_COLLECT_PATH`` in the session's process.
    """

    dumps: bool = False
    debugs: bool = False
    step: str = ""
    collect: str = ""

    @property
    def refused(self) -> bool:
        """Whether GE refuses the session: it then runs nothing, and nothing is dumped."""
        asked = self.dumps or self.debugs
        both = self.dumps and self.debugs
        return both or bool(asked and self.collect) or bool(self.dumps and ge_fault(self.step))


class InSession(Protocol):
    """What a release makes of a form whose options GE gets; ``ge`` is empty where none get there."""

    @property
    def ge(self) -> SessionOptions: ...


def _are_both_on(r: InSession, at: At) -> bool:
    return r.ge.dumps and r.ge.debugs


def _collects(r: InSession, at: At) -> Any:
    switch = "enable_dump" if r.ge.dumps else "enable_dump_debug"
    asked = (r.ge.dumps or r.ge.debugs) and at.path.endswith(f".{switch}")
    return asked and r.ge.collect and {"folder": r.ge.collect}


def _is_no_step(r: InSession, at: At) -> Any:
    fault = ge_fault(r.ge.step) if r.ge.dumps else ""
    return fault and {"fault": Message(f"config/ge-{fault}", limit=MAX_PIECES, largest=LARGEST)}


ROWS = (
    Row(
        id="ge-both",
        severity="warning",
        at="enable_dump",
        when=_are_both_on,
        says="enable_dump and enable_dump_debug are both on; npu_bridge accepts both, GE refuses the session",
        fix="Turn one of them off.",
        breaks={"enable_dump_debug": True},
        keeps={},
        on="tensorflow",
        code=WRONG,
    ),
    Row(
        id="ge-collect-path",
        severity="warning",
        at="enable_dump|enable_dump_debug",
        when=_collects,
        says="GE refuses the session while NPU_COLLECT_PATH is set ({folder})",
        fix="Unset the variable.",
        breaks=Example({}, Context(env={"NPU_COLLECT_PATH": "/c"})),
        keeps=Example({}, Context(env={"ASCEND_WORK_PATH": "/c"})),
        code=BOTH,
    ),
    Row(
        id="ge-step",
        severity="warning",
        at="dump_step",
        when=_is_no_step,
        says="GE refuses {key} {got!r}: {fault}",
        fix="Write numbers and ascending ranges like '0|5-8'.",
        breaks={"dump_step": "5|"},
        keeps={"dump_step": "3-5"},
        code=WRONG,
    ),
)
"""Rules on the options of a session, in the order of GE's checks; paths are those of a surface's section."""
