"""Precision modes: which formats operators of a float32 graph compute in.

Facts: the fusion engine's dtype strategies (``op_dtype_selection_strategy_*``) and ATC's tables of
``precision_mode``, ``precision_mode_v2`` and ``modify_mixlist``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from workbench.npu.profiles import Profile

LOW = "low"
"""Bfloat16 where the device has it, else float16."""

_FLOATS = frozenset(("float32", "float16", "bfloat16"))


@dataclass(frozen=True, slots=True)
class Rule:
    """Formats of a precision mode: cube inputs, cube outputs, vector unit; ``""``: as in the graph.

    They apply to tensors of the dtypes in ``lowers``. ``mixed``: only operators that the lists of
    mixed precision allow are lowered, on either unit.
    """

    cube_in: str = ""
    cube_out: str = ""
    vector: str = ""
    mixed: bool = False
    lowers: frozenset[str] = frozenset(("float32",))

    @property
    def formats(self) -> set[str]:
        """Formats that the device must have."""
        return {self.cube_in, self.cube_out, self.vector} - {""}


_WIDE = frozenset(("float32", "bfloat16"))
_MIXED = Rule("float16", "float16", "float16", mixed=True, lowers=_WIDE)

MODES: dict[str, Rule] = {
    "must_keep_origin_dtype": Rule(),
    "force_fp32": Rule("float16"),
    "cube_fp16in_fp32out": Rule("float16"),
    "allow_fp32_to_fp16": Rule("float16", "float16"),
    "allow_fp32_to_bf16": Rule("bfloat16", "bfloat16"),
    "allow_fp32_to_lowprecision": Rule("float16", "float16"),
    "allow_mix_precision": _MIXED,
    "allow_mix_precision_fp16": _MIXED,
    "allow_mix_precision_bf16": Rule("bfloat16", "bfloat16", "bfloat16", mixed=True),
    "force_fp16": Rule("float16", "float16", "float16", lowers=_WIDE),
    "force_lowerprecision": Rule(LOW, LOW, LOW),
    "cube_hif8": Rule("hifloat8", "float16", lowers=_FLOATS),
    "mixed_hif8": Rule("hifloat8", "float16", "float16", mixed=True, lowers=_FLOATS),
}
"""Precision mode by name. Tensors keep the dtype of the graph; their values are rounded.

``allow_fp32_to_lowprecision`` runs the code of ``allow_fp32_to_fp16``. What the cube unit writes and
the vector unit computes under the two modes of hifloat8 is our choice: kernels of the device decide.
"""

MODES_V2: dict[str, str] = {
    "fp16": "force_fp16",
    "origin": "must_keep_origin_dtype",
    "cube_fp16in_fp32out": "cube_fp16in_fp32out",
    "mixed_float16": "allow_mix_precision_fp16",
    "mixed_bfloat16": "allow_mix_precision_bf16",
    "cube_hif8": "cube_hif8",
    "mixed_hif8": "mixed_hif8",
}
"""Names of ``precision_mode_v2``, and the modes they are."""


def rule_of(mode: str, profile: Profile) -> Rule:
    """Return what a mode means on a device.

    Raises GraphError if the mode is unknown or needs a format that the device does not have.
    """
    name = MODES_V2.get(mode, mode)
    if name not in MODES:
        known = sorted({*MODES, *MODES_V2})
        raise GraphError("core/choice", subject="precision mode", got=mode, known=known)
    rule = _resolved(MODES[name], profile)
    if not rule.formats <= {*profile.formats}:
        raise GraphError(
            "run/mode-unsupported", device=profile.title, got=mode, known=modes_of(profile)
        )
    return rule


def modes_of(profile: Profile) -> list[str]:
    """Return the modes that a device can run, in order."""
    return sorted(
        name
        for name, rule in MODES.items()
        if _resolved(rule, profile).formats <= {*profile.formats}
    )


def _resolved(rule: Rule, profile: Profile) -> Rule:
    if LOW not in rule.formats:
        return rule
    low = "bfloat16" if "bfloat16" in profile.vector else "float16"
    return replace(rule, cube_in=low, cube_out=low, vector=low)
