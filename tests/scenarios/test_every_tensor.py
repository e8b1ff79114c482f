"""Every tensor in every tree: written, recognised, read back, compared with its golden, converted.

The functions above the tests say which cells a tree does not hold, or not as they were, and why; all
others must come back element for element. Every run takes one surface of each writer, the nightly run
all of them.
"""

from __future__ import annotations

import io
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from kit.build.every_tensor import CELLS, GRAPH, LAYOUTS, UNPACKED, Cell, record
from kit.build.written import write
from kit.cases import each_once, nightly
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.plan import DumpPlan
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.writers import MINDSPORE_RELEASE as VERSION
from workbench.dump.convert import convert
from workbench.dump.write.targets import Target
from workbench.dump.write.trees import write_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST_CATEGORIES = ("max", "min", "avg", "l2norm", "count", "md5")
DEVICE_CATEGORIES = ("max", "min", "avg", "nan count", "negative inf count", "positive inf count")
TITLES = {
    "Max Value": lambda x: x.max(),
    "Min Value": lambda x: x.min(),
    "Avg Value": lambda x: x.mean(),
    "L2Norm Value": lambda x: np.sqrt((x * x).sum()),
    "Count": lambda x: x.size,
}
"""Figures of a real tensor in float64."""


class Tree(NamedTuple):
    """A tree: the layout that must recognise it, whose it is (empty: MindSpore's own), what it holds."""

    layout: str
    surface: str = ""
    device: Any = "Ascend"
    files: Any = "npy"
    host: bool = False  # in the graph's format
    saved: Any = "tensor"
    single: bool = False
    version: str = VERSION

    @property
    def is_npy(self) -> bool:
        return self.files == "npy"

    def plan(self) -> DumpPlan:
        return DumpPlan(
            "/dump", files=self.files, host_format=self.host, saved=self.saved, single_op=self.single,
            statistics=HOST_CATEGORIES if self.is_npy else DEVICE_CATEGORIES,
        )  # fmt: skip

    def write(self, records: list[TensorRecord], root: Path) -> Path:
        if not self.surface:
            return write(records, self.plan(), root, graph=GRAPH, device=self.device)
        return write_tree(
            records,
            self.plan(),
            root,
            graph=GRAPH,
            target=Target(self.surface, version=self.version),
        )


BIN: dict[str, Any] = {"files": "bin"}
FIGURES: dict[str, Any] = {"saved": "statistic"}
TREES = {
    "o0o1": Tree("mindspore"),
    "o0o1-trans": Tree("mindspore", host=True),
    "cpu": Tree("mindspore", device="CPU"),
    "gpu": Tree("mindspore", device="GPU"),
    "o2-npy": Tree("mindspore-o2", "mindspore-o2", host=True),
    "o2-bin": Tree("mindspore-o2", "mindspore-o2", **BIN),
    "l2-bin": Tree("msprobe", "mindspore-o2", version="2.7", **BIN),
    "ge-npy": Tree("ge", "mindspore-ge", host=True),
    "ge-bin": Tree("ge", "mindspore-ge", **BIN),
    "tensorflow": Tree("ge", "tensorflow", **BIN),
    "torchair": Tree("torchair", "torchair", **BIN),
    "torchair-host": Tree("torchair", "torchair", host=True, **BIN),
    "acl": Tree("ge", "acl", **BIN),
    "acl-host": Tree("ge", "acl", host=True, **BIN),
    "acl-single": Tree("single-operator", "acl", single=True, **BIN),
    "o0o1-statistic": Tree("mindspore", **FIGURES),
    "o0o1-trans-statistic": Tree("mindspore", host=True, **FIGURES),
    "gpu-statistic": Tree("mindspore", device="GPU", **FIGURES),
    "o2-statistic": Tree("mindspore-o2", "mindspore-o2", host=True, **FIGURES),
    "ge-statistic": Tree("ge", "mindspore-ge", **BIN, **FIGURES),
    "tensorflow-statistic": Tree("ge", "tensorflow", **BIN, **FIGURES),
    "torchair-statistic": Tree("torchair", "torchair", **BIN, **FIGURES),
    "acl-statistic": Tree("ge", "acl", **BIN, **FIGURES),
    "acl-single-statistic": Tree("single-operator", "acl", single=True, **BIN, **FIGURES),
}
DAILY = (
    *("o0o1", "cpu", "o2-npy", "l2-bin", "tensorflow", "torchair-host", "acl-single"),
    *("o0o1-trans-statistic", "o2-statistic", "acl-statistic"),
)
"""One of each layout, in every way in which files are written and statistics taken."""
WAYS = ("o0o1", "o2-npy", "l2-bin", "o0o1-trans-statistic", "o2-statistic", "acl-statistic")
"""One of each of those ways: what was read of other layouts is known to be the golden's, element for element."""


