"""Against MindSpore 2.10 itself: its scripts traced, its parameters run, its operators replayed."""

import re
from collections import Counter

import numpy as np
import pytest

from workbench.graph.constants import constant
from workbench.graph.graph import Const, Value
from workbench.graph_files.mindspore.text import read_ms_text
from workbench.network.models import load_graph
from workbench.ops import OPS, bind, written
from workbench.run.reference import compute, run_reference


def ir_of(dump):
    return read_ms_text(next((dump / "rank_0" / "graphs").glob("*_0.ir")))


def files_of(dump, iteration=0):
    """Data files of an iteration: (type and name, io, slot) → path."""
    table = {}
    for path in next((dump / "rank_0").glob(f"*/0/{iteration}")).glob("*.npy"):
        match = re.fullmatch(r"(.+)\.0\.0\.\d+\.(input|output)\.(\d+)\.\w+\.\w+\.npy", path.name)
        if match:
            table[match[1], match[2], int(match[3])] = path
    return table


def trace_script(text, folder, footer):
    """Trace a MindSpore script with our layers in place of MindSpore's."""
    ours = (
        "from workbench.network import nn; from workbench.network.nn import functional as ops; "
        "Parameter, Tensor = nn.Parameter, np.asarray"
    )
    text = re.sub(r"from mindspore import .*", ours, text.replace("import mindspore as ms", ""))
    text = re.sub(r"context\.set_context.*", "", text)
    path = folder / "script.py"
    path.write_text(f"{text}\n{footer}", encoding="utf-8")
    return load_graph(f"{path}:net")


@pytest.fixture(scope="module")
def alexnet(real_pairs, tmp_path_factory):
    pair = real_pairs["alexnet_padmode"]
    text = (pair.folder / "script.py").read_text(encoding="utf-8").partition("\nnet = ")[0]
    text = text.replace("nn.LRN() if hasattr(nn, 'LRN') else nn.Identity()", "None")
    footer = "net = AlexNet(False)\nINPUTS = np.zeros((2, 3, 75, 75), np.float32)\n"
    return trace_script(text, tmp_path_factory.mktemp("alexnet"), footer), ir_of(pair.golden)


def test_the_traced_script_has_the_operators_of_the_compiled_one(alexnet):
    traced, real = alexnet
    assert [op.name for op in traced.ops] == [op.name for op in real.ops]
    for ours, theirs in zip(traced.ops, real.ops, strict=True):
        assert ours.op_type == theirs.op_type
        assert ours.outputs == theirs.outputs
        assert ours.input_specs == theirs.input_specs
        assert ours.attrs.items() <= theirs.attrs.items()
        constants = [[o for o in op.inputs if isinstance(o, Const)] for op in (ours, theirs)]
        assert constants[0] == constants[1]
        values = [[o for o in op.inputs if isinstance(o, Value)] for op in (ours, theirs)]
        assert values[0] == values[1]


def test_the_traced_script_has_the_source_lines_of_the_compiled_one(alexnet):
    """Calls of cells and functions alike; MindSpore gives a shared cell the line of its last use."""
    traced, real = alexnet
    for ours, theirs in zip(traced.ops, real.ops, strict=True):
        lines = [
            [(f.line, f.line_end, f.column, f.code) for f in op.frames if not f.library]
            for op in (ours, theirs)
        ]
        if "relu-ReLU" not in ours.name and "max_pool2d" not in ours.name:
            assert lines[0] == lines[1]
        assert lines[0][0] == lines[1][0]


def test_a_real_transformer_gives_mindspores_own_numbers(real_pairs, tmp_path):
    """The real script, the real weights: 40 parameters in, one logit matrix out."""
    pair = real_pairs["transformer_ln_eps"]
    text = (pair.folder / "net.py").read_text(encoding="utf-8")
    graph = trace_script(text, tmp_path, "net, INPUTS = Encoder(), data()\n")
    files = files_of(pair.golden)
    feeds = {
        p.name: np.load(files[f"Parameter.{p.name.replace('.', '_')}", "output", 0])
        for p in graph.parameters
    }
    last = graph.ops[-1]
    want = np.load(files[f"{last.op_type}.{last.name.replace('/', '_')}", "output", 0])
    got = {r.key[:4]: r.source.array() for r in run_reference(graph, feeds)}
    np.testing.assert_allclose(got[last.op_type, last.name, "output", 0], want, atol=2e-6)


def named(graph):
    """Operators and the names that their files have."""
    seen = Counter()
    for op in graph.ops:
        # the id in a file name counts operators of one scope and type in the order of the IR
        number = seen[op.scope, op.op_type]
        seen[op.scope, op.op_type] += 1
        yield op, f"{op.op_type}.{re.sub('[/ .]', '_', op.scope)}_{op.op_type}-op{number}"


def replayed(dump):
    """Yield (operator, slot, our output, MindSpore's) for every operator we know that leaves its inputs."""
    files = files_of(dump)
    for op, name in named(ir_of(dump)):
        if op.op_type not in OPS or (name, "output", 0) not in files or written(op):
            continue
        bound = bind(op)
        tensors = []
        for operand, slot in zip(bound.tensors, bound.slots, strict=True):
            path = files.get((name, "input", slot))
            array = constant(operand) if path is None else np.load(path)
            shape = op.input_specs[slot].shape
            tensors.append(array.reshape(shape))  # a reshaped input is dumped in its old shape
        for slot, output in enumerate(compute(op, tensors, bound.settings)):
            path = files[name, "output", slot]
            yield op, slot, output, np.load(path).reshape(output.shape)


def updated(dump):
    """Yield (operator, weight, what we leave in it, what MindSpore left) for the second step."""
    before, files, graph = files_of(dump), files_of(dump, 1), ir_of(dump)

    def weight(operand, table):
        name = graph.parameters[operand.index].name.replace(".", "_")
        return np.load(table[f"Parameter.{name}", "output", 0])

    for op, name in named(graph):
        places, bound = written(op), bind(op)
        tensors = []
        for operand, slot in zip(bound.tensors, bound.slots, strict=True):
            if slot in places:
                tensors.append(weight(operand, before))
            else:
                path = files.get((name, "input", slot))
                tensors.append(constant(operand) if path is None else np.load(path))
        if places:
            left = compute(op, tensors, bound.settings)[-len(places) :]
            for place, array in zip(places, left, strict=True):
                operand = bound.tensors[place]
                yield op, graph.parameters[operand.index].name, array, weight(operand, files)


def test_weights_are_left_as_mindspore_leaves_them(real_pairs):
    met = Counter()
    for op, name, ours, theirs in updated(real_pairs["optimizer_lr"].golden):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-7, err_msg=name)
        met[op.op_type] += 1
    assert met == {"ApplyMomentum": 12, "AssignAdd": 1}


@pytest.mark.parametrize(
    "pair", ["alexnet_padmode", "identical_rerun", "optimizer_lr", "transformer_ln_eps"]
)
def test_a_replayed_operator_gives_mindspores_own_output(real_pairs, pair):
    count = 0
    for op, slot, ours, theirs in replayed(real_pairs[pair].golden):
        scale = max(float(np.abs(theirs).max()), 1e-30)
        error = float(np.abs(ours.astype(float) - theirs.astype(float)).max()) / scale
        assert error < 5e-6, (op.name, slot)
        assert ours.dtype == theirs.dtype
        count += 1
    assert count >= 20
