import ast
import json

import pytest

from workbench.config import surfaces
from workbench.config.acl.surface import ACL
from workbench.config.config import read_text
from workbench.config.context import Context
from workbench.core.errors import FormatError


def read(text):
    return read_text(ACL, text, "acl.json")


def errors(text):
    return [(p.id, p.code) for p in read(text).check() if p.severity == "error"]


def test_an_empty_file_asks_for_nothing():
    config = read("")
    assert [(p.id, p.severity) for p in config.check()] == [("nothing-dumped", "warning")]
    assert config.to_text() == "{}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" ", 1),
        ("{} x", 1),
        ('{"dump": {}}\n\n{}', 3),
        ('{"dump": {"a": 1,}}', 1),
        ("{\n'a': 1}", 2),
        ('{"dump": NaN}', 1),
        ("[" * 600 + "]" * 600, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text, line):
    with pytest.raises(FormatError, match=f"^acl.json:{line}: text must ") as caught:
        read(text)
    assert len(str(caught.value).splitlines()[0]) < 200
    assert ACL.syntax_code == "EP0004"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('{"a":' * 10 + "1" + "}" * 10, True),
        ('{"a":' * 11 + "1" + "}" * 11, False),
        ('{"a":' + "[" * 10 + "]" * 10 + "}", True),
        ('{"a":' + "[" * 11 + "]" * 11 + "}", False),
        ('{"a":' + "[" * 400 + "]" * 400 + "}", False),
    ],
)
def test_depth_is_limited_to_ten(text, fits):
    assert errors(text) == ([] if fits else [("nesting", "ACL_ERROR_PARSE_FILE")])


def test_objects_and_lists_are_counted_apart():
    text = '{"a": ' + '[{"a": ' * 9 + "1" + "}]" * 9 + "}"
    assert errors(text) == []


def test_brackets_inside_of_texts_count():
    assert errors('{"other": "' + "[" * 11 + '"}') == [("nesting", "ACL_ERROR_PARSE_FILE")]
    assert errors('{"other": "' + "[]" * 11 + '"}') == []


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
    text = '{\r\n"dump": {\r\n"dump_path": "d",\r\n"dump_mode": "x"}}\r\n'
    (problem,) = (p for p in read(text).check() if p.severity == "error")
    assert (problem.path, problem.line) == ("dump.dump_mode", 4)


def test_the_last_of_two_keys_counts():
    found = read('{"dump": {"dump_path": "d", "dump_debug": "x", "dump_debug": "on"}}').check()
    assert [(p.id, p.severity) for p in found] == [("duplicate-key", "warning")]


def test_parts_of_the_file_that_are_no_dump_are_kept():
    others = {"profiler": {"switch": "on"}, "err_msg_mode": "1", "StackSize": {}, "acl_graph": {}}
    data = {**others, "dump": {"dump_path": "d", "dump_debug": "on"}}
    config = read(json.dumps(data))
    assert json.loads(config.to_text()) == data
    assert config.check() == ()


def test_a_misspelt_dump_is_a_hint():
    found = surfaces.of("acl", {"profiler": {}, "Dump": {"dump_path": "d"}}).check()
    assert [(p.id, p.path) for p in found] == [("unknown-key", "Dump"), ("nothing-dumped", "dump")]
    assert found[0].fix == "did you mean 'dump'?"


PRINTS = "what kernels print goes to the folder printf below ASCEND_DUMP_PATH or"


@pytest.mark.parametrize("more", [{}, {"dump_list": []}, {"dump_op_switch": "off"}])
def test_what_kernels_print_is_dumped_without_any_tensor(more):
    dump = {"dump_path": "d", "dump_kernel_data": "printf,assert"} | more
    assert surfaces.of("acl", {"dump": dump}).check() == ()
    text = explain(dump)
    assert text.startswith("AscendCL acl.json, judged by CANN 8.5: no tensor is dumped.")
    assert PRINTS in text


