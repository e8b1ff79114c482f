"""Which release of the vendor's software a tree is written as, and what of a plan it cannot write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.problems import Problem
from workbench.core.words import Message
from workbench.dump.releases import FULL_NAMES, check_version, release, writes
from workbench.dump.write.targets import PLATFORMS, VERSION

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.core.plan import DumpPlan


def tree_version(surface: str, version: str) -> str:
    """Return the MindSpore version of a surface's tree: the one asked for, or `VERSION`.

    Raises FormatError if its dumps cannot be written. The version of another vendor's software changes
    no name.
    """
    if not version or not surface.startswith("mindspore"):
        return VERSION
    check_version(version)
    return version


def own_process(surface: str, context: Context) -> Context:
    """Return the context on the rank and device that a launcher's variables name."""
    context = replace(context, rank=context.number("RANK_ID", context.rank))
    if surface.startswith("mindspore"):
        return replace(context, device=context.number("DEVICE_ID", context.device))
    return context


def too_old(plan: DumpPlan, surface: str, version: str) -> Problem | None:
    """Say what of a plan a release of MindSpore does not write; ``None`` if it writes it."""
    number = release(version)
    device = PLATFORMS.get(surface)
    if surface in ("mindspore-o2", "mindspore-ge") and number < FULL_NAMES:
        message = Message("pipeline/release-o2", got=version)
        return Problem("version", "error", "", message, Message("pipeline/release-o2-fix"))
    sums = plan.saved != "tensor" and device in ("GPU", "Ascend")  # a CPU has none in any release
    if device is not None and sums and not writes("statistics", device, version):
        message = Message("pipeline/release-statistics", got=version)
        return Problem("version", "error", "", message, Message("pipeline/release-statistics-fix"))
    return None
