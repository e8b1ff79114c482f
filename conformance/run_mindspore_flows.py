"""Has real MindSpore dump networks with control flow on the CPU, and records graphs and tensors.

``run_mindspore_flows.py RECORD``; needs an environment with MindSpore: ``make conformance-flows``. Each case runs
in a process of its own, since graphs are numbered through a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

ROOTS = ("00101", "0101", "00011011", "1101", "0110", "0010111001")
"""Orders in which two networks run in one process, the first training, the other not."""


def networks() -> dict[str, tuple[Any, list[tuple[Any, ...]]]]:
    """Networks and the inputs of their iterations, by name."""
    import mindspore as ms
    from mindspore import Tensor, nn, ops

    ones = np.ones((2, 4), np.float32)

    class Base(nn.Cell):  # type: ignore[misc]  # without stubs
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.mid = nn.Dense(4, 4), nn.Dense(4, 4)
            self.out, self.relu = nn.Dense(4, 3), nn.ReLU()
            self.count = ms.Parameter(Tensor(0, ms.int32), name="count")

    class Both(Base):
        def construct(self, n: Any, x: Any) -> Any:
            i, h = Tensor(0, ms.int32), self.relu(x)
            while i < n:
                h = self.relu(self.fc(h)) + x
                i = i + 1
            if h.sum() > 0:  # noqa: SIM108
                y = self.out(h)
            else:
                y = self.out(-h) * 2.0
            return y

    class Loop(Base):
        def construct(self, n: Any, x: Any) -> Any:
            i, h = Tensor(0, ms.int32), self.relu(self.mid(x))
            while i < n:
                h = self.relu(self.fc(h)) + x
                i = i + 1
            return self.out(h)

    class First(Base):
        def construct(self, n: Any, x: Any) -> Any:
            i, h = Tensor(0, ms.int32), x
            while i < n:
                h = self.relu(self.fc(h))
                i = i + 1
            return self.out(h)

    class Choice(Base):
        def construct(self, p: Any, x: Any) -> Any:
            h = self.fc(x)
            if p:
                y, z = self.out(h), self.relu(h)
            else:
                y, z = self.out(-h) * 2.0, x
            return y * 3.0, z + 1.0

    class Counting(Base):
        def construct(self, p: Any, x: Any) -> Any:
            if p:
                h = self.fc(x)
                ops.assign_add(self.count, Tensor(1, ms.int32))
            else:
                h = self.mid(x)
            return h

    class Inside(Base):
        def construct(self, n: Any, x: Any) -> Any:
            i, h = Tensor(0, ms.int32), self.fc(x)
            while i < n:
                h = h + x
                if h.sum() > 0:  # noqa: SIM108
                    h = self.relu(self.mid(h))
                else:
                    h = self.mid(-h)
                h = h * 2.0
                i = i + 1
            return self.out(h - x)

    turns = [(Tensor(n, ms.int32), Tensor(sign * ones)) for n, sign in ((3, 1), (1, -1), (0, 1))]
    sides = [(Tensor(p), Tensor(ones)) for p in (True, False, True)]
    return {
        "both": (Both, turns),
        "loop": (Loop, turns),
        "first": (First, turns),
        "choice": (Choice, sides),
        "counting": (Counting, sides),
        "inside": (Inside, turns),
    }


def run(case: str, record: str) -> None:
    """Run a case in this process and note its weights."""
    import mindspore as ms
    from mindspore import Tensor, nn

    ms.set_seed(1)
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
    known = networks()
    if case in known:
        make, calls = known[case]
        network = make()
        weights = {
            p.name: p.asnumpy().ravel().tolist()
            for p in network.get_parameters()
            if p.name != "count"
        }
        for inputs in calls:
            network(*inputs)
        given = [[np.ravel(item.asnumpy()).tolist() for item in inputs] for inputs in calls]
        Path(record).write_text(json.dumps({"weights": weights, "inputs": given}))
        return
    backbone, loss = nn.Dense(4, 3), nn.MSELoss()
    optimizer = nn.Momentum(backbone.trainable_params(), 0.1, 0.9)
    train = nn.TrainOneStepCell(nn.WithLossCell(backbone, loss), optimizer)
    both = (train.set_train(), nn.WithEvalCell(backbone, loss).set_train(False))
    for place in case:
        both[int(place)](Tensor(np.ones((2, 4), np.float32)), Tensor(np.ones((2, 3), np.float32)))
    Path(record).write_text("{}")


def outcome(case: str) -> dict[str, Any]:
    """Run a case in a process of its own and read its dump."""
    with tempfile.TemporaryDirectory() as name:
        root, record = Path(name), Path(name) / "record.json"
        common = {
            "op_debug_mode": 0, "dump_mode": 0, "path": str(root / "dump"), "net_name": "Net",
            "iteration": "all", "saved_data": "tensor", "input_output": 0, "kernels": [],
            "support_device": [0],
        }  # fmt: skip
        form = {"common_dump_settings": common, "e2e_dump_settings": {"enable": True}}
        (root / "dump.json").write_text(json.dumps(form))
        subprocess.run(
            [sys.executable, __file__, "--case", case, str(record)],
            env=os.environ | {"MINDSPORE_DUMP_CONFIG": str(root / "dump.json"), "GLOG_v": "4"},
            check=True,
        )
        rank = root / "dump" / "rank_0"
        own = json.loads(record.read_text())
        tensors = _tensors(rank / "Net", values=bool(own))
        return {"case": case, **own, "kernels": _kernels(rank), "tensors": tensors} | _order(rank)


def _tensors(net: Path, *, values: bool) -> dict[str, list[Any]]:
    """Tensors by folder in order of time: type, input or output, slot, values (if they matter)."""
    found: dict[str, list[tuple[int, list[Any]]]] = defaultdict(list)
    for file in net.rglob("*.npy"):
        kind, scope, *_, stamp, io, slot, _, _, _ = file.name.split(".")
        name = scope if kind == "Parameter" else kind
        entry = [name, io, int(slot)]
        if values:
            entry.append(np.load(file).ravel().tolist())
        found[f"{file.parent.parent.name}/{file.parent.name}"].append((int(stamp), entry))
    return {key: [entry for _, entry in sorted(rows)] for key, rows in sorted(found.items())}


def _kernels(rank: Path) -> dict[str, list[str]]:
    """Types of the kernels of every graph."""
    found = {}
    for file in sorted(rank.glob("execution_order/ms_execution_order_graph_*.csv")):
        names = file.read_text().split()[1:]
        types = sorted(name.rpartition("/")[2].rpartition("-op")[0] for name in names)
        found[file.stem.rpartition("_")[2]] = types
    return found


def _order(rank: Path) -> dict[str, dict[str, list[int]]]:
    files = sorted(rank.glob("execution_order/ms_global_execution_order_graph_*.csv"))
    order = {
        f.stem.rpartition("_")[2]: [int(line) for line in f.read_text().split()] for f in files
    }
    return {"order": order}


def main() -> None:
    """Run the cases and write the record."""
    import mindspore

    cases = [*networks(), *ROOTS]
    lines = ",\n".join(json.dumps(outcome(case), separators=(",", ":")) for case in cases)
    text = f'{{"mindspore": "{mindspore.__version__}", "cases": [\n{lines}\n]}}\n'
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--case":
        run(*sys.argv[2:])
    else:
        main()