def test_every_run_takes_every_layout():
    taken = [TREES[name] for name in DAILY]
    assert {tree.layout for tree in taken} == {tree.layout for tree in TREES.values()}
    for saved in ("tensor", "statistic"):
        for some in (taken, [TREES[name] for name in WAYS]):
            ways = {(tree.is_npy, bool(tree.surface)) for tree in some if tree.saved == saved}
            assert ways == {(True, False), (True, True), (False, True)}


# ---------------------------------------------------------------- what is not as it was, and why

MINDSPORE = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128", "bfloat16", "int4", "uint1",
}  # fmt: skip
WIDENED = {"bfloat16": "float32", "int4": "int8", "uint1": "uint8"}
COMPLEX = ("complex32", "complex64", "complex128")
SUMMED = {
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "float16",
    "float32", "float64",
}  # fmt: skip


def absent(cell: Cell, tree: Tree) -> str:
    """Why a tree has no file of a cell; empty if it has."""
    if not tree.is_npy or tree.saved == "statistic":
        return ""
    if cell.dtype not in MINDSPORE:
        return "MindSpore has no such number format"
    if not tree.surface and tree.device == "Ascend" and cell.dtype == "complex64":
        return "the writer of Ascend refuses complex64"
    if tree.device == "CPU" and cell.dtype in ("int4", "uint1"):
        return "the writer of the CPU widens nothing, and npy files cannot hold it"
    return ""


def garbled(cell: Cell, tree: Tree) -> str:
    """Why what is read is not what was written; empty if it is."""
    if tree.is_npy and tree.surface and cell.format == "FRACTAL_Z_3D:2":
        return "O2 converts four axes alone, and neither name nor header of the rest say the groups"
    return ""


def unmeasured(cell: Cell, tree: Tree) -> str:
    """Code of why statistics of a cell cannot be compared with its golden; empty if they can."""
    if tree.is_npy:
        lying = cell.is_cut and not tree.surface and tree.device == "Ascend" and not tree.host
        # a digest of what lies on the device says nothing of the graph's tensor
        return "compare/no-statistic" if lying and cell.dtype in COMPLEX else ""
    if cell.format == "FRACTAL_NZ_C0_8":
        return "compare/sizes-differ"  # the device's tables name no format past the fortieth
    return "" if _summed(cell) else "compare/no-statistic"


def _summed(cell: Cell) -> bool:
    """Whether the device sums a number format up, by the type of its elements there."""
    return cell.number.storage.name in SUMMED


# ---------------------------------------------------------------- what is expected


def host_format(cell: Cell, tree: Tree) -> str:
    """Format in which a cell is read: that of the graph."""
    if not cell.is_cut:
        named = cell.format if cell.format != "DefaultFormat" else "ND"
        return cell.format if tree.is_npy and not tree.surface else named
    if tree.is_npy and not tree.surface and (tree.host or tree.device != "Ascend"):
        return "DefaultFormat"
    if tree.host and not tree.is_npy:
        return "NCHW" if len(cell.shape) == 4 else "ND"
    return LAYOUTS[cell.format].host


def stored(cell: Cell, tree: Tree) -> str:
    """Number format of what is read."""
    wide = tree.is_npy and tree.device != "CPU"
    return WIDENED.get(cell.dtype, cell.dtype) if wide else cell.dtype


def told(cell: Cell, here: np.ndarray, spec: TensorSpec, expected: TensorSpec) -> str:
    """What is wrong with a cell that was read; empty if nothing is."""
    if spec != expected:
        return f"{spec} is not {expected}"
    if here.shape != expected.shape:
        return f"shape {here.shape}"
    same = here.astype(cell.number.storage).tobytes() == cell.array().tobytes()
    return "" if same else "elements differ"


NUMPYS = {
    "dual_sub_int8": "int8", "dual_sub_uint8": "uint8", "qint8": "int8", "qint16": "int16",
    "qint32": "int32", "quint8": "uint8", "quint16": "uint16", "resource": "int64", "bfloat16": "float32",
    "int4": "int8", "uint1": "uint8", "int2": "int8", "uint2": "uint8", "complex32": "complex64",
    "hifloat8": "float32", "float8_e5m2": "float32", "float8_e4m3fn": "float32",
    "float8_e8m0": "float32", "float4_e2m1": "float32", "float4_e1m2": "float32",
}  # fmt: skip
"""What the converter writes; all others are NumPy's own."""

