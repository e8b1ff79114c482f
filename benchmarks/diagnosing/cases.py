"""What is planted where: everything that a seed decides before anything runs.

Cards are dealt from decks that are shuffled anew whenever they are used up, one deck for every purpose:
over many seeds every card comes equally often, and no two decks keep step with each other.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.graph.graph import Param
from workbench.npu.faults import FAULTS, Fault
from workbench.npu.precision import MODES_V2, modes_of
from workbench.npu.profiles import PROFILES
from workbench.ops import bind, op_def

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.graph.graph import Graph, Op

SURFACES = (
    ("mindspore-o0o1", "npy"),
    ("mindspore-o2", "npy"),
    ("mindspore-o2", "bin"),
    ("mindspore-ge", "bin"),
    ("tensorflow", "bin"),
    ("torchair", "bin"),
    ("acl", "bin"),
)
"""Surfaces and their files. AscendCL runs no training."""

MODELS = {
    "lenet": 3, "alexnet": 2, "mlp": 3, "resnet": 2, "transformer": 3, "lstm": 2,
    "lenet_train": 2, "mlp_train": 2, "resnet_train": 1, "transformer_train": 1,
}  # fmt: skip
"""How often a model is in a deck: the two that take longest, least."""

HAND = 5
"""Models that a seed is dealt."""

LONG = frozenset(("resnet_train", "transformer_train"))
"""Models of which a comparison takes as long as ten of another; half as many faults are planted in them."""

ITERATIONS = {"resnet_train": (2,), "transformer_train": (2,)}
"""How many iterations a training runs, if not 2 or 3."""

KINDS = tuple(kind for kind, row in FAULTS.items() if not row.ends_run)
ENDING = tuple(kind for kind, row in FAULTS.items() if row.ends_run)
FAST = ("transformer", "transformer_train", "mlp_train")
"""Models with an operator that has a fast implementation."""

STRENGTHS: dict[str, tuple[float | None, ...]] = {
    "wrong-weight-element": (1, 4, 16),
    "dropped-k-tail": (1, 2),
    "scaled-output": (1.01, 1.05, 1.25, 2.0, 0.5),
    "flush-to-zero": (2.0**-14, 2.0**-7, 0.05, 0.2),
    "saturated": (65504.0, 1.0, 0.25, 0.05),
    "nan-output": (1, 4, 16),
    "overwritten-element": (1, 4, 16),
    "bit-flip": (1, 1, 4),
    "wrong-layout-lanes": (1, 2, 4, 8),
}
VALUES: dict[str, tuple[Any, ...]] = {
    "missing-cast": (None, "bfloat16", "float8_e4m3fn", "float8_e5m2"),
    "wrong-weight-element": (None, None, 0.0),
    "overwritten-element": (None, None, 100.0),
    "bit-flip": (None, None, 12, 13, 15, 27, 31),
    "overrun": (None, 100.0),
}
ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "epsilon": (1e-12, 1e-3, 1e-2, 0.1),
    "dilation": (2,),
    "pad_mode": ("same", "valid", "pad"),
    "pad": (0, 1, 2),
    "axis": (0, 1, 2, -1, -2),
    "begin_norm_axis": (1, -2),
    "transpose_a": (True, False),
    "transpose_b": (True, False),
    "dims": ((0, 1, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2), (1, 0, 2), (0, 1, 2), (0, 2, 1), (1, 0)),
    "begin": ((0, -2), (0, 0), (0, 3)),
    "forget_bias": (1.0,),
    "use_nesterov": (True, False),
    "gradient_scale": (2.0,),
    "keep_dims": (True, False),
}
"""What a setting may be mistaken for. What changes an output's shape is refused when it is planted."""


class Setting(NamedTuple):
    """Where a network runs. ``mode`` is a precision mode, or ``""`` for the device's own."""

    model: str
    seed: int
    device: str
    surface: str
    files: str
    mode: str
    iterations: int

    @property
    def training(self) -> bool:
        return self.iterations > 1

    @property
    def low(self) -> bool:
        """Whether anything is computed in another format than the network's float32."""
        own = PROFILES[self.device].inference if self.surface == "acl" else ""
        mode = self.mode or own or PROFILES[self.device].training
        return MODES_V2.get(mode, mode) != "must_keep_origin_dtype"


