"""How dump trees lie on disk: one row a layout, whose template reads and writes its folders.

A folder with dump files is a *leaf*. A row's template says what the path of a leaf ends with, level by level:
`place` finds the row of a path and the values in it, `folder` makes the path of a row and its values. So a tree
is recognized wherever in it a user points: folders above the given one count as well. Where the upper levels
are missing (a folder was copied or renamed), the lower ones of some rows still serve.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError
from workbench.core.files import folder_files, is_remote
from workbench.dump.formats.mindspore_name import MAX_NAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FileKind = Literal["npy", "ge", "captured", "golden", "plain", "node", "call", ""]
"""What the files of a leaf are: MindSpore's npy files, those of the graph engine, those of a captured
stream, golden data of another framework, tensors under their own names, nodes of a captured graph of
PyTorch, calls of interfaces and modules; ``""`` where there are none."""

OWN_KINDS = frozenset(("golden", "plain", "node", "call"))
"""Kinds that only rows naming them have."""

AUXILIARY = frozenset(("graphs", "execution_order", ".dump_metadata", "debug_files"))
"""Folders beside the nets of a rank; they hold no tensors."""

_NO_NETS = "|".join(map(re.escape, (".", "..", *sorted(AUXILIARY))))

FIELDS: dict[str, str] = {
    "rank": r"\d{1,9}",
    "world_size": r"\d{1,9}",
    "start": r"\d{12,17}",
    "time": r"\d{12,17}",
    "step": r"\d{1,10}",
    "process": r"rank|proc|pid",
    "pid": r"\d{0,9}",
    "device": r"\d{1,6}",
    "net": rf"(?!(?:{_NO_NETS})\Z)[^/\0]{{1,{MAX_NAME_BYTES}}}",
    "model_id": r"\d{1,20}",
    "index": r"\d{1,20}",
    "graph": r"\d{1,10}",
    "iteration": r"\d{1,10}",
}
"""Field of a template → how its value is spelled.

Times are usually ``YYYYMMDDHHMMSS``: ``start`` is that of the run, ``time`` that of a session of the device.
``net`` is the network, or the model of the graph engine; ``index`` how often the engine had run it.
"""


@dataclass(frozen=True)
class Layout:
    """One way to lay out a tree.

    ``path`` is the template of the folders from the dump's own down to the files. ``name`` is what users are
    told. ``beside`` is the layout in whose trees the row occurs as well, ``any`` for all of them. ``kinds`` are
    the files that leaves hold (empty: any but `OWN_KINDS`). ``partial_for`` says that the lowest levels alone are
    recognized, too, for leaves of these kinds, if at least ``partial_from`` of them are there. ``requires`` is a
    file of the dump's folder that must be there if that folder lies above the one that was given: its upper
    level alone proves nothing. ``constants`` says that the tensors belong to no iteration.
    """

    id: str
    path: str
    name: str
    beside: str = ""
    kinds: tuple[FileKind, ...] = ()
    partial_for: tuple[FileKind, ...] = ()
    partial_from: int = 0
    requires: str = ""
    constants: bool = False

    @property
    def family(self) -> str:
        """What rows of one tree have in common."""
        return self.beside or self.name

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """Templates of the folders, the upper first."""
        return tuple(self.path.split("/")) if self.path else ()

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """What the names of the folders match; groups are named as the fields."""
        return tuple(re.compile(_pattern(level), re.ASCII | re.DOTALL) for level in self.levels)

    def holds(self, kind: FileKind) -> bool:
        """Whether leaves hold files of a kind."""
        return kind in self.kinds if self.kinds else kind not in OWN_KINDS


def _pattern(level: str) -> str:
    return "".join(
        re.escape(text) + (f"(?P<{field}>{FIELDS[field]})" if field else "")
        for text, field, _, _ in Formatter().parse(level)
    )


_MODEL = "{time}/{device}/{net}/{model_id}"
_TORCHAIR = "worldsize{world_size}_global_rank{rank}"
_MSPROBE = "rank_{rank}/{start}/step_{step}"

LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "mindspore", "rank_{rank}/{net}/{graph}/{iteration}", "mindspore", partial_for=("npy",)
    ),
    Layout(
        "mindspore-constants", "rank_{rank}/{net}/{graph}/constants", "mindspore",
        partial_for=("npy",), partial_from=1, constants=True,
    ),
    Layout(
        "mindspore-o2", f"{{step}}/{_MODEL}/{{index}}", "mindspore-o2",
        requires="acl_dump_*.json",
    ),
    Layout("msprobe", _MSPROBE, "msprobe"),
    Layout("msprobe-index", f"{_MSPROBE}/{_MODEL}/{{index}}", "msprobe"),
    Layout("msprobe-alone", f"{_MSPROBE}/{{time}}/{{device}}", "msprobe"),
    Layout("msprobe-alone-index", f"{_MSPROBE}/{{time}}/{{device}}/{{index}}", "msprobe"),
    Layout("msprobe-model", f"{_MSPROBE}/{_MODEL}", "msprobe"),
    Layout("torchair", f"{_TORCHAIR}/{_MODEL}/{{index}}", "torchair"),
    Layout("torchair-model", f"{_TORCHAIR}/{_MODEL}", "torchair"),
    Layout("torchair-alone-index", f"{_TORCHAIR}/{{time}}/{{device}}/{{index}}", "torchair"),
    Layout("torchair-alone", f"{_TORCHAIR}/{{time}}/{{device}}", "torchair"),
    Layout("torchair-captured", f"{_TORCHAIR}/{{device}}", "torchair", kinds=("captured",)),
    Layout("ge", f"{_MODEL}/{{index}}", "ge", partial_for=("ge", "captured")),
    Layout("ge-model", _MODEL, "ge"),
    Layout("ge-alone-index", "{time}/{device}/{index}", "ge"),
    Layout("single-operator", "{time}/{device}", "single-operator", "ge"),
    Layout("captured-stream", "{device}", "captured-stream", "ge", kinds=("captured",)),
    Layout("torchair-graph", _TORCHAIR, "torchair-graph", kinds=("node",)),
    Layout("torchair-graph-copied", "", "torchair-graph", kinds=("node",)),
    Layout(
        "msprobe-api", "step{step}/{process}{pid}/dump_tensor_data", "msprobe-api",
        kinds=("call",), partial_for=("call",),
    ),
    Layout("golden", "", "golden", kinds=("golden", "plain")),
    Layout("exception", "extra-info/data-dump/{device}", "exception", "any"),
)  # fmt: skip
"""Every layout.