BIN_WORDS = {"complex32": "complex64", "hifloat8": "float32", "float4_e1m2": "float32"} | {
    name: NUMPYS[name] for name in NUMPYS if name.startswith(("dual", "q", "resource", "uint1"))
}
"""Number formats in names of bin files that are those of the elements; others keep the container's."""


def converted(cell: Cell, target: str) -> np.ndarray | None:
    """What ``--format`` makes of a cell; ``None`` if it is left as it is."""
    if cell.format.startswith("FRACTAL_NZ"):
        return cell.array()  # the last two axes of any format
    host = LAYOUTS[cell.format].host if cell.is_cut else cell.format
    if target == "ND":
        return cell.array()
    if sorted(host) != sorted(target):
        return None  # other axes, or none with a name
    return cell.array().transpose([host.index(axis) for axis in target])


def numpys(cell: Cell, array: np.ndarray) -> np.ndarray:
    return array.astype(NUMPYS.get(cell.dtype, cell.dtype))


# ---------------------------------------------------------------- the tests


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Trees by name, each written once."""
    made: dict[str, Path] = {}

    def give(name: str) -> Path:
        if name not in made:
            root = tmp_path_factory.mktemp("written") / name
            made[name] = TREES[name].write([record(c, c.array()) for c in CELLS], root)
        return made[name]

    return give


@pytest.fixture(params=nightly(TREES, DAILY), scope="module")
def tree(request, written):
    return TREES[request.param], written(request.param)


@pytest.fixture(scope="module")
def goldens(tmp_path_factory):
    """Containers of another surface in the graph's format: right ones, and with one wrong element each."""
    root = tmp_path_factory.mktemp("golden")
    right, wrong = ([record(c, a) for c, a in pairs] for pairs in _both())
    surface = Tree("torchair", "torchair", host=True, **BIN)
    return surface.write(right, root / "right"), surface.write(wrong, root / "wrong")


def _both() -> tuple[list[tuple[Cell, np.ndarray]], ...]:
    return [(c, c.array()) for c in CELLS], [(c, c.spoiled()) for c in CELLS]


def file_name(cell: Cell) -> str:
    return cell.name.replace("/", "_")


def by_cell(root: Path) -> dict[str, TensorRecord]:
    dump = wb.load(root)
    assert dump.skipped == ()
    records = {record.key.op_name: record for record in dump.records}
    assert len(records) == len(dump.records)
    return records


def check(problems: Iterator[tuple[Cell, str]]) -> None:
    """Name every cell with its problem."""
    found = [f"{cell.dtype} in {cell.format}: {problem}" for cell, problem in problems if problem]
    assert not found, "\n".join([f"{len(found)} cells", *found[:20]])


def test_a_tree_is_recognised_and_its_cells_are_read_back(tree):
    row, root = tree
    assert wb.load(root).layout == row.layout
    records = by_cell(root)
    assert len(records) == sum(not absent(cell, row) for cell in CELLS)

    def problems():
        for cell in CELLS:
            reason, here = absent(cell, row), records.get(file_name(cell))
            if reason or here is None:
                yield cell, "" if bool(reason) == (here is None) else f"expected: {reason or 'it'}"
            elif row.saved == "statistic":
                yield cell, _figures(cell, here, row)
            else:
                spec = here.source.spec()
                if spec.format == "DefaultFormat":
                    spec = spec._replace(format=here.label.format)
                expected = TensorSpec(stored(cell, row), cell.shape, host_format(cell, row))
                wrong = told(cell, here.source.array(), spec, expected)
                yield cell, "" if wrong and garbled(cell, row) else wrong
                assert here.label.dtype == cell.dtype

    check(problems())


def _figures(cell: Cell, here: TensorRecord, tree: Tree) -> str:
    """What is wrong with statistics: those of the tensor as it lies where it is summed up."""
    on_device = (not tree.surface and tree.device == "Ascend") or not tree.is_npy
    array = cell.laid() if on_device and not tree.host else cell.array()
    if here.label.shape != array.shape:
        return f"shape {here.label.shape}, not {array.shape}"
    figures = here.statistics or {}
    known = cell.dtype not in COMPLEX if tree.is_npy else _summed(cell)
    if not known:
        return "" if figures.keys() <= {"Count", "MD5"} else f"figures {figures}"
    wide = array.astype(np.float64)
    for title, figure in TITLES.items():
        if title == "L2Norm Value" and not tree.is_npy:
            continue  # the device has none
        if figures.get(title) != pytest.approx(figure(wide), rel=1e-5, abs=1e-300):
            return f"{title} {figures.get(title)}, not {figure(wide)}"
    return ""


