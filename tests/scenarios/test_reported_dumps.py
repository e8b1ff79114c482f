"""Overflow and exception dumps end to end: the command writes, tells, inspects and converts them.

What must overflow follows from five numbers; files are taken apart by offsets and field numbers alone.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

import workbench as wb
from kit.commands import run as command
from kit.oracle import dump_files as wire
from workbench.config import new
from workbench.core.words import Message
from workbench.dump.write.exceptions import CHIPS
from workbench.npu.profiles import PROFILES

NET = """
import numpy as np
from workbench.network.nn import functional as F
from workbench.network.cell import Cell

INPUTS = (np.full((2, 4), 100, np.float32), np.full((4, 3), 100, np.float32))


class Net(Cell):
    def construct(self, x, w):
        y = F.matmul(x, w)      # 40,000
        big = y * 2             # 80,000: float16 ends at 65,504
        small = big * 0.5       # 32,752 where the device saturates, else Inf
        again = F.relu(small) * 4   # 131,008 where it saturates, else Inf
        return again - y
"""
NO_FAILURE = f"{Message('simulation/nothing-failed')}\n"
NAMES = ["MatMul-op0", "Mul-op0", "Mul-op1", "ReLU-op0", "Mul-op2", "Sub-op0"]
OVERFLOW = {"910a": ["Mul-op0", "Mul-op2"], "a2": ["Mul-op0"]}
"""Device → operators whose inputs are finite and whose result float16 cannot hold."""

INFINITE = {"910a": [], "a2": NAMES[1:]}
"""Device → operators with Inf in their output, whoever made it."""

INSERTED = 4
"""Operators before those: x and w become float16, and tiles."""

TASKS = {name: number for number, name in enumerate(NAMES, INSERTED + 1)}


def mindspore(e2e=None, **common) -> str:
    settings = {
        "dump_mode": 0,
        "path": "/dump",
        "net_name": "Net",
        "iteration": "all",
        "input_output": 0,
        "kernels": [],
        "support_device": [0],
    }
    form = {"common_dump_settings": settings | common}
    return json.dumps(form | ({} if e2e is None else {"e2e_dump_settings": e2e}))


def acl(**dump) -> str:
    return json.dumps({"dump": {"dump_path": "./", **dump}})


def tensorflow(*changes) -> str:
    config = new("tensorflow").set("dump.enable_dump", False)
    for path, value in changes:
        config = config.set(path, value)
    return config.to_text()


LOOK = ("dump.enable_dump_debug", True)

OVERFLOWS = {
    "o2 bin": ("mindspore-o2", mindspore(op_debug_mode=3, file_format="bin")),
    "o2 npy": ("mindspore-o2", mindspore(op_debug_mode=3, file_format="npy")),
    "ge": ("mindspore-ge", mindspore(op_debug_mode=3, file_format="bin")),
    "tensorflow": ("tensorflow", tensorflow(LOOK)),
    "tensorflow aicore": (
        "tensorflow", tensorflow(LOOK, ("dump.dump_debug_mode", "aicore_overflow")),
    ),
    "acl": ("acl", acl(dump_debug="on")),
}  # fmt: skip
FORM = {"tensorflow": "form.py"}


@pytest.fixture
def simulate(tmp_path, capsys):
    """Call of ``workbench simulate``; returns the tree and what was told on stderr behind the first line."""
    (tmp_path / "net.py").write_text(NET)

    def run(surface, text, device="a2", *more) -> tuple:
        form = tmp_path / FORM.get(surface, "form.json")
        form.write_text(text)
        out = tmp_path / "out"
        status, _, told = command(
            capsys, "simulate", "--graph", f"{tmp_path / 'net.py'}:Net", "--config", form,
            "--surface", surface, "--device", device, "--precision-mode", "force_fp16",
            "--out", out, *more,
        )  # fmt: skip
        first, _, told = told.partition("\n")
        assert first.startswith(f"simulating {surface}")
        assert status == int(told == NO_FAILURE), told
        return out, told

    return run


def files(root, pattern="*"):
    """Files of a dump, the graph files beside it left out."""
    found = sorted(path for path in root.rglob(pattern) if path.is_file())
    return [path for path in found if "graphs" not in path.relative_to(root).parts]


def short(name: str) -> str:
    return re.sub(r".*_", "", name)


# ---------------------------------------------------------------- overflow, graph engine


def opened(path) -> tuple[str, int, int, int]:
    """Unit, task, stream and status of a record, by the offsets of its layout."""
    if path.suffix == ".json":
        core = json.loads(path.read_text())["AI Core"]
        return "AI Core", core["task_id"], core["stream_id"], core["status"]
    header, ((part, _, output, data),) = wire.container(path.read_bytes())
    assert (header["op_name"], part, len(data)) == ("Node_OpDebug", "output", 2048)
    assert (output["data_type"], output["shape"]["dim"]) == (4, [2048])
    if struct.unpack_from("<I", data)[0] == 0x5A5A5A5A:
        version, valid, kind, _, length = struct.unpack_from("<5I", data, 4)
        assert (version, valid, length) == (0, 1, 88)
        numbers = struct.unpack_from("<11Q", data, 24)
        assert not any(data[24 + 88 :])
        return ("AIC", "AIV")[kind], numbers[2], numbers[1], numbers[10]
    _, stream, task, *_ = struct.unpack_from("<6Q", data, 256)
    assert not any(data[:256])
    return "AI Core", task, stream, struct.unpack_from("<3Q", data, 1024)[2]


@pytest.mark.parametrize("device", ["910a", "a2"])
@pytest.mark.parametrize("asked", OVERFLOWS)
def test_only_operators_that_overflow_are_dumped_each_with_its_record(simulate, asked, device):
    surface, text = OVERFLOWS[asked]
    root, told = simulate(surface, text, device)
    count = len(OVERFLOW[device])
    names = [f"Default/{name}" for name in OVERFLOW[device]]
    first = Message("simulation/run-overflows", count=count, names=names)
    assert told.splitlines()[0] == str(first)
    records = files(root, "Opdebug.*")
    tensors = files(root, "Mul.*")
    others = set(files(root)) - {*records, *tensors}
    assert all(path.name.startswith("acl_dump") for path in others)
    parts = 3 if asked == "o2 npy" else 1  # two inputs, one output
    assert len(tensors) == parts * count
    assert len({path.parent for path in (*records, *tensors)}) == 1
    newer = device == "a2" and asked != "o2 npy"
    found = [opened(path) for path in records]
    assert found == [
        ("AIV" if newer else "AI Core", TASKS[name], 1, 0x20) for name in OVERFLOW[device]
    ]
    for path, (_, task, stream, _), name in zip(records, found, OVERFLOW[device], strict=True):
        assert re.fullmatch(
            r"Opdebug\.Node_OpDebug\.13\.1\.\d{16}(\.output\.0\.json)?", path.name
        ), path.name
        led = {one.name.split(".")[1] for one in tensors if f".{task}.{stream}." in one.name}
        assert led == {f"Default_{name}"}
        assert path.name.split(".")[4] > next(
            one.name.split(".")[4] for one in tensors if f".{task}.{stream}." in one.name
        )


@pytest.mark.parametrize("device", ["910a", "a2"])
@pytest.mark.parametrize("asked", OVERFLOWS)
def test_overflows_are_read_back_told_and_converted(simulate, capsys, tmp_path, asked, device):
    surface, text = OVERFLOWS[asked]
    root, _ = simulate(surface, text, device)
    dump = wb.load(root)
    names = [f"Default_{name}" for name in OVERFLOW[device]]
    assert [one.op_name for one in dump.overflows] == names
    assert dump.skipped == ()
    assert dump.tensors == 3 * len(names)
    status, shown, _ = command(capsys, "inspect", root)
    assert status == 0
    lines = [line for line in shown.splitlines() if line.startswith("overflow: ")]
    assert [line.split(",")[0] for line in lines] == [f"overflow: {name}" for name in names]
    _, shown, _ = command(capsys, "inspect", root, "--json")
    info = json.loads(shown)
    assert [(one["op_name"], one["status"]) for one in info["overflows"]] == [
        (name, [32]) for name in names
    ]
    _, shown, _ = command(capsys, "compare", root, root)
    kind = Message("cli/anomaly-kind", count=len(names), side="target", kind="overflow")
    assert str(kind) in shown
    assert f"  target {names[0]}: " in shown
    if asked == "o2 npy":
        return
    status, _, _ = command(capsys, "convert", root, "--out", tmp_path / "converted")
    assert status == 0
    texts = [
        json.loads(path.read_text()) for path in files(tmp_path / "converted", "Opdebug*.json")
    ]
    assert len(texts) == len(names)
    for tree, name in zip(texts, OVERFLOW[device], strict=True):
        fields = tree["AI Core"] if device == "910a" else tree["acc_list"]["data"]
        assert (fields["task_id"], fields["stream_id"], fields["status"]) == (TASKS[name], 1, 32)
    arrays = [np.load(path) for path in files(tmp_path / "converted", "Mul*.output.0.npy")]
    assert [float(array.max()) for array in arrays] == [
        65504.0 if device == "910a" else np.inf for _ in names
    ]


def test_atomic_additions_do_not_overflow(simulate):
    text = tensorflow(LOOK, ("dump.dump_debug_mode", "atomic_overflow"))
    root, told = simulate("tensorflow", text, "910a")
    assert files(root) == []
    assert told.startswith("2 overflows")


def test_the_number_of_overflows_is_limited_where_mindspore_counts_them(simulate):
    common = {"op_debug_mode": 3, "overflow_number": 1}
    root, _ = simulate("mindspore-o2", mindspore(**common, file_format="npy"), "910a")
    assert len(files(root, "Opdebug.*")) == 1
    assert {short(p.name.split(".")[1]) for p in files(root, "Mul.*")} == {"Mul-op0"}


def test_containers_are_written_without_a_limit(simulate):
    common = {"op_debug_mode": 3, "overflow_number": 1}
    root, _ = simulate("mindspore-o2", mindspore(**common, file_format="bin"), "910a")
    assert len(files(root, "Opdebug.*")) == 2


def test_every_step_is_looked_at_whatever_the_iterations(simulate):
    text = mindspore(op_debug_mode=3, file_format="bin", iteration="1")
    root, told = simulate("mindspore-o2", text, "a2", "--iterations", "3")
    names = ["Default/Mul-op0"]
    assert told == f"{Message('simulation/run-overflows', count=3, names=names)}\n"
    found = [path.name for path in sorted(root.iterdir())]
    assert found == ["0", "1", "2", "acl_dump_0.json", "graphs"]
    form = json.loads((root / "acl_dump_0.json").read_text())
    assert form == {"dump": {"dump_debug": "on", "dump_path": "/dump/2"}}
    assert [one.iteration for one in wb.load(root).overflows] == [0, 1, 2]


@pytest.mark.parametrize(
    ("device", "like", "titles"),
    [("310p", "910a", ["AI Core"] * 2), ("a3", "a2", ["AIV"]), ("950", "a2", [])],
)
def test_other_devices_overflow_like_their_relatives_and_the_950_records_nothing(
    simulate, device, like, titles
):
    root, _ = simulate("acl", acl(dump_debug="on"), device)
    assert [opened(path)[0] for path in files(root, "Opdebug.*")] == titles
    assert [short(p.name.split(".")[1]) for p in files(root, "Mul.*")] == OVERFLOW[like]


def test_a_network_without_overflow_leaves_nothing(simulate):
    root, told = simulate("acl", acl(dump_debug="on"), "a2")
    shutil.rmtree(root)
    root, told = simulate(
        "acl", acl(dump_debug="on"), "a2", "--precision-mode", "must_keep_origin_dtype"
    )
    assert told == f"{Message('simulation/run-no-overflow')}\n"
    assert not root.exists() or files(root) == []


# ---------------------------------------------------------------- overflow, O0/O1


TOLD_OF_INFINITY = {
    "910a": Message("simulation/run-overflow-unseen", names=["Default/Mul-op0", "Default/Mul-op2"]),
    "a2": Message(
        "simulation/run-overflows", count=5, names=[f"Default/{name}" for name in INFINITE["a2"]]
    ),
}


@pytest.mark.parametrize("device", ["910a", "a2"])
def test_mindspore_dumps_who_has_infinity_in_its_output(simulate, device):
    root, told = simulate("mindspore-o0o1", mindspore({"enable": True}, op_debug_mode=3), device)
    tensors = files(root, "*.npy")
    found = {short(path.name.split(".")[1]) for path in tensors}
    assert found == set(INFINITE[device])
    for path in tensors:
        if ".output." in path.name:
            assert not np.isfinite(np.load(path)).all()
    assert told == f"{TOLD_OF_INFINITY[device]}\n"
    assert (root / "rank_0/graphs/ms_output_trace_code_graph_0.ir").exists()
    assert wb.load(root).tensors == len(tensors)


@pytest.mark.parametrize("device", ["910a", "a2"])
def test_mindspore_names_the_operators_that_it_dumps(simulate, device):
    form = mindspore({"enable": True}, op_debug_mode=3)
    root, told = simulate("mindspore-o0o1", form, device, "--fault", "nan-output:Default/Sub-op0")
    dumped = {short(path.name.split(".")[1]) for path in files(root, "*.npy")}
    assert dumped == {*INFINITE[device], "Sub-op0"}
    first = told.splitlines()[0].partition(" in ")[2]
    assert {name.removeprefix("Default/") for name in first.split(", ")} == dumped


# float32 ends at 3.4e38; a bit that flips in memory is nothing that a unit has computed
DEFECTS = {
    "scaled-output:Default/Mul-op0:1e38": ["Default/Mul-op0"],
    "nan-output:Default/Sub-op0": ["Default/Sub-op0"],
    "overwritten-element:Default/Sub-op0:value=nan": [],
}


@pytest.mark.parametrize("fault", DEFECTS)
@pytest.mark.parametrize("asked", ["o2 bin", "ge", "acl"])
def test_the_device_reports_what_its_units_compute_wrongly(simulate, asked, fault):
    surface, text = OVERFLOWS[asked]
    exact = ("--precision-mode", "must_keep_origin_dtype")
    root, told = simulate(surface, text, "a2", *exact, "--fault", fault)
    names = DEFECTS[fault]
    said = Message("simulation/run-overflows", count=1, names=names)
    assert told == f"{said if names else Message('simulation/run-no-overflow')}\n"
    assert len(files(root, "Opdebug.*")) == len(names)


def test_mindspore_stops_at_the_number_of_overflows_over_all_iterations(simulate):
    text = mindspore({}, op_debug_mode=3, overflow_number=6, iteration="1-2")
    root, _ = simulate("mindspore-o0o1", text, "a2", "--iterations", "4")
    found = sorted({(p.parent.name, short(p.name.split(".")[1])) for p in files(root, "*.npy")})
    assert found == sorted([*(("1", name) for name in INFINITE["a2"]), ("2", "Mul-op0")])


# ---------------------------------------------------------------- exceptions

X, W = np.full((2, 4), 100, np.float32), np.full((4, 3), 100, np.float32)
FAULT = ("--fault", "aicore-exception:MatMul")
TOLD = f"{Message('simulation/run-failed', op='Default/MatMul-op0')}\n"
STAMP = r"20\d{15}"

NORM = tensorflow(("run.enable_exception_dump", 1))
EXCEPTIONS = {
    "o2": ("mindspore-o2", mindspore(op_debug_mode=4, file_format="npy"), "brief"),
    "tensorflow": ("tensorflow", tensorflow(), "brief"),
    "tensorflow norm": ("tensorflow", NORM, "norm"),
    "acl lite": ("acl", acl(dump_scene="lite_exception"), "brief"),
    "acl brief": ("acl", acl(dump_scene="aic_err_brief_dump"), "brief"),
    "acl norm": ("acl", acl(dump_scene="aic_err_norm_dump"), "norm"),
    "acl detail": ("acl", acl(dump_scene="aic_err_detail_dump"), "detail"),
}
GRAMMAR = {
    "brief": rf"exception_info\.1\.5\.{STAMP}",
    "norm": rf"MatMul\.Default_MatMul-op0\.5\.{STAMP}",
    "detail": rf"te_matmul_[0-9a-f]{{8}}_1__kernel0\.1\.5\.{STAMP}\.core",
}


BLOCK = [1, 1, 16, 16]


def fractal(array) -> np.ndarray:
    """A matrix as float16 in FRACTAL_NZ: blocks of 16 by 16, columns of blocks one after the other."""
    rows, columns = (-(-n // 16) * 16 for n in array.shape)
    padded = np.zeros((rows, columns), np.float16)
    padded[: array.shape[0], : array.shape[1]] = array
    return padded.reshape(rows // 16, 16, columns // 16, 16).transpose(2, 0, 1, 3)


@pytest.mark.parametrize("asked", EXCEPTIONS)
def test_the_operator_that_fails_leaves_one_file(simulate, asked):
    surface, text, scene = EXCEPTIONS[asked]
    root, told = simulate(surface, text, "a2", *FAULT)
    assert told.endswith(TOLD)
    (path,) = [one for one in files(root) if not one.name.startswith("acl_dump")]
    assert path.parent == root / "extra-info/data-dump/0"
    assert re.fullmatch(GRAMMAR[scene], path.name), path.name
    if scene == "detail":
        return
    header, blocks = wire.container(path.read_bytes())
    assert header["version"] == "2.0"
    assert [(part, data) for part, _, _, data in blocks] == [
        ("input", fractal(X).tobytes()),
        ("input", fractal(W).tobytes()),
        ("output", bytes(512)),
    ]
    shapes = [one.get("shape", {}).get("dim") for _, _, one, _ in blocks]
    assert shapes == [BLOCK, BLOCK, BLOCK]
    assert [one.get("input_type", 0) for _, _, one, _ in blocks] == [2, 2, 0]
    assert [one.get("arg_index", 0) for _, _, one, _ in blocks] == [0, 1, 2]
    stated = [(one.get("data_type", 0), one.get("format", 0)) for _, _, one, _ in blocks]
    assert all("original_shape" not in one and "address" not in one for _, _, one, _ in blocks)
    if scene == "norm":
        assert header["op_name"] == "Default/MatMul-op0"
        assert stated == [(2, 29), (2, 29), (2, 29)]
        assert "node_name:Default/MatMul-op0, node_type:MatMul" in header["dfx_message"]
    else:
        assert "op_name" not in header
        assert stated == [(0, 0)] * 3
        assert header["dfx_message"].startswith("[AIC_INFO] args(0 to 3) after execute:0x")


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_a_detailed_dump_is_an_elf_core_with_the_memory_of_the_arguments(simulate):
    surface, text, _ = EXCEPTIONS["acl detail"]
    root, _ = simulate(surface, text, "a2", *FAULT)
    (path,) = files(root)
    shown = subprocess.run(
        ["readelf", "-h", "-S", "-W", path], capture_output=True, text=True, check=True
    ).stdout
    assert "CORE (Core file)" in shown
    offsets = [
        int(line.split(".ascend.global", 1)[1].split()[2], 16)
        for line in shown.splitlines()
        if ".ascend.global" in line and "aux" not in line
    ]
    data = path.read_bytes()
    args, x, w, y = offsets
    assert data[x : x + 512] == fractal(X).tobytes()
    assert data[w : w + 512] == fractal(W).tobytes()
    assert data[y : y + 512] == bytes(512)
    addresses = struct.unpack_from("<3Q", data, args)
    assert len(set(addresses)) == 3


@pytest.mark.parametrize("asked", EXCEPTIONS)
def test_failures_are_read_back_told_and_converted(simulate, capsys, tmp_path, asked):
    surface, text, scene = EXCEPTIONS[asked]
    root, _ = simulate(surface, text, "a2", *FAULT)
    dump = wb.load(root)
    (failure,) = dump.failures
    assert (failure.scene, dump.layout, dump.tensors) == (scene, "exception", 0)
    assert [(b.part, b.size) for b in failure.container.blocks] == [
        ("input", 512), ("input", 512), ("output", 512),
    ]  # fmt: skip
    if scene == "detail":
        assert failure.core.cubes == (0,)
        assert failure.core.chip == 5
    status, shown, _ = command(capsys, "inspect", root)
    name = {"norm": "Default/MatMul-op0", "brief": "exception_info"}.get(scene, "te_matmul_")
    assert status == 0
    assert f"failed: {name}" in shown
    assert shown.count("(1, 1, 16, 16), 512 bytes") == 3
    status, _, _ = command(capsys, "convert", root, "--out", tmp_path / "converted")
    assert status == 0
    found = [np.load(path) for path in files(tmp_path / "converted", "*.input.*.npy")]
    assert [array.tobytes() for array in found[:2]] == [fractal(X).tobytes(), fractal(W).tobytes()]


def test_mindspore_itself_saves_the_inputs_of_what_fails(simulate):
    text = mindspore({"enable": True}, op_debug_mode=4)
    root, told = simulate("mindspore-o0o1", text, "a2", "--fault", "aicore-exception:*Mul-op1")
    assert told == f"{Message('simulation/run-failed', op='Default/Mul-op1')}\n"
    found = files(root, "*.npy")
    assert [short(p.name.split(".")[1]) for p in found] == ["Mul-op1"] * 2
    assert [p.name.split(".")[5] for p in found] == ["input"] * 2
    assert {p.parent.name for p in found} == {"0"}


@pytest.mark.parametrize("surface", ["mindspore-cpu", "mindspore-gpu"])
def test_a_cpu_or_gpu_knows_no_exceptions(simulate, surface):
    root, _ = simulate(surface, mindspore(op_debug_mode=4), "a2", *FAULT)
    assert [p for p in files(root, "*.npy") if not p.name.startswith("Parameter.")] == []


ORDINARY = {
    "mindspore-o0o1": mindspore({}),
    "acl": acl(dump_list=[{}], dump_mode="all"),
    "tensorflow": tensorflow(("dump.enable_dump", True), ("dump.dump_step", "")),
}


@pytest.mark.parametrize("surface", ORDINARY)
def test_an_ordinary_dump_of_a_run_that_fails_ends_before_the_operator(simulate, surface):
    root, told = simulate(
        surface,
        ORDINARY[surface],
        "a2",
        "--fault",
        "aicore-exception:*Mul-op1",
        "--iterations",
        "3",
    )
    assert told == f"{Message('simulation/run-failed', op='Default/Mul-op1')}\n"
    found = {(r.key.iteration, r.key.op_name) for r in wb.load(root).records}
    inserted = {one for one in found if re.fullmatch(r"trans_(Cast|TransData)_\d", one[1])}
    assert len(inserted) == (0 if surface == "mindspore-o0o1" else INSERTED)
    assert {(step, short(name)) for step, name in found - inserted} == {
        (0, "MatMul-op0"), (0, "Mul-op0"),
    }  # fmt: skip
    models = {path.parent.parent.parent.name for path in files(root, "*.1[0-9]*")}
    assert len(models) == {"tensorflow": 2}.get(surface, 1)  # that of initialisation came before


def test_a_run_fails_in_its_first_iteration_whichever_is_dumped(simulate):
    text = mindspore({}, iteration="2")
    root, told = simulate(
        "mindspore-o0o1", text, "a2", "--fault", "aicore-exception:ReLU", "--iterations", "3"
    )
    assert told == f"{Message('simulation/run-failed', op='Default/ReLU-op0')}\n"
    assert files(root, "*.npy") == []


def test_without_a_failure_there_is_no_exception_dump(simulate):
    root, told = simulate("acl", acl(dump_scene="aic_err_norm_dump"), "a2")
    assert (told, files(root)) == (NO_FAILURE, [])


def test_a_name_that_is_too_long_is_in_a_table(simulate, tmp_path):
    layer = "n" * 250
    source = NET.replace("(Cell):", "(Cell):\n    def __init__(self):\n        "
                         f"setattr(self, '{layer}', Layer())\n")  # fmt: skip
    source = source.replace("        y = F.matmul(x, w) ", f"        y = self.{layer}(x, w) ")
    head, tail = source.split("class Net", 1)
    layer_class = (
        "class Layer(Cell):\n    def construct(self, x, w):\n        return F.matmul(x, w)\n"
    )
    (tmp_path / "net.py").write_text(f"{head}{layer_class}\n\nclass Net{tail}")
    root, _ = simulate("acl", acl(dump_scene="aic_err_norm_dump"), "a2", *FAULT)
    table, renamed = sorted(files(root), key=lambda path: path.name != "mapping.csv")
    new_name, old_name = table.read_text().strip().split(",")
    assert (renamed.name, len(old_name) > 255) == (new_name, True)
    (failure,) = wb.load(root).failures
    assert failure.op_name.endswith("MatMul-op0")


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("surface", "text", "device", "code", "values"),
    [
        (
            "acl",
            acl(dump_debug="on"),
            "reference",
            "overflow-device",
            {"known": list(PROFILES), "got": "reference"},
        ),
        (
            "acl",
            acl(dump_scene="aic_err_detail_dump"),
            "910a",
            "exception-device",
            {"known": list(CHIPS), "got": "910a"},
        ),
    ],
)
def test_what_no_such_device_dumps_is_refused(
    tmp_path, capsys, surface, text, device, code, values
):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "form.json").write_text(text)
    status, _, told = command(
        capsys, "simulate", "--graph", f"{tmp_path / 'net.py'}:Net", "--config",
        tmp_path / "form.json", "--surface", surface, "--device", device, "--out", tmp_path / "out",
    )  # fmt: skip
    assert status == 2
    assert str(Message(f"simulation/{code}", **values)) in told
    assert not (tmp_path / "out").exists()
