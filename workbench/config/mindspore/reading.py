"""What MindSpore makes of a form: the settings as they hold after its own changes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.config.form.rules import Reading
from workbench.config.mindspore.settings import COMMON, E2E, HASHES, Common, E2e
from workbench.core.plan import CATEGORIES, Iterations

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.config.mindspore.settings import MindSporeForm

DEVICE_CATEGORIES = ("max", "min", "avg", "l2norm")
"""Statistics that an Ascend device computes itself."""

BY_MSPROBE = (2, 7)
"""First release in which msprobe writes O2's dumps."""

LAST_WITHOUT_HASHES = (2, 7, 0)
"""Last release that was seen to lack the hash categories; 2.10.0 has them."""

_DIGESTS = {"hash": "sha1", "hash:sha1": "sha1", "hash:md5": "md5"}


@dataclass(frozen=True, slots=True)
class MindSporeReading(Reading):
    """What MindSpore makes of a form.

    ``debug_mode``, ``dump_mode``, ``saved``, ``folder`` and ``devices`` hold after its own changes; ``e2e`` is the
    second section if there is one; ``old`` is a release up to 2.2, ``by_kernel`` whether MindSpore dumps kernel by
    kernel itself, ``on_device`` whether the device computes the statistics.
    """

    common: Common
    has_common: bool
    e2e: E2e | None
    old: bool
    by_kernel: bool
    on_device: bool
    debug_mode: int
    dump_mode: int
    saved: str
    folder: str
    devices: tuple[int, ...]

    @property
    def waits_for_failure(self) -> bool:
        """Whether MindSpore itself writes the operator that fails."""
        return self.debug_mode == 4 and self.by_kernel

    @property
    def by_msprobe(self) -> bool:
        """Whether msprobe takes over what a form asks for: O2 from 2.7 on."""
        return self.form.target == "o2" and self.context.release() >= BY_MSPROBE

    @property
    def limited(self) -> bool:
        """Whether ``overflow_number`` counts: AscendCL, which writes containers, knows no limit."""
        in_npy = self.form.target not in ("o2", "ge") or self.common.file_format == "npy"
        return in_npy or self.by_msprobe

    @property
    def first_iteration(self) -> int:
        """Number of the first iteration; releases before 2.6 do not read it."""
        release = self.context.release()
        return self.common.initial_iteration if not release or release >= (2, 6) else 0

    @property
    def categories(self) -> tuple[str, ...]:
        """Columns of statistics; later releases write none twice."""
        named = self.common.statistic_category
        if self.on_device:
            return tuple(name for name in named if name in DEVICE_CATEGORIES)
        if known_categories(self.context) == CATEGORIES:
            return named
        return tuple(dict.fromkeys(_DIGESTS.get(name, name) for name in named))

    @property
    def selects(self) -> bool:
        """Whether ``kernels`` is read: ``dump_mode`` counts as it is written."""
        return self.common.dump_mode == 1


def reading(form: MindSporeForm, context: Context) -> MindSporeReading:
    """Return what the release of the context makes of a form."""
    return MindSporeReading(
        form,
        context,
        common=form.common_dump_settings,
        has_common=COMMON in form.given,
        e2e=e2e(form),
        old=is_old(context),
        by_kernel=asks_e2e(form, context),
        on_device=on_device(form, context),
        debug_mode=debug_mode(form),
        dump_mode=dump_mode(form),
        saved=saved(form, context),
        folder=folder(form, context),
        devices=devices(form),
    )


def e2e(form: MindSporeForm) -> E2e | None:
    """Return the section that makes Ascend dump kernel by kernel."""
    return form.e2e_dump_settings if E2E in form.given else None


def is_old(context: Context) -> bool:
    """Whether ``enable`` chooses between the two ways to dump on Ascend: up to 2.2."""
    return bool(context.release()) and context.release() < (2, 3)


def asks_e2e(form: MindSporeForm, context: Context) -> bool:
    """Whether MindSpore dumps kernel by kernel itself rather than let ACL dump."""
    if form.target in ("cpu", "gpu"):
        return True
    section = e2e(form)
    return section is not None and (section.enable or not is_old(context))


def folder(form: MindSporeForm, context: Context) -> str:
    """Folder of the dump; empty if neither form nor environment names one."""
    base = context.variable("MS_DIAGNOSTIC_DATA_PATH")
    return form.common_dump_settings.path or (base and f"{base}/debug_dump")


def debug_mode(form: MindSporeForm) -> int:
    """Return ``op_debug_mode`` as MindSpore understands it: 1 and 2 mean 3."""
    mode = form.common_dump_settings.op_debug_mode
    return 3 if mode in (1, 2) else mode


def dump_mode(form: MindSporeForm) -> int:
    """Return ``dump_mode`` as it holds: the debug modes dump whatever is concerned."""
    return 0 if debug_mode(form) else form.common_dump_settings.dump_mode


def saved(form: MindSporeForm, context: Context) -> str:
    """Return ``saved_data`` as it holds."""
    if debug_mode(form) == 4 and asks_e2e(form, context):
        return "tensor"
    return form.common_dump_settings.saved_data


def iterations(text: str) -> Iterations:
    """Read ``iteration``; a piece with a number beyond 64 bits matches nothing.

    >>> iterations("0-18446744073709551616|3").ranges
    ((3, 3),)
    """
    if text == "all":
        return Iterations(None)
    return Iterations.parse("|".join(piece for piece in text.split("|") if _fits(piece)))


def _fits(piece: str) -> bool:
    numbers = (number.lstrip("0") for number in piece.split("-"))
    return all(
        len(number) < 20 or (len(number) == 20 and int(number) < 2**64) for number in numbers
    )


def wants_device(form: MindSporeForm) -> bool:
    """Whether the form asks for statistics by the device."""
    section = e2e(form)
    return section is not None and section.stat_calc_mode == "device"


def on_device(form: MindSporeForm, context: Context) -> bool:
    """Whether the device itself computes the statistics."""
    section = e2e(form)
    if form.target != "o0o1" or section is None or not wants_device(form):
        return False
    overflow_alone = debug_mode(form) == 3 and not section.enable
    return saved(form, context) == "statistic" and not overflow_alone


def known_categories(context: Context) -> tuple[str, ...]:
    """Return the categories that a release takes."""
    old = bool(context.release()) and context.release() <= LAST_WITHOUT_HASHES
    return CATEGORIES if old else (*CATEGORIES, *HASHES)


def devices(form: MindSporeForm) -> tuple[int, ...]:
    """Return the devices that dump, each once; MindSpore keeps 32 bits of a number."""
    numbers = form.common_dump_settings.support_device
    return tuple(sorted({int(n) % 2**32 for n in numbers if math.isfinite(n)}))


def own_device(context: Context) -> int:
    """Return the device of the process that is judged."""
    return context.number("DEVICE_ID", context.device)


def is_alone(context: Context) -> bool:
    """Whether a process is not one of several; on a CPU its rank is then 0, whatever ``RANK_ID`` says."""
    return context.number("RANK_SIZE", 1) < 2


def own_rank(context: Context, device: int | None = None) -> int:
    """Return the rank of the process that is judged; ``device`` if it has none and one is given."""
    return context.number("RANK_ID", context.rank if device is None else context.rank or device)
