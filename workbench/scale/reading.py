"""The readable tensors of a unit: what is compared with what.

The one place where both sides of a unit are read. Where they have different layouts of parallel training, this is
where the shards of several ranks become the tensors of one (`workbench.scale.layouts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.scale.parts import read_part

if TYPE_CHECKING:
    from workbench.dump.dump import Dump
    from workbench.scale.units import Settings, Unit


def read_unit(unit: Unit, settings: Settings) -> tuple[Dump, Dump]:
    """Return the target's and the golden's tensors of a unit, names and headers alone.

    Raises FormatError if a side cannot be read, or is no longer as it was when the job was planned.
    """
    target = read_part(
        unit.target, graph=settings.target_graph or None, model=settings.target_model or None
    )
    golden = read_part(
        unit.golden, graph=settings.golden_graph or None, model=settings.golden_model or None
    )
    return target, golden
