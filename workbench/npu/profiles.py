"""The devices: what each multiplies, how it overflows, what it reports. One row each.

Facts: the platform files of CANN 8 (cube types, ``support_bf16``, ``support_inf_nan``), the documents
of ``aclrtSetDeviceSatMode``, ``SetHF32`` and ``asc_get_status``, the fusion engine's default of
``precision_mode``, and the guide to ``fusion_switch_file`` (a 950 fuses nothing in its buffer).
How many elements a row of the cube unit has (C0) is the same on all of them:
`workbench.core.formats.c0_of`. Which bits an overflow sets is in `workbench.core.events`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from workbench._values import dataclass
from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Mapping

Overflow = Literal["saturate", "inf_nan", "either"]
"""What a result that is too large becomes: the largest finite value (and NaN becomes 0), or Inf and
NaN. ``either``: INF_NAN unless the run asks for saturation."""

RecordLayout = Literal["classic", "magic", ""]
"""Layout of overflow records: 2,048 bytes of three blocks, or one that starts with a magic number."""

HF32, HF32_AWAY = "hf32", "hf32_ties_away"
"""Float32 with 11 stored mantissa bits, ties rounded to even or away from zero."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A device.

    ``cube`` gives the accumulator of every format that the cube unit multiplies, ``vector`` the
    formats of the vector unit. ``flushes``: operators whose vector instructions take subnormal
    numbers for zero. ``joins`` says that the compiler fuses neighbors in the unified buffer. ``inference``
    and ``training`` are the precision modes if none is asked for.
    """

    title: str
    cube: Mapping[str, str]
    vector: tuple[str, ...]
    overflow: Overflow
    record: RecordLayout
    training: str
    inference: str = "force_fp16"
    flushes: frozenset[str] = frozenset()
    joins: bool = True

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats that some unit computes in."""
        return tuple(dict.fromkeys((*self.cube, *self.vector)))


_HALF = {"float16": "float32", "int8": "int32", "uint8": "int32"}
_FULL = {**_HALF, "bfloat16": "float32", HF32: "float32", "float32": "float32"}
_EIGHT = dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "hifloat8"), "float32")

_910A = Profile(
    "Ascend 910A",
    _HALF,
    ("float16", "float32"),
    overflow="saturate",
    record="classic",
    training="allow_fp32_to_fp16",
)
_A2 = Profile(
    "Atlas A2 (910B)",
    _FULL,
    ("float16", "bfloat16", "float32"),
    overflow="either",
    record="magic",
    training="must_keep_origin_dtype",
)

PROFILES: dict[str, Profile] = {
    "910a": _910A,
    "310p": replace(_910A, title="Ascend 310P"),
    "a2": _A2,
    "a3": replace(_A2, title="Atlas A3 (910_93)"),
    "950": replace(
        _A2,
        title="Ascend 950",
        cube={**_FULL, **_EIGHT},
        overflow="inf_nan",
        record="",
        flushes=frozenset(("Exp", "Div", "RealDiv", "Sqrt", "Log")),
        joins=False,
    ),
}
"""Device by name. The 950 writes no overflow records; that A2 and A3 write the layout with the magic
number, and the two others the classic one, is our reading of msaccucmp and not documented."""


def profile(name: str) -> Profile:
    """Return a device; raises GraphError naming the known ones."""
    if name not in PROFILES:
        raise GraphError("core/choice", subject="device", got=name, known=sorted(PROFILES))
    return PROFILES[name]
