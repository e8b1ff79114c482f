"""Which device computed a dump: the numeric models of the simulated NPU, on trial with what it gave.

Nobody writes into a dump in which formats the units computed. What the graph states as float32 may have
been multiplied in float16 or HF32. So every model that a profile and a precision mode give is asked what
it would have made of the inputs, and the one that explains most operators is selected. It is selected
for all of them: an operator that only another model explains is not explained.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.npu.arithmetic import Arithmetic
from workbench.npu.numerics import NumericModel, numeric_model
from workbench.npu.precision import Precision, modes_of
from workbench.npu.profiles import HF32, PROFILES

if TYPE_CHECKING:
    from workbench.graph.graph import Graph
    from workbench.npu.numerics import Formats


class Candidate(NamedTuple):
    """A model and what it says of every operator of one graph, by number."""

    title: Message
    arithmetics: tuple[Arithmetic, ...]


class Products(NamedTuple):
    """Whether matrix products and convolutions read float32 as HF32; ``None``: as the device does by itself."""

    hf32: tuple[bool, bool] | None
    why: str


_PRODUCTS = (
    Products(None, "first: a setting is told only where it makes another model than the device's own choice"),
    Products((True, True), "before one of both: fewer things differ from what is usual"),
    Products((True, False), "in the order of ATC's option, products before convolutions"),
    Products((False, False), "last: float32 throughout"),
)  # fmt: skip
"""What is tried of each device in each mode. Models that say the same are told by the first of them."""


@cache
def _models() -> tuple[tuple[Message, NumericModel], ...]:
    """Every model that differs from the others: devices, their modes, and what products read, each in its order.

    A later one is selected only if it explains more.
    """
    found: dict[object, tuple[Message, NumericModel]] = {}
    for name, device in PROFILES.items():
        for mode, (hf32, _) in product(modes_of(device), _PRODUCTS):
            try:
                model = numeric_model(name, Precision(mode, hf32=hf32))
            except GraphError:
                continue
            full = not model.rule.cube_in and HF32 in device.cube
            if hf32 is not None and not full:
                continue  # products of other formats do not read HF32
            key = (model.rule, model.saturates, hf32 if full else None, full, device.flushes)
            found.setdefault(key, (_title(device.title, mode, hf32), model))
    return tuple(found.values())


def _title(device: str, mode: str, hf32: tuple[bool, bool] | None) -> Message:
    if hf32 is None:
        return Message("compare/model", device=device, mode=mode)
    products, convolutions = ("on" if one else "off" for one in hf32)
    code = "compare/model-hf32"
    return Message(code, device=device, mode=mode, products=products, convolutions=convolutions)


def candidates(graph: Graph) -> tuple[Candidate, ...]:
    """Return what every model says of a graph; models that say the same only once."""
    found: dict[tuple[Arithmetic, ...], Candidate] = {}
    for title, model in _models():
        try:
            formats = model.formats(graph)
        except GraphError:
            continue
        said = tuple(arithmetic_of(model, graph, n, one) for n, one in enumerate(formats))
        found.setdefault(said, Candidate(title, said))
    return tuple(found.values())


def arithmetic_of(model: NumericModel, graph: Graph, number: int, formats: Formats) -> Arithmetic:
    """How a model computes an operator of a graph, by its number, in the formats that it has there."""
    op = graph.ops[number]
    flushes = op.op_type if op.op_type in model.profile.flushes else ""
    return _shared(formats, model.implementation(op, formats), model.saturates, flushes)


@lru_cache(4096)
def _shared(formats: Formats, implementation: str, saturates: bool, flushes: str) -> Arithmetic:
    """One arithmetic for all operators that are computed alike."""
    return Arithmetic(
        "cube",
        formats.inputs,
        formats.output,
        implementation=implementation,
        saturates=saturates,
        flushes=frozenset((flushes,) if flushes else ()),
    )
