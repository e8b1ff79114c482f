"""Has real MindSpore mark cells and operators with ``set_dump`` on the CPU and records which operators its graph marks.

``run_mindspore_marks.py RECORD``; needs an environment with MindSpore: ``make conformance-marks``. Each case runs in a
process of its own, since operators are numbered through a process. A CPU marks and then refuses ``dump_mode`` 2.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
OPERATOR = re.compile(
    r"^  %\d+\(.*?\) = (?:PrimFunc_)?(\w+)\((.*)\n(?:      .*\n)*?      # Fullname with scope: \((.*)\)$", re.M
)  # fmt: skip
MARKED = 'dump: "true"'

CASES: dict[str, dict[str, Any]] = {
    "a cell": {"marks": [["a", True]]},
    "a cell within another": {"marks": [["b.dense", True]]},
    "all but one": {"marks": [["", True], ["a.dense", False]]},
    "taken back": {"marks": [["a", True], ["a", False]]},
    "nothing": {"marks": []},
    "an operator": {"marks": [["add", True]]},
    "gradients": {"marks": [["a", True]], "trains": True},
    "no cell": {"marks": [["text", True]]},
    "not a boolean": {"marks": [["a", 1]]},
    "an operator and its gradient": {"net": "Sole", "marks": [["mul", True]], "trains": True},
    "two operators and their gradients": {
        "net": "Sole",
        "marks": [["mul", True], ["sig", True]],
        "trains": True,
    },
    "an operator taken back": {"net": "Sole", "marks": [["mul", True], ["mul", False]]},
    "an operator left out of its cell": {"net": "Sole", "marks": [["", True], ["mul", False]]},
    "an operator, then its cell taken back": {"net": "Sole", "marks": [["mul", True], ["", False]]},
    "one reader of two": {"net": "Fork", "marks": [["mul", True]], "trains": True},
    "the other reader of two": {"net": "Fork", "marks": [["sig", True]], "trains": True},
    "both readers": {"net": "Fork", "marks": [["mul", True], ["sig", True]], "trains": True},
    "a weight with two readers": {"net": "Twice", "marks": [["a", True]], "trains": True},
    "mode 2": {"marks": [["a", True]], "mode": 2},
}
"""What is marked in which order, by the attributes that lead to it."""


def run(case: str) -> None:
    """Run a case in this process."""
    import mindspore as ms
    import numpy as np
    from mindspore import Tensor, nn, ops
    from mindspore.tools import set_dump

    class Block(nn.Cell):  # type: ignore[misc]  # without stubs
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.act = nn.Dense(4, 4, activation="relu"), nn.Sigmoid()

        def construct(self, x: Any) -> Any:
            return self.act(self.dense(x)) + x

    class Net(nn.Cell):  # type: ignore[misc]
        text = "text"

        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.add, self.last = Block(), Block(), ops.Add(), nn.Dense(4, 2)

        def construct(self, x: Any) -> Any:
            return self.last(self.add(self.a(x), self.b(x)))

    class Sole(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.mul, self.sig = nn.Dense(4, 2), ops.Mul(), ops.Sigmoid()

        def construct(self, x: Any) -> Any:
            y = self.dense(x)
            return self.sig(self.mul(y, y))

    class Fork(Sole):
        def construct(self, x: Any) -> Any:
            y = self.dense(x)
            return self.mul(y, self.sig(y))

    class Twice(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.last = nn.Dense(4, 4), nn.Dense(4, 2)

        def construct(self, x: Any) -> Any:
            return self.last(self.a(self.a(x)))

    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
    net = {"Net": Net, "Sole": Sole, "Fork": Fork, "Twice": Twice}[CASES[case].get("net", "Net")]()
    x = Tensor(np.ones((2, 4), np.float32))
    for place, enabled in CASES[case]["marks"]:
        target = net
        for name in filter(None, place.split(".")):
            target = getattr(target, name)
        set_dump(target, enabled)
    if not CASES[case].get("trains"):
        net(x)
        return
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)
    )
    step.set_train()(x, Tensor(np.ones((2, 2), np.float32)))


def outcome(case: str) -> dict[str, Any]:
    """Run a case in a process of its own and read its graph."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        common = {
            "op_debug_mode": 0, "dump_mode": CASES[case].get("mode", 0), "path": str(root / "dump"),
            "net_name": "Net", "iteration": "all", "saved_data": "tensor", "input_output": 0,
            "kernels": [], "support_device": [0],
        }  # fmt: skip
        form = {
            "common_dump_settings": common,
            "e2e_dump_settings": {"enable": True, "trans_flag": True},
        }
        (root / "dump.json").write_text(json.dumps(form))
        env = os.environ | {"MINDSPORE_DUMP_CONFIG": str(root / "dump.json"), "GLOG_v": "4"}
        done = subprocess.run(
            [sys.executable, str(HERE), "--case", case],
            env=env, cwd=root, check=False, capture_output=True, text=True,
        )  # fmt: skip
        found: dict[str, Any] = {"case": case, **CASES[case]}
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "Error: " in line]
            return found | {"error": lines[-1].strip().partition(":")[0]}
        graph = next((root / "dump").rglob("*.ir")).read_text()
        operators = [[name, kind, MARKED in line] for kind, line, name in OPERATOR.findall(graph)]
        return found | {
            "warned": "not supported by set_dump" in done.stderr,
            "operators": operators,
        }


def main() -> None:
    """Run the cases and write the record."""
    import mindspore

    lines = ",\n".join(json.dumps(outcome(case), separators=(",", ":")) for case in CASES)
    text = f'{{"mindspore": "{mindspore.__version__}", "cases": [\n{lines}\n]}}\n'
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--case":
        run(sys.argv[2])
    else:
        main()