def test_older_acl_does_not_know_what_kernels_print():
    dump = {"dump_path": "d", "dump_kernel_data": "printf", "dump_list": [{}]}
    assert PRINTS in explain(dump)
    assert PRINTS not in explain(dump, Context("8.0"))
    del dump["dump_kernel_data"]
    assert PRINTS not in explain(dump, Context("8.0"))


def test_older_acl_is_told_of_a_list_that_is_not_there():
    found = surfaces.of("acl", {"dump": {"dump_path": "d"}}).check(Context("8.0"))
    assert next(p for p in found if p.id == "list-old").message.endswith("before, got nothing")
    assert surfaces.of("acl", {"dump": {}}).accepted(Context("8.0"))


@pytest.mark.parametrize(
    ("step", "told"),
    [("x", True), ("5-3", True), ("3|x", True), ("|".join("1" * 101), True), ("0|5-8", False)],
)
def test_steps_that_an_overflow_dump_does_not_check_are_told(step, told):
    config = surfaces.of("acl", {"dump": {"dump_path": "d", "dump_debug": "on", "dump_step": step}})
    assert [(p.id, p.severity, p.path) for p in config.check()] == [
        ("debug-step", "warning", "dump.dump_step")
    ] * told


def test_a_misspelt_key_names_its_neighbour():
    found = surfaces.of("acl", {"dump": {"dump_path": "d", "dump_debg": "on"}}).check()
    (problem,) = (p for p in found if p.id == "unknown-key")
    assert (problem.severity, problem.fix) == ("warning", "did you mean 'dump_debug'?")


def test_the_first_form_passes_and_dumps():
    config = surfaces.new("acl")
    assert config.check() == ()
    assert config.plan().iterations.ranges == ((0, 0),)
    assert config.plan().select == ()


def explain(dump, context=None):
    return surfaces.of("acl", {"dump": dump}).explain(context)


def test_words_on_a_model_dump():
    dump = {"dump_path": "/out", "dump_list": [{"model_name": "m"}], "dump_step": "0|5-8"}
    first, *rest = explain(dump, Context(device=3)).splitlines()
    assert first == (
        "AscendCL acl.json, judged by CANN 8.5: iterations 0 and 5 to 8, outputs of every operator "
        "of model 'm', whole, as binary containers in the device's format, into /out."
    )
    assert rest[0] == (
        "- files of models go to /out/{YYYYMMDDHHMMSS}/3/{model_name}/{model_id}/{data_index}/; "
        "data_index counts the executions from 0"
    )
    assert any("loaded after it is set" in line for line in rest)


def test_words_on_single_operators():
    text = explain({"dump_path": "o", "dump_op_switch": "on", "dump_step": "0"})
    assert (
        "files of single operators go to o/{YYYYMMDDHHMMSS}/0/, without levels of a model" in text
    )


def test_words_on_a_detailed_exception():
    text = explain({"dump_scene": "aic_err_detail_dump"}, Context(env={"ASCEND_WORK_PATH": "/w"}))
    for part in (
        "/w/extra-info/data-dump/0/",
        "25.0.RC1",
        "before aclrtSetDevice",
        "aclmdlFinalizeDump cannot",
        "a second process",
        "the process is ended",
        "stands still",
    ):
        assert part in text


def test_words_on_overflow():
    text = explain({"dump_path": "o", "dump_debug": "on"})
    assert "only AI Core operators" in text
    assert "Ascend 950" in text
    assert "Opdebug.Node_OpDebug" in text


def test_words_on_a_watch():
    dump = {"dump_path": "o", "dump_scene": "watcher", "dump_list": [{"watcher_nodes": ["C"]}]}
    text = explain(dump)
    assert "after every operator" in text
    assert "static" in text
    assert "after fusion" in text


def test_words_on_a_path_elsewhere():
    assert (
        "go to /d/{YYYYMMDDHHMMSS}/0/{model_name}/{model_id}/{data_index}/ on 10.0.0.1"
        in explain({"dump_path": "10.0.0.1:/d", "dump_list": [{}]})
    )


def calls(text):
    """Names of the calls of a script, in order."""
    tree = ast.parse(text)
    found = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [ast.unparse(func) for func in found]


