"""Pairs of dump trees that msprobe and we compare, and the tensors in them by name.

`conformance/run_msprobe.py` gives them to msprobe and records its figures;
`tests/comparison/measure/test_msprobe_conformance.py` holds ours against the record. Nothing here reads a tree
with our own reader.
"""

from __future__ import annotations

import csv
import json
import tarfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from kit.build.written import write
from workbench.config import read
from workbench.core.plan import DumpPlan
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.write.targets import Clock
from workbench.graph.graph import Graph, Op, Param, Parameter, Value
from workbench.network.models import load_graph
from workbench.simulation.simulate import simulate

ROOT = Path(__file__).parents[3]
CATEGORIES = ["max", "min", "avg", "l2norm", "nan count", "negative inf count", "md5"]
LONG = "Default/" + "a-Cell/" * 40
"""A scope that makes the name of a file too long, so that it is a number in ``mapping.csv``."""


class Case(NamedTuple):
    """Two simulated runs of one network; sides are arguments of `simulate`."""

    graph: str
    target: dict[str, Any]
    golden: dict[str, Any]
    saved_data: str = "tensor"
    iterations: int = 1


CPU: dict[str, Any] = {"surface": "mindspore-cpu"}
GOLDEN: dict[str, Any] = {"surface": "mindspore-o0o1"}
OLD: dict[str, Any] = {"device": "910a"}
HALF: dict[str, Any] = {"device": "910a", "precision_mode": "force_fp16"}
BRAIN: dict[str, Any] = {"device": "a2", "precision_mode": "allow_fp32_to_bf16"}
PAD = "wrong-attribute:*conv3*:pad_mode=pad,pad=(1,1,1,1)"

CASES: dict[str, Case] = {
    "mlp healthy, two iterations": Case("mlp", OLD, GOLDEN, iterations=2),
    "lenet healthy": Case("lenet", OLD, GOLDEN),
    "alexnet healthy": Case("alexnet", {"device": "a2"}, GOLDEN),
    "lenet force_fp16 against a CPU": Case("lenet", HALF, CPU),
    "alexnet bfloat16": Case("alexnet", BRAIN, GOLDEN),
    "alexnet wrong padding": Case("alexnet", OLD | {"faults": [PAD]}, OLD),
    "alexnet half accumulation": Case("alexnet", OLD | {"faults": ["half-accumulation:*fc1*MatMul*"]}, CPU),
    "lenet scaled": Case("lenet", HALF | {"faults": ["scaled-output:*conv2*Conv2D*:1.5"]}, HALF),
    "lenet element": Case("lenet", OLD | {"faults": ["overwritten-element:*conv1*Conv2D*"]}, OLD),
    "mlp NaN": Case("mlp", OLD | {"faults": ["overwritten-element:*0-Dense*:value=nan"]}, OLD),
    "mlp Inf on both": Case(
        "mlp",
        OLD | {"faults": ["overwritten-element:*0-Dense*:value=inf"]},
        GOLDEN | OLD | {"faults": ["overwritten-element:*0-Dense*:value=inf"]},
    ),
    "mlp statistics healthy, two iterations": Case("mlp", OLD, GOLDEN, "statistic", 2),
    "lenet statistics force_fp16": Case("lenet", HALF, GOLDEN, "statistic"),
    "lenet statistics scaled": Case(
        "lenet", OLD | {"faults": ["scaled-output:*conv2*Conv2D*:4"]}, OLD, "statistic"
    ),
    "alexnet statistics wrong padding": Case("alexnet", OLD | {"faults": [PAD]}, OLD, "statistic"),
    "mlp statistics NaN": Case(
        "mlp", OLD | {"faults": ["overwritten-element:*0-Dense*:value=nan"]}, OLD, "statistic"
    ),
    "alexnet tensors and statistics": Case("alexnet", HALF, OLD, "full"),
}  # fmt: skip
"""Simulated pairs by name."""

REAL = ("alexnet_padmode", "transformer_ln_eps")
"""Pairs that MindSpore itself wrote, of `tests/data/real`."""

NAN, INF = np.nan, np.inf
RAMP = np.linspace(-2.0, 3.0, 60)


def _half(values: Any) -> Any:
    return np.asarray(values, np.float16)


def _pair(target: Any, golden: Any, dtype: Any = np.float32) -> tuple[Any, Any]:
    return np.array(target, dtype), np.array(golden, dtype)


