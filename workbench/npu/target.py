"""What a graph is compiled for: surface, device, precision and fusions, as one value."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from workbench.core.errors import FormatError, GraphError
from workbench.core.files import file_content
from workbench.core.words import Message
from workbench.core.writers import COMPILED_SURFACES, WRITERS
from workbench.npu.compile.fusions import LEVELS, SWITCHES
from workbench.npu.compile.quantize import Quantization
from workbench.npu.faults import parse_fault
from workbench.npu.numerics import numeric_model
from workbench.npu.orders.files import read_orders
from workbench.npu.orders.known import NO_ORDERS, Orders
from workbench.npu.precision import Precision
from workbench.npu.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.npu.faults import Fault
    from workbench.npu.numerics import NumericModel

REFERENCE = "reference"
"""The device that makes golden trees: NumPy, for which nothing is compiled."""

_LARGEST = 1 << 20
"""Bytes of a switch file that are read."""


@dataclass(frozen=True)
class Target:
    """How a graph is compiled.

    Attributes
    ----------
    surface : str
        Whose graph it is; `workbench.core.writers` says whether the graph engine compiles it.
    device : str
        `REFERENCE`, which computes no kernels, or a key of `workbench.npu.profiles.PROFILES`.
    precision : str or Precision, optional
        Left out, that of training, but for acl, which ATC compiles for, that of inference.
    fusions_off : frozenset of str
        Fusions that are switched off, keys of `workbench.npu.compile.fusions.SWITCHES`; see `fusions_off`.
    quantization : Quantization, optional
        How the network is quantized before.
    quant_dumpable : bool
        Whether what an AscendQuant reads stays a tensor of its own, as of GE's option.
    orders : Orders
        Those in which the device sums.
    faults : tuple of Fault
        Defects, of which some are the compiler's.

    Raises
    ------
    GraphError
        The device or a fusion is unknown, the reference is asked for what only a device has, or something is to be
        quantized that the graph engine does not compile.
    """

    surface: str
    device: str = "a2"
    precision: str | Precision | None = None
    fusions_off: frozenset[str] = frozenset()
    quantization: Quantization | None = None
    quant_dumpable: bool = False
    orders: Orders = NO_ORDERS
    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        self._check_device()
        if self.quantization and not self.is_compiled:
            raise GraphError(
                "run/quantize-surface",
                surfaces=[*COMPILED_SURFACES],
                devices=[*PROFILES],
                got=self.surface,
                device=self.device,
            )
        for name in sorted(self.fusions_off - SWITCHES.keys()):
            raise GraphError("core/choice", subject="fusion", got=name, known=[*SWITCHES])

    def _check_device(self) -> None:
        devices = [*PROFILES]
        if self.device not in (REFERENCE, *devices):
            known = [REFERENCE, *devices]
            raise GraphError("core/choice", subject="device", known=known, got=self.device)
        if self.device != REFERENCE:
            return
        if self.faults:
            raise GraphError("run/reference-faults", known=devices, got=self.device)
        if self.orders:
            raise GraphError("run/reference-orders", known=devices, got=self.device)
        if self.precision:
            mode = self.precision if isinstance(self.precision, str) else self.precision.mode
            values = {"mode": mode or "--ge-options", "got": self.device}
            raise GraphError("run/reference-precision", known=devices, **values)

    @classmethod
    def of(
        cls,
        surface: str,
        device: str = "a2",
        *,
        precision_mode: str | Precision | None = None,
        fusion: str | Path = "on",
        quantization: str | Quantization | None = None,
        orders: Orders | str | Path | None = None,
        faults: Sequence[Fault | str] = (),
        seed: int = 0,
    ) -> Self:
        """Return the target that a caller describes in keywords, as those of `wb.simulate`; files are read.

        ``seed`` is added to that of every fault. Raises GraphError as the class, and for faults that are none;
        FormatError for files that cannot be read.
        """
        planted = [parse_fault(one) if isinstance(one, str) else one for one in faults]
        return cls(
            surface,
            device,
            precision_mode or None,
            fusions_off(fusion),
            Quantization(quantization) if isinstance(quantization, str) else quantization,
            orders=read_orders(orders) if isinstance(orders, str | Path) else orders or NO_ORDERS,
            faults=tuple(replace(one, seed=one.seed + seed) for one in planted),
        )

    def calibrated(self, feeds: Mapping[str, Any] | None) -> Self:
        """Return the target whose quantization is calibrated with these feeds, unless it has its own."""
        asked = self.quantization
        if asked is None or asked.calibration is not None:
            return self
        return replace(self, quantization=replace(asked, calibration=feeds))

    @property
    def is_simulated(self) -> bool:
        """Whether kernels of the device are computed."""
        return self.device in PROFILES

    @property
    def is_compiled(self) -> bool:
        """Whether the graph engine compiles whole graphs; else their operators run one by one."""
        return WRITERS[self.surface].is_compiled and self.is_simulated

    @property
    def weights(self) -> str:
        """Type of the operators that hold weights; ``Const`` where the compiler knows them."""
        return WRITERS[self.surface].weights

    @property
    def model(self) -> NumericModel:
        """How the device computes; raises GraphError for a mode that it does not have.

        What ATC compiles does not train, unless the precision says so.
        """
        own: Precision | str = Precision() if self.precision is None else self.precision
        if isinstance(own, Precision) and own.training is None:
            own = replace(own, training=not WRITERS[self.surface].is_offline)
        return replace(numeric_model(self.device, own), orders=self.orders)


def fusions_off(fusion: str | Path) -> frozenset[str]:
    """Return the names of the fusions that a switch turns off: ``on``, ``off``, or the path of a file.

    Raises FormatError if it is a file that cannot be read or is no ``fusion_switch_file`` as of GE.
    """
    if fusion in ("on", "off"):
        return frozenset(SWITCHES) if fusion == "off" else frozenset()
    if not Path(fusion).exists():
        raise FormatError("run/fusion", got=str(fusion))
    text = file_content(fusion, _LARGEST, "fusion_switch_file").decode("utf-8", "replace")
    return read_switch(text, str(fusion))


def read_switch(text: str, path: str) -> frozenset[str]:
    """Return the fusions that the text of a ``fusion_switch_file`` turns off.

    ``ALL`` means those of its part that are not named; names that are not simulated say nothing.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError("run/switch-json", place=path, why=error) from None
    parts = _object(
        _object(content, Message("run/switch-file"), path).get("Switch"), "Switch", path
    )
    off = set()
    for part, level in LEVELS.items():
        switches = _object(parts.get(part, {}), part, path)
        for name, state in switches.items():
            if state not in ("on", "off"):
                raise FormatError("run/switch-state", place=path, name=name, got=state)
        for name, belongs in SWITCHES.items():
            state = switches.get(name, switches.get("ALL", "on"))
            if belongs == level and state == "off":
                off.add(name)
    return frozenset(off)


def _object(value: Any, name: str | Message, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError("run/switch-object", place=path, name=name, got=value)
    return value
