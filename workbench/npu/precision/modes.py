"""What a run asks of the compiler: precision mode, changed lists, implementations, HF32.

`MODES` says in which formats operators of a float32 graph compute, after the fusion engine's dtype strategies
(``op_dtype_selection_strategy_*``) and ATC's tables of ``precision_mode``, ``precision_mode_v2`` and
``modify_mixlist``.

`Precision` is the value; `read_precision` makes it from the options of the graph engine, whose rules
(``op_impl_mode_config_parser``, ``modify_mixlist_config_parser``) these are, but a line that the
engine passes over with a warning is refused here.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from workbench._values import dataclass
from workbench.core.errors import FormatError, GraphError
from workbench.npu.precision.lists import (
    FormatList,
    MixList,
    OperatorList,
    read_customize_dtypes,
    read_keep_dtype,
    read_mixlist,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.graph.graph import Op
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


HIGH_PERFORMANCE = "high_performance"
IMPLEMENTATIONS = (
    "high_precision",
    HIGH_PERFORMANCE,
    "super_performance",
    "enable_float_32_execution",
    "enable_hi_float_32_execution",
    "keep_fp16",
    "support_out_of_bound_index",
    "norm_class",
)
"""Values of ``op_precision_mode``. The last three change nothing here: the vector unit computes
float16 operators in float32 and rounds once, and an index outside its axis always gives zeros."""

SELECTIONS = {
    "high_precision": "high_precision",
    HIGH_PERFORMANCE: HIGH_PERFORMANCE,
    "high_precision_for_all": "high_precision",
    "high_performance_for_all": HIGH_PERFORMANCE,
}
"""Values of ``op_select_implmode``, and the implementation they choose."""

_HF32: dict[str, tuple[bool, bool]] = {
    "00": (False, False),
    "01": (True, False),
    "10": (False, True),
    "11": (True, True),
    "0": (False, False),
    "1": (True, True),
    "false": (False, False),
    "true": (True, True),
}
"""Values of ``allow_hf32``: for matrix products, for convolutions."""

_HF32_SWITCH = {"enable_float_32_execution": False, "enable_hi_float_32_execution": True}


@dataclass(frozen=True, slots=True)
class Precision:
    """How a graph is compiled for a device.

    ``mode`` is a name of ``precision_mode`` or ``precision_mode_v2``; ``""`` the device's own for ``training`` or
    inference (``None``: what the surface compiles for). ``by_name`` and ``by_type`` are the sections of
    ``op_precision_mode``; ``select`` and ``select_types`` stand for ``op_select_implmode`` and
    ``optypelist_for_implmode``. ``kept`` are operators that stay in the formats of the model whatever the mode,
    ``chosen`` has formats of others, which count first. ``hf32`` says whether matrix products and convolutions read
    float32 as HF32 (``None``: not said). ``saturate`` chooses what overflow gives on a device that knows both ways.
    """

    mode: str = ""
    training: bool | None = None
    mixlist: MixList = field(default_factory=MixList)
    kept: OperatorList = field(default_factory=OperatorList)
    chosen: FormatList = field(default_factory=FormatList)
    by_name: Mapping[str, str] = field(default_factory=dict)
    by_type: Mapping[str, str] = field(default_factory=dict)
    select: str = ""
    select_types: tuple[str, ...] = ()
    hf32: tuple[bool, bool] | None = None
    saturate: bool | None = None

    def __post_init__(self) -> None:
        for name, value in (*self.by_name.items(), *self.by_type.items()):
            if value not in IMPLEMENTATIONS:
                raise GraphError(
                    "core/choice",
                    place=name,
                    subject="implementation mode",
                    got=value,
                    known=IMPLEMENTATIONS,
                )
        if self.select and self.select not in SELECTIONS:
            raise GraphError(
                "core/choice", subject="op_select_implmode", got=self.select, known=[*SELECTIONS]
            )

    @property
    def names(self) -> set[str]:
        """Operators that the options call by their names."""
        return {*self.kept.names, *self.chosen.by_name, *self.by_name}

    def implementation(self, op: Op) -> str:
        """Return how an operator is implemented: by its name, its type, or the rest of the options."""
        if self.by_name or self.by_type:
            chosen = self.by_name.get(op.name) or self.by_type.get(op.op_type)
            return chosen or HIGH_PERFORMANCE
        if self.select_types and op.op_type not in self.select_types:
            return HIGH_PERFORMANCE
        return SELECTIONS[self.select or HIGH_PERFORMANCE]

    def uses_hf32(self, op: Op) -> bool:
        """Whether a cube operator reads float32 as HF32: by name, by the switch, by type."""
        convolution = op.op_type.startswith("Conv")
        named = _HF32_SWITCH.get(self.by_name.get(op.name, ""))
        switched = None if self.hf32 is None else self.hf32[convolution]
        typed = _HF32_SWITCH.get(self.by_type.get(op.op_type, ""))
        said = [one for one in (named, switched, typed) if one is not None]
        return said[0] if said else convolution


def read_precision(options: Mapping[str, str]) -> Precision:
    """Make a `Precision` from options of the graph engine; others are left alone.

    Files are given by their text: ``op_precision_mode`` is an ini text, ``modify_mixlist`` JSON, ``keep_dtype`` and
    ``customize_dtypes`` have an operator a line.
    ``graph_run_mode`` 0 is inference. Raises FormatError or GraphError for what is not understood.

    >>> read_precision({"precision_mode_v2": "mixed_float16", "allow_hf32": "01"}).hf32
    (True, False)
    """
    hf32 = options.get("allow_hf32", "")
    if hf32 and hf32 not in _HF32:
        raise GraphError("core/choice", subject="allow_hf32", got=hf32, known=[*_HF32])
    by_name, by_type = _read_sections(options.get("op_precision_mode", ""))
    types = options.get("optypelist_for_implmode", "").split(",")
    return Precision(
        mode=options.get("precision_mode") or options.get("precision_mode_v2", ""),
        training=options["graph_run_mode"] != "0" if "graph_run_mode" in options else None,
        mixlist=read_mixlist(options.get("modify_mixlist", "")),
        kept=read_keep_dtype(options.get("keep_dtype", "")),
        chosen=read_customize_dtypes(options.get("customize_dtypes", "")),
        by_name=by_name,
        by_type=by_type,
        select=options.get("op_select_implmode", ""),
        select_types=tuple(name.strip() for name in types if name.strip()),
        hf32=_HF32[hf32] if hf32 else None,
    )


def _read_sections(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Read ``[ByOpType]`` and ``[ByNodeName]``: (by name, by type). A name's first line counts."""
    by_name: dict[str, str] = {}
    by_type: dict[str, str] = {}
    section = by_type
    for number, line in enumerate(text.splitlines(), 1):
        place, word = f"op_precision_mode:{number}", line.strip()
        if not word or line.startswith("#"):
            continue
        key, equals, value = (part.strip() for part in word.partition("="))
        if word in ("[ByOpType]", "[ByNodeName]"):
            section = by_type if word == "[ByOpType]" else by_name
        elif not equals or not key:
            raise FormatError("run/implementation-line", place=place, got=word)
        elif value not in IMPLEMENTATIONS:
            raise FormatError(
                "core/choice",
                place=place,
                subject="implementation mode",
                got=value,
                known=IMPLEMENTATIONS,
            )
        else:
            section.setdefault(key, value)
    return by_name, by_type
