"""What a rehearsal runs: numbers, faults and networks, each with its own word on what is wrong."""

import numpy as np
import pytest
from onnx import helper

import workbench as wb
from kit.build.onnx_models import FLOAT, node
from kit.build.onnx_models import model as onnx_model
from kit.face.screen import alerts_in, codes_beside, said_in
from workbench.ui.parts import rehearsal

OPERATOR = "Default/head-Dense/MatMul-op0"


@pytest.fixture
def panel():
    shown = wb.Workbench(graph="mlp").form("run")
    yield shown
    assert shown.alert.text == ""
    shown.close()


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("iterations", "two", "ui/not-a-number"),
        ("iterations", "0", "show/setting"),
        ("ranks", "<b>", "ui/not-a-number"),
        ("seed", "1e3", "ui/not-a-number"),
        ("graph", "lenet9", ""),
        ("faults", "no-such-kind:x", ""),
        ("faults", "nan-output:x:colour=3", ""),
    ],
)
def test_a_wrong_input_is_said_beside_it_and_the_next_one_works(panel, name, text, code):
    part = panel.rehearsal
    right = part.inputs[name].value
    before = getattr(panel.bench, name)
    part.inputs[name].value = text
    (said,) = codes_beside(panel.view, part.inputs[name])
    assert said == (code or said)  # those of graphs and faults have tests of their own
    assert getattr(panel.bench, name) == before
    assert part.inputs[name].value == text
    assert panel.run.disabled
    assert said_in(panel.reason.value) == [said]
    part.inputs[name].value = right
    assert alerts_in(panel) == []
    assert not panel.run.disabled


def test_faults_are_one_a_line(panel):
    panel.rehearsal.inputs["faults"].value = f"nan-output:{OPERATOR}\n\n wrong-sign:*fc*  \n"
    assert panel.bench.faults == (f"nan-output:{OPERATOR}", "wrong-sign:*fc*")


def test_a_fault_is_built_of_kind_operator_and_settings(panel):
    part = panel.rehearsal
    assert OPERATOR in part.operator.options
    part.kind.value, part.operator.value, part.settings.value = "scaled-output", OPERATOR, "1.5"
    assert "strength" in part.meaning.value
    part.add.click()
    assert panel.bench.faults == (f"scaled-output:{OPERATOR}:1.5",)
    assert OPERATOR in part.inputs["faults"].value
    part.operator.value = ""
    part.add.click()
    assert len(codes_beside(panel.view, part.add)) == 1
    assert len(panel.bench.faults) == 1


class Twice(wb.nn.Cell):
    def construct(self, x):
        return x + x


def test_graphs_and_cells_of_the_notebook_can_be_chosen(monkeypatch):
    x = np.ones((2, 3), np.float32)
    names = {"net": Twice(), "graph": wb.trace(Twice(), x), "_hidden": Twice(), "inputs": x}
    monkeypatch.setattr(rehearsal, "notebook_names", lambda: names)
    panel = wb.Workbench(graph="mlp").form("run")
    part = panel.rehearsal
    assert list(part.own.options) == ["", "net", "graph"]
    for name in ("net", "graph"):
        part.own.value = name
        assert [op.op_type for op in panel.bench.graph.ops] == ["Add"]
    panel.run.click()
    assert panel.bench.runner.job.wait(60)
    assert panel.bench.comparison.verdict in ("pass", "warn")
    del names["inputs"]
    part.own.value = "net"
    assert codes_beside(panel.view, part.own) == ["ui/no-inputs"]
    panel.close()


def test_a_model_file_becomes_the_graph(panel, tmp_path):
    script = tmp_path / "net.py"
    script.write_text(
        "import numpy as np\nfrom workbench import nn\nINPUTS = np.ones((2, 2), np.float32)\n"
        "class Net(nn.Cell):\n    def construct(self, x):\n        return x * x\n"
    )
    panel.rehearsal.inputs["graph"].value = f"{script}:Net"
    assert alerts_in(panel) == []
    assert [op.op_type for op in panel.bench.network.ops] == ["Mul"]
    panel.rehearsal.file.value = str(tmp_path / "gone.onnx")
    assert panel.run.disabled
    assert "gone.onnx" in panel.reason.value


# --- what a model is fed -----------------------------------------------------------------------------

FED = np.float32([[1, -2, 3], [-4, 5, -6]])


@pytest.fixture
def model(tmp_path):
    """A model with an open size, and a file for its input."""
    feed = helper.make_tensor_value_info("x", FLOAT, ["batch", 3])
    made = onnx_model([node("Relu", ["x"], ["y"], "act")], {"x": feed}, ["y"])
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    (tmp_path / "inputs").mkdir()
    np.save(tmp_path / "inputs/x.npy", FED)
    np.save(tmp_path / "flat.npy", FED[0])
    return tmp_path


