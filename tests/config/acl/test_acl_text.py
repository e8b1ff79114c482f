import ast
import json

import pytest

from kit.words import check_said, refused
from workbench import config as surfaces
from workbench.config.acl.surface import ACL
from workbench.config.config import read_text
from workbench.config.context import Context
from workbench.config.explain import plan_words
from workbench.core.errors import FormatError


def read(text):
    return read_text(ACL, text, "acl.json")


def errors(text):
    return [(p.id, p.code) for p in read(text).check() if p.severity == "error"]


def test_an_empty_file_asks_for_nothing():
    config = read("")
    assert [(p.id, p.severity) for p in config.check()] == [("nothing-dumped", "warning")]
    assert config.to_text() == "{}\n"


@pytest.mark.parametrize(("text", "line", "code"), [
    (" ", 1, "config/json"),
    ("{} x", 1, "config/text-after"),
    ('{"dump": {}}\n\n{}', 3, "config/text-after"),
    ("{\n'a': 1}", 2, "config/json"),
    ("[" * 600 + "]" * 600, 1, "config/json"),
])  # fmt: skip
def test_what_is_no_json_is_refused_with_its_line(text, line, code):
    with refused(code, FormatError, place=f"acl.json:{line}") as caught:
        read(text)
    assert len(str(caught.value).splitlines()[0]) < 200
    assert ACL.syntax_code == "EP0004"


@pytest.mark.parametrize(("text", "fits"), [
    ('{"a":' * 10 + "1" + "}" * 10, True),
    ('{"a":' * 11 + "1" + "}" * 11, False),
    ('{"a":' + "[" * 10 + "]" * 10 + "}", True),
    ('{"a":' + "[" * 11 + "]" * 11 + "}", False),
    ('{"a":' + "[" * 400 + "]" * 400 + "}", False),
    # objects and lists are counted apart
    ('{"a": ' + '[{"a": ' * 9 + "1" + "}]" * 9 + "}", True),
    # and brackets inside of texts count, too
    ('{"other": "' + "[" * 11 + '"}', False),
    ('{"other": "' + "[]" * 11 + '"}', True),
])  # fmt: skip
def test_depth_is_limited_to_ten(text, fits):
    assert errors(text) == ([] if fits else [("nesting", "ACL_ERROR_PARSE_FILE")])