``ge`` is the tree of TensorFlow, of AscendCL's models and of MindSpore's GE dump alike. msprobe cuts
away the levels below its step where all of them are there.
"""

_ABOVE = "its first level is named as no other tool names a folder"
_STEP = "the level above is a step if the form of the step lies beside it"
_NAME = "a model may be called like a folder of another layout; the levels above show that it is a model"
_NUMBER = "both end with a number; the levels above show whose"

OVERLAPS: dict[tuple[str, str], str] = {
    ("mindspore", "ge"): _ABOVE,
    ("mindspore", "captured-stream"): _ABOVE,
    ("mindspore-o2", "torchair"): _NAME,
    ("mindspore-o2", "ge"): _STEP,
    ("mindspore-o2", "single-operator"): _STEP,
    ("mindspore-o2", "captured-stream"): _STEP,
    ("msprobe", "torchair"): _NAME,
    ("msprobe", "ge"): _ABOVE,
    ("msprobe", "single-operator"): _ABOVE,
    ("msprobe", "captured-stream"): _ABOVE,
    ("torchair", "torchair"): _NAME,
    ("torchair", "ge"): _ABOVE,
    ("torchair", "single-operator"): _ABOVE,
    ("torchair", "captured-stream"): _ABOVE,
    ("ge", "torchair"): _NAME,
    ("ge", "ge"): _NAME,
    ("ge", "single-operator"): _NAME,
    ("ge", "captured-stream"): _NUMBER,
    ("single-operator", "captured-stream"): _NUMBER,
    ("torchair-graph", "torchair-graph"): "the name of the folder tells the rank, if it is there",
    ("exception", "captured-stream"): _ABOVE,
}
"""Layouts whose rows may fit one path → why the first, of which there are more levels, is the right one."""

_BY_ID = {row.id: row for row in LAYOUTS}


class Place(NamedTuple):
    """Where a leaf stands: its row, the dump's folder, how many levels lie below it, their values."""

    layout: Layout
    base: str
    depth: int
    values: dict[str, str]

    @property
    def whole(self) -> bool:
        """Whether all levels of the row are there."""
        return self.depth == len(self.layout.levels)


