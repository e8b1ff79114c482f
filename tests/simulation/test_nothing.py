"""An empty dump names the setting that emptied it; what is advised fills it."""

import json
from functools import partial

import pytest

import workbench as wb
from kit.cases import mindspore_form
from kit.commands import run as command
from kit.words import check_said
from workbench.config import new, read

RELU = "Default/relu-ReLU/ReLU-op0"
RANK = """
import os
from npu_bridge.npu_init import *
if int(os.getenv('RANK_ID')) == 7:
    dump_flag = True
else:
    dump_flag = False
dump_config = DumpConfig(enable_dump=dump_flag, dump_path="/d", dump_step="0", dump_mode="output")
config = NPURunConfig(dump_config=dump_config)
"""


mindspore = partial(mindspore_form, "o0o1")


def layers(names):
    return new("tensorflow").set("dump.dump_layer", names).set("dump.dump_step", "0")


def watch(node):
    dump = {"dump_list": [{"watcher_nodes": [node]}], "dump_path": "./", "dump_mode": "output"}
    return read(json.dumps({"dump": dump | {"dump_scene": "watcher"}}), surface="acl")


FUSED = "Default/conv1-Conv2d/Conv2D-op0Default/relu-ReLU/ReLU-op0"
CONV = "Default/conv1-Conv2d/Conv2D-op0"

CASES = {
    "rank": (
        read(RANK, surface="tensorflow"), "rank-left-out", {"asked": [7], "variable": "RANK_ID"},
        {"env": {"RANK_ID": "7"}},
    ),
    "dump_layer": (layers("conv9"), "nothing-named", {"entry": "conv9"}, layers(FUSED)),
    "name before fusion": (watch(RELU), "nothing-met", {"entry": RELU}, watch(FUSED)),
    "support_device": (
        mindspore(support_device=[3]), "device-left-out", {"device": 0, "asked": [3]}, mindspore(support_device=[0]),
    ),
    "iteration": (mindspore(iteration="7"), "iterations-set", {"value": "0"}, mindspore(iteration="0")),
    "kernels": (
        mindspore(dump_mode=1, kernels=[f"{CONV[:-1]}9"]), "nothing-met", {"entry": f"{CONV[:-1]}9"},
        mindspore(dump_mode=1, kernels=[CONV]),
    ),
    "marks": (mindspore(dump_mode=2), "nothing-marked", {}, {"set_dump": [CONV]}),
    "switch": (
        read('{"dump": {"dump_path": "output", "dump_list": []}}', surface="acl"), "nothing-asked", {},
        read('{"dump": {"dump_path": "output", "dump_list": [], "dump_op_switch": "on"}}', surface="acl"),
    ),
    "enable_dump": (new("torchair").unset("dump_config.enable_dump"), "nothing-asked", {}, new("torchair")),
    "model": (
        read('{"dump": {"dump_path": "./", "dump_list": [{"model_name": "Other"}]}}', surface="acl"),
        "nothing-met", {"entry": "Other"},
        read('{"dump": {"dump_path": "./", "dump_list": [{"model_name": "LeNet"}]}}', surface="acl"),
    ),
    "failure": (mindspore(op_debug_mode=4), "nothing-failed", {}, {"faults": [f"aicore-exception:{CONV}"]}),
    "device of an overflow dump": (
        mindspore(op_debug_mode=3, support_device=[3]), "device-left-out", {"device": 0, "asked": [3]},
        {"env": {"DEVICE_ID": "3"}, "faults": [f"nan-output:{CONV}"]},
    ),
}  # fmt: skip
"""Form, what its empty dump names, and the form or the settings of a run that dump."""


def simulate(config, out, **settings):
    told, graph = [], wb.models.load_graph("lenet")
    wb.simulate(graph, None, config, out, device="a2", report=told.append, **settings)
    return told


@pytest.mark.parametrize("case", CASES)
def test_an_empty_dump_names_the_setting_that_emptied_it_and_the_change_fills_it(tmp_path, case):
    config, code, values, change = CASES[case]
    (said,) = simulate(config, tmp_path / "empty")
    assert said.code == "simulation/run-nothing-because"
    check_said(said.values["why"], f"simulation/{code}", **values)
    more = change if isinstance(change, dict) else {}
    told = simulate(config if more else change, tmp_path / "filled", **more)
    assert not any(one.code.startswith("simulation/run-nothing") for one in told)
    assert wb.load(tmp_path / "filled").records or wb.load(tmp_path / "filled").failures


@pytest.mark.parametrize(
    "case", ["support_device", "kernels", "marks", "device of an overflow dump"]
)
def test_the_exit_status_of_an_empty_dump_is_1(tmp_path, capsys, case):
    CASES[case][0].save(tmp_path / "form.json")
    status, _, told = command(
        capsys, "simulate", "--graph", "lenet", "--config", tmp_path / "form.json",
        "--surface", "mindspore-o0o1", "--device", "a2", "--out", tmp_path / "out",
    )  # fmt: skip
    assert (status, len(told.splitlines())) == (1, 2)  # what is simulated, and the one cause


def test_an_entry_that_meets_something_is_not_to_blame(tmp_path):
    told = simulate(mindspore(dump_mode=1, kernels=[CONV, "Default/no-op0"]), tmp_path)
    assert told == []