def test_a_file_above_ten_mebibytes_is_refused():
    size = 10 * 1024 * 1024
    body = '{"other": "%s"}'
    fits = body % ("x" * (size - len(body) + 2))
    assert len(fits) == size
    assert errors(fits) == []
    assert errors(fits + " ") == [("file-size", "ACL_ERROR_INVALID_FILE")]
    wide = body % ("文" * (size // 3))
    assert errors(wide) == [("file-size", "ACL_ERROR_INVALID_FILE")]


def test_text_problems_come_first():
    text = '{"dump": {"dump_mode": 1}, "other": "' + "{" * 11 + '"}'
    assert [i for i, _ in errors(text)] == ["nesting", "value", "missing"]


def test_lines_and_windows_line_ends():
    text = '{\r\n"dump": {\r\n"dump_path": "d",\r\n"dump_mode": "x"}}\n\n\r\n'
    (problem,) = (p for p in read(text).check() if p.severity == "error")
    assert (problem.path, problem.line) == ("dump.dump_mode", 4)


def test_parts_of_the_file_that_are_no_dump_are_kept():
    others = {"profiler": {"switch": "on"}, "err_msg_mode": "1", "StackSize": {}, "acl_graph": {}}
    data = {**others, "dump": {"dump_path": "d", "dump_debug": "on"}}
    config = read(json.dumps(data))
    assert json.loads(config.to_text()) == data
    assert config.check() == ()


def test_a_misspelt_dump_is_a_hint():
    found = surfaces.of("acl", {"profiler": {}, "Dump": {"dump_path": "d"}}).check()
    assert [(p.id, p.path) for p in found] == [("unknown-key", "Dump"), ("nothing-dumped", "dump")]
    check_said(found[0].fix, "config/near-key", near="dump")


def said(dump, context=None):
    """Codes and values of the notes on a dump."""
    notes = surfaces.of("acl", {"dump": dump}).judge(context).notes()
    return {note.code.removeprefix("config/acl-"): dict(note.values) for note in notes}


@pytest.mark.parametrize("more", [{}, {"dump_list": []}, {"dump_op_switch": "off"}])
def test_what_kernels_print_is_dumped_without_any_tensor(more):
    dump = {"dump_path": "d", "dump_kernel_data": "printf,assert"} | more
    assert surfaces.of("acl", {"dump": dump}).check() == ()
    assert plan_words(surfaces.of("acl", {"dump": dump}).plan()).code == "config/plan-nothing"
    assert "printf" in said(dump)


def test_older_acl_is_told_of_a_list_that_is_not_there():
    found = surfaces.of("acl", {"dump": {"dump_path": "d"}}).check(Context("8.0"))
    assert "list-old" in [p.id for p in found]
    assert surfaces.of("acl", {"dump": {}}).accepted(Context("8.0"))


@pytest.mark.parametrize(
    ("step", "told"),
    [("x", True), ("5-3", True), ("3|x", True), ("|".join("1" * 101), True), ("0|5-8", False)],
)
def test_steps_that_an_overflow_dump_does_not_check_are_told(step, told):
    config = surfaces.of("acl", {"dump": {"dump_path": "d", "dump_debug": "on", "dump_step": step}})
    found = [(p.id, p.severity, p.path) for p in config.check()]
    assert found == [("debug-step", "warning", "dump.dump_step")] * told


@pytest.mark.parametrize(("scene", "expected"), [
    ("lite_exception", {"lite", "exception-brief"}),
    ("aic_err_brief_dump", {"exception-brief"}),
    ("aic_err_norm_dump", {"exception-norm"}),
    ("aic_err_detail_dump",
     {"exception-detail", *("detail-product", "detail-set", "detail-halts", "detail-ends", "detail-second")}),
])  # fmt: skip
def test_notes_on_an_exception(scene, expected):
    found = said({"dump_scene": scene}, Context(env={"ASCEND_WORK_PATH": "/w"}))
    assert found.pop("exception-tree") == {"folder": "/w", "device": 0}
    assert found.pop("exception-folder") == {"first": "ASCEND_DUMP_PATH"}
    assert found.keys() == expected


DATED = "{YYYYMMDDHHMMSS}"
LIST = {"dump_path": "o", "dump_list": [{}]}
OVERFLOW = {"dump_path": "o", "dump_debug": "on"}
PRINTED = {"dump_path": "d", "dump_kernel_data": "printf", "dump_list": [{}]}
SINGLE = {"dump_path": "o", "dump_op_switch": "on", "dump_step": "0"}
MODELS = {"dump_path": "/out", "dump_list": [{"model_name": "m"}], "dump_step": "0|5-8"}
WATCH = {"dump_path": "o", "dump_scene": "watcher", "dump_list": [{"watcher_nodes": ["C"]}]}
LAYERS = WATCH | {"dump_list": [{"watcher_nodes": ["C"], "layer": ["A"]}]}
WATCHED = {"watch-overwritten", "watch-static", "watch-fused", "watch-single"}
LITE = {"dump_scene": "lite_exception", "dump_path": "d"}
OLD = Context("8.0")


@pytest.mark.parametrize(("dump", "context", "has", "lacks"), [
    pytest.param(MODELS, Context(device=3), {"loaded", "names", "container", "never"}, {"single-tree"}, id="a model"),
    pytest.param(SINGLE, None, {"every-model"}, set(), id="single operators"),
    pytest.param(OVERFLOW, None, {"overflow", "overflow-950"}, {"overflow-list"}, id="overflow"),
    pytest.param(OVERFLOW | LIST, None, {"overflow-list"}, set(), id="overflow with a list"),
    pytest.param(WATCH, None, {"watch-all", *WATCHED}, set(), id="a watch of all operators"),
    pytest.param(LAYERS, None, WATCHED, {"watch-all"}, id="a watch of some"),
    pytest.param(LIST | {"dump_data": "stats"}, None, {"csv"}, set(), id="statistics"),
    pytest.param(PRINTED, None, {"printf"}, set(), id="what kernels print"),
    pytest.param(PRINTED, OLD, set(), {"printf"}, id="older ACL does not know it"),
    pytest.param(LIST, OLD, set(), {"printf"}, id="older ACL that is not asked for it"),
])  # fmt: skip
def test_notes_on_a_dump(dump, context, has, lacks):
    found = said(dump, context).keys()
    assert has <= found
    assert not lacks & found


@pytest.mark.parametrize(("dump", "context", "expected"), [
    (MODELS, Context(device=3), {"tree": {"folder": f"/out/{DATED}/3"}}),
    (SINGLE, None, {"single-tree": {"folder": f"o/{DATED}/0"}}),
    (LIST | {"dump_path": "10.0.0.1:/d"}, None, {"tree": {"folder": f"/d/{DATED}/0"}, "host": {"host": "10.0.0.1"}}),
    # older ACL takes the folder of an exception from another variable
    (LITE, OLD, {"exception-folder": {"first": "NPU_COLLECT_PATH"}}),
])  # fmt: skip
def test_notes_name_folders_and_hosts(dump, context, expected):
    found = said(dump, context)
    assert {code: found[code] for code in expected} == expected


NORM = {"ASCEND_DUMP_SCENE": "aic_err_norm_dump"}


@pytest.mark.parametrize(("env", "expected"), [
    ({}, {}),
    ({"NPU_COLLECT_PATH": "/c"}, {"collect-variable": {"folder": "/c"}}),
    (NORM | {"NPU_COLLECT_PATH": "/c"}, {"scene-variable": {"folder": "./"}}),
    (NORM | {"ASCEND_WORK_PATH": "/w"}, {"scene-variable": {"folder": "/w"}}),
    ({"ASCEND_DUMP_SCENE": "lite_exception"}, {}),
])  # fmt: skip
def test_notes_on_what_the_environment_asks_for(env, expected):
    assert said({}, Context(env=env)) == expected


def calls(text):
    """Names of the calls of a script, in order."""
    nodes = ast.walk(ast.parse(text))
    return [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]


MODEL = ["acl.mdl.load_from_file", "acl.mdl.execute"]
DUMP = ["acl.mdl.init_dump", "acl.mdl.set_dump"]
END = ["acl.rt.reset_device", "acl.finalize"]


@pytest.mark.parametrize(("dump", "expected"), [
    ({"dump_path": "d", "dump_list": [{}]},
     ["acl.rt.set_device", *DUMP, *MODEL, "acl.mdl.finalize_dump", "acl.mdl.unload", *END]),
    ({"dump_path": "d", "dump_op_switch": "on"}, ["acl.rt.set_device", *DUMP, "acl.mdl.finalize_dump", *END]),
    ({"dump_scene": "aic_err_detail_dump"}, [*DUMP, "acl.rt.set_device", *MODEL, "acl.mdl.unload", *END]),
])  # fmt: skip
def test_calls_are_in_the_order_that_works(dump, expected):
    text = surfaces.of("acl", {"dump": dump}).code(file="conf/acl.json")
    assert calls(text) == ["acl.init", *expected]
    lines = text.partition("# The same in C++:\n#   ")[2].split("\n#   ")
    cpp = [line.partition("(")[0].lower() for line in lines if line.startswith("acl")]
    names = [name.replace("acl.mdl.", "aclmdl").replace("acl.rt.", "aclrt") for name in calls(text)]
    flat = [name.replace(".", "").replace("_", "") for name in names]
    assert cpp == flat
    assert 'acl.mdl.set_dump("conf/acl.json")' in text


@pytest.mark.parametrize("odd", ['a"b\nc', "a\\", "\x00", "'; rm -rf ~", "\r\x0c", "文 ", "{}{0}"])
def test_odd_names_do_not_break_the_code(odd):
    config = surfaces.of("acl", {"dump": {"dump_path": odd, "dump_list": [{}]}})
    text = config.code(Context(), odd)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    (call,) = [node for node in nodes if ast.unparse(node.func) == "acl.mdl.set_dump"]
    assert call.args[0].value == odd


STEPS = {
    "5|": ("config/step-digits", {"number": 2, "got": ""}),
    "5-4": ("config/step-order", {"number": 1, "got": "5-4"}),
    "0|1-2-3": ("config/step-parts", {"number": 2, "got": "1-2-3"}),
    "|".join("1" * 101): ("config/step-pieces", {"count": 101, "limit": 100}),
}


@pytest.mark.parametrize("step", STEPS)
def test_the_fault_of_steps_is_named(step):
    dump = {"dump_path": "d", "dump_list": [{}], "dump_step": step}
    (problem,) = (p for p in surfaces.of("acl", {"dump": dump}).check() if p.severity == "error")
    code, values = STEPS[step]
    check_said(problem.message, "step", key="dump_step", got=step)
    check_said(problem.message.values["fault"], code, **values)
