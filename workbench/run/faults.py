"""Planted faults: what is wrong with a simulated device, as plain values.

A fault works on a `Site`, one operator about to be computed or just computed, and is deterministic
for its seed. `tests/run/test_faults.py` checks every kind.
"""

from __future__ import annotations

import ast
import difflib
import zlib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.infer import Call
from workbench.graph.nodes import Bundle, Const, Param, Value
from workbench.graph.ops import bind, infer_outputs, op_def
from workbench.graph.windows import PAD_MODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec
    from workbench.graph.nodes import Graph, Op, Operand

    Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """A defect of the device.

    ``op_name`` is a full operator name, a pattern with ``*``, or an operator type. ``strength`` is
    the factor (scaled-output) or the number of elements (overwritten-element); ``value`` the
    attributes (wrong-attribute) or the number that is written (overwritten-element).
    """

    kind: str
    op_name: str
    strength: float | None = None
    seed: int = 0
    value: Any = None

    def meets(self, op: Op) -> bool:
        """Whether the fault is in this operator."""
        return self.op_name in (op.name, op.op_type) or fnmatchcase(op.name, self.op_name)


@dataclass(frozen=True, slots=True)
class Site:
    """One operator on the device: before it is computed (no ``outputs``) or after."""

    op: Op
    accumulator: str = "float32"
    outputs: tuple[Array, ...] | None = None


def wrong_attribute(fault: Fault, site: Site) -> Site:
    """Compute with other settings than the network asked for."""
    if site.outputs is not None:
        return site
    if not isinstance(fault.value, dict) or not fault.value:
        message = f"value of a wrong-attribute fault must be attributes, got {fault.value!r}"
        raise GraphError(f"{message}; write wrong-attribute:{site.op.name}:pad_mode=pad,pad=1")
    op = site.op
    for name, value in fault.value.items():
        op = _with_setting(op, name, value)
    return replace(site, op=_derived(op, set(fault.value)))


def half_accumulation(fault: Fault, site: Site) -> Site:
    """Keep the running sums of the cube unit in float16."""
    if op_def(site.op.op_type).engine != "cube":
        message = f"operator of a {fault.kind} fault must use the cube unit, got {site.op.name!r}"
        raise GraphError(message)
    return replace(site, accumulator="float16")


def scaled_output(fault: Fault, site: Site) -> Site:
    """Multiply the first output by the strength (1.01 if none is given)."""
    if site.outputs is None:
        return site
    factor = 1.01 if fault.strength is None else fault.strength
    first = site.outputs[0]
    scaled = (first.astype(np.float64) * factor).astype(first.dtype)
    return replace(site, outputs=(scaled, *site.outputs[1:]))


def overwritten_element(fault: Fault, site: Site) -> Site:
    """Overwrite neighboring elements of the first output, at a place that the seed chooses.

    ``strength`` elements (1 if none is given) become ``value``, or ten times the largest magnitude.
    """
    if site.outputs is None or site.outputs[0].size == 0:
        return site
    first = site.outputs[0].copy()
    count = min(int(1 if fault.strength is None else fault.strength), first.size)
    rng = np.random.default_rng([zlib.crc32(site.op.name.encode()), fault.seed])
    start = int(rng.integers(first.size - count + 1))
    largest = np.max(np.abs(first[np.isfinite(first)].astype(np.float64)), initial=0.1)
    flat = first.reshape(-1)
    flat[start : start + count] = 10 * largest if fault.value is None else float(fault.value)
    return replace(site, outputs=(first, *site.outputs[1:]))


FAULTS: dict[str, Callable[[Fault, Site], Site]] = {
    "wrong-attribute": wrong_attribute,
    "half-accumulation": half_accumulation,
    "scaled-output": scaled_output,
    "overwritten-element": overwritten_element,
}
"""What each kind of fault does to a site."""


def apply_faults(faults: Sequence[Fault], site: Site) -> Site:
    """Return the site after every fault that meets its operator, in order."""
    for fault in faults:
        if fault.meets(site.op):
            site = FAULTS[fault.kind](fault, site)
    return site


def faulty_graph(graph: Graph, faults: Sequence[Fault]) -> Graph:
    """Return the graph as the faulty device compiled it: wrong attributes show in it.

    Raises GraphError for a fault of unknown kind, one that meets no operator, or one that cannot
    work there.
    """
    for fault in faults:
        _check(fault, graph)
    ops = tuple(apply_faults(faults, Site(op)).op for op in graph.ops)
    return replace(graph, ops=ops) if faults else graph


def _check(fault: Fault, graph: Graph) -> None:
    if fault.kind not in FAULTS:
        message = f"kind of fault must be one of {sorted(FAULTS)}, got {fault.kind!r}"
        raise GraphError(message)
    if not any(fault.meets(op) for op in graph.ops):
        names = [op.name for op in graph.ops]
        close = difflib.get_close_matches(fault.op_name, names, 3, 0.3) or names[:3]
        message = f"operator of a fault must be one of graph {graph.name!r}, got {fault.op_name!r}"
        raise GraphError(f"{message}; close: {close}")