MODEL = ["acl.mdl.load_from_file", "acl.mdl.execute"]
DUMP = ["acl.mdl.init_dump", "acl.mdl.set_dump"]
END = ["acl.rt.reset_device", "acl.finalize"]


@pytest.mark.parametrize(
    ("dump", "expected"),
    [
        (
            {"dump_path": "d", "dump_list": [{}]},
            ["acl.rt.set_device", *DUMP, *MODEL, "acl.mdl.finalize_dump", "acl.mdl.unload", *END],
        ),
        (
            {"dump_path": "d", "dump_op_switch": "on"},
            ["acl.rt.set_device", *DUMP, "acl.mdl.finalize_dump", *END],
        ),
        (
            {"dump_scene": "aic_err_detail_dump"},
            [*DUMP, "acl.rt.set_device", *MODEL, "acl.mdl.unload", *END],
        ),
    ],
)
def test_calls_are_in_the_order_that_works(dump, expected):
    text = surfaces.of("acl", {"dump": dump}).code(file="conf/acl.json")
    assert calls(text) == ["acl.init", *expected]
    lines = [
        line.removeprefix("#   ") for line in text.partition("# The same in C++:\n")[2].splitlines()
    ]
    cpp = [line.partition("(")[0].lower() for line in lines if line.startswith("acl")]
    names = [name.replace("acl.mdl.", "aclmdl").replace("acl.rt.", "aclrt") for name in calls(text)]
    flat = [name.replace(".", "").replace("_", "") for name in names]
    assert cpp == flat
    assert 'acl.mdl.set_dump("conf/acl.json")' in text


@pytest.mark.parametrize("odd", ['a"b\nc', "a\\", "\x00", "'; rm -rf ~", "\r\x0c", "文 ", "{}{0}"])
def test_odd_names_do_not_break_the_code(odd):
    config = surfaces.of("acl", {"dump": {"dump_path": odd, "dump_list": [{}]}})
    text = config.code(Context(), odd)
    (argument,) = [
        node.args[0].value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "acl.mdl.set_dump"
    ]
    assert argument == odd


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, ""),
        ({"NPU_COLLECT_PATH": "/c"}, "norm dump of operators that fail, below /c"),
        (
            {"ASCEND_DUMP_SCENE": "aic_err_norm_dump", "NPU_COLLECT_PATH": "/c"},
            "ASCEND_DUMP_SCENE asks for a dump of operators that fail, below ./",
        ),
        (
            {"ASCEND_DUMP_SCENE": "aic_err_norm_dump", "ASCEND_WORK_PATH": "/w"},
            "ASCEND_DUMP_SCENE asks for a dump of operators that fail, below /w",
        ),
        ({"ASCEND_DUMP_SCENE": "lite_exception"}, ""),
    ],
)
def test_words_on_what_the_environment_asks_for(env, words):
    text = surfaces.of("acl", {"dump": {}}).explain(Context(env=env))
    assert words in text
    assert ("operators that fail" in text) == bool(words)


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        (
            {"dump_path": "d", "dump_list": [{}], "dump_step": "5|"},
            "dump.dump_step must hold at most 100 numbers and ranges joined by '|', got '5|'; "
            "piece 2 must consist of digits, as in '0|5-8'",
        ),
        (
            {"dump_path": "d", "dump_list": [{"model_name": "m", "layer": []}]},
            "dump.dump_list[0].layer must name operators, got []; leave the key out to mean all",
        ),
        (
            {"dump_path": "d", "dump_op_switch": "on", "dump_stats": ["Max"]},
            "dump.dump_stats must be absent unless dump_data is 'stats', got ['Max']; "
            "set dump_data to 'stats'",
        ),
        (
            {"dump_list": [{}]},
            "dump.dump_path must be a folder, as text, got nothing; add the key",
        ),
    ],
)
def test_messages(dump, message):
    (problem,) = (p for p in surfaces.of("acl", {"dump": dump}).check() if p.severity == "error")
    assert str(problem) == message
