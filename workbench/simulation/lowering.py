"""What a configuration or a plan asks a simulated device to dump, where, and as whose tree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import ConfigError
from workbench.core.plan import DumpPlan
from workbench.core.problems import Problem, require
from workbench.core.words import Message
from workbench.core.writers import SIMULATED_SURFACES, WRITERS
from workbench.dump.write.exceptions import CHIPS
from workbench.dump.write.targets import tree_version
from workbench.npu.profiles import PROFILES
from workbench.npu.target import REFERENCE

if TYPE_CHECKING:
    from workbench.config.config import Config
    from workbench.config.context import Context
    from workbench.config.judge import Judged
    from workbench.core.writers import Writer
    from workbench.npu.target import Target


@dataclass(frozen=True)
class Lowered:
    """What all ranks dump, where, and as whose tree; ``judged`` is what the plan came from, if from a form."""

    plan: DumpPlan
    judged: Judged | None
    out: Path
    writer: Writer
    version: str
    device: str
    seed: int

    @property
    def form(self) -> Config | None:
        """The form."""
        return None if self.judged is None else self.judged.config

    @property
    def text(self) -> str | None:
        """The text of the form."""
        return None if self.form is None else text_of(self.form)


def text_of(form: Config) -> str:
    """Return the text of a form as it was read, or would be written."""
    return form.decoded.text if form.decoded else form.to_text()


def lower(
    given: DumpPlan | Config, target: Target, out: Path, context: Context, seed: int
) -> Lowered:
    """Judge a form, and return what it makes all ranks dump into ``out``.

    Raises ConfigError for what the vendor refuses or is not simulated, FormatError for a version whose trees are none.
    """
    surface = target.surface
    if isinstance(given, DumpPlan):
        plan, judged = given, None
    else:
        judged = _as_form_of(given, surface).judge(context)
        plan = replace(judged.plan(), path=str(out))
    require(filter(None, [unsupported(plan, surface, target.device)]))
    version = tree_version(surface, context.written_by)
    return Lowered(plan, judged, out, WRITERS[surface], version, target.device, seed)


def _as_form_of(form: Config, surface: str) -> Config:
    """Return a form as one of a surface; raises ConfigError if it is one of another product."""
    from workbench.config import get  # only where a form is given

    if form.surface.product != get(surface).product:
        message = Message("simulation/other-surface", expected=form.surface.name, got=surface)
        fix = Message("simulation/other-surface-fix")
        raise ConfigError([Problem("surface", "error", "", message, fix)])
    return replace(form, surface=get(surface))


def load_given(config: DumpPlan | Config | str | Path, surface: str | None) -> DumpPlan | Config:
    """Return what is given; a form in a file as one of a surface, or of the one that its content tells.

    Raises ConfigError for a surface whose trees nobody writes.
    """
    if surface and WRITERS.get(surface) is None:
        values = {"known": [*SIMULATED_SURFACES], "got": surface}
        message = Message("core/choice", subject="surface", **values)
        raise ConfigError([Problem("surface", "error", "", message)])
    if not isinstance(config, str | Path):
        return config
    from workbench.config import load  # only where a form is given

    return load(config, surface or "")


def surface_of(given: DumpPlan | Config, device: str) -> str:
    """Return the surface that a form is of; the device chooses among those of MindSpore that share one."""
    own = "mindspore-cpu" if device == REFERENCE else "mindspore-o0o1"
    if isinstance(given, DumpPlan) or WRITERS[given.surface.name].by_mindspore:
        return own
    return given.surface.name


def unsupported(plan: DumpPlan, surface: str, device: str) -> Problem | None:
    """Say what of a plan a simulated device does not write; ``None`` if it writes it."""
    if not WRITERS[surface].is_simulated:
        return Problem("surface", "error", "", Message("simulation/not-simulated", surface=surface))
    kinds = WRITERS[surface].kinds
    if plan.kind not in kinds:
        message = Message("simulation/plan-kind", surface=surface, known=list(kinds), got=plan.kind)
        return Problem("kind", "error", "", message)
    if plan.kind == "overflow" and device == REFERENCE:
        message = Message("simulation/overflow-device", known=list(PROFILES), got=device)
        fix = Message("simulation/overflow-device-fix")
        return Problem("device", "error", "", message, fix)
    if plan.kind == "exception" and plan.detail == "detail" and device not in CHIPS:
        message = Message("simulation/exception-device", known=list(CHIPS), got=device)
        fix = Message("simulation/exception-device-fix")
        return Problem("device", "error", "", message, fix)
    if plan.files == "pt":
        message, fix = Message("simulation/captured"), Message("simulation/captured-fix")
        return Problem("files", "error", "mode", message, fix)
    return None
