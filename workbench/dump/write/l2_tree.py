"""How msprobe's tree of a MindSpore O2 dump grows: what it makes of each operator that AscendCL hands it.

From MindSpore 2.7 on. Tensors become npy files whose names say format and type in capitals, or bare bytes
where npy has no such type; statistics become one table: the device's figures as they are, or MD5 sums of
the host. All lie in one folder a step. Containers msprobe leaves to AscendCL, and so they lie deeper. Source:
msprobe ``AclDumper.cpp``, ``AclDumpDataProcessor.cpp`` and ``AclTensor.cpp``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from workbench.core.dtypes import DTYPES
from workbench.core.tensors import TensorSpec
from workbench.dump.formats.ge_name import format_ge_name
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.layouts import folder, row_of
from workbench.dump.releases import by_msprobe
from workbench.dump.statistics.l2 import NAMED_TYPES, format_l2_statistics
from workbench.dump.statistics.statistic import TITLES, StatisticRow
from workbench.dump.write.ge_pieces import piece_bytes
from workbench.dump.write.ge_tree import GeTree, parts_of
from workbench.dump.write.sink import Content, time_folder
from workbench.dump.write.tree_leaf import TreeLeaf
from workbench.run.layout import host_lie

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.core.plan import DumpPlan
    from workbench.dump.formats.ge_name import GeName
    from workbench.dump.write.ge_pieces import Piece
    from workbench.dump.write.sink import Clock, GeSink
    from workbench.dump.write.target import GeTarget
    from workbench.graph.nodes import Graph
    from workbench.run.layout import Lie

Saved = Literal["tensor", "statistic"]

WIDENED = {"bfloat16": "float32", "int4": "int8"}
"""What msprobe writes in place of types that npy files do not know."""

NPY_TYPES = frozenset(row.name for row in DTYPES.values() if row.npy and row.storage.isbuiltin == 1)
"""Types that npy files hold as they are."""

FORMATS = frozenset(
    ("NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z", "NC1HWC0_C04", "FRACTAL_Z_C04", "NC1KHKWHWC0",
     "HWCN", "NDHWC", "NCDHW", "DHWCN", "DHWNC", "NDC1HWC0", "FRACTAL_Z_3D", "C1HWNCoC0", "FRACTAL_NZ",
     "FRACTAL_ZN_LSTM", "NCL")
)  # fmt: skip
"""Formats of tensors that msprobe makes anything of; of all others it writes the bytes."""

_MD5 = "md5"


def tree_of(plan: DumpPlan, graph: Graph, target: GeTarget, clock: Clock, sink: GeSink) -> GeTree:
    """Return the tree that is to grow for a target."""
    kind = L2Tree if by_msprobe(target.surface, target.version) else GeTree
    return kind(plan, graph, target, clock, sink)


class L2Tree(GeTree):
    """A tree of msprobe while it grows.

    It saves tensors or statistics: with ``full`` statistics alone. Where it looks for overflow, it writes npy
    files whatever the form says.
    """

    def __init__(
        self, plan: DumpPlan, graph: Graph, target: GeTarget, clock: Clock, sink: GeSink
    ) -> None:
        keeps = plan.kind == "overflow" or plan.saved == "tensor"
        saved: Saved = "tensor" if keeps else "statistic"
        as_it_lies = replace(plan, saved=saved, host_format=False)
        super().__init__(as_it_lies, graph, target, clock, sink)
        on_host = saved == "tensor" or _MD5 in plan.statistics
        files = "npy" if plan.kind == "overflow" else plan.files
        self._npy = on_host and (saved != "tensor" or files == "npy")
        self._by_acl = saved == "tensor" and not self._npy
        self._sums = (_MD5,) if _MD5 in plan.statistics else plan.statistics
        self._titles = ""

    def _converts(self, dtype: str, lie: Lie) -> bool:
        return self._npy and not _stays(dtype, lie)

    def _statistics(self, leaf: TreeLeaf, name: GeName, pieces: Iterable[Piece]) -> None:
        """Copy the rows of the device's table of an operator."""
        for row in self._device_rows(name, pieces, "ge-kfc"):
            self._row_of(leaf, row)

    def _tensors(self, leaf: TreeLeaf, name: GeName, pieces: Iterable[Piece]) -> None:
        """Hand tensors on one by one: npy files, bare bytes, or rows of their sums."""
        for piece in pieces:
            key, spec = piece.record.key, piece.content.spec
            is_raw = _stays(piece.dtype, piece.lie)
            if self._plan.saved == "statistic" and not is_raw:
                self._row_of(leaf, self._host_row(name, piece))
                continue
            form = host_lie(spec.shape).format if is_raw else piece.lie.format
            word = NAMED_TYPES.get(piece.dtype, "UNKNOWN")
            file = f"{format_ge_name(name)}.{key.io}.{key.slot}.{form}.{word}"
            if is_raw:
                path = f"{leaf.path}/{self._fitting(leaf, file)}"
                self._sink.raw(path, piece.size, map(piece_bytes, [piece]))
            elif piece.size != 0:
                path = f"{leaf.path}/{self._fitting(leaf, f'{file}.npy')}"
                header = TensorSpec(WIDENED.get(piece.dtype, piece.dtype), spec.shape)
                self._sink.tensor(path, piece.laid(), header)

    def _host_row(self, name: GeName, piece: Piece) -> StatisticRow:
        """Row of a tensor whose bytes the host sums up."""
        key, spec = piece.record.key, piece.content.spec
        data = None if piece.content.array is None else piece_bytes(piece)
        content = Content(TensorSpec("uint8", (piece.size or 0,)), piece.size or 0, data)
        figures = self._sink.figures(content, (_MD5,))
        parts = parts_of(name, key.io, key.slot, piece.lie.format, piece.dtype)
        return StatisticRow(
            parts, content.nbytes, spec.shape or (), {TITLES[_MD5]: figures[TITLES[_MD5]]}
        )

    def _row_of(self, leaf: TreeLeaf, row: StatisticRow) -> None:
        lines = format_l2_statistics([row], self._sums).splitlines(keepends=True)
        self._titles = "".join(lines[:1])
        leaf.rows += lines[1:]

    def _fitting(self, leaf: TreeLeaf, name: str) -> str:
        return leaf.fitting("adump" if self._by_acl else "msprobe", name, self._clock.random)

    def _folder(self, iteration: int) -> str:
        target, step = self._target, iteration - self._plan.initial_iteration
        values: dict[str, str | int] = {
            "rank": target.rank,
            "start": self._time,
            "step": step,
            "time": time_folder(self._clock.now),
            "device": target.device,
            "net": sanitize(self.model),
            "model_id": self._model_id,
            "index": step,
        }
        return folder(row_of("msprobe-index" if self._by_acl else "msprobe"), values)

    def _finish(self) -> None:
        for leaf in self._leaves.values():
            leaf.finish(self._sink, self._titles)


def _stays(dtype: str, lie: Lie) -> bool:
    """Whether msprobe makes nothing of a tensor but a file of its bytes."""
    return dtype not in WIDENED and not (dtype in NPY_TYPES and lie.format in FORMATS)
