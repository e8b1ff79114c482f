"""Has real MindSpore dump networks on the CPU and records graphs and file names.

``run_mindspore_names.py RECORD``; needs an environment with MindSpore: ``make conformance-names``. Each case runs in a
process of its own, since operators are numbered through a process.
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

import numpy as np

HERE = Path(__file__).resolve()
STAMP = re.compile(r"(?<=\.)\d{16}(?=\.)")
ADDRESS = re.compile(r"(?<=: )0x[0-9a-f]{6,}")
COMMENT = re.compile(r"\s+# (?!Fullname with scope)")


def call(
    network: str, *order: int, env: dict[str, str] | None = None, **common: Any
) -> dict[str, Any]:
    """Return a case: a network, which of its inputs it gets in which order, variables, settings of the form."""
    return {"network": network, "order": order or (0, 0), "env": env or {}, "common": common}


CASES = {
    "mixed": call("mixed"),
    "training": call("training"),
    "branches": call("branches"),
    "unread": call("unread"),
    "volumes": call("volumes"),
    "sides": call("sides"),
    "views": call("views"),
    "handed over": call("handed"),
    "views of views": call("nested"),
    "alternating": call("several", 0, 1, 2, 0, 1, 2),
    "training twice": call("several", 0, 0, 1, 0, 1),
    "second first": call("several", 1, 1, 0),
    "one iteration": call("several", 0, 1, 0, 1, iteration="1"),
    "two shapes": call("dense", 0, 1, 0, 1),
    "three shapes": call("dense", 0, 1, 2, 0),
    "name of the graph": call("mixed", dump_mode=1, kernels=["Default/TopK-op3"]),
    "name of the files": call("mixed", dump_mode=1, kernels=["Default/TopK-op0"]),
    "name of both": call("mixed", dump_mode=1, kernels=["Default/Cast-op5"]),
    "rank alone": call("dense", env={"RANK_ID": "5"}),
    "device alone": call("dense", env={"DEVICE_ID": "3"}),
    "exceptions": call("dense", op_debug_mode=4),
    "level 0": call("dense", env={"MS_SIMULATION_LEVEL": "0"}),
    "level 1": call("dense", env={"MS_SIMULATION_LEVEL": "1"}),
    "passed": call("dense", iteration="0|2", initial_iteration=10),
}
"""What is run, by name; ``order`` are places of inputs, of networks where there are several."""


def tensor(*shape: int) -> Any:
    """Return the same numbers for a shape."""
    import mindspore as ms

    size = int(np.prod(shape))
    return ms.Tensor((np.arange(size) % 7 - 2.5).reshape(shape).astype(np.float32))


def networks(name: str) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Return networks and their inputs: one of several networks, or of one the inputs."""
    import mindspore as ms
    from mindspore import Tensor, nn, ops

    class Mixed(nn.Cell):  # type: ignore[misc]  # without stubs
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.norm = nn.Dense(8, 8), nn.Dense(8, 4), nn.LayerNorm((8,))

        def construct(self, x: Any) -> Any:
            y = ops.cast(ops.cast(self.norm(ops.gelu(self.a(x))), ms.float16), ms.float32)
            v, i = ops.topk(y, 3)
            w, j = ops.topk(-y, 2)
            q = ops.squeeze(ops.expand_dims(ops.transpose(ops.reshape(y, (4, 4)), (1, 0)), 0), 0)
            total = self.b(y).sum() + v.sum() + w.sum() + ops.cast(i, ms.float32).sum()
            return total + ops.cast(j, ms.float32).sum(), ops.softmax(q)

    class Convolution(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.c, self.d = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3)
            self.n, self.p, self.f = nn.BatchNorm2d(4), nn.MaxPool2d(2, 2), nn.Dense(36, 5)

        def construct(self, x: Any) -> Any:
            y = self.p(ops.relu(self.d(self.n(self.c(x)))))
            return self.f(y.reshape(y.shape[0], -1))

    class Branches(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Dense(4, 4), nn.Dense(4, 4)

        def construct(self, n: Any, x: Any) -> Any:
            i, h = Tensor(0, ms.int32), self.a(x)
            while i < n:
                h = ops.relu(self.b(h)) + ops.matmul(h, h)
                i = i + 1
            if h.sum() > 0:  # noqa: SIM108
                y = ops.matmul(self.a(h), x)
            else:
                y = ops.matmul(self.b(-h), h) * 2.0
            return ops.matmul(y, h)

    class Unread(nn.Cell):  # type: ignore[misc]
        def construct(self, x: Any, i: Any) -> Any:
            r = ops.reshape(ops.relu(x), (4, 4))
            t, e = ops.transpose(r, (1, 0)), ops.expand_dims(ops.tanh(r), 1)
            s = ops.tanh(ops.squeeze(e * 2.0, 1))
            o = ops.one_hot(i, 6, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
            u = ops.unsorted_segment_sum(x, i, 3), ops.unsorted_segment_max(x, i, 3)
            v = ops.unsorted_segment_min(x, i, 3), ops.unsorted_segment_prod(x, i, 3)
            n = ops.scatter_nd(ops.expand_dims(i, 1), x, (5, 8))
            others = ops.tile(x, (2, 1)), ops.broadcast_to(x[:1], (3, 8)), x.sum(0), x[:, 1:5:2]
            return t, s, o, u, v, n, others, ops.gather(x, i, 0), ops.argmax(x, -1), ops.softmax(x)

    class Volumes(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Conv3d(1, 2, 2), nn.Conv3d(2, 2, 2)

        def construct(self, x: Any, y: Any) -> Any:
            return ((self.b(ops.relu(self.a(x))) - y) ** 2).sum()

    class Sides(nn.Cell):  # type: ignore[misc]
        def construct(self, x: Any) -> Any:
            if x.sum() > 0:  # noqa: SIM108
                y = ops.tanh(x)
            else:
                y = ops.sigmoid(x)
            return y * 2.0

    class Views(nn.Cell):  # type: ignore[misc]
        def construct(self, x: Any) -> Any:
            r = ops.reshape(x, (4, 4))
            y = ops.reshape(ops.relu(x), (4, 4))
            s, h = ops.squeeze(ops.expand_dims(x, 0), 0), ops.sigmoid(x)
            f = ops.flatten(h)
            read = ops.argmax(r, -1), ops.argmax(y, -1), ops.tanh(s), h, ops.tanh(f)
            return r, s, f, ops.squeeze(ops.expand_dims(y, 0), 0), read

    class Handed(nn.Cell):  # type: ignore[misc]
        def construct(self, x: Any) -> Any:
            r, f = ops.expand_dims(ops.relu(x), 0), ops.flatten(ops.sigmoid(x))
            return r, ops.argmax(r, -1), ops.tanh(r), f, ops.tanh(f)

    class Nested(nn.Cell):  # type: ignore[misc]
        def construct(self, x: Any) -> Any:
            y = ops.reshape(ops.relu(x), (4, 4))
            return y, ops.squeeze(ops.expand_dims(y, 0), 0), ops.argmax(y, -1)

    class Picking(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.d = nn.Dense(8, 4)

        def construct(self, x: Any) -> Any:
            return ops.relu(self.d(x)), ops.topk(x, 2)

    def volumes() -> Any:
        net = Volumes()
        return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)).set_train()

    def training() -> Any:
        net, loss = Convolution(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        optimizer = nn.Adam(net.trainable_params(), 0.01)
        return nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train()

    x = tensor(2, 8)
    indices = Tensor([0, 2], ms.int32)
    known = {
        "mixed": lambda: ([Mixed()], [(x,)]),
        "training": lambda: ([training()], [(tensor(2, 3, 6, 6), indices)]),
        "branches": lambda: ([Branches()], [(Tensor(2, ms.int32), tensor(4, 4))]),
        "unread": lambda: ([Unread()], [(x, Tensor([1, 0], ms.int32))]),
        "volumes": lambda: ([volumes()], [(tensor(1, 1, 4, 4, 4), tensor(1, 2, 4, 4, 4))]),
        "sides": lambda: ([Sides()], [(x,)]),
        "views": lambda: ([Views()], [(x,)]),
        "handed": lambda: ([Handed()], [(x,)]),
        "nested": lambda: ([Nested()], [(x,)]),
        "several": lambda: ([Picking(), Mixed(), Picking()], [(x,), (x,), (tensor(4, 8),)]),
        "dense": lambda: ([nn.Dense(8, 4)], [(tensor(n, 8),) for n in (2, 4, 3)]),
    }
    return known[name]()


def run(case: str) -> None:
    """Run a case in this process."""
    import mindspore as ms

    ms.set_seed(1)
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
    made, inputs = networks(CASES[case]["network"])
    for place in CASES[case]["order"]:
        made[place if len(made) > 1 else 0](*inputs[place])


def outcome(case: str) -> dict[str, Any]:
    """Run a case in a process of its own and read its dump."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        common = {
            "op_debug_mode": 0, "dump_mode": 0, "path": str(root / "dump"), "net_name": "Net",
            "iteration": "all", "saved_data": "tensor", "input_output": 0, "kernels": [],
            "support_device": [0],
        } | CASES[case]["common"]  # fmt: skip
        form = {
            "common_dump_settings": common,
            "e2e_dump_settings": {"enable": True, "trans_flag": True},
        }
        (root / "dump.json").write_text(json.dumps(form))
        env = {"MINDSPORE_DUMP_CONFIG": str(root / "dump.json"), "GLOG_v": "4"} | CASES[case]["env"]
        subprocess.run(
            [sys.executable, str(HERE), "--case", case], env=os.environ | env, cwd=root, check=True
        )
        paths = [path for path in (root / "dump").rglob("*") if path.is_file()]
        graphs = {
            path.name: graph_text(path)
            for path in sorted(paths)
            if path.suffix == ".ir" and not CASES[case]["env"]
        }
        files = sorted(STAMP.sub("*", str(path.relative_to(root / "dump"))) for path in paths)
        common["path"] = "/dump"
        return {"case": case, **CASES[case], "form": form, "graphs": graphs, "files": files}


def graph_text(path: Path) -> str:
    """Return an IR without the lines that tell of the program, and without addresses."""
    lines = ADDRESS.sub("0x0", path.read_text(encoding="utf-8")).splitlines()
    return "\n".join(line for line in lines if not COMMENT.match(line)) + "\n"


def main() -> None:
    """Run the cases and write the record; a graph that an earlier case has is named after that."""
    import mindspore

    known: dict[str, str] = {}
    found = []
    for case in CASES:
        one = outcome(case)
        for name, text in one["graphs"].items():
            one["graphs"][name] = known.setdefault(text, f"{case}/{name}")
        found.append(one)
    texts = {name: text for text, name in known.items()}
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in found)
    graphs = ",\n".join(f"{json.dumps(name)}:{json.dumps(text)}" for name, text in texts.items())
    text = f'{{"mindspore": "{mindspore.__version__}", "graphs": {{\n{graphs}\n}}, "cases": [\n{lines}\n]}}\n'
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--case":
        run(sys.argv[2])
    else:
        main()
