"""Faults as text, as the command line takes them."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.npu.faults.fault import Fault
from workbench.npu.faults.links import LINKS
from workbench.npu.faults.table import FAULTS, check_settings

if TYPE_CHECKING:
    from collections.abc import Iterator


_OWN = ("strength", "seed", "value", "iteration", "rank", "since", "node")
_SEPARATOR = re.compile("(?<!:):(?!:)")
"""A colon alone: names of functions that ONNX has put into a graph hold two (`F0::If_0/Conv`)."""

_NUMBERS = {
    "strength": int | float,
    "seed": int,
    "iteration": int,
    "rank": int,
    "since": int,
    "node": int,
}


def parse_fault(text: str) -> Fault:
    """Read ``kind:operator[:settings]``, settings being ``key=value`` joined by commas.

    ``strength``, ``seed``, ``value``, ``iteration``, ``since``, ``rank`` and ``node`` are the fault's own, every other
    key is an attribute. A single number is the strength.

    >>> parse_fault("scaled-output:Default/fc1-Dense/MatMul-op0:1.5").strength
    1.5
    >>> parse_fault("wrong-attribute:*conv3*:pad_mode=pad,pad=(1,1,1,1)").value
    {'pad_mode': 'pad', 'pad': (1, 1, 1, 1)}
    """
    kind, _, rest = text.partition(":")
    op_name, *settings = _SEPARATOR.split(rest, maxsplit=1)
    if kind not in FAULTS and kind not in LINKS:
        raise GraphError("core/choice", subject="fault", got=kind, known=sorted([*FAULTS, *LINKS]))
    if not op_name:
        raise GraphError("run/fault-form", got=text)
    own: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for piece in _pieces("".join(settings)):
        key, equals, value = piece.partition("=")
        if not equals:
            key, value = "strength", piece
        key = key.strip()
        target = own if key in _OWN else attributes
        if key in target:
            raise GraphError("run/fault-twice", name=key, fault=text)
        target[key] = _literal(value.strip())
    fault = Fault(kind, op_name, **own)
    if attributes:
        if fault.value is not None:
            raise GraphError("run/fault-value-and-attributes", fault=text)
        fault = replace(fault, value=attributes)
    _check_numbers(fault, text)
    check_settings(fault)
    return fault


def _check_numbers(fault: Fault, text: str) -> None:
    for name, kinds in _NUMBERS.items():
        value = getattr(fault, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            raise GraphError("run/fault-number", name=name, fault=text, got=value)


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