@pytest.mark.parametrize("tree", nightly(TREES, WAYS), indirect=True)
def test_every_cell_agrees_with_its_golden(tree, goldens):
    row, root = tree
    comparison = wb.compare(root, goldens[0])
    rows = {one.op_name.replace("/", "_"): one for one in comparison.result.rows if one.op_name}

    def problems():
        for cell in CELLS:
            one = rows.get(file_name(cell))
            if one is None or absent(cell, row) or garbled(cell, row):
                continue
            reason = unmeasured(cell, row) if row.saved == "statistic" else ""
            if reason:
                yield cell, "" if reason == one.reason_code else f"{one.status} {one.reason}"
            elif one.status not in ("equal", "pass"):
                yield cell, f"{one.status} {one.reason} {one.error}"
            elif row.saved == "tensor" and one.status != "equal":
                yield cell, f"{one.status}, not equal"

    check(problems())
    assert comparison.coverage.matched == sum(not absent(cell, row) for cell in CELLS)
    reasons = [unmeasured(cell, row) for cell in CELLS] if row.saved == "statistic" else []
    missing = any(absent(cell, row) for cell in CELLS) or any(reasons)
    wrong = row.saved == "tensor" and any(garbled(cell, row) for cell in CELLS)
    lacking = "incomplete" if any(reasons) else "warn"
    assert comparison.verdict == ("fail" if wrong else lacking if missing else "pass")


@pytest.mark.parametrize("tree", nightly(TREES, WAYS), indirect=True)
def test_one_wrong_element_is_found_in_every_cell(tree, goldens):
    row, root = tree
    comparison = wb.compare(goldens[1], root)
    rows = {one.op_name.replace("/", "_"): one for one in comparison.result.rows if one.op_name}

    def problems():
        for cell in CELLS:
            one = rows[file_name(cell)]
            if absent(cell, row):
                yield cell, "" if one.reason_code == "compare/only-target" else str(one.reason)
                continue
            by_figures = row.saved == "statistic"
            reason = unmeasured(cell, row) if by_figures else ""
            if by_figures and not reason and cell.dtype in COMPLEX:
                reason = "compare/digests-differ"
            if reason:
                yield cell, "" if reason == one.reason_code else f"{one.status} {one.reason}"
            elif one.status != "fail":
                yield cell, f"{one.status} {one.reason} {one.error}"

    check(problems())
    assert comparison.verdict == "fail"


# ---------------------------------------------------------------- converted

CONTAINERS = [name for name, row in TREES.items() if not row.is_npy and row.saved == "tensor"]


def base_name(root: Path) -> dict[str, str]:
    """Name of the file of every cell, with its folder."""
    files = (path for path in root.rglob("*.*.*.*") if path.is_file())
    return {path.name.split(".")[1]: path.relative_to(root).as_posix() for path in files}


def npy_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array))
    return file.getvalue()


@pytest.mark.parametrize("name", nightly(CONTAINERS, ("l2-bin", "acl", "acl-single")))
def test_containers_become_npy_files_of_what_lies_there(tmp_path, written, name):
    root, out = written(name), tmp_path / "out"
    result = convert(root, out)
    names = base_name(root)
    assert (result.files, len(result.written), result.remarks) == (len(CELLS), len(CELLS), ())

    def problems():
        for cell in CELLS:
            io_name = "input" if cell.is_weight else "output"
            path = out / f"{names[file_name(cell)]}.{io_name}.0.npy"
            array = cell.array() if TREES[name].host else cell.laid()
            same = path.read_bytes() == npy_bytes(numpys(cell, array))
            yield cell, "" if same else f"{path.name}: other bytes"

    check(problems())


@pytest.mark.parametrize(
    "target", nightly(["NCHW", "NHWC", "NCDHW", "DHWCN", "ND"], ["NHWC", "DHWCN", "ND"])
)
def test_device_formats_become_a_host_format(tmp_path, written, target):
    root, out = written("acl"), tmp_path / "out"
    result = convert(root, out, format=target)
    names = base_name(root)
    remarks = {remark.path.split("/")[-1]: remark.text for remark in result.remarks}

    def problems():
        for cell in CELLS:
            io_name = "input" if cell.is_weight else "output"
            base = names[file_name(cell)]
            array, remark = converted(cell, target), remarks.pop(base.split("/")[-1], "")
            if array is None:
                left = out / f"{base}.{io_name}.0.npy"
                same = left.read_bytes() == npy_bytes(numpys(cell, cell.laid()))
                yield (
                    cell,
                    "" if same and remark and remark.code == "dump/left-in" else f"left: {remark}",
                )
                continue
            shape = "x".join(map(str, array.shape))
            path = out / f"{base}.{io_name}.0.{shape}.npy"
            same = path.is_file() and path.read_bytes() == npy_bytes(numpys(cell, array))
            yield cell, remark if same else f"{path.name}: {remark or 'not as expected'}"

    check(problems())
    assert not remarks


