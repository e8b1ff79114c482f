"""How a tensor lies on the ranks of a job, in the words of the field: ``"b s[cp:zigzag] h[tp] d # ep:replicated"``.

A dimension a word. In brackets stand the axes that cut it, the outermost first: ``s[cp:zigzag,sp]`` is cut by cp, in
zigzag order, and each of these parts by sp. ``h[tp:partial]`` (or ``[tp+partial]``) is not cut: every rank of tp holds
a part of the sum. ``h[dp:mean]`` is not cut either: the mean over the ranks is meant, as of losses of their own
batches; ``b[dp:scaled]`` is cut, and each part as many times too large as there are ranks, as the gradient of such a
loss. ``(b*s)[cp:each8]`` is cut in each of 8 equal stretches.
``(heads*dim)[tp]`` is one dimension that several share, ``1`` one of size 1 that the joined tensor does not have.
Behind ``#`` stand axes whose ranks hold the same (``ep:replicated``), parts of sums and of means of a scalar
(``tp:partial``, ``dp:mean``), the axis whose ranks are the tensor's data parallel ones (``dp:=edp``), and the tensors
that a flat buffer holds (``flat:weight(64,32),bias(64)``, ``align:128``). The meaning is that of SGLang's comparator of
dumps (its parser was read); means and flat buffers are ours.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.run.parallel import AXES

if TYPE_CHECKING:
    from collections.abc import Iterator

NATURAL, ZIGZAG, PARTIAL, REPLICATED = "natural", "zigzag", "partial", "replicated"
MEAN, SCALED, EACH = "mean", "scaled", "each"
SINGLE = "1"
"""Name of a dimension of size 1 that the joined tensor does not have."""

MOST_TEXT = 1 << 16
"""Characters of a layout."""

GROUPS = {"moe_dp": "edp", "expert_dp": "edp", **{axis: axis for axis in AXES}}
"""Names of groups that ``dp:=`` may give, and the axis that each is."""

_DIM = re.compile(
    r"(?:([A-Za-z_]\w*(?:\*[A-Za-z_]\w*)*)|\(([A-Za-z_]\w*(?:\*[A-Za-z_]\w*)+)\))(?:\[([^\[\]]*)\])?"
)
_EACH = re.compile(rf"{EACH}([1-9]\d{{0,8}})")
_PART = re.compile(r"([^\s(),]+)\((\d{0,12}(?:,\d{1,12})*,?)\)(?:,|$)")


@dataclass(frozen=True, slots=True)
class Cut:
    """What an axis does to a dimension: cuts it, in ``natural`` or ``zigzag`` order, or leaves a ``partial`` sum.

    Where ``mean`` is true the whole is divided by the ranks of the axis: a mean where it is partial, scaled parts else.
    ``each`` stretches of a dimension are cut each by itself, as where it was two and the inner one is cut.
    """

    axis: str
    order: str = NATURAL
    partial: bool = False
    mean: bool = False
    each: int = 1

    @property
    def kind(self) -> str:
        """What its modifier says besides the order; "" for a cut alone."""
        if self.mean:
            return MEAN if self.partial else SCALED
        return PARTIAL if self.partial else ""

    def __str__(self) -> str:
        said = [self.order] if self.order == ZIGZAG else []
        said += [f"{EACH}{self.each}"] if self.each > 1 else []
        said += [self.kind] if self.kind else []
        return f"{self.axis}:{'+'.join(said)}" if said else self.axis


@dataclass(frozen=True, slots=True)
class Dim:
    """A dimension: its name, or those that share it, and its cuts, the outermost first."""

    names: tuple[str, ...]
    cuts: tuple[Cut, ...] = ()

    @property
    def name(self) -> str:
        """Its name in words: ``heads*dim`` where several share it."""
        return "*".join(self.names)

    def __str__(self) -> str:
        name = f"({self.name})" if len(self.names) > 1 else self.name
        return f"{name}[{','.join(map(str, self.cuts))}]" if self.cuts else name


@dataclass(frozen=True, slots=True)
class FlatPart:
    """A tensor in a flat buffer: its name and shape."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.shape))})"


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """How a tensor lies on the ranks of a job.

    Attributes
    ----------
    dims : tuple of Dim
        Its dimensions in order.
    replicated : tuple of str
        Axes whose ranks are said to hold the same; any other that cuts no dimension is taken to do so, too.
    dp : str
        The axis whose ranks are its data parallel ones, where that is not ``dp``.
    flat : tuple of FlatPart
        The tensors of a flat buffer, one behind the other.
    align : int
        Elements at whose multiples the tensors of a flat buffer begin.
    reduced : tuple of Cut
        Axes whose ranks hold parts of a sum or of a mean, of a tensor that has no dimension to write them at.
    """

    dims: tuple[Dim, ...]
    replicated: tuple[str, ...] = ()
    dp: str = ""
    flat: tuple[FlatPart, ...] = ()
    align: int = 1
    reduced: tuple[Cut, ...] = ()

    def __str__(self) -> str:
        behind = [f"{axis}:{REPLICATED}" for axis in self.replicated]
        behind += map(str, self.reduced)
        behind += [f"dp:={self.dp}"] if self.dp else []
        behind += [f"flat:{','.join(map(str, self.flat))}"] if self.flat else []
        behind += [f"align:{self.align}"] if self.align > 1 else []
        return " ".join([*map(str, self.dims), *(["#", *behind] if behind else [])])

    @property
    def cuts(self) -> tuple[tuple[int, Cut], ...]:
        """Its cuts with the number of the dimension of each, 0 for those of none."""
        of_dims = tuple((number, cut) for number, dim in enumerate(self.dims) for cut in dim.cuts)
        return (*of_dims, *((0, cut) for cut in self.reduced))

    @property
    def of_experts(self) -> bool:
        """Whether the ranks are to be looked at as experts see them."""
        used = {cut.axis for _, cut in self.cuts} | {*self.replicated, self.dp}
        return bool(used & {"ep", "edp"})