def parse_fault(text: str) -> Fault:
    """Read ``kind:operator[:settings]``, settings being ``key=value`` joined by commas.

    ``strength``, ``seed`` and ``value`` are the fault's own, every other key is an attribute. A
    single number is the strength.

    >>> parse_fault("scaled-output:Default/fc1-Dense/MatMul-op0:1.5").strength
    1.5
    >>> parse_fault("wrong-attribute:*conv3*:pad_mode=pad,pad=(1,1,1,1)").value
    {'pad_mode': 'pad', 'pad': (1, 1, 1, 1)}
    """
    kind, _, rest = text.partition(":")
    op_name, _, settings = rest.partition(":")
    if kind not in FAULTS or not op_name:
        form = f"kind:operator[:settings] with a kind of {sorted(FAULTS)}"
        message = f"fault must be {form}, got {text!r}"
        raise GraphError(message)
    own: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for piece in _pieces(settings):
        key, equals, value = piece.partition("=")
        if not equals:
            key, value = "strength", piece
        target = own if key in ("strength", "seed", "value") else attributes
        target[key.strip()] = _literal(value.strip())
    fault = Fault(kind, op_name, **own)
    if attributes:
        fault = replace(fault, value=attributes)
    _check_numbers(fault, text)
    return fault


def _check_numbers(fault: Fault, text: str) -> None:
    for name, kinds in (("strength", int | float), ("seed", int)):
        value = getattr(fault, name)
        if value is not None and not isinstance(value, kinds):
            message = f"{name} of fault {text!r} must be a number, got {value!r}"
            raise GraphError(message)


def _pieces(text: str) -> Iterator[str]:
    """Split at commas outside brackets."""
    depth, start = 0, 0
    for index, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    if text[start:]:
        yield text[start:]


def _literal(text: str) -> Any:
    """Return the number, tuple or bool that the text spells, else the text."""
    words = {"true": True, "false": False, "nan": np.nan, "inf": np.inf, "-inf": -np.inf}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _with_setting(op: Op, name: str, value: Any) -> Op:
    """Return the operator with another attribute or constant argument."""
    row = op_def(op.op_type)
    if name in row.settings:
        position = (1 if row.tensors < 0 else row.tensors) + row.settings.index(name)
        if position < len(op.inputs):
            inputs = list(op.inputs)
            old = inputs[position]
            before = old.value if isinstance(old, Const) else value
            inputs[position] = Const(
                _shaped(name, value, before),
                old.dtype if isinstance(old, Const) else "",
                old.shape if isinstance(old, Const) else None,
            )
            return replace(op, inputs=tuple(inputs))
    known = set(op.attrs) | set(row.defaults)
    if name not in known:
        message = f"attribute of {op.name} ({op.op_type}) must be one of {sorted(known)}"
        raise GraphError(f"{message}, got {name!r}")
    attrs = dict(op.attrs)
    attrs[name] = _shaped(name, value, op.attrs.get(name, row.defaults.get(name)))
    return replace(op, attrs=attrs)


def _shaped(name: str, value: Any, before: Any) -> Any:
    """Write a value like the old one: ``2`` for the stride ``(1, 1, 4, 4)`` is ``(1, 1, 2, 2)``."""
    if isinstance(before, int) and isinstance(value, str):
        return next((number for number, word in PAD_MODES.items() if word == value), value)
    if not isinstance(before, tuple) or isinstance(value, tuple):
        return value
    if len(before) == 4 and name != "pad":
        return (1, 1, value, value)
    return (value,) * len(before)


def _derived(op: Op, altered: set[str]) -> Op:
    """Compute attributes that follow from the altered ones, and refuse another output shape."""
    row, specs = op_def(op.op_type), _tensor_specs(op)
    stale = replace(
        op, attrs={k: v for k, v in op.attrs.items() if k != "pad_list" or k in altered}
    )
    call = Call(op.op_type, specs, bind(stale).settings)
    fresh = replace(stale, attrs={**stale.attrs, **row.derived(call)})
    outputs = infer_outputs(op.op_type, specs, bind(fresh).settings)
    if [spec.shape for spec in outputs] != [spec.shape for spec in op.outputs]:
        got = tuple(spec.shape for spec in outputs)
        want = tuple(spec.shape for spec in op.outputs)
        message = f"output shapes of {op.name} with wrong attributes must stay {want}, got {got}"
        raise GraphError(message)
    return fresh


def _tensor_specs(op: Op) -> tuple[TensorSpec, ...]:
    """Specs of the operator's tensor inputs, as the graph states them."""
    specs: list[TensorSpec] = []
    for operand, spec in zip(op.inputs, op.input_specs, strict=False):
        items: tuple[Operand, ...] = operand.items if isinstance(operand, Bundle) else (operand,)
        if spec is not None and (isinstance(operand, Value | Param) or len(items) == 1):
            specs.append(spec)
    count = op_def(op.op_type).tensors
    return tuple(specs[:count] if count >= 0 else specs)
