"""What msprobe makes of a ``config.json``: the task, its level and its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.config.form.rules import Reading
from workbench.config.msprobe.settings import AccCheck, Options

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.config.form.rules import At
    from workbench.config.msprobe.settings import MindSporeForm, MsprobeForm

MODULES = ("L0", "mix")
"""Levels that dump modules, and so must be given the model."""


@dataclass(frozen=True, slots=True)
class MsprobeReading(Reading):
    """What a release makes of a form.

    ``options`` is the section of the task, ``level`` the one that holds: the structure of a network is that of its
    modules. ``loads`` is whether inputs come from an earlier dump, ``dumps`` whether anything is written then.
    """

    options: Options
    task: str
    level: str
    by_pytorch: bool
    loads: bool
    dumps: bool

    def reads(self, at: At) -> bool:
        """Whether a place lies in the section of the task."""
        return at.path.partition(".")[0] == self.task

    @property
    def kernels(self) -> bool:
        """Whether kernels of the device are dumped, and not what a script calls."""
        return self.level == "L2"

    @property
    def selects(self) -> bool:
        """Whether scope and list are looked at: not of what the script itself saves."""
        return self.level != "debug"


def reading(form: MsprobeForm | MindSporeForm, context: Context) -> MsprobeReading:
    """Return what msprobe makes of a form."""
    by_pytorch = form.framework == "pytorch"
    section: Any = getattr(form, form.task)
    options = Options() if isinstance(section, AccCheck) else section
    level = "mix" if form.task == "structure" and form.level not in MODULES else form.level
    loads = by_pytorch and form.load is not None
    dumps = not loads or bool(form.load and form.load.dump_after_load)
    if by_pytorch and form.dump_enable is False:
        dumps = False
    return MsprobeReading(form, context, options, form.task, level, by_pytorch, loads, dumps)


def names(value: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return a list of names; an absent one is empty."""
    return value or ()
