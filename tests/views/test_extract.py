"""The minimal case: one operator in a folder, whose script shows its error anywhere."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit import commands
from kit.build import small_dumps as small
from kit.build.small_dumps import Net, chain, on_disk, shoot
from kit.words import refused
from workbench.comparison.engine import compare_dumps
from workbench.comparison.replay.kernel import compute_kernel
from workbench.comparison.replay.operator_file import (
    _read_kernel,
    kernel_data,
    npy_array,
    read_case,
)
from workbench.config import new
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import FormatError, GraphError
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import sanitize
from workbench.graph.graph import Bundle, Const, FreeRef, Kernel, Op, Param, Value
from workbench.network.models import load_graph

LINE = re.compile(r"(\S+): (\S+) from the reference with its (own|golden) settings")


def run(script: Path) -> dict[tuple[str, str], float]:
    """What the script prints, in a process of its own: (tensor, settings) → distance."""
    package = str(Path(wb.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": package},
        cwd="/",
    )
    found = [LINE.fullmatch(line) for line in done.stdout.splitlines()]
    assert found
    return {(m[1], m[3]): float(m[2]) for m in found if m is not None}


@pytest.mark.parametrize(
    ("surface", "model", "operator"),
    [
        ("mindspore-o0o1", "lenet", "Default/conv2-Conv2d/Conv2D-op0"),
        ("mindspore-o0o1", "transformer", "Default/layer1-EncoderLayer/norm2-Norm/LayerNorm-op0"),
        ("mindspore-cpu", "mlp", "Default/head-Dense/MatMul-op0"),
        ("mindspore-o2", "mlp", "Default/head-Dense/MatMul-op0"),
        ("acl", "lenet", "Default/conv2-Conv2d/Conv2D-op0"),
        ("torchair", "mlp", "Default/head-Dense/MatMul-op0"),
    ],
)
def test_the_script_reproduces_the_own_error_of_a_planted_defect(
    surface, model, operator, tmp_path
):
    graph, config = load_graph(model), new(surface)
    fault = f"scaled-output:{operator}:1.25"
    golden = wb.simulate(graph, None, config, tmp_path / "g", surface=surface)
    device = "950" if surface == "mindspore-cpu" else "a2"
    target = wb.simulate(
        graph, None, config, tmp_path / "t", device=device, surface=surface, faults=[fault]
    )
    comparison = wb.compare(target, golden)
    found = comparison.extract(tmp_path / "case")
    assert found.op_name == comparison.findings[0].op_name
    said = run(found.script)
    assert said["output.0", "own"] == pytest.approx(0.25, rel=0.1)
    own = np.load(tmp_path / "case" / "output.0.npy").astype(np.float64)
    reference = read_case(tmp_path / "case").reference()["output.0"].astype(np.float64)
    assert said["output.0", "own"] == pytest.approx(
        math.sqrt(((own - reference) ** 2).sum() / (reference**2).sum()), rel=1e-4
    )
    assert (tmp_path / "case" / "golden.output.0.npy").exists()


@pytest.mark.parametrize(
    ("name", "setting", "other"),
    [("alexnet_padmode", "pad_mode", 1.0), ("transformer_ln_eps", "epsilon", 0.0058)],
)
def test_a_setting_that_differs_explains_a_real_operator(
    real_pairs, name, setting, other, tmp_path
):
    """With its own setting the operator gives what it should; with the golden's it would not."""
    pair = real_pairs[name]
    comparison = wb.compare(pair.target, pair.golden)
    found = comparison.extract(tmp_path / "case")
    said = run(found.script)
    assert said["output.0", "own"] < 1e-6
    assert said["output.0", "golden"] == pytest.approx(other, rel=0.05)
    about = json.loads((tmp_path / "case/operator.json").read_text())
    assert setting in json.dumps(about["evidence"])
    assert about["op_name"] == comparison.findings[0].op_name
    assert set(found.files) == {path.name for path in (tmp_path / "case").iterdir()}
    assert (tmp_path / "case/reproduce_mindspore.py").exists()


