"""How fast the reference runs ONNX models, against onnxruntime and onnx's own evaluator.

All three take turns, a ratio of processor times is taken inside a round, and the median counts. One
thread; a BLAS core type that the environment pins is not used. Needs onnxruntime (not a dependency).
``python benchmarks/onnx_models.py --profile resnet50`` shows where the time goes.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).parents[1]))

from one_thread import start_anew

from workbench.network.onnx import read_onnx
from workbench.run import reference
from workbench.run.reference import run_reference

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
RNG = np.random.default_rng(0)
CONVS = [(3, 64, 224, 7, 2), (64, 256, 56, 1, 1), (64, 64, 56, 3, 1), (128, 128, 28, 3, 1),
         (256, 256, 14, 3, 1), (512, 512, 7, 3, 1)]  # fmt: skip


def normal(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def model(nodes, inputs, outputs, weights):
    infos = [
        helper.make_tensor_value_info(k, TensorProto.FLOAT, v.shape) for k, v in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    initializers = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "bench", infos, results, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def single(op_type, x, weights=(), **attrs):
    weights = dict(weights)
    made = helper.make_node(op_type, ["x", *weights], ["y"], **attrs)
    return model([made], {"x": x}, ["y"], weights), {"x": x}


def conv(batch, channels, out, size, kernel, stride):
    weight = normal(out, channels, kernel, kernel, scale=0.1)
    pad = kernel // 2
    return single(
        "Conv",
        normal(batch, channels, size, size),
        {"w": weight},
        strides=[stride] * 2,
        pads=[pad] * 4,
    )


def bert(batch, length, hidden=768, heads=12):
    """One encoder layer of BERT-base as exporters write it."""
    nodes, weights = [], {}

    def add(op_type, inputs, output, **attrs):
        nodes.append(helper.make_node(op_type, inputs, [output], **attrs))
        return output

    def weight(name, value):
        weights[name] = value
        return name

    def dense(x, name, rows, columns):
        w = weight(f"{name}_w", normal(rows, columns, scale=rows**-0.5))
        return add(
            "Add", [add("MatMul", [x, w], f"{name}_m"), weight(f"{name}_b", normal(columns))], name
        )

    def norm(x, name):
        factors = [weight(f"{name}_g", normal(hidden)), weight(f"{name}_b", normal(hidden))]
        return add("LayerNormalization", [x, *factors], name, epsilon=1e-12)

    split = weight("split", np.array([0, 0, heads, hidden // heads]))
    parts = {}
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        shaped = add("Reshape", [dense("x", name, hidden, hidden), split], f"{name}_s")
        parts[name] = add("Transpose", [shaped], f"{name}_t", perm=perm)
    root = weight("root", np.float32(math.sqrt(hidden // heads)))
    scores = add("Div", [add("MatMul", [parts["q"], parts["k"]], "qk"), root], "scores")
    mixed = add("MatMul", [add("Softmax", [scores], "weights", axis=-1), parts["v"]], "mixed")
    joined = weight("joined", np.array([0, 0, hidden]))
    back = add("Reshape", [add("Transpose", [mixed], "mixed_t", perm=[0, 2, 1, 3]), joined], "back")
    first = norm(add("Add", [dense(back, "out", hidden, hidden), "x"], "sum1"), "norm1")
    wide = dense(first, "wide", hidden, 4 * hidden)
    bent = add(
        "Erf", [add("Div", [wide, weight("two", np.float32(math.sqrt(2)))], "wide_d")], "bent"
    )
    half = add("Mul", [wide, add("Add", [bent, weight("one", np.float32(1))], "plus")], "half")
    gelu = add("Mul", [half, weight("point5", np.float32(0.5))], "gelu")
    norm(add("Add", [dense(gelu, "narrow", 4 * hidden, hidden), first], "sum2"), "y")
    x = normal(batch, length, hidden)
    return model(nodes, {"x": x}, ["y"], weights), {"x": x}


def resnet50(batch):
    """ResNet-50 as exporters write it: normalizations are in the convolutions, weights are random."""
    light = onnx.load(str(LIGHT / "light_resnet50.onnx"))
    known = {t.name: numpy_helper.to_array(t) for t in light.graph.initializer}
    shapes = {
        n.output[0]: tuple(known[n.input[0]])
        for n in light.graph.node
        if n.op_type == "ConstantOfShape"
    }
    weights, nodes, renamed = {"OC2_DUMMY_1": np.array([batch, 2048])}, [], {}
    for node in light.graph.node[:-1]:
        inputs = [renamed.get(name, name) for name in node.input]
        if node.op_type == "BatchNormalization":
            renamed[node.output[0]] = inputs[0]
        elif node.op_type != "ConstantOfShape":
            for name in inputs[1:]:
                if name in shapes:
                    fan_in = math.prod(shapes[name][1:])
                    weights[name] = normal(*shapes[name], scale=math.sqrt(2 / fan_in))
            if node.op_type == "Conv":
                inputs.append(f"{inputs[1]}_bias")
                weights[inputs[-1]] = normal(shapes[inputs[1]][0], scale=0.1)
            del node.input[:]
            node.input.extend(inputs)
            nodes.append(node)
    x = normal(batch, 3, 224, 224)
    return model(nodes, {nodes[0].input[0]: x}, [nodes[-1].output[0]], weights), {
        nodes[0].input[0]: x
    }


IMAGE, TEXT = normal(1, 64, 112, 112), normal(8, 128, 768)
CASES = {
    **{
        f"conv{k}x{k}/{s} {c}-{o}@{n} b{b}": (conv, (b, c, o, n, k, s))
        for b in (1, 8)
        for c, o, n, k, s in CONVS
    },
    "bert b1 s128": (bert, (1, 128)),
    "bert b8 s128": (bert, (8, 128)),
    "bert b1 s512": (bert, (1, 512)),
    "resnet50 b1": (resnet50, (1,)),
    "resnet50 b8": (resnet50, (8,)),
}
OPERATORS = {
    "Add": (TEXT, {"b": normal(768)}, {}),
    "Relu": (TEXT, {}, {}),
    "Sigmoid": (TEXT, {}, {}),
    "Tanh": (TEXT, {}, {}),
    "Exp": (TEXT, {}, {}),
    "Erf": (TEXT, {}, {}),
    "Gelu": (TEXT, {}, {}),
    "Softmax": (TEXT, {}, {"axis": -1}),
    "LayerNormalization": (TEXT, {"g": normal(768), "b": normal(768)}, {}),
    "ReduceMean": (TEXT, {}, {}),
    "Transpose": (TEXT, {}, {"perm": [0, 2, 1]}),
    "MatMul": (TEXT, {"w": normal(768, 768)}, {}),
    "Gemm": (TEXT[0], {"w": normal(768, 768), "b": normal(768)}, {}),
    "MaxPool": (IMAGE, {}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
    "AveragePool": (IMAGE, {}, {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1] * 4}),
    "BatchNormalization": (IMAGE, {k: np.abs(normal(64)) for k in "sbmv"}, {}),
    "GlobalAveragePool": (IMAGE, {}, {}),
    "LRN": (IMAGE, {}, {"size": 5}),
    "Concat": (IMAGE, {"other": IMAGE}, {"axis": 1}),
    "Gather": (TEXT[0], {"i": RNG.integers(0, 128, 512)}, {}),
    "Clip": (TEXT, {"l": np.float32(0), "h": np.float32(6)}, {}),
    "ConvTranspose": (normal(1, 64, 56, 56), {"w": normal(64, 32, 3, 3)}, {"strides": [2, 2]}),
}  # fmt: skip


def seconds(run) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def runners(made, feeds, evaluator: bool):
    """Functions that run a model: ours, onnxruntime's, onnx's."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    graph = read_onnx(made)

    output = graph.outputs[0]

    def ours():
        last = None
        for record in run_reference(graph, feeds, dtype="float32"):
            place = record.key.op_name, record.key.io, record.key.slot
            if place == (graph.ops[output.op].name, "output", output.slot):
                last = record.source.array()
        return last

    found = {"ours": ours, "onnxruntime": lambda: session.run(None, feeds)[0]}
    if evaluator:
        slow = ReferenceEvaluator(made)
        found["evaluator"] = lambda: slow.run(None, feeds)[0]
    return found


