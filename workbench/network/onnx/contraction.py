"""Einsum as permutations, sums and batched products, as the graph engine takes it apart."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.network.onnx.layers import reshaped
from workbench.network.onnx.node import UnsupportedNodeError
from workbench.network.onnx.reduction import apply
from workbench.network.symbolic import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workbench.network.onnx.node import Node

_ELLIPSIS = "..."
_TERM = re.compile(r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*", re.ASCII)
_HIDDEN = "0"
"""First of the letters that stand for the axes of an ellipsis; no equation has digits."""


class _Term(NamedTuple):
    """An operand and a letter for each of its axes."""

    item: Any
    letters: str


def einsum(node: Node) -> Any:
    """Sum of products over the letters that the result has not; operands are joined from the left."""
    terms, wanted = _terms(node)
    found = terms[0]
    for number, term in enumerate(terms[1:], 1):
        later = {*wanted, *(letter for one in terms[number + 1 :] for letter in one.letters)}
        found = _product(_summed(found, {*later, *term.letters}), term, later)
    return _ordered(_summed(found, wanted), wanted)


def _terms(node: Node) -> tuple[list[_Term], str]:
    """Operands with their letters, and the letters of the result."""
    equation = str(node.attr("equation", "")).replace(" ", "")
    given, arrow, result = equation.partition("->")
    texts, shapes = given.split(","), [node.shape(n) for n in range(len(node.inputs))]
    problem = GraphError("graph/onnx-equation", got=equation, count=len(shapes))
    if len(texts) != len(shapes) or not all(map(_TERM.fullmatch, (*texts, result))):
        raise problem
    hidden = _hidden(texts, shapes)
    written = [_written(text, len(s), hidden) for text, s in zip(texts, shapes, strict=True)]
    every = "".join(written)
    if not arrow:
        result = _ELLIPSIS + "".join(sorted(c for c in {*every} - {*hidden} if every.count(c) == 1))
    wanted = result.replace(_ELLIPSIS, hidden)
    sizes = _sizes(written, shapes)
    if sizes is None or not {*wanted} <= {*every} or len({*wanted}) < len(wanted):
        raise problem
    if any(len({*one}) < len(one) for one in written):
        raise UnsupportedNodeError("graph/onnx-diagonal", got=equation)
    terms = (_Term(node.tensor(n), letters) for n, letters in enumerate(written))
    return [_without_ones(term, sizes) for term in terms], wanted


def _hidden(texts: Sequence[str], shapes: Sequence[Sequence[int]]) -> str:
    """Letters for the axes of the longest ellipsis."""
    spare = [
        len(shape) - len(text) + len(_ELLIPSIS)
        for text, shape in zip(texts, shapes, strict=True)
        if _ELLIPSIS in text
    ]
    return "".join(chr(ord(_HIDDEN) + n) for n in range(max((*spare, 0))))


def _written(text: str, rank: int, hidden: str) -> str:
    """Letters of an operand, those of its ellipsis included: the last of all."""
    spare = rank - len(text.replace(_ELLIPSIS, ""))
    return text.replace(_ELLIPSIS, hidden[max(len(hidden) - spare, 0) :] if spare > 0 else "")


def _sizes(written: Sequence[str], shapes: Sequence[Sequence[int]]) -> dict[str, int] | None:
    """Size of each letter; an axis of one stands for any. ``None`` where operands do not fit."""
    sizes: dict[str, int] = {}
    for letters, shape in zip(written, shapes, strict=True):
        if len(letters) != len(shape):
            return None
        for letter, size in zip(letters, shape, strict=True):
            known = sizes.get(letter, 1)
            if 1 not in (size, known) and size != known:
                return None
            sizes[letter] = size if known == 1 else known
    return sizes


def _without_ones(term: _Term, sizes: Mapping[str, int]) -> _Term:
    """Drop axes of one element where other operands have more: elements are the same all along."""
    kept = [
        (letter, size)
        for letter, size in zip(term.letters, term.item.shape, strict=True)
        if size == sizes[letter]
    ]
    if len(kept) == len(term.letters):
        return term
    item = reshaped(term.item, tuple(size for _, size in kept))
    return _Term(item, "".join(letter for letter, _ in kept))


def _summed(term: _Term, needed: Iterable[str]) -> _Term:
    """Sum over the axes whose letters nobody needs."""
    needed = {*needed}
    axes = tuple(n for n, letter in enumerate(term.letters) if letter not in needed)
    left = "".join(letter for letter in term.letters if letter in needed)
    return _Term(apply("ReduceSum", term.item, axes, False), left)


def _product(left: _Term, right: _Term, needed: set[str]) -> _Term:
    """Multiply two operands, and sum over what both have and nobody needs."""
    right = _summed(right, {*needed, *left.letters})
    sizes = {
        letter: size
        for one in (left, right)
        for letter, size in zip(one.letters, one.item.shape, strict=True)
    }
    shared = [letter for letter in left.letters if letter in right.letters]
    batch = [letter for letter in shared if letter in needed]
    inner = [letter for letter in shared if letter not in needed]
    rows = [letter for letter in left.letters if letter not in right.letters]
    columns = [letter for letter in right.letters if letter not in left.letters]
    b, r, i, c = (prod(sizes[letter] for letter in some) for some in (batch, rows, inner, columns))
    one = reshaped(_ordered(left, [*batch, *rows, *inner]), (b, r, i))
    other = reshaped(_ordered(right, [*batch, *inner, *columns]), (b, i, c))
    found = record("BatchMatMul", one, other, False, False) if inner else record("Mul", one, other)
    letters = "".join([*batch, *rows, *columns])
    return _Term(reshaped(found, tuple(sizes[letter] for letter in letters)), letters)


def _ordered(term: _Term, letters: Sequence[str]) -> Any:
    order = tuple(term.letters.index(letter) for letter in letters)
    if order == tuple(range(len(order))):
        return term.item
    return record("Transpose", term.item, order)