@dataclass(frozen=True)
class Draw:
    """The random choices of one seed."""

    seed: int

    def rng(self, *purpose: object) -> np.random.Generator:
        """A generator of its own for every purpose."""
        return np.random.default_rng([self.seed, _number(purpose)])

    def card(self, deck: Sequence[Any], *purpose: object) -> Any:
        """The card of a deck that this seed is dealt."""
        return self.hand(deck, 1, *purpose)[0]

    def hand(self, deck: Sequence[Any], count: int, *purpose: object) -> list[Any]:
        """The cards of a deck that this seed is dealt."""
        found = []
        for number in range(self.seed * count, (self.seed + 1) * count):
            turn, place = divmod(number, len(deck))
            order = np.random.default_rng([turn, _number(purpose)]).permutation(len(deck))
            found.append(deck[int(order[place])])
        return found

    def setting(self, model: str) -> Setting:
        """Where this seed runs a model: all its faults there, and its clean run."""
        training = model.endswith("_train")
        surfaces = [one for one in SURFACES if not (training and one[0] == "acl")]
        device, (surface, files) = self.card([*product(PROFILES, surfaces)], "place", model)
        modes = ["", "", *modes_of(PROFILES[device])]
        mode = modes[int(self.rng("mode", model).integers(len(modes)))]
        iterations = (
            int(self.rng("iterations", model).choice(ITERATIONS.get(model, (2, 3))))
            if training
            else 1
        )
        return Setting(model, self.seed, device, surface, files, mode, iterations)

    def models(self) -> dict[str, list[str]]:
        """Kinds of faults by the model in which this seed plants them; those without a place are left out.

        Models get equally many, long ones half as many.
        """
        deck = [model for model, count in MODELS.items() for _ in range(count)]
        found: dict[str, list[str]] = {model: [] for model in self.hand(deck, HAND, "models")}
        for number in self.rng("kinds").permutation(len(FAULTS)):
            kind = [*FAULTS][int(number)]
            able = [model for model in found if _has_place(kind, model)]
            if able:
                loads = {model: len(found[model]) * (1 + (model in LONG)) for model in able}
                found[min(loads, key=loads.__getitem__)].append(kind)
        return found

    def lower(self, count: int) -> list[Setting]:
        """More settings for clean runs with few bits, of the small models."""
        small = ["lenet", "mlp", "transformer", "lstm", "mlp_train"]
        found = []
        for number in range(count):
            own = self.setting(self.card(small, "lower", number))
            modes = [m for m in modes_of(PROFILES[own.device]) if own._replace(mode=m).low]
            mode = modes[int(self.rng("lower", number).integers(len(modes)))]
            found.append(own._replace(mode=mode))
        return found

    def faults(self, kind: str, graph: Graph, setting: Setting) -> Iterator[Fault]:
        """Faults of a kind in operators of a graph, all that may be tried, in random order.

        Where graphs are compiled an operator that only renames data runs nothing, and cannot be wrong.
        """
        rng, iterations = self.rng("fault", kind), setting.iterations
        row, compiles = FAULTS[kind], setting.surface != "mindspore-o0o1"
        ops = [op for op in graph.ops if not row.types or op.op_type in row.types]
        ops = [op for op in ops if not compiles or op_def(op.op_type).engine != "none"]
        if kind == "wrong-weight-element":
            ops = [op for op in ops if _reads_weight(op, graph)]
        for number in rng.permutation(len(ops)):
            op = ops[int(number)]
            value = _altered(op, rng) if kind == "wrong-attribute" else _one(VALUES, kind, rng)
            once = not row.alters and row.step != "upload" and rng.random() < 0.5
            when = int(rng.integers(iterations)) if iterations > 1 and once else None
            if value is not None or kind != "wrong-attribute":
                strength = _one(STRENGTHS, kind, rng)
                yield Fault(kind, op.name, strength, int(rng.integers(1000)), value, when)


def _number(purpose: tuple[object, ...]) -> int:
    return zlib.crc32(repr(purpose).encode())


def _has_place(kind: str, model: str) -> bool:
    if kind == "fast-approximation":
        return model in FAST
    return not (kind == "wrong-attribute" and model in ("mlp", "mlp_train"))


def _reads_weight(op: Op, graph: Graph) -> bool:
    read = (graph.parameters[one.index] for one in op.flat_inputs() if isinstance(one, Param))
    return any(parameter.is_weight for parameter in read)


def _one(table: dict[str, tuple[Any, ...]], kind: str, rng: np.random.Generator) -> Any:
    choices = table.get(kind, (None,))
    return choices[int(rng.integers(len(choices)))]


def _altered(op: Op, rng: np.random.Generator) -> dict[str, Any] | None:
    """Another value for one of an operator's settings; ``None`` if it has none that could differ."""
    settings = bind(op).settings
    known = {*op.attrs, *op_def(op.op_type).defaults, *op_def(op.op_type).settings}
    pairs = [
        (name, value)
        for name in sorted(known & ATTRIBUTES.keys() & settings.keys())
        for value in ATTRIBUTES[name]
        if value != settings[name] and (value,) != settings[name]
    ]
    if not pairs:
        return None
    name, value = pairs[int(rng.integers(len(pairs)))]
    return {name: value}