def parse_layout(text: str) -> TensorLayout:
    """Read a layout; raises FormatError that names the word which is none.

    >>> one = parse_layout("b s[cp:zigzag,sp] (h*d)[tp] # ep:replicated")
    >>> str(one), one.cuts[0][1].order
    ('b s[cp:zigzag,sp] (h*d)[tp] # ep:replicated', 'zigzag')
    """
    if len(text) > MOST_TEXT:
        raise FormatError("layouts/long", most=MOST_TEXT, got=len(text))
    words, _, behind = text.partition("#")
    dims = tuple(_parse_dim(word) for word in words.split())
    layout = _parse_behind(behind, dims)
    _check_names(layout, text)
    if layout.flat and len(dims) != 1:
        raise FormatError("layouts/flat-dims", got=len(dims))
    return layout


def _parse_dim(word: str) -> Dim:
    if word == SINGLE:
        return Dim((SINGLE,))
    found = _DIM.fullmatch(word)
    if found is None:
        raise FormatError("layouts/dim", got=word)
    names = tuple((found[1] or found[2]).split("*"))
    if found[3] is None:
        return Dim(names)
    return Dim(names, tuple(_parse_cut(one.strip(), word) for one in found[3].split(",")))


def _parse_cut(text: str, word: str) -> Cut:
    """Read ``cp``, ``cp:zigzag``, ``tp:partial`` or ``tp+partial``."""
    axis, *said = (one.strip() for one in text.replace(":", "+").split("+"))
    if axis not in AXES:
        raise FormatError("layouts/axis", got=axis, where=word, known=[*AXES])
    stretches = [one for one in said if _EACH.fullmatch(one)]
    said = [one for one in said if one not in stretches]
    orders = [one for one in said if one in (NATURAL, ZIGZAG)]
    kinds = [one for one in said if one and one in _KINDS]
    other = [one for one in said if not one or one not in (NATURAL, ZIGZAG, "sharded", *_KINDS)]
    if other:
        known = [NATURAL, ZIGZAG, PARTIAL, MEAN, SCALED, f"{EACH}N"]
        raise FormatError("layouts/modifier", got=other[0], where=word, known=known)
    twice = any(len(one) > 1 for one in (orders, kinds, stretches))
    if twice or ((ZIGZAG in said or stretches) and {PARTIAL, MEAN} & {*kinds}):
        raise FormatError("layouts/modifiers", got=text, where=word)
    kind = _KINDS[kinds[0] if kinds else ""]
    each = int(stretches[0].removeprefix(EACH)) if stretches else 1
    return Cut(axis, orders[0] if orders else NATURAL, *kind, each)


_KINDS = {"": (False, False), PARTIAL: (True, False), MEAN: (True, True), SCALED: (False, True)}
"""Whether a cut is partial and whether it is a mean, by its modifier."""


def _parse_behind(text: str, dims: tuple[Dim, ...]) -> TensorLayout:
    """Read what stands behind ``#``: axes, data parallel axis, parts of a flat buffer, its alignment."""
    replicated: list[str] = []
    reduced: list[Cut] = []
    dp, flat, align = "", tuple[FlatPart, ...](), 1
    for word in text.split():
        axis, _, value = word.partition(":")
        if axis == "dp" and value.startswith("=") and not dp and value[1:] in GROUPS:
            dp = GROUPS[value[1:]]
        elif axis == "flat" and not flat:
            flat = tuple(_parse_parts(value, word))
        elif axis == "align" and value.isascii() and value.isdecimal() and 0 < len(value) < 10:
            align = max(int(value), 1)
        elif axis in AXES and value == REPLICATED and axis not in replicated:
            replicated.append(axis)
        elif axis in AXES and value in (PARTIAL, MEAN):
            reduced.append(Cut(axis, NATURAL, *_KINDS[value]))
        else:
            raise FormatError("layouts/declaration", got=word, known=[*GROUPS])
    return TensorLayout(dims, tuple(replicated), dp, flat, align, tuple(reduced))


def _parse_parts(text: str, word: str) -> Iterator[FlatPart]:
    place = 0
    while place < len(text):
        found = _PART.match(text, place)
        if found is None:
            raise FormatError("layouts/part", got=text[place:], where=word)
        yield FlatPart(found[1], tuple(int(one) for one in found[2].split(",") if one))
        place = found.end()


def _check_names(layout: TensorLayout, text: str) -> None:
    """Refuse names that come twice, axes that cut twice, and axes that are said to cut and to be replicated."""
    names = [name for dim in layout.dims for name in dim.names if name != SINGLE]
    cut = [cut.axis for _, cut in layout.cuts]
    for subject, given in (("dimension", names), ("axis", [*cut, *layout.replicated])):
        twice = sorted({one for one in given if given.count(one) > 1})
        if twice:
            raise FormatError("layouts/twice", subject=subject, got=twice, where=text)