_VALUES: dict[str, tuple[Any, Any]] = {
    "equal": _pair(RAMP, RAMP),
    "near": _pair(RAMP * 1.0004, RAMP),
    "opposite": _pair(-RAMP, RAMP),
    "orthogonal": _pair([1, 0, 1, 0], [0, 1, 0, 1]),
    "golden_zeros": _pair([1, 2, 0.001, 1e-9, 0], [1, 2, 0, 0, 0]),
    "golden_tiny": _pair([1, 2, 3e-17], [1, 2, 1e-17]),
    "signed_zeros": _pair([0.0, -0.0, 1], [-0.0, 0.0, 1]),
    "all_zero": _pair([0, 0, 0], [0, 0, 0]),
    "golden_all_zero": _pair([0, 1, 2], [0, 0, 0]),
    "target_all_zero": _pair([0, 0, 0], [0, 1, 2]),
    "tiny_errors": _pair([1e-14, 2e-14], [1.5e-14, 2e-14]),
    "subnormal": _pair([1e-40, 2e-40], [1e-40, 3e-40]),
    "nan_same": _pair([1, NAN, 3], [1, NAN, 3.5]),
    "nan_all": _pair([NAN, NAN], [NAN, NAN]),
    "nan_elsewhere": _pair([1, NAN, 3], [NAN, 2, 3]),
    "nan_target": _pair([1, NAN, 3], [1, 2, 3]),
    "inf_same": _pair([1, INF, -INF, 3], [1, INF, -INF, 3.5]),
    "inf_opposite": _pair([1, INF, 3], [1, -INF, 3]),
    "inf_target": _pair([1, INF, 3], [1, 2, 3]),
    "inf_against_nan": _pair([1, INF, 3], [1, NAN, 3]),
    "scalar": _pair(2.0, 2.5),
    "one_element": _pair([2.0], [2.5]),
    "other_shape": (np.ones((2, 3), np.float32), np.ones((2, 4), np.float32)),
    "reshaped": (np.float32(RAMP.reshape(6, 10)), np.float32(RAMP.reshape(60))),
    "half_against_single": (_half(RAMP), np.float32(RAMP)),
    "half": _pair(_half(RAMP) * _half(1.001), RAMP, np.float16),
    "half_large": _pair(np.full(64, 60000), np.full(64, 59000), np.float16),
    "brain": _pair(RAMP * 1.02, RAMP, ml_dtypes.bfloat16),
    "double": _pair(RAMP * (1 + 1e-12), RAMP, np.float64),
    "double_huge": _pair([1e300, 2e300], [1e300, 3e300], np.float64),
    "int8": _pair([-128, 127, 0, 5], [-128, 126, 0, 7], np.int8),
    "int64_large": _pair([2**60 + 1, 5], [2**60, 5], np.int64),
    "uint8": _pair([0, 255], [255, 0], np.uint8),
    "boolean": _pair([True, False, True], [True, True, True], np.bool_),
    LONG + "long_name": _pair(RAMP * 1.1, RAMP),
}  # fmt: skip

SPECIAL = {
    "special values": _VALUES,
    # in a tree of their own: one complex tensor makes msprobe print every mean as a complex number
    "complex numbers": {"complex": _pair([1 + 2j, 3 + 4j], [1 + 5j, 3 + 4j], np.complex128)},
}
"""Tensors with special values, target and golden, each the output of an operator of its own."""

NAMES = (*CASES, *SPECIAL, *REAL)
"""Every pair."""


def build(name: str, folder: Path) -> tuple[Path, Path]:
    """Write the trees of a pair below ``folder``; return target and golden."""
    folder.mkdir(parents=True)
    if name in REAL:
        with tarfile.open(ROOT / f"tests/data/real/{name}.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        return folder / name / "dump_b", folder / name / "dump_a"
    sides = folder / "target", folder / "golden"
    for index, side in enumerate(sides):
        if name in SPECIAL:
            _write({op: pair[index] for op, pair in SPECIAL[name].items()}, side)
        else:
            _simulate(CASES[name], CASES[name][1 + index], side)
    return sides


def _simulate(case: Case, settings: dict[str, Any], out: Path) -> None:
    common = {
        "op_debug_mode": 0, "dump_mode": 0, "path": "/dump", "net_name": "Net", "iteration": "all",
        "saved_data": case.saved_data, "input_output": 0, "kernels": [], "support_device": [0],
    }  # fmt: skip
    if case.saved_data != "tensor":
        common["statistic_category"] = CATEGORIES
    form = {"common_dump_settings": common, "e2e_dump_settings": {"trans_flag": True}}
    graph = load_graph(case.graph)
    simulate(graph, None, read(json.dumps(form)), out, iterations=case.iterations, **settings)


def _write(values: dict[str, Any], out: Path) -> None:
    arrays = {f"Default/{name}/ReLU-op0": data for name, data in values.items()}
    labels = {name: TensorSpec(data.dtype.name, data.shape) for name, data in arrays.items()}
    ops = tuple(
        Op(name, "ReLU", (Param(0),), {}, (label,), (label,)) for name, label in labels.items()
    )
    x = Parameter("x", TensorSpec("float32", (60,)))
    graph = Graph("Special", (x,), ops, (Value(len(ops) - 1),))
    records = [
        TensorRecord(TensorKey("ReLU", name, "output", 0), labels[name], ArraySource(data))
        for name, data in arrays.items()
    ]
    write(records, DumpPlan("/dump", "Net"), out, graph=graph, device="Ascend", clock=Clock(0))


class Tensor(NamedTuple):
    """Where a tensor lies, and a checksum of its file or of its row of statistics."""

    path: Path
    checksum: int


Key = tuple[int, str, str, int, int]
"""Iteration, operator as files name it, input or output, slot, and which of several of that name."""


def tensors(tree: Path) -> dict[Key, Tensor]:
    """Every tensor of rank 0, in order of time; statistics only where there is no npy file."""
    found: dict[Key, Tensor] = {}
    for folder in sorted(path for path in tree.glob("rank_0/*/*/*") if path.name.isdigit()):
        timed = list(_files(folder)) or list(_statistics(folder))
        for _, (name, io, slot), tensor in sorted(timed, key=lambda item: item[0]):
            turn = 0
            while (key := (int(folder.name), name, io, int(slot), turn)) in found:
                turn += 1
            found[key] = tensor
    return found


def _files(folder: Path) -> Any:
    mapping = folder / "mapping.csv"
    lines = mapping.read_text().splitlines() if mapping.exists() else []
    full = dict(line.split(",", 1) for line in lines)
    for path in folder.glob("*.npy"):
        parts = full.get(path.name, path.name).split(".")
        key = parts[1], parts[5], parts[6]
        yield int(parts[4]), key, Tensor(path, zlib.crc32(path.read_bytes()))


def _statistics(folder: Path) -> Any:
    path = folder / "statistic.csv"
    for row in list(csv.reader(path.read_text().splitlines()))[1:] if path.exists() else []:
        checksum = zlib.crc32(",".join(row).encode())
        yield int(row[4]), (row[1], row[5], row[6]), Tensor(path, checksum)
