"""The story of watch mode, end to end: after A and B, is what C and D wrote still there?

C and D are read at the end. A's output lies below C's, where an earlier tensor has made room, and A writes past its
end. Files are taken apart by field numbers alone.
"""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from kit.commands import status as command
from kit.oracle import dump_files as wire
from workbench.core.words import Message

NET = """
import numpy as np
from workbench.network.nn import functional as F
from workbench.network.cell import Cell

INPUTS = np.linspace(-2, 2, 900, dtype=np.float32).reshape(9, 100)


class Net(Cell):
    def construct(self, x):
        large = F.exp(x)                        # makes room below c
        c = large.reshape(3, 3, 100).mean(0)
        d = F.sigmoid(c)
        a = F.relu(d)
        b = F.neg(a)
        return b + c * d
"""
A, B, C, D = (f"Default/{name}-op0" for name in ("ReLU", "Neg", "ReduceMean", "Sigmoid"))
TYPES = {C: "ReduceMean", D: "Sigmoid"}
FOLDER = "20231114221320/0/Net/1/0"
OVERRUN = f"overrun:{A}"
MODE = ("--precision-mode", "must_keep_origin_dtype")  # no Casts between
NPU = ("--device", "a2", *MODE)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The network, its forms, the golden trees, a healthy watch and one with an overrun."""
    base = tmp_path_factory.mktemp("watch")
    (base / "net.py").write_text(NET)
    watch = {
        "dump_list": [{"layer": [A, B], "watcher_nodes": [C, D]}],
        "dump_path": "/home/",
        "dump_mode": "output",
        "dump_scene": "watcher",
    }
    (base / "watch.json").write_text(json.dumps({"dump": watch}))
    data = {"dump_list": [{"model_name": "Net"}], "dump_path": "/home/", "dump_mode": "all"}
    (base / "data.json").write_text(json.dumps({"dump": data}))
    settings = {"dump_mode": 0, "path": "/dump", "net_name": "Net", "iteration": "all",
                "input_output": 0, "kernels": [], "support_device": [0]}  # fmt: skip
    (base / "cpu.json").write_text(json.dumps({"common_dump_settings": settings}))
    run(base, "watch.json", "healthy", *NPU)
    run(base, "watch.json", "overrun", *NPU, "--fault", OVERRUN)
    shutil.copytree(base / "overrun", base / "no-graph", ignore=lambda *_: ["graphs"])
    run(base, "data.json", "data", *NPU, "--fault", OVERRUN)
    run(base, "data.json", "golden", "--device", "reference")
    run(base, "cpu.json", "golden-ms", "--device", "reference", surface="mindspore-cpu")
    return base


def run(base, form, out, *more, surface="acl"):
    arguments = ["--graph", f"{base / 'net.py'}:Net", "--config", base / form]
    arguments += ["--surface", surface, "--out", base / out]
    assert command("simulate", *arguments, *more) == 0


def file_name(name):
    return name.replace("/", "_")


def watched(root):
    """(after, output) → address and bytes; the own file of an output is after nobody."""
    found = {}
    for path in (root / FOLDER).iterdir():
        kind, name, task, _, _ = path.name.split(".")
        header, ((part, _, message, data),) = wire.container(path.read_bytes())
        after, _, output = header["op_name"].rpartition("_To_")
        assert (name, part) == (file_name(header["op_name"]), "output")
        assert kind == TYPES[output]
        assert message["original_op"]["name"] == output
        order = {"Default/Exp-op0": 1, C: 3, D: 4, A: 5, B: 6}
        assert int(task) == order[after or output]
        found[after, output] = message["address"], data
    return found


def test_after_each_of_a_and_b_the_outputs_of_c_and_d_are_dumped_and_after_themselves(base):
    found = watched(base / "healthy")
    assert set(found) == {(after, one) for one in (C, D) for after in ("", A, B)}
    for after in (A, B):
        for one in (C, D):
            assert found[after, one] == found["", one]


def test_an_overrun_changes_what_lies_there_from_then_on_and_nothing_else(base):
    healthy, found = watched(base / "healthy"), watched(base / "overrun")
    assert found["", C] == healthy["", C]
    for after in (A, B):
        assert found[after, D] == healthy[after, D]
        address, data = found[after, C]
        assert address == healthy["", C][0]
        assert data[256:] == healthy["", C][1][256:]
        assert data[:256] != healthy["", C][1][:256]
    assert found[A, C] == found[B, C]


def compared(base, capsys, target, golden):
    capsys.readouterr()  # what came before
    status = command("compare", base / target, base / golden, "--json", "-")
    return status, json.loads(capsys.readouterr().out)


def test_the_comparison_says_whose_write_it_was(base, capsys):
    status, result = compared(base, capsys, "overrun", "golden-ms")
    assert (status, result["verdict"]) == (1, "fail")
    damage = [f for f in result["findings"] if f["kind"] == "overwritten"]
    (one,) = damage
    assert (one["op_name"], one["op_type"]) == (A, "ReLU")
    assert one["source"]["code"].strip() == "a = F.relu(d)"
    (address, data), (_, after) = (watched(base / "overrun")[key] for key in (("", C), (A, C)))
    places = [at for at, (x, y) in enumerate(zip(data, after, strict=True)) if x != y]
    owner = {"slot": 0, "op_type": "ReduceMean", "op_name": C, "reader": "Default/Mul-op0"}
    writes = str(Message("compare/writes-later", **owner))
    assert one["evidence"][0] == writes
    for shown in (places[0], places[-1], 1200, f"{address:#x}"):
        assert str(shown) in one["evidence"][1]
    assert one["evidence"][2] == str(Message("compare/at-beginning"))
    assert f"ReLU {A} (net.py:14 a = F.relu(d)); {writes}" in result["sentence"]
    assert result["coverage"]["skipped"]["target:watched"] == 4
    assert {row["op_name"]: row["status"] for row in result["operators"]} == {C: "pass", D: "pass"}


def test_a_healthy_watch_has_no_defect(base, capsys):
    for golden in ("golden", "golden-ms", "healthy"):
        status, result = compared(base, capsys, "healthy", golden)
        assert not [f for f in result["findings"] if f["kind"] == "overwritten"]
        assert (status, result["verdict"]) == (3, "incomplete")  # a watch dumps what was asked for
        assert "fail" not in {row["status"] for row in result["operators"]}


def test_without_a_graph_the_operator_is_named_in_a_warning(base, capsys):
    shutil.copytree(base / "golden", base / "golden-no-graph", ignore=lambda *_: ["graphs"])
    status, result = compared(base, capsys, "no-graph", "golden-no-graph")
    assert (status, result["verdict"]) == (3, "incomplete")
    (one,) = [f for f in result["findings"] if f["kind"] == "changed-memory"]
    assert one["op_name"] == file_name(A)
    owner = {"slot": 0, "op_type": "ReduceMean", "op_name": file_name(C), "after": file_name(A)}
    assert str(Message("compare/changed", **owner)) in result["sentence"]


def test_one_tree_alone_tells_it_too(base, capsys):
    assert command("inspect", base / "overrun", "--json") == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["op_name"], change["after"]) == (C, A)
    assert (change["since"], change["between"]) == (C, [D])
    assert (change["needed"], change["readers"]) == (True, ["Default/Mul-op0"])
    assert change["last_byte"] < 256
    assert command("inspect", base / "no-graph") == 0
    told = capsys.readouterr().out
    assert told.count("changed memory, iteration 0: ") == 1
    assert file_name(A) in told
    ir = next((base / "golden-ms").rglob("*.ir"))
    assert command("inspect", base / "no-graph", "--graph", ir) == 0
    assert f"overwritten, iteration 0: {A} " in capsys.readouterr().out
    assert command("inspect", base / "healthy", "--json") == 0
    assert json.loads(capsys.readouterr().out)["changes"] == []


def test_an_ordinary_dump_names_who_wrote_over_what_another_reads(base, capsys):
    status, result = compared(base, capsys, "data", "golden-ms")
    one = result["findings"][0]
    assert (status, one["kind"], one["op_name"]) == (1, "overwritten", A)
    assert "Default/Mul-op0" in one["evidence"][0]
    assert one["evidence"][2] == str(Message("compare/bytes-of-output"))


def test_the_form_foretells_exactly_what_is_written(base, capsys):
    graph = f"{base / 'net.py'}:Net"
    form = base / "watch.json"
    assert command("config", "preview", form, "--graph", graph, "--json", *MODE) == 0
    told = json.loads(capsys.readouterr().out)
    files = sorted(p for p in (base / "healthy").rglob("*") if p.is_file())
    assert told["files"] == len(files)
    assert told["bytes"] == sum(path.stat().st_size for path in files)


def test_every_operator_with_a_task_is_a_layer_if_none_is_named(base, tmp_path):
    form = json.loads((base / "watch.json").read_text())
    form["dump"]["dump_list"] = [{"watcher_nodes": [D, "no such operator"]}]
    (tmp_path / "all.json").write_text(json.dumps(form))
    run(base, tmp_path / "all.json", tmp_path / "out", *NPU)
    found = watched_names(tmp_path / "out")
    names = ["Exp", "ReduceMean", "", "ReLU", "Neg", "Mul", "Add"]
    assert found == [f"Default/{name}-op0_To_{D}" if name else D for name in names]


def watched_names(root):
    """Names in the headers, in order of time."""
    paths = sorted((root / FOLDER).iterdir(), key=lambda path: path.name.rpartition(".")[2])
    return [wire.container(path.read_bytes())[0]["op_name"] for path in paths]


def test_what_lies_there_before_an_operator_ran_is_an_earlier_tensor(base, tmp_path):
    form = json.loads((base / "watch.json").read_text())
    form["dump"]["dump_list"] = [{"layer": ["Default/Exp-op0"], "watcher_nodes": [A]}]
    (tmp_path / "before.json").write_text(json.dumps(form))
    run(base, tmp_path / "before.json", tmp_path / "out", *NPU)
    (before,) = (tmp_path / "out" / FOLDER).glob("ReLU.*_To_*")
    _, ((_, _, _, data),) = wire.container(before.read_bytes())
    x = np.linspace(-2, 2, 900, dtype=np.float32)[1536 // 4 :][:300]  # behind the place of d
    np.testing.assert_allclose(np.frombuffer(data, np.float32), np.exp(x), rtol=1e-5)


def test_of_several_that_lie_below_the_inputs_of_others_tell_the_one(base, tmp_path, capsys):
    """Convolutions of a residual block take turns below what the block adds at its end."""
    block = "Default/layer2-BasicBlock"
    guilty = f"{block}/down-SequentialCell/0-Conv2d/Conv2D-op0"
    form = {"dump_list": [{"model_name": "ResNet"}], "dump_path": "/home/", "dump_mode": "all"}
    (tmp_path / "data.json").write_text(json.dumps({"dump": form}))
    ways = [("target", "acl", tmp_path / "data.json", *NPU, "--fault", f"overrun:{guilty}"),
            ("golden", "mindspore-cpu", base / "cpu.json", "--device", "reference")]  # fmt: skip
    for out, surface, path, *more in ways:
        arguments = ["--graph", "resnet", "--config", path, "--surface", surface]
        assert command("simulate", *arguments, "--out", tmp_path / out, *more) == 0
    status, result = compared(tmp_path, capsys, "target", "golden")
    one = result["findings"][0]
    assert (status, one["kind"]) == (1, "overwritten")
    assert one["op_name"] == guilty
    assert f"{block}/Add-op0" in one["evidence"][0]
    assert one["evidence"][2] == str(Message("compare/bytes-of-output"))


CONV, RELU = "Default/conv2-Conv2d/Conv2D-op0", "Default/relu-ReLU/ReLU-op1"


@pytest.mark.parametrize(("named", "files"), [(CONV + RELU, 2), (CONV, 0), (RELU, 0)])
def test_a_fused_operator_is_watched_under_its_name_after_fusion(tmp_path, capsys, named, files):
    nodes = [{"layer": ["Default/max_pool2d-MaxPool2d/MaxPool-op1"], "watcher_nodes": [named]}]
    dump = {
        "dump_list": nodes,
        "dump_path": "/home/",
        "dump_mode": "output",
        "dump_scene": "watcher",
    }
    (tmp_path / "watch.json").write_text(json.dumps({"dump": dump}))
    arguments = ["--graph", "lenet", "--config", tmp_path / "watch.json", "--surface", "acl"]
    status = command("simulate", *arguments, *NPU, "--out", tmp_path / "out")
    assert status == (0 if files else 1)  # 1: nothing that was asked for was dumped
    found = list((tmp_path / "out").rglob("Conv2D.*"))
    assert len(found) == files


def test_names_too_long_for_a_file_are_read_through_their_table(tmp_path, capsys):
    name = "n" * 120
    layer = (
        "class Layer(Cell):\n    def construct(self, x):\n        return F.relu(F.sigmoid(x))\n\n\n"
    )
    source = NET.replace("class Net(Cell):", f"{layer}class Net(Cell):\n    def __init__(self):\n"
                         f"        super().__init__()\n        self.{name} = Layer()\n")  # fmt: skip
    source = source.replace("d = F.sigmoid(c)", f"d = self.{name}(c)")
    (tmp_path / "net.py").write_text(source)
    scope = f"Default/{name}-Layer"
    nodes = [{"layer": [f"{scope}/ReLU-op0"], "watcher_nodes": [f"{scope}/Sigmoid-op0"]}]
    dump = {
        "dump_list": nodes,
        "dump_path": "/home/",
        "dump_mode": "output",
        "dump_scene": "watcher",
    }
    (tmp_path / "watch.json").write_text(json.dumps({"dump": dump}))
    run(tmp_path, "watch.json", "out", *NPU)
    (table,) = (tmp_path / "out").rglob("mapping.csv")
    assert f"_ReLU-op0_To_{file_name(scope)}_Sigmoid-op0." in table.read_text()
    assert command("inspect", tmp_path / "out", "--json") == 0
    told = capsys.readouterr().out
    assert json.loads(told[told.index("{") :])["skipped"] == {"watched": 1}