def test_updated_inputs_are_held_against_what_the_operator_left(real_pairs, tmp_path):
    pair = real_pairs["optimizer_lr"]
    found = wb.compare(pair.target, pair.golden).extract(tmp_path / "case")
    said = run(found.script)
    assert set(said) >= {("input.0.after", "own"), ("input.1.after", "own")}
    assert max(said[key] for key in said if key[1] == "own") < 1e-6
    assert not (tmp_path / "case/reproduce_mindspore.py").exists()


GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)


def trees(root, graph=GRAPH, values=VALUES, *, keep=lambda shot: True, name="Default/MatMul-op1"):
    def spoil(array):
        return array * 1.5

    target = [s for s in shoot(graph, values, alter={name: spoil}) if keep(s)]
    return on_disk(root / "t", target, graph), on_disk(root / "g", shoot(graph, values), graph)


def test_names_lead_nowhere_and_break_no_script(tmp_path):
    nasty = 'Default/../../"""\nimport os\n/MatMul-op1'
    ops = tuple(
        Op(nasty if op.name == "Default/MatMul-op1" else op.name, op.op_type, op.inputs, op.attrs,
           op.outputs, op.input_specs)
        for op in GRAPH.ops
    )  # fmt: skip
    graph = replace(GRAPH, ops=ops)

    def spoil(array):
        return array * 1.5

    def dump(**more):
        shots = shoot(graph, VALUES, **more)
        name = {small.file_name(nasty): sanitize(nasty)}
        return small.in_memory([s._replace(name=name.get(s.name, s.name)) for s in shots], graph)

    done = compare_dumps(dump(alter={nasty: spoil}), dump())
    found = wb.Comparison(done.result, done.flow).extract(tmp_path / "deep" / "case")
    assert found.op_name == nasty
    assert run(found.script)["output.0", "own"] == pytest.approx(0.5)
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["case"]
    assert "import os\n" not in found.script.read_text()


def test_a_folder_that_holds_anything_is_refused(tmp_path):
    comparison = wb.compare(*trees(tmp_path))
    (tmp_path / "case").mkdir()
    (tmp_path / "case/mine").write_text("")
    with refused("dump/out-filled", FormatError, got=str(tmp_path / "case")):
        comparison.extract(tmp_path / "case")
    assert [path.name for path in (tmp_path / "case").iterdir()] == ["mine"]


def test_what_is_missing_is_said(tmp_path):
    def outputs(shot):
        return shot.io == "output" and shot.op_type != "Parameter" and "ReLU" not in shot.name

    comparison = wb.compare(*trees(tmp_path, keep=outputs))
    with refused("views/not-extracted", op=comparison.findings[0].op_name):
        comparison.extract(tmp_path / "case")
    assert not (tmp_path / "case").exists()
    golden = tmp_path / "g"
    with refused("session/no-defect"):
        wb.compare(golden, golden).extract(tmp_path / "case")
    with refused("views/result-alone"):
        wb.Comparison(comparison.result).extract(tmp_path / "case")


def test_statistics_alone_are_not_enough_and_it_says_so(tmp_path):
    config = new("mindspore-o0o1").set("common_dump_settings.saved_data", "statistic")
    graph = load_graph("mlp")
    golden = wb.simulate(graph, None, config, tmp_path / "g", surface="mindspore-o0o1")
    target = wb.simulate(
        graph, None, config, tmp_path / "t", device="a2", surface="mindspore-o0o1",
        faults=["scaled-output:Default/head-Dense/MatMul-op0:1.5"],
    )  # fmt: skip
    with refused("views/not-extracted"):
        wb.compare(target, golden).extract(tmp_path / "case")


def test_without_a_graph_nothing_tells_what_an_operator_computes(tmp_path):
    shots = shoot(GRAPH, VALUES, alter={"Default/MatMul-op1": lambda a: a * 1.5})
    target, golden = on_disk(tmp_path / "t", shots), on_disk(tmp_path / "g", shoot(GRAPH, VALUES))
    with refused("views/not-extracted", why=[Message("views/not-extracted-graph")]):
        wb.compare(target, golden).extract(tmp_path / "case")


def test_a_case_that_computes_otherwise_is_refused(tmp_path, monkeypatch):
    comparison = wb.compare(*trees(tmp_path))

    class Other:
        def reference(self):
            return defaultdict(lambda: np.zeros(1))

    monkeypatch.setattr("workbench.views.extract.read_case", lambda _: Other())
    with refused("views/case-differs", GraphError, folder=str(tmp_path / "case")):
        comparison.extract(tmp_path / "case")