def measured(name, made, feeds, rounds: int, evaluator: bool) -> None:
    """Print the ratios of one case; ours over onnxruntime, the evaluator over ours."""
    runs = runners(made, feeds, evaluator)
    results = {key: run() for key, run in runs.items()}
    for key, result in results.items():
        error = np.abs(result - results["ours"]).max() / np.abs(results["ours"]).max()
        if not error < 1e-3:
            print(f"{name}: {key} differs by {error:.1e}", file=sys.stderr)
    ratios: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        times = {key: repeated(run) for key, run in runs.items()}
        ratios["ours ms"].append(times["ours"] * 1e3)
        ratios["ours / onnxruntime"].append(times["ours"] / times["onnxruntime"])
        if evaluator:
            ratios["evaluator / ours"].append(times["evaluator"] / times["ours"])
    row = "  ".join(f"{statistics.median(found):9.2f}" for found in ratios.values())
    print(f"{name:28} {row}", flush=True)


def repeated(run) -> float:
    """Seconds of one run; short ones are repeated."""
    once = seconds(run)
    if once > 0.05:
        return once
    count = max(int(0.05 / max(once, 1e-4)), 1)

    def again():
        for _ in range(count):
            run()

    return seconds(again) / count


def parts(name: str) -> None:
    """Print milliseconds by operator type."""
    function, arguments = next((f, a) for key, (f, a) in CASES.items() if key.startswith(name))
    made, feeds = function(*arguments)
    graph = read_onnx(made)
    spent: dict[str, float] = defaultdict(float)
    compute = reference.compute

    def timed(op, *args, **kwargs):
        start = time.process_time()
        result = compute(op, *args, **kwargs)
        spent[op.op_type] += time.process_time() - start
        return result

    for _ in run_reference(graph, feeds, dtype="float32"):
        pass
    reference.compute = timed
    whole = seconds(lambda: list(run_reference(graph, feeds, dtype="float32")))
    print(f"{name}: {whole * 1e3:.1f} ms, of which")
    for op_type, share in sorted(spent.items(), key=lambda item: -item[1])[:15]:
        print(f"  {share * 1e3:7.1f} ms  {op_type}")


def main() -> None:
    start_anew()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--profile", metavar="CASE", help="where the time goes")
    options = parser.parse_args()
    if options.profile:
        parts(options.profile)
        return
    print(f"{'':28}   ours ms  ours/ORT  evaluator/ours")
    for name, (function, arguments) in CASES.items():
        if options.only in name:
            slow = name.startswith(("bert b8", "resnet50 b1", "conv3x3/1 64-64@56 b1"))
            measured(name, *function(*arguments), options.rounds, slow)
    for op_type, (x, weights, attrs) in OPERATORS.items():
        if options.only in op_type:
            measured(op_type, *single(op_type, x, weights, **attrs), options.rounds, True)


if __name__ == "__main__":
    main()
