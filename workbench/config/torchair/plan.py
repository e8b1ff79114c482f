"""From a torchair form to a dump plan, to GE's options, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workbench.config.context import is_before
from workbench.config.ge.plans import BINARY, IO, saved
from workbench.config.ge.steps import step_text
from workbench.config.surface import Lowered
from workbench.config.torchair.settings import (
    CAPTURE_DUMP_SINCE,
    LAYER_TEXT,
)
from workbench.core.plan import BOTH, DumpPlan, Iterations, Selector
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.torchair.reading import TorchairReading
    from workbench.config.torchair.settings import DumpConfig
    from workbench.core.tensors import Io

NEVER = Iterations(())


def plan(r: TorchairReading) -> DumpPlan:
    """Return what a run would write; the JSON of ``dump_config_path`` counts where it can be read."""
    file, dump = r.file, r.dump
    if file.judged is not None:
        accepted = file.judged.accepted
        return file.judged.plan() if accepted else DumpPlan("", iterations=NEVER)
    if r.captures:
        early = is_before(r.context.release(), CAPTURE_DUMP_SINCE)
        when = Iterations() if dump.enable_dump and not early else NEVER
        outputs: frozenset[Io] = frozenset(("output",))
        return DumpPlan(dump.dump_path, iterations=when, io=outputs, files="pt")
    return DumpPlan(
        dump.dump_path,
        iterations=NEVER if r.ge.refused else _when(dump),
        io=IO[dump.dump_mode],
        select=tuple(Selector("name", name) for name in dump.dump_layer.split()),
        before_quantisation=dump.quant_dumpable,
        **saved(dump.dump_data),
        **BINARY,
    )


def _when(dump: DumpConfig) -> Iterations:
    """Iterations of a dump; none if it is off."""
    if not dump.enable_dump:
        return NEVER
    return Iterations.parse(dump.dump_step) if dump.dump_step else Iterations()


def from_plan(wanted: DumpPlan) -> Lowered:
    """Say a plan as a form; what cannot be said is left out or widened."""
    dump: dict[str, Any] = {"enable_dump": wanted.iterations.ranges != (), "dump_path": "./"}
    if wanted.path and "\0" not in wanted.path:
        dump["dump_path"] = wanted.path
    losses = []
    if wanted.kind != "data":
        dump["enable_dump"] = False
        losses.append(Message("config/lost-kind", kind=wanted.kind))
    if wanted.files == "pt":
        return Lowered({"mode": "reduce-overhead", "dump_config": dump}, tuple(losses))
    dump["dump_mode"] = "all" if wanted.io == BOTH or not wanted.io else next(iter(wanted.io))
    steps = step_text(wanted.iterations, rising=True)
    if steps is None:
        dump["enable_dump"] = False
    elif steps:
        dump["dump_step"] = steps
    if layers := " ".join(names(wanted.select)):
        dump["dump_layer"] = layers
    if wanted.saved == "statistic":
        dump["dump_data"] = "stats"
    if wanted.before_quantisation:
        dump["quant_dumpable"] = True
    return Lowered({"mode": "max-autotune", "dump_config": dump}, tuple(losses))


def names(select: tuple[Selector, ...]) -> list[str]:
    """Return the operator names that ``dump_layer`` can hold; none if any entry means every one."""
    if any(selector.kind == "all" for selector in select):
        return []
    plain = [s.text for s in select if s.kind == "name"]
    return [name for name in plain if LAYER_TEXT.match(name) and re.fullmatch(r"\S+", name)]