def test_the_command_extracts(tmp_path, capsys):
    target, golden = trees(tmp_path)
    found = commands.run(capsys, "compare", target, golden, "--extract", tmp_path / "case")
    assert found.status == 1
    assert "Default/MatMul-op1 alone" in found.err
    assert run(tmp_path / "case/reproduce.py")["output.0", "own"] == pytest.approx(0.5)
    found = commands.run(capsys, "compare", golden, golden, "--extract", tmp_path / "none")
    assert found.status == 0
    assert "no defect" in found.err


# --- the format ------------------------------------------------------------------------------


def test_kernels_of_every_operand_are_read_as_they_were_written(tmp_path):
    kernel = Kernel(
        (
            Op("a", "Concat", (Bundle((Param(0), Param(1))), Const(1, "int64", ())), {"axis": 1}),
            Op("b", "Mul", (Value(0, 0), Const(math.inf, "float32", ())), {"x": (1, (2.5, "y"))}),
        ),
        (Value(1, 0),),
    )
    data = {
        "schema": "workbench.operator/1",
        "kernels": {"own": kernel_data(kernel)},
        "dtypes": {"input.0": "bfloat16", "input.1": "float32"},
    }
    (tmp_path / "operator.json").write_text(json.dumps(data))
    for name in data["dtypes"]:
        np.save(tmp_path / f"{name}.npy", np.ones((2, 2), np.float32))
    case = read_case(tmp_path)
    found = case.kernels["own"]
    assert [(op.op_type, op.inputs, dict(op.attrs)) for op in found.ops] == [
        (op.op_type, op.inputs, dict(op.attrs)) for op in kernel.ops
    ]
    assert found.results == kernel.results
    assert case.inputs[0].dtype.name == "bfloat16"
    with refused("compare/operand", GraphError, got="FreeRef"):
        kernel_data(Kernel((Op("a", "Neg", (FreeRef("g", "n"),)),), (Value(0),)))


@pytest.mark.parametrize("name", ["transformer_fp16", "lenet_train_fp16", "optimizer_lr"])
def test_every_operator_of_real_dumps_computes_the_same_after_a_round_trip(real_pairs, name):
    flow = wb.compare(real_pairs[name].target, real_pairs[name].golden).row_index.flow
    assert len(flow.replayed.own_errors) > 20
    for place in flow.replayed.own_errors:
        attempt = flow.replayed.attempt(*place)
        again = _read_kernel(json.loads(json.dumps(kernel_data(attempt.kernel))))
        held = {n: npy_array(array) for n, array in attempt.inputs.items()}
        inputs = {n: array.astype(dtype_row(word).storage) for n, (array, word) in held.items()}
        for one, other in zip(
            compute_kernel(attempt.kernel, attempt.inputs),
            compute_kernel(again, inputs),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)


GOOD = {"schema": "workbench.operator/1", "kernels": {}, "dtypes": {}}


@pytest.mark.parametrize(
    "change",
    [
        "{",
        "[]",
        {"schema": "workbench.operator/2"},
        {"kernels": None},
        {"kernels": {"own": {}}},
        {"kernels": {"own": {"ops": [], "results": [[0, 0]]}}},
        {"dtypes": {"../secret": "float32"}},
        {"dtypes": {"input.0": "float32"}},
    ],
)
def test_what_is_no_case_is_refused_with_its_place(tmp_path, change):
    text = change if isinstance(change, str) else json.dumps(GOOD | change)
    (tmp_path / "operator.json").write_text(text)
    with pytest.raises(FormatError) as error:
        read_case(tmp_path)
    assert str(error.value).startswith(str(tmp_path))


def test_an_operator_of_several_steps_is_extracted_as_one(tmp_path):
    net = Net()
    y = net.op("MatMul", net.feed("x"), net.weight("w"))
    graph = net.graph(net.op("Softmax", y))
    values = small.given(graph)
    comparison = wb.compare(*trees(tmp_path, graph, values, name="Default/Softmax-op0"))
    said = run(comparison.extract(tmp_path / "case").script)
    assert said["output.0", "own"] == pytest.approx(0.5)