NAMED = [*product(("bin", "msnpy"), ("", "NCHW"))]


@pytest.mark.parametrize(("kind", "target"), nightly(NAMED, each_once(NAMED)))
def test_bin_and_msnpy_files_have_msaccucmps_names(tmp_path, written, kind, target):
    root, out = written("acl"), tmp_path / "out"
    convert(root, out, type=kind, format=target)
    names = base_name(root)

    def problems():
        for cell in CELLS:
            array = converted(cell, target) if target else None
            form = target if array is not None else cell.format.partition(":")[0]
            array = cell.laid() if array is None else array
            form = "ND" if form == "DefaultFormat" else form
            io_name = "input" if cell.is_weight else "output"
            folder, _, base = names[file_name(cell)].rpartition("/")
            data = numpys(cell, array)
            if kind == "bin":
                word = BIN_WORDS.get(cell.dtype, cell.dtype)
                file = f"{base}.{io_name}.0.{array.size}.{word}.{form}.bin"
                content = data.tobytes()
            else:
                op_type, _, *rest = base.split(".")
                file = ".".join((op_type, cell.dtype, *rest, io_name, "0", form, "npy"))
                content = npy_bytes(data)
            path = out / folder / file
            same = path.is_file() and path.read_bytes() == content
            yield cell, "" if same else f"{file}: not as expected"

    check(problems())


LEFT = [*product(("o2-npy", "ge-npy"), ("ND", "NCHW", "NCDHW"))]


@pytest.mark.parametrize(("name", "target"), nightly(LEFT, each_once(LEFT)))
def test_npy_files_that_hold_a_device_format_become_a_host_format(tmp_path, written, name, target):
    """Those that O2 left so; in a matrix's own axes, and in those of volumes."""
    root, out = written(name), tmp_path / "out"
    result = convert(root, out, format=target)
    files = {path.name.split(".")[1]: path for path in out.rglob("*.npy")}
    left = {file_name(c): c for c in CELLS if _stays(c) and not absent(c, TREES[name])}
    assert {cell for cell, _ in ((left[n], p) for n, p in files.items())} >= {
        cell for cell in left.values() if not garbled(cell, TREES[name]) and _fits(cell, target)
    }
    assert len(files) == len(result.written)

    def problems():
        for key, path in files.items():
            cell = left[key]
            here = np.load(path)
            same = here.tobytes() == cell.array().astype(here.dtype).tobytes()
            named = f".{target}." in path.name
            yield cell, "" if (same or garbled(cell, TREES[name])) and named else path.name

    check(problems())


def _stays(cell: Cell) -> bool:
    """Whether O2 leaves a cell as the device has it."""
    return cell.is_cut and (len(cell.shape) != 4 or cell.format == "FRACTAL_Z_C04")


def _fits(cell: Cell, target: str) -> bool:
    return cell.format.startswith("FRACTAL_NZ") or len(cell.shape) == len(target) or target == "ND"


@pytest.mark.parametrize("name", ["o0o1", "cpu", "acl-statistic", "o2-statistic"])
def test_trees_without_anything_to_convert_say_so(tmp_path, written, name):
    """Nothing in O0's files says the graph's shape; statistics are no tensors."""
    with refused("dump/convert-nothing", FormatError):
        convert(written(name), tmp_path / "out", format="NCHW")
    assert not list(tmp_path.rglob("*.npy"))


# ---------------------------------------------------------------- what nobody can pack


@pytest.mark.parametrize("dtype", UNPACKED)
def test_a_number_format_that_no_source_explains_is_refused(tmp_path, dtype):
    key = TensorKey("Cast", "Default/x", "output", 0)
    one = TensorRecord(key, TensorSpec(dtype, (3,)), ArraySource(np.zeros(3, np.uint8), dtype))
    with refused("core/packing", FormatError, dtype=dtype.upper()):
        TREES["acl"].write([one], tmp_path / "bin")
    TREES["o0o1"].write([one], tmp_path / "npy")
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and "x" in path.name.split(".")
    ]
