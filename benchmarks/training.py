"""How long a training step takes on the reference, against its forward pass alone.

Step and forward pass take turns, the ratio of processor times is taken inside a round, and the median
counts. The step is loss, gradients and the optimizer; the forward pass is the network.
``python benchmarks/training.py --model resnet`` shows where the time of one of them goes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from workbench.graph import nn
from workbench.graph.models import MODELS
from workbench.graph.tracer import trace
from workbench.run import reference
from workbench.run.reference import run_reference

BATCHES = 32
"""How many of a model's example batches make the batch."""
GOAL = 3
NETWORKS = ("mlp", "lenet", "alexnet", "resnet", "transformer", "lstm")
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}


def graphs(name: str):
    """Forward pass and training step of a model."""
    network, examples = MODELS[name](0)
    inputs = [np.concatenate([example] * BATCHES) for example in examples]
    network.set_train()
    forward = trace(network, *inputs)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), 0.01, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, loss), optimizer).set_train()
    return forward, trace(step, *inputs, np.zeros(len(inputs[0]), np.int32))


def seconds(graph) -> float:
    start = time.process_time()
    for _ in run_reference(graph):
        pass
    return time.process_time() - start


def parts(graph) -> None:
    """Print milliseconds by operator type; the rest is reading and storing."""
    spent: Counter[str] = Counter()
    kernels = dict(reference.KERNELS)

    def timed(op_type, kernel):
        def wrapper(*args):
            start = time.process_time()
            result = kernel(*args)
            spent[op_type] += time.process_time() - start
            return result

        return wrapper

    reference.KERNELS.update({key: timed(key, kernel) for key, kernel in kernels.items()})
    seconds(graph)
    spent.clear()
    whole = seconds(graph)
    reference.KERNELS.update(kernels)
    print(f"{whole * 1e3:9.1f} in all")
    spent["the rest"] = whole - sum(spent.values())
    for op_type, time_ in spent.most_common(12):
        print(f"{time_ * 1e3:9.1f} {op_type}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=NETWORKS, help="show where its time goes")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    if arguments.model:
        for graph in graphs(arguments.model):
            parts(graph)
        return
    for name in NETWORKS:
        forward, step = graphs(name)
        seconds(forward), seconds(step)
        rounds = [(seconds(forward), seconds(step)) for _ in range(arguments.rounds)]
        ratio = statistics.median(after / before for before, after in rounds)
        base = statistics.median(before for before, _ in rounds)
        print(
            f"{name:12} {base * 1e3:8.1f} ms forward, {ratio:5.2f} times for a step (goal {GOAL})"
        )


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in THREADS.items()):
        os.environ |= THREADS
        os.execv(sys.executable, [sys.executable, *sys.argv])
    main()
