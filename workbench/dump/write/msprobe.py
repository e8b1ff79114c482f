"""How msprobe's tree of a MindSpore O2 dump grows: what it makes of each operator that AscendCL hands it.

From MindSpore 2.7 on. Tensors become npy files whose names say format and type in capitals, or bare bytes
where npy has no such type; statistics become one table: the device's figures as they are, or MD5 sums of
the host. All lie in one folder a step. Containers msprobe leaves to AscendCL, and so they lie deeper. Source:
msprobe ``AclDumper.cpp``, ``AclDumpDataProcessor.cpp`` and ``AclTensor.cpp``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from workbench.core.dtypes import DTYPES
from workbench.core.tensors import TensorSpec
from workbench.dump.formats.ge_name import format_ge_name
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.layouts import folder, row_of
from workbench.dump.statistics.dialects import NAMED_TYPES, TITLES
from workbench.dump.statistics.parse import StatisticRow
from workbench.dump.statistics.print import format_l2_statistics
from workbench.dump.write.figures import TensorContent, figures_of
from workbench.dump.write.ge import (
    GeFileStyle,
    device_container,
    device_rows,
    model_files,
    parts_of,
)
from workbench.dump.write.pieces import device_bytes
from workbench.dump.write.plan_files import npy_file, raw_file
from workbench.dump.write.targets import time_folder
from workbench.npu.layout import host_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.core.tensors import TensorRecord
    from workbench.dump.formats.file import FileName
    from workbench.dump.write.ge import Ended, Model
    from workbench.dump.write.pieces import StoredTensor
    from workbench.dump.write.plan_files import NewFile, TreeFiles, TreeLeaf
    from workbench.npu.layout import TensorLayout

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


def msprobe_files(records: Iterable[TensorRecord], model: Model) -> Ended:
    """Yield the files that msprobe writes of a model; see `workbench.dump.write.ge.ge_files`.

    It saves tensors or statistics: with ``full`` statistics alone. Where it looks for overflow, it writes npy
    files whatever the form says.
    """
    plan = model.plan
    saved: Saved = "tensor" if plan.kind == "overflow" or plan.saved == "tensor" else "statistic"
    files = "npy" if plan.kind == "overflow" else plan.files
    as_it_lies = replace(model, plan=replace(plan, saved=saved, host_format=False))
    header = partial(format_l2_statistics, (), _summed(as_it_lies))
    if saved == "tensor" and files != "npy":
        way = GeFileStyle(_acl_folder, False, _never, device_container, header)
    elif saved == "tensor":
        way = GeFileStyle(_step_folder, True, _is_converted, _tensor_files, header)
    elif _MD5 in plan.statistics:
        way = GeFileStyle(_step_folder, True, _is_converted, _host_sums, header)
    else:
        way = GeFileStyle(_step_folder, False, _never, _device_figures, header)
    return model_files(records, as_it_lies, way)


def _summed(model: Model) -> Sequence[str]:
    """Statistics that a table has: an MD5 alone, or those asked for."""
    asked = model.plan.statistics
    return (_MD5,) if _MD5 in asked else asked


def _device_figures(
    model: Model, leaf: TreeLeaf, name: FileName, tensors: Sequence[StoredTensor]
) -> TreeFiles:
    """Copy the rows of the device's table of an operator; there is no file."""
    for row, exact in device_rows(name, tensors, "ge-kfc"):
        _add_row(model, leaf, row, exact=exact)
    yield from ()


def _host_sums(
    model: Model, leaf: TreeLeaf, name: FileName, tensors: Sequence[StoredTensor]
) -> TreeFiles:
    """Add rows of what the host sums up; the bytes of other tensors are written."""
    for one in tensors:
        if _stays(one.dtype, one.layout):
            yield _bytes_file(model, leaf, name, one)
        else:
            row, exact = _host_row(name, one)
            _add_row(model, leaf, row, exact=exact)


def _tensor_files(
    model: Model, leaf: TreeLeaf, name: FileName, tensors: Sequence[StoredTensor]
) -> TreeFiles:
    """Yield npy files, or the bytes of what npy files do not know."""
    for one in tensors:
        if _stays(one.dtype, one.layout):
            yield _bytes_file(model, leaf, name, one)
        elif one.size != 0:
            path = _path(model, leaf, name, one, f"{one.layout.format}.{_word(one)}.npy")
            header = TensorSpec(WIDENED.get(one.dtype, one.dtype), one.content.spec.shape)
            yield npy_file(path, one.laid(), header, leaf.iteration)


def _bytes_file(model: Model, leaf: TreeLeaf, name: FileName, one: StoredTensor) -> NewFile:
    form = host_layout(one.content.spec.shape).format
    path = _path(model, leaf, name, one, f"{form}.{_word(one)}")
    return raw_file(path, one.size, map(device_bytes, [one]), leaf.iteration)


def _path(model: Model, leaf: TreeLeaf, name: FileName, one: StoredTensor, tail: str) -> str:
    key = one.record.key
    file = f"{format_ge_name(name)}.{key.io}.{key.slot}.{tail}"
    return f"{leaf.path}/{leaf.shorten_name('msprobe', file, model.clock.random)}"


def _word(one: StoredTensor) -> str:
    return NAMED_TYPES.get(one.dtype, "UNKNOWN")


def _host_row(name: FileName, one: StoredTensor) -> tuple[StatisticRow, bool]:
    """Row of a tensor whose bytes the host sums up."""
    key, size = one.record.key, one.size or 0
    data = None if one.content.array is None else device_bytes(one)
    content = TensorContent(TensorSpec("uint8", (size,)), data)
    figures, exact = figures_of(content, (_MD5,))
    parts = parts_of(name, key.io, key.slot, one.layout.format, one.dtype)
    shape, value = one.content.spec.shape or (), str(figures[TITLES[_MD5]])
    return StatisticRow(parts, size, shape, {TITLES[_MD5]: value}), exact


def _add_row(model: Model, leaf: TreeLeaf, row: StatisticRow, *, exact: bool) -> None:
    lines = format_l2_statistics([row], _summed(model)).splitlines(keepends=True)
    leaf.rows += lines[1:]
    leaf.exact &= exact


def _acl_folder(model: Model, iteration: int) -> str:
    """Folder of AscendCL's containers, below that of the step."""
    return folder(row_of("msprobe-index"), _places(model, iteration))


def _step_folder(model: Model, iteration: int) -> str:
    """Folder of everything that msprobe makes of a step."""
    return folder(row_of("msprobe"), _places(model, iteration))


def _places(model: Model, iteration: int) -> dict[str, str | int]:
    target, step = model.target, iteration - model.plan.initial_iteration
    return {
        "rank": target.rank,
        "start": model.started,
        "step": step,
        "time": time_folder(model.clock.now),
        "device": target.device,
        "net": sanitize(model.name),
        "model_id": model.model_id,
        "index": step,
    }


def _never(_dtype: str, _layout_of: TensorLayout) -> bool:
    return False


def _is_converted(dtype: str, layout: TensorLayout) -> bool:
    return not _stays(dtype, layout)


def _stays(dtype: str, layout: TensorLayout) -> bool:
    """Whether msprobe makes nothing of a tensor but a file of its bytes."""
    return dtype not in WIDENED and not (dtype in NPY_TYPES and layout.format in FORMATS)