def row_of(row_id: str) -> Layout:
    """Return the row of an id."""
    return _BY_ID[row_id]


def folder(row: Layout, values: Mapping[str, str | int], *, levels: int | None = None) -> str:
    """Return the path of a leaf below the dump's own folder: what `place` finds in it are the values.

    Parameters
    ----------
    row : Layout
        How the tree is laid out.
    values : mapping of field to value
        As `FIELDS`; it may hold more than the row needs.
    levels : int, optional
        How many of the upper levels; all if left out.

    Raises
    ------
    FormatError
        A value is not spelled as its field must be, so that no reader would find it again.
    """
    templates = row.levels[:levels]
    parts = [template.format_map(values) for template in templates]
    for template, pattern, part in zip(templates, row.patterns, parts, strict=False):
        found = pattern.fullmatch(part)
        fields = {field for _, field, _, _ in Formatter().parse(template) if field}
        spelled = {field: str(values[field]) for field in fields}
        if not _fits_disk(part) or found is None or found.groupdict() != spelled:
            raise FormatError("dump/folder-name", got=part, layout=row.name, template=template)
    return "/".join(parts)


def _fits_disk(name: str) -> bool:
    """Whether a file system takes a name: its bytes are not too many, and those that are no text are escaped."""
    try:
        return len(name.encode("utf-8", "surrogateescape")) <= MAX_NAME_BYTES
    except UnicodeEncodeError:
        return False


def place(kind: FileKind, above: Sequence[str], below: Sequence[str]) -> Place | None:
    """Find the layout of a leaf; ``None`` if there is none.

    Parameters
    ----------
    kind : str
        What its files are.
    above, below : sequence of str
        Names of the folders down to the one that was given, and from there down to the leaf.

    Raises
    ------
    FormatError
        Two rows fit, and `OVERLAPS` does not say which is the right one.
    """
    parts = [*above, *below]
    whole = [
        Place(row, "/".join(parts[: len(parts) - len(row.levels)]), len(row.levels), values)
        for row in LAYOUTS
        if row.holds(kind)
        and (values := _values(row.patterns, parts)) is not None
        and _has_required(row, parts, len(below))
    ]
    return _only_one(whole or list(_partial(kind, above, below)), parts)


def _partial(kind: FileKind, above: Sequence[str], below: Sequence[str]) -> Iterable[Place]:
    """Rows of which the lowest levels are there, all in or below the given folder."""
    count = len(below)
    for row in LAYOUTS:
        if kind in row.partial_for and row.partial_from <= count < len(row.levels):
            values = _values(row.patterns[len(row.levels) - count :], below)
            if values is not None:
                yield Place(row, "/".join(above), count, values)


def _only_one(fitting: Sequence[Place], parts: Sequence[str]) -> Place | None:
    """The one place that is right; of two that overlap, that with more levels."""
    if not fitting:
        return None
    first = max(fitting, key=lambda found: found.depth)
    for other in fitting:
        listed = (first.layout.name, other.layout.name) in OVERLAPS and other.depth < first.depth
        if other is not first and not listed:
            known = [first.layout.id, other.layout.id]
            raise FormatError("dump/layouts-fit", got="/".join(parts), known=known)
    return first


def _has_required(row: Layout, parts: Sequence[str], below: int) -> bool:
    if not row.requires or len(row.levels) <= below:
        return True
    base = "/".join(parts[: len(parts) - len(row.levels)])
    if not is_remote(base):
        return any(True for _ in Path(base).glob(row.requires))
    folder, _, pattern = f"{base}/{row.requires}".rpartition("/")
    return any(fnmatchcase(name, pattern) for name in folder_files(folder))


def _values(patterns: Sequence[re.Pattern[str]], parts: Sequence[str]) -> dict[str, str] | None:
    """Values of the levels that a path ends with."""
    if len(parts) < len(patterns):
        return None
    values: dict[str, str] = {}
    for pattern, part in zip(patterns, parts[len(parts) - len(patterns) :], strict=True):
        found = pattern.fullmatch(part)
        if found is None:
            return None
        values |= found.groupdict()
    return values