def results(bench):
    """What the model gave in both dumps of the last run."""
    for side in ("target", "golden"):
        records = wb.load(getattr(bench._rehearsed, side)).records
        (found,) = [one for one in records if one.key.io == "output" and one.key.op_type == "ReLU"]
        yield found.source.array()


def test_a_model_that_lacks_a_shape_is_there_as_soon_as_it_is_given(panel, model):
    part = panel.rehearsal
    assert part.fed is None  # what few need is made for them alone
    part.file.value = str(model / "net.onnx")
    assert codes_beside(panel.view, part.file.text) == ["graph/onnx-open-shape"]
    assert panel.bench.graph == "mlp"
    part.fed.value = "batch=2"
    assert alerts_in(panel) == []
    assert (panel.bench.graph, panel.bench.inputs) == (str(model / "net.onnx"), ("batch=2",))
    assert panel.bench.network.parameters[0].spec.shape == (2, 3)


@pytest.mark.parametrize("given", ["x={}/inputs/x.npy", "{}/inputs", "\n x={}/inputs/x.npy \n"])
def test_files_are_fed_to_both_runs(panel, model, given):
    panel.rehearsal.file.value = str(model / "net.onnx")
    panel.rehearsal.fed.value = given.format(model)
    panel.run.click()
    assert panel.bench.runner.job.wait(60)
    for found in results(panel.bench):
        np.testing.assert_array_equal(found, np.maximum(FED, 0))


WRONG = {
    "x": "golden/input-form",
    "y=1,3": "golden/no-such-input",
    "x={}/gone.npy": "core/missing",
    "x={}/flat.npy": "golden/input-shape",
    "x=2,3\nx=3,3": "golden/given-twice",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_does_not_fit_is_said_beside_the_inputs(panel, model, text):
    part = panel.rehearsal
    part.file.value = str(model / "net.onnx")
    part.fed.value = "x=2,3"
    part.fed.value = text.format(model)
    assert codes_beside(panel.view, part.fed) == [WRONG[text]]
    assert (panel.run.disabled, panel.bench.inputs) == (True, ("x=2,3",))
    part.fed.value = "x=3,3"
    assert (alerts_in(panel), panel.bench.inputs) == ([], ("x=3,3",))


def test_another_network_is_fed_nothing_and_has_no_place_for_inputs(panel, model):
    part = panel.rehearsal
    part.file.value = str(model / "net.onnx")
    part.fed.value = "batch=2"
    part.inputs["graph"].value = "mlp"
    assert (panel.bench.graph, panel.bench.inputs) == ("mlp", ())
    assert (part.fed.layout.display, part.fed.value, alerts_in(panel)) == ("none", "", [])


def test_inputs_that_code_gave_a_network_can_be_changed_and_taken_away(model):
    graph = wb.trace(Twice(), np.ones((2, 3), np.float32))
    name = graph.parameters[0].name
    panel = wb.Workbench(graph=graph, inputs=[f"{name}={model}/gone.npy"]).form("run")
    fed = panel.rehearsal.fed
    assert said_in(panel.reason.value) == ["ui/not-ready"]
    fed.value = f"{name}={model}/inputs/x.npy"
    assert (panel.bench.inputs, panel.reason.value) == ((fed.value,), "")
    fed.value = ""
    assert (panel.bench.inputs, fed.layout.display, panel.run.disabled) == ((), "none", False)
    panel.close()


def test_the_code_feeds_the_same_and_a_bench_from_code_shows_its_inputs(model):
    bench = wb.Workbench(graph=str(model / "net.onnx"), inputs=[f"x={model}/inputs/x.npy"])
    panel = bench.form("run")
    assert panel.rehearsal.fed.value == f"x={model}/inputs/x.npy"
    panel.close()
    names = {}
    exec(bench.to_code(), names)
    assert names["bench"].inputs == bench.inputs
    for found in results(names["bench"]):
        np.testing.assert_array_equal(found, np.maximum(FED, 0))


def test_the_code_names_the_variable_that_holds_the_graph_and_gives_the_same(monkeypatch):
    mine = wb.models.load_graph("mlp")
    monkeypatch.setattr(
        "workbench.ui.bench.own_graphs.notebook_names", lambda: {"_1": mine, "mine": mine}
    )
    bench = wb.Workbench(graph=mine, faults=[f"scaled-output:{OPERATOR}:2"])
    found, names = bench.run(), {"mine": mine}
    exec(bench.to_code(), names)
    again = names["comparison"].rows
    assert [row.metrics for row in again] == [row.metrics for row in found.rows]
    assert names["comparison"].findings == found.findings


def test_the_code_of_a_map_after_steps_back_makes_the_map_that_is_there():
    bench = wb.Workbench(graph="mlp")
    mapped = bench.map_file
    mapped.match("a", "b")
    mapped.ignore("c", "golden", "why")
    mapped.undo()
    mapped.tolerate(0.5, "known", name="d")
    names = {}
    exec(bench.to_code(), names)
    assert names["bench"].map_file.overrides == mapped.overrides
