"""How fast the simulated NPU runs a Transformer layer, against the float32 reference.

Both take turns, a ratio of processor times is taken inside a round, and the median counts. One thread;
a BLAS core type that the environment pins is not used. ``python benchmarks/npu.py --profile
a2:force_fp16`` shows where the time goes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from one_thread import start_anew

from workbench.network import nn
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu import device
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference

BATCH, LENGTH, HIDDEN, HEADS = 8, 128, 768, 12
CASES = (
    ("a2", "must_keep_origin_dtype"),
    ("a2", "allow_mix_precision"),
    ("a2", "force_fp16"),
    ("a2", "allow_mix_precision_bf16"),
    ("910a", "allow_fp32_to_fp16"),
    ("910a", "force_fp16"),
    ("950", "cube_hif8"),
)
GOAL = 4


class Layer(nn.Cell):
    """Attention and a feed-forward part, normalized after each: BERT-base."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Dense(HIDDEN, HIDDEN) for _ in range(4))
        self.wide, self.narrow = nn.Dense(HIDDEN, 4 * HIDDEN), nn.Dense(4 * HIDDEN, HIDDEN)
        self.first, self.second = nn.LayerNorm((HIDDEN,)), nn.LayerNorm((HIDDEN,))
        self.gelu = nn.GELU()

    def heads(self, x):
        split = F.reshape(x, (BATCH, LENGTH, HEADS, HIDDEN // HEADS))
        return F.transpose(split, (0, 2, 1, 3))

    def construct(self, x):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        scores = F.matmul(q, k, transpose_b=True) * np.float32((HIDDEN // HEADS) ** -0.5)
        mixed = F.transpose(F.matmul(F.softmax(scores), v), (0, 2, 1, 3))
        x = self.first(x + self.out(F.reshape(mixed, (BATCH * LENGTH, HIDDEN))))
        return self.second(x + self.narrow(self.gelu(self.wide(x))))


def seconds(run) -> float:
    start = time.process_time()
    for _ in run():
        pass
    return time.process_time() - start


def parts(graph, profile: str, mode: str) -> None:
    """Print milliseconds of loading, computing and storing by operator type."""
    spent: dict[tuple[str, str], float] = defaultdict(float)

    def timed(name, method):
        def wrapper(self, *args, **kwargs):
            start = time.process_time()
            result = method(self, *args, **kwargs)
            site = next(arg for arg in args if hasattr(arg, "op"))
            spent[site.op.op_type, name] += time.process_time() - start
            return result

        return wrapper

    for name in ("_load", "_results", "_store"):
        setattr(device.Device, name, timed(name[1:], getattr(device.Device, name)))
    whole = seconds(lambda: run_npu(graph, profile=profile, precision_mode=mode))
    print(f"{profile} {mode}: {whole * 1e3:.0f} ms, of which")
    for (op_type, name), share in sorted(spent.items(), key=lambda item: -item[1])[:15]:
        print(f"  {share * 1e3:7.1f} ms  {op_type} {name}")


def main() -> None:
    start_anew()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--profile", metavar="DEVICE:MODE", help="where the time goes")
    options = parser.parse_args()
    x = np.random.default_rng(0).standard_normal((BATCH * LENGTH, HIDDEN)).astype(np.float32)
    graph = trace(Layer(), x)
    if options.profile:
        parts(graph, *options.profile.split(":"))
        return
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(options.rounds):
        base = seconds(lambda: run_reference(graph, dtype="float32"))
        for case in CASES:
            took = seconds(lambda: run_npu(graph, profile=case[0], precision_mode=case[1]))  # noqa: B023
            ratios[case].append(took / base)
        print(f"reference {base * 1e3:.0f} ms", file=sys.stderr)
    print(f"layer of {BATCH} x {LENGTH} x {HIDDEN}: simulated NPU / float32 reference, goal {GOAL}")
    for (profile, mode), found in ratios.items():
        print(f"{profile:5} {mode:26} {statistics.median(found):5.2f}")


if __name__ == "__main__":
    main()
