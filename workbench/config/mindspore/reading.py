"""What MindSpore makes of a form: the settings as they hold after its own changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.mindspore.form import COMMON, E2E, Common, E2e

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.config.mindspore.form import MindSporeForm

DEVICE_CATEGORIES = ("max", "min", "avg", "l2norm")
"""Statistics that an Ascend device computes itself."""


def common(form: MindSporeForm) -> Common | None:
    """Return the common section; ``None`` if there is none, and every rule on it is out of reach."""
    return form.common_dump_settings if COMMON in form.model_fields_set else None


def e2e(form: MindSporeForm) -> E2e | None:
    """Return the section that makes Ascend dump kernel by kernel."""
    return form.e2e_dump_settings if E2E in form.model_fields_set else None


def folder(form: MindSporeForm, context: Context) -> str:
    """Folder of the dump; empty if neither form nor environment names one."""
    base = context.variable("MS_DIAGNOSTIC_DATA_PATH")
    return form.common_dump_settings.path or (base and f"{base}/debug_dump")


def debug_mode(form: MindSporeForm) -> int:
    """Return ``op_debug_mode`` as MindSpore understands it: 1 and 2 mean 3."""
    mode = form.common_dump_settings.op_debug_mode
    return 3 if mode in (1, 2) else mode


def by_kernel(form: MindSporeForm) -> bool:
    """Whether MindSpore itself writes the dump, kernel by kernel."""
    return form.target in ("cpu", "gpu") or e2e(form) is not None


def on_device(form: MindSporeForm) -> bool:
    """Whether the device itself computes the statistics."""
    section, saved = e2e(form), form.common_dump_settings.saved_data
    wanted = section is not None and section.stat_calc_mode == "device" and saved == "statistic"
    return wanted and form.target not in ("cpu", "gpu")
