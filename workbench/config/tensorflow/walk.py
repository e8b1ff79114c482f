"""Several custom optimizers of one session: npu_bridge walks through them and remembers what it has read.

A switch holds from its optimizer on. While one is on, each optimizer is asked for a dump_path of its own, and only then
are its other settings of the dump read. `NPUEstimator` adds an optimizer of its own behind those of ``session_config``.
Source: hicann/tensorflow ``tf_adapter/util/npu_attrs.cc``, ``npu_bridge/estimator/npu/npu_estimator.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.config.form.settings import RuntimeValue
from workbench.config.ge.options import DEBUG_MODES, MODES
from workbench.config.ge.steps import bridge_fault
from workbench.config.script.literals import dotted
from workbench.config.tensorflow.conditions import branch_of
from workbench.config.tensorflow.find import OPTIMIZER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from workbench.config.tensorflow.find import Entry, OptimizerBlock, ScriptFacts

    ValueOf = Callable[[Entry], Any]

DATA, OVERFLOW = "enable_dump", "enable_dump_debug"

NEEDS = {
    "dump_path": (DATA, OVERFLOW),
    "dump_step": (DATA,),
    "dump_mode": (DATA,),
    "dump_debug_mode": (OVERFLOW,),
}
"""Setting → the switches, one of which must be on for it to be read."""


CONTENTS = ("tensor", "stats")

OWN = (DATA, OVERFLOW, "dump_path", "enable_exception_dump")
"""Settings that the Estimator's own optimizer has in any case."""


class Trouble(NamedTuple):
    """What is refused on the way: the setting, what it is (``None``: it is missing), and the line."""

    key: str
    got: Any
    line: int


@dataclass
class Walk:
    """The settings that are read of some optimizers, those that are not, and what is refused on the way."""

    unread: set[int] = field(default_factory=set)
    troubles: list[Trouble] = field(default_factory=list)


def walk(facts: ScriptFacts, value_of: ValueOf) -> Walk:
    """Walk through the optimizers of every session that has several; ``value_of`` gives the value of a setting."""
    found = Walk()
    for blocks, estimator in _sessions(facts):
        if len(blocks) + estimator > 1:
            _walk_one(blocks, value_of, found, estimator=estimator)
    return found


def _sessions(facts: ScriptFacts) -> Iterator[tuple[list[OptimizerBlock], bool]]:
    """Yield the optimizers of each configuration, and whether an Estimator adds one behind them."""
    given = {
        dotted(run.entries["session_config"].node)
        for run in facts.runs
        if "session_config" in run.entries
    }
    found: dict[tuple[str, str], list[OptimizerBlock]] = {}
    for block in facts.blocks:
        always = not branch_of(block.guard, facts.once)
        if block.name == OPTIMIZER and block.config and always and not facts.is_idle(block):
            found.setdefault((block.scope, block.config), []).append(block)
    for (_, config), blocks in found.items():
        yield blocks, config in given


def _walk_one(
    blocks: Sequence[OptimizerBlock], value_of: ValueOf, found: Walk, *, estimator: bool
) -> None:
    on: dict[str, Any] = {DATA: False, OVERFLOW: False}
    for number, block in enumerate(blocks):
        own = {entry.key: entry for entry in block.entries}
        for switch in on.keys() & own.keys():
            value = value_of(own[switch])
            on[switch] = value if isinstance(value, RuntimeValue) else value is True
        if True in on.values() and "dump_path" not in own and not block.extra:
            found.troubles.append(Trouble("dump_path", None, block.line))
        last = number == len(blocks) - 1 and not estimator
        for key, entry in own.items():
            value = value_of(entry)
            needs = NEEDS.get(key, ())
            off = bool(needs) and not any(on[switch] for switch in needs)
            overridden = estimator and key in OWN
            if (off or overridden) and not isinstance(
                value, dict
            ):  # a wrong member is read as nothing
                found.unread.add(id(entry))
            if not off and not last and _is_wrong(key, value):
                found.troubles.append(Trouble(key, value, entry.line))


def _is_wrong(key: str, value: Any) -> bool:
    """Whether npu_bridge refuses a value at once, whatever comes later."""
    if isinstance(value, RuntimeValue):
        return False
    if isinstance(value, dict):  # a member that is not read
        return key in ("dump_path", "dump_mode", "dump_debug_mode", "dump_data")
    if key == "enable_exception_dump":
        return isinstance(value, int) and value not in (0, 1, 2)
    if not isinstance(value, str):
        return False
    if key == "dump_path":
        return not value
    if key == "dump_step":
        return bool(value) and bool(bridge_fault(value))
    known = {"dump_mode": MODES, "dump_debug_mode": DEBUG_MODES, "dump_data": CONTENTS}.get(key)
    return known is not None and value not in known
