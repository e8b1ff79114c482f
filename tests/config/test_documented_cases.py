"""The cases of the vendors' forms that are easiest to get wrong, each from its text to the outcome."""

from __future__ import annotations

import json

import pytest

from workbench.config.context import Context
from workbench.config.files import read
from workbench.config.ge.steps import ge_fault
from workbench.core.plan import Iterations

COMMON = {
    "dump_mode": 0, "path": "/dump", "net_name": "Net", "iteration": "0", "saved_data": "tensor",
    "input_output": 0, "kernels": [], "support_device": [0],
}  # fmt: skip
O0, O2 = "mindspore-o0o1", "mindspore-o2"
ERROR, WARNING = "error", "warning"


def mindspore(surface, common, e2e=None):
    """A form of MindSpore; the second section decides on the way of dumping."""
    form = {"common_dump_settings": COMMON | common}
    if surface == O0:
        form["e2e_dump_settings"] = {} if e2e is None else e2e
    return read(json.dumps(form), surface)


def said(config, severity=ERROR, context=None):
    """Keys and codes of what is said of a form."""
    found = config.check(context or Context(version="2.6.0"))
    return {(p.path.rpartition(".")[2], p.code) for p in found if p.severity == severity}


@pytest.mark.parametrize(
    ("surface", "common", "e2e", "refused"),
    [
        (O0, {"overflow_number": 1, "op_debug_mode": 0}, None, "overflow_number"),
        (O0, {"iteration": "0 | 5"}, None, "iteration"),
        (O0, {"iteration": "0||5-"}, None, ""),
        (O0, {}, {}, ""),
        (O0, {}, {"sample_mode": 0, "sample_num": 0}, ""),
        (O0, {}, {"sample_mode": 1, "sample_num": 0}, "sample_num"),
        (O2, {"saved_data": "statistic", "op_debug_mode": 0}, None, "saved_data"),
        (O0, {"path": "/a.b"}, None, "path"),
    ],
)
def test_mindspore(surface, common, e2e, refused):
    errors = said(mindspore(surface, common, e2e))
    assert {key for key, _ in errors} == ({refused} if refused else set())


def test_mindspore_iterations_that_are_no_number_match_nothing():
    plan = mindspore(O0, {"iteration": "0||5-"}).plan()
    assert [step for step in range(10) if step in plan.iterations] == [0]
    assert plan.iterations == Iterations(((0, 0),))


def test_mindspore_dumps_operator_by_operator_when_the_second_section_is_there_and_empty():
    plan = mindspore(O0, {}, {}).plan()
    assert plan.host_format
    assert plan.files == "npy"


def test_mindspore_on_a_device_computes_what_it_can():
    config = mindspore(
        O0,
        {"saved_data": "statistic", "statistic_category": ["max", "md5"]},
        {"stat_calc_mode": "device"},
    )
    assert not said(config)
    assert "statistic_category[1]" in {key for key, _ in said(config, WARNING)}
    assert config.plan().statistics == ("max",)


@pytest.mark.parametrize(
    ("dump", "code"),
    [
        ({"dump_path": "d", "dump_op_switch": "on", "dump_debug": "on"}, "EP0005"),
        ({"dump_debug": "off"}, "EP0001"),
        ({"dump_scene": "aic_err_brief_dump", "dump_list": [{"layer": []}]}, ""),
        ({"dump_path": "d", "dump_list": [], "dump_data": "tensor"}, ""),
        ({"dump_path": "d", "dump_list": [{"model_name": "m"}], "dump_step": "5-5"}, ""),
        ({"dump_path": "d", "dump_list": [{"model_name": "m"}], "dump_step": "5-4"}, "EP0003"),
        ({"dump_path": "d", "dump_list": [{"model_name": "m"}], "dump_step": "5|"}, "EP0003"),
        ({"dump_path": "d", "dump_list": [{"model_name": "m"}], "dump_step": ""}, ""),
        ({"dump_path": "d", "dump_list": [{"model_name": "m"}], "dump_stats": ["Max"]}, "EP0005"),
    ],
)
def test_acl(dump, code):
    errors = said(read(json.dumps({"dump": dump}), "acl"), context=Context())
    assert {found for _, found in errors} == ({code} if code else set())


def test_acl_without_operators_dumps_nothing_and_says_so():
    text = json.dumps({"dump": {"dump_path": "d", "dump_list": [], "dump_data": "tensor"}})
    config = read(text, "acl")
    assert "nothing-dumped" in [p.id for p in config.check(Context())]
    assert config.plan().iterations == Iterations(())


def test_acl_dumps_every_step_if_the_text_is_empty():
    form = {"dump_path": "d", "dump_list": [{"model_name": "m"}], "dump_step": ""}
    plan = read(json.dumps({"dump": form}), "acl").plan()
    assert plan.iterations == Iterations(None)


def test_ge_refuses_a_range_of_equal_ends():
    assert ge_fault("5-5") == "order"


NPU_BRIDGE = """
custom_op.parameter_map["enable_dump"].b = True
custom_op.parameter_map["dump_path"].s = tf.compat.as_bytes("/d")
custom_op.parameter_map["dump_step"].s = tf.compat.as_bytes("5|")
"""


def test_npu_bridge_passes_a_trailing_bar_on_to_ge_which_refuses_it():
    config = read(NPU_BRIDGE, "tensorflow")
    assert not said(config, context=Context())
    assert "E10001" in {code for _, code in said(config, WARNING, Context())}


TORCHAIR = """
config = CompilerConfig()
config.dump_config.enable_dump = True
config.dump_config.{line}
"""


def test_torchair_accepts_a_falling_range_that_ge_refuses():
    config = read(TORCHAIR.format(line='dump_step = "5-3"'), "torchair")
    assert not said(config, context=Context())
    assert "E10001" in {code for _, code in said(config, WARNING, Context())}


def test_torchair_refuses_a_layer_with_a_dash():
    config = read(TORCHAIR.format(line='dump_layer = "conv-1"'), "torchair")
    assert said(config, context=Context()) == {("dump_layer", "ValueError")}
