"""``acl_dump_{device}.json`` byte by byte, from the writers' sources."""

import json

import pytest

from kit.cases import mindspore_form
from workbench.config import Context
from workbench.config.mindspore.acl_files import acl_dump_files

OLD, MSPROBE = Context("2.5"), Context("2.7")
NAMES = ("Default/fc1/MatMul-op0", "Default/fc2/MatMul-op1", "Default/Add-op2")


def files(change, steps, context=OLD, operators=NAMES, **options):
    config = mindspore_form("o2", **{"path": "/p"} | change)
    return acl_dump_files(config.settings, context, steps, operators, **options)


def whole(**dump):
    """The text of a file that says this of its dump and no more; keys stand in the order of their names."""
    return json.dumps({"dump": dict(sorted(dump.items()))}, separators=(",", ":"))


EVERY = {"dump_list": [], "dump_mode": "all", "dump_op_switch": "on"}
NEVER = {"dump_step": "2147483647"}
RANK = "/p/rank_0/20260101120000"
OVERFLOW, EXCEPTION = {"op_debug_mode": 3}, {"op_debug_mode": 4}


@pytest.mark.parametrize(("change", "steps", "context", "texts"), [
    # a step that is not wanted waits for one that never comes
    ({"iteration": "3"}, [0], OLD, [EVERY | NEVER | {"dump_path": "/p"}]),
    ({"iteration": "3"}, [2, 3], OLD, [EVERY | NEVER | {"dump_path": "/p"}, EVERY | {"dump_path": "/p/3"}]),
    (OVERFLOW | {"iteration": "all"}, [3], OLD, [{"dump_debug": "on", "dump_path": "/p/3"}]),
    (EXCEPTION, [0], OLD, [{"dump_scene": "lite_exception"}]),
    ({"iteration": "1"}, [0, 1], MSPROBE, [
        EVERY | NEVER | {"dump_data": "tensor", "dump_path": "/p"},
        EVERY | {"dump_data": "tensor", "dump_path": f"{RANK}/step_1"},
    ]),
    (OVERFLOW, [0], MSPROBE, [{"dump_debug": "on", "dump_path": f"{RANK}/step_0"}]),
    (EXCEPTION, [0], MSPROBE, [{"dump_scene": "lite_exception"}]),
])  # fmt: skip
def test_the_text_of_every_step(change, steps, context, texts):
    written = files(change, steps, context, stamp="20260101120000")
    assert written == {"acl_dump_0.json": tuple(whole(**dump) for dump in texts)}


@pytest.mark.parametrize(("number", "word"), [(0, "all"), (1, "input"), (2, "output")])
def test_inputs_and_outputs_are_the_mode(number, word):
    (text,) = files({"input_output": number}, [0])["acl_dump_0.json"]
    assert f'"dump_mode":"{word}"' in text


def test_chosen_operators_are_a_layer_in_the_order_of_their_text():
    change = {"dump_mode": 1, "kernels": ["Default/Conv2D-op12", "Default/Add -op2", ""]}
    (text,) = files(change, [0])["acl_dump_0.json"]
    assert text == (
        '{"dump":{"dump_list":[{"layer":["Default/Add-op2","Default/Conv2D-op12"]}],'
        '"dump_mode":"all","dump_op_switch":"on","dump_path":"/p/0"}}'
    )


def test_an_expression_stands_before_what_it_finds_anywhere_in_a_name():
    change = {"dump_mode": 1, "kernels": ["name-regex(fc[12])"]}
    (text,) = files(change, [0])["acl_dump_0.json"]
    found = json.loads(text)["dump"]["dump_list"][0]["layer"]
    assert found == ["name-regex(fc[12])", "Default/fc1/MatMul-op0", "Default/fc2/MatMul-op1"]


@pytest.mark.parametrize(
    ("marked", "layer"),
    [(("Default/Add-op2",), '["Default/Add-op2"]'), ((), '["NoSetDumpTarget"]')],
)
def test_marked_operators_are_named(marked, layer):
    (text,) = files({"dump_mode": 2}, [0], operators=marked)["acl_dump_0.json"]
    assert f'"dump_list":[{{"layer":{layer}}}]' in text


@pytest.mark.parametrize(("version", "steps"), [("2.6", [0, 1]), ("2.5", [1, 5])])
def test_iterations_count_from_the_first_since_2_6(version, steps):
    texts = files({"iteration": "5", "initial_iteration": 4}, steps, Context(version))
    assert ["dump_step" in text for text in texts["acl_dump_0.json"]] == [True, False]


def test_msprobe_lets_the_device_compute_statistics_unless_md5_is_wanted():
    change = {"saved_data": "statistic", "statistic_category": ["max", "l2norm", "nan count"]}
    (text,) = files(change, [0], MSPROBE, stamp="1")["acl_dump_0.json"]
    assert '"dump_data":"stats"' in text
    assert '"dump_stats":["Max","L2norm","Nan"]' in text
    change["statistic_category"] = ["max", "md5"]
    (text,) = files(change, [0], MSPROBE, stamp="1")["acl_dump_0.json"]
    assert '"dump_data":"tensor"' in text
    assert "dump_stats" not in text


@pytest.mark.parametrize(("kernels", "layer"), [
    (["name-regex(.*fc1.*)", "Default/none-op9"], ["Default/none-op9", NAMES[0]]),
    (["Conv2D", "Default/Add-op2"], ["Conv2D", "Default/Add-op2"]),
    (["name-regex(.*Mat.*)", "name-regex(.*fc1.*)"], [NAMES[0], NAMES[1], NAMES[0]]),
    (["name-regex(fc1)"], [""]),
])  # fmt: skip
def test_msprobe_names_what_is_no_expression_and_what_expressions_match(kernels, layer):
    made = files({"dump_mode": 1, "kernels": kernels}, [0], MSPROBE, stamp="1")
    (text,) = made["acl_dump_0.json"]
    assert json.loads(text)["dump"]["dump_list"] == [{"layer": layer}]


@pytest.mark.parametrize(("context", "number"), [
    (Context("2.5", device=3), 3),
    (Context("2.7", device=3), 3),
    (Context("2.7", {"RANK_ID": "5"}, device=3), 5),  # msprobe's is the rank
])  # fmt: skip
def test_the_device_or_the_rank_names_the_file(context, number):
    assert list(files({}, [0], context, stamp="1")) == [f"acl_dump_{number}.json"]
