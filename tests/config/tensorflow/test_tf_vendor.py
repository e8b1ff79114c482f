"""What npu_bridge's own code and protobuf make of scripts: their verdicts, taken down case by case."""

import os

import pytest

from kit.words import check_said
from workbench.config import files
from workbench.config.context import Context
from workbench.config.tensorflow.lint import decode
from workbench.config.tensorflow.settings import Dump

ADD = "op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
OP = ADD + 'op.name = "NpuOptimizer"\n'
SECOND = OP.replace("op", "two", 1).replace("\nop.name", "\ntwo.name")
ON = 'op.parameter_map["enable_dump"].b = True\n'
DEBUG = 'op.parameter_map["enable_dump_debug"].b = True\n'
TO = 'op.parameter_map["dump_path"].s = b"/d"\n'
STEP = 'op.parameter_map["dump_step"].s = b"1"\n'
BAD = 'op.parameter_map["dump_step"].s = b"3-1"\n'
RUN = "sess = tf.Session(config=config)\n"


def two(*lines):
    return "".join(lines).replace("op.parameter", "two.parameter")


def problems(text, **context):
    return files.read(text, "tensorflow").check(Context(**context))


def verdict(text):
    """Codes of what is refused, without repeats."""
    found = problems(text)
    return sorted({(p.id, p.code) for p in found if p.severity == "error"})


def of(value, before=""):
    return f'{before}V = "0|1"\nW = V + "|2"\n{OP}{ON}{TO}op.parameter_map["dump_step"].s = {value}\n{RUN}'


TEXT = (
    '"1"', "V", "W", "str(5)", 'V + "|3"', '"1" + step', 'f"{step}"', '"{}".format(step)', '"%d" % step',
    '"|".join(steps)', "tf.compat.as_str(V)", "tf.compat.as_text(b'1')", "tf.compat.as_str_any(step)",
    'os.getenv("STEP")', 'os.environ["STEP"]', 'os.environ.get("STEP", "1")', 'os.path.join(base, "a")',
    'os.getenv("STEP") or "1"', '"1" if first else "2"', "V.strip()", "V[:1]", "repr(step)", "V * 2", "(X := V)",
)  # fmt: skip
BYTES = (
    "b'1'", "tf.compat.as_bytes(V)", "tf.compat.as_bytes(str(5))", "V.encode()", 'bytes(V, "utf-8")',
    'V.encode("utf-8")', "tf.compat.as_bytes('1')",
)  # fmt: skip
UNTOLD = (
    "args.step", "steps[0]", "make()", 'b"%d" % step', 'b"|".join(steps)', '"1" if first else step', "step",
    "str(step).encode()", 'os.path.join(b"/a", b"b")', 'settings.get("step")', "V.find('1')",
)  # fmt: skip


@pytest.mark.parametrize(
    ("key", "switch"), [("dump_mode", "enable_dump"), ("dump_debug_mode", "enable_dump_debug")]
)
@pytest.mark.parametrize("on", [True, False])
def test_a_choice_under_another_member_is_looked_at_while_its_switch_is_on(key, switch, on):
    lines = f'op.parameter_map["{switch}"].b = {on}\nop.parameter_map["{key}"].b = True\n'
    assert bool(verdict(OP + lines + TO + RUN)) is on


@pytest.mark.parametrize("value", TEXT)
def test_text_is_refused_whatever_it_holds(value):
    assert ("plain-text", "TypeError") in verdict(of(value))


@pytest.mark.parametrize(
    ("value", "before"), [*((value, "") for value in BYTES), ("V", 'V = b"1"\n')]
)
def test_bytes_are_taken_from_a_name_that_may_hold_them_too(value, before):
    assert verdict(of(value, before)) == []


@pytest.mark.parametrize("value", UNTOLD)
def test_what_only_a_run_knows_is_not_refused(value):
    assert "plain-text" not in {problem.id for problem in problems(of(value))}


MADE = """
class Settings:
    step = "1"
    raw = b"1"
parser = argparse.ArgumentParser()
parser.add_argument("--dump-step", default="1")
parser.add_argument("--count", type=int, default=1)
parser.add_argument("--raw", type=os.fsencode)
args = parser.parse_args()
flags.DEFINE_string("dump_step", "1", "steps")
flags.DEFINE_integer("count", 1, "how many")
cfg.step = "1"
path = "/d"
path = path + "/x"
path += "/y"
mixed = "1"
mixed = b"1"
for looped in ("1", "2"):
    looped = "1"
"""


@pytest.mark.parametrize(("value", "refused"), [
    ("Settings.step", True),
    ("args.dump_step", True),
    ("FLAGS.dump_step", True),
    ("cfg.step", True),
    ("path", True),
    ("Settings.raw", False),
    ("args.raw", False),
    ("args.count", False),
    ("FLAGS.count", False),
    ("other.dump_step", False),
    ("mixed", False),
    ("looped", False),
])  # fmt: skip
def test_members_options_and_names_that_hold_nothing_but_text_are_text(value, refused):
    found = problems(of(value, before=MADE))
    assert ("plain-text" in {problem.id for problem in found}) == refused


def test_names_that_mean_each_other_come_to_an_end():
    text = "a = b\nb = a\n" + OP + 'op.parameter_map["dump_step"].s = a + b\n'
    assert "plain-text" not in {problem.id for problem in problems(text)}


ALIASES = [
    'pm = op.parameter_map\npm["enable_dump"].b = True\npm["dump_path"].s = b"/d"\n',
    'pm = op.parameter_map\nqm = pm\nqm["enable_dump"].b = True\npm["dump_path"].s = b"/d"\n',
    f'on = op.parameter_map["enable_dump"]\non.b = True\n{TO}',
    'pm, on = op.parameter_map, 1\npm["enable_dump"].b = True\npm["dump_path"].s = b"/d"\n',
    f'op.parameter_map.get_or_create("enable_dump").b = True\n{TO}',
    f'setattr(op.parameter_map["enable_dump"], "b", True)\n{TO}',
    f'op.parameter_map["enable_dump"].CopyFrom(attr_value_pb2.AttrValue(b=True))\n{TO}',
]


@pytest.mark.parametrize("lines", ALIASES)
@pytest.mark.parametrize(
    "opened", [OP, OP.replace("config.graph_options.rewrite_options", "rewrite")]
)
def test_another_name_of_the_map_is_followed(opened, lines):
    text = "rewrite = config.graph_options.rewrite_options\n" + opened + lines
    assert decode(text).data["dump"] == {"enable_dump": True, "dump_path": "/d"}
    assert verdict(text + BAD + RUN) == [("step-order", "Internal")]


def test_a_name_that_means_something_else_by_then_is_not_followed():
    text = OP + ON + TO + 'pm = op.parameter_map\npm = other()\npm["use"].s = b"3-1"\n'
    assert "use" not in str(decode(text).data)


@pytest.mark.parametrize("text", [
    "def on(pm):\n    pm['enable_dump'].b = True\n    pm['dump_path'].s = '/d'\n",
    "class C:\n    def f(self):\n        self.pm['enable_dump'].b = True\n        self.pm['dump_path'].s = '/d'\n",
])  # fmt: skip
def test_a_map_that_comes_from_elsewhere_is_known_by_its_keys(text):
    assert decode(text).data["dump"] == {"enable_dump": True, "dump_path": "/d"}
    assert verdict(text) == [("plain-text", "TypeError")]


@pytest.mark.parametrize(
    "line", ["rows['dump_path'].text = 1", "rows['other'].s = 1", "rows['dump_path'] = 1"]
)
def test_a_mapping_of_something_else_is_left_alone(line):
    assert "dump" not in decode(line).data
    assert verdict(line) == []


def test_a_name_of_a_function_is_its_own():
    inside = """
def f():
    pm = op.parameter_map
    pm["dump_step"].s = b"1"
def g():
    pm["job"].s = 5
"""
    assert decode(OP + ON + TO + inside).data["dump"]["dump_step"] == "1"
    assert verdict(OP + ON + TO + inside) == []  # whatever pm is in g


@pytest.mark.parametrize(("line", "dump"), [
    ('del op.parameter_map["enable_dump"]\n', {"dump_path": "/d"}),
    ('op.parameter_map.pop("enable_dump")\n', {"dump_path": "/d"}),
    ("op.parameter_map.clear()\n", None),
    ('if args.off:\n    del op.parameter_map["enable_dump"]\n', {"enable_dump": True, "dump_path": "/d"}),
    ("op.parameter_map.MergeFrom(other)\n", {"enable_dump": True, "dump_path": "/d"}),
    ('op.parameter_map["dump_step"].CopyFrom(other)\n', {"enable_dump": True, "dump_path": "/d"}),
])  # fmt: skip
def test_changes_of_the_map_are_told(line, dump):
    text = OP + ON + TO + line + RUN
    assert decode(text).data.get("dump") == dump
    assert [p.severity for p in problems(text) if p.id == "changed-map"] == ["hint"]


def test_a_switch_that_a_merge_may_set_is_not_told_to_be_off():
    text = OP + TO + "op.parameter_map.MergeFrom(other)\n" + RUN
    assert "dump-off" not in {problem.id for problem in problems(text)}


PATH = [("several-optimizers", "Internal")]
EXCEPTION = 'op.parameter_map["enable_exception_dump"].i = {}\n'
BRANCH = f"    {ADD}    op.name = 'NpuOptimizer'\n"
WALKS = {
    "all in the first, a step in the second": (OP + ON + TO + SECOND + two(STEP), PATH),
    "all in the first, the second empty": (OP + ON + TO + SECOND, PATH),
    "the first empty": (OP + SECOND + two(ON, TO), []),
    "a folder in both": (OP + ON + TO + SECOND + two(TO, STEP), []),
    "a folder before the switch": (OP + TO + SECOND + two(ON), [("missing", "Internal"), *PATH]),
    "a wrong step before the switch": (OP + BAD + SECOND + two(ON, TO), []),
    "a wrong step behind it, and a right one": (OP + ON + TO + BAD + SECOND + two(TO, STEP), PATH),
    "off in the second": (OP + ON + TO + SECOND + two(ON.replace("True", "False")), []),
    "off too late": (OP + ON + TO + BAD + SECOND + two(ON.replace("True", "False")), PATH),
    "overflow remembered": (OP + DEBUG + TO + SECOND, PATH),
    "one is another's": (OP + ON + TO + SECOND.replace("NpuOptimizer", "Other"), []),
    "a folder that is empty at first": (OP + ON + TO.replace("/d", "") + SECOND + two(TO), PATH),
    "a number that is wrong at first": (
        OP + ON + TO + EXCEPTION.format(3) + SECOND + two(TO, EXCEPTION.format(2)), PATH,
    ),
    "two configurations": (OP + ON + TO + SECOND.replace("config.", "other."), []),
    "in two branches": (f"if args.a:\n{BRANCH}else:\n{BRANCH}{ON}{TO}", []),
}  # fmt: skip


@pytest.mark.parametrize("name", WALKS)
def test_several_optimizers_are_walked_through_in_order(name):
    text, expected = WALKS[name]
    assert verdict(text + RUN) == expected


def test_a_step_before_the_switch_is_not_in_the_plan():
    text = OP + STEP + SECOND + two(ON, TO) + RUN
    plan = files.read(text, "tensorflow").plan()
    assert (plan.kind, str(plan.iterations)) == ("data", "all")


MADE_OF = "enable_dump=True, dump_path='/d'"
DUMPS = f"dump_config=DumpConfig({MADE_OF})"


@pytest.mark.parametrize(("before", "arguments", "expected", "kind"), [
    (OP + DEBUG + TO, DUMPS, [], "data"),  # the Estimator's own optimizer comes later
    (OP + ON + TO, "", [], "exception"),
    (OP + ON, DUMPS, PATH, ""),
    (OP + TO, "dump_config=DumpConfig(enable_dump=True)", [("missing", "Internal")], ""),
])  # fmt: skip
def test_the_estimators_optimizer_comes_behind_those_of_its_session(
    before, arguments, expected, kind
):
    text = f"{before}run = NPURunConfig(session_config=config, {arguments})\n"
    assert verdict(text) == expected
    assert not kind or files.read(text, "tensorflow").plan().kind == kind
    assert "ge-both" not in {problem.id for problem in problems(text)}


ORDER, NONE = ("step-order", "Internal"), ("value", "TypeError")


@pytest.mark.parametrize(("made", "given", "refused"), [
    # a mapping that is written out
    (f"settings = dict({MADE_OF}, dump_step='3-1')", "**settings", ORDER),
    ("settings = {'enable_dump': True, 'dump_path': '/d', 'dump_step': '3-1'}", "**settings", ORDER),
    ("settings = dict(enable_dump=True, dump_step='3-1')\nsettings['dump_step'] = '1'", "**settings", None),
    ("settings = dict(enable_dump=True, dump_step='3-1')\nsettings.update(dump_step='1')", "**settings", None),
    ("settings = read()", "**settings", None),
    ("", "enable_dump=None", NONE),
    ("", "enable_dump_debug=None", NONE),
    ("", "dump_debug_mode=None", NONE),
    ("", "dump_mode=None, dump_debug_mode=None", None),  # not passed on
    ("", f"{MADE_OF}, dump_step=None, dump_mode=None", None),
    ("", f"{MADE_OF}, dump_data=None, dump_layer=None", None),
])  # fmt: skip
def test_arguments_of_a_dump_config_are_read_and_none_is_one(made, given, refused):
    text = f"{made}\nrun = NPURunConfig(dump_config=DumpConfig({given}), quant_dumpable=None)\n"
    assert verdict(text) == ([refused] if refused else [])


def test_none_is_no_number_of_an_exception_dump():
    assert verdict("run = NPURunConfig(enable_exception_dump=None)\n") == [NONE]


@pytest.mark.parametrize("value", [
    "DumpConfig", "npu_config.DumpConfig", "()", "(1,)", "{1}", "ProfilingConfig()", "dict(a=1)", "X", "{}", "''",
    "{'enable_dump': True}", "True", "'/d'",
])  # fmt: skip
def test_what_is_no_dump_config_is_refused(value):
    found = problems(f"X = []\nrun = NPURunConfig(dump_config={value})\n")
    (problem,) = [p for p in found if p.severity == "error"]
    assert (problem.code, problem.line) == ("ValueError", 2)
    check_said(problem.message, "config/value", path="dump", expected=Dump.called)


@pytest.mark.parametrize("value", ["make()", "FLAGS.dump", "None", "d if args.a else None"])
def test_what_may_be_a_dump_config_is_not_refused(value):
    assert verdict(f"run = NPURunConfig(dump_config={value})\n") == []


def test_a_dump_config_that_the_script_does_not_make_is_said_to_be_unknown():
    told = problems("run = NPURunConfig(\n    dump_config=make(1))\n")
    (found,) = [p for p in told if p.id == "untold"]
    assert (found.path, found.line, found.message.values["got"]) == ("dump", 2, "make(1)")


def test_none_beside_a_dump_config_dumps_nothing():
    text = f"d = DumpConfig({MADE_OF})\nrun = NPURunConfig(dump_config=None)\n"
    assert [p.severity for p in problems(text) if p.id == "unused-dump-config"] == ["warning"]
    assert files.read(text, "tensorflow").plan().kind == "exception"


@pytest.mark.parametrize(("text", "cause"), [
    (OP.replace("NpuOptimizer", "Other") + ON + TO + BAD + RUN, "optimizer-name"),
    (OP + ON + TO + BAD + "sess = tf.Session()\n", "unused-config"),
    ("d = DumpConfig(True, '/d', '3-1')\nrun = NPURunConfig()\n", "unused-dump-config"),
    (
        "d = DumpConfig(enable_dump_debug=True, dump_path='/d', dump_mode=None, dump_debug_mode='aicore')\n"
        "run = NPURunConfig(dump_config=d)\n",
        "debug-mode-unread",
    ),
])  # fmt: skip
def test_what_is_never_read_is_not_refused(text, cause):
    assert verdict(text) == []
    assert [p.severity for p in problems(text) if p.id == cause] == ["warning"]


@pytest.mark.parametrize(("text", "optimizer", "kind"), [
    (OP + ON + TO + "sess = tf.Session()\n", "", "nothing"),
    (OP + "sess = tf.Session()\n", "", "nothing"),
    (OP.replace("NpuOptimizer", "Other") + ON + TO + RUN, "Other", "nothing"),
    (OP.replace("NpuOptimizer", "Other") + RUN, "Other", "nothing"),
    (OP.replace("op.name", "op.nick") + ON + TO + RUN, "", "nothing"),
    (OP + ON + TO + RUN, None, "data"),
    (OP + RUN, None, "exception"),
    # npu_bridge makes an optimizer of its own here, whatever becomes of the script's
    (OP + ON + TO + "sess = tf.Session(config=npu_config_proto())\n", None, "exception"),
    (OP + ON + TO + "run = NPURunConfig()\n", None, "exception"),
    # a helper may name it
    (ADD + "prepare(op)\n" + RUN, None, "exception"),
    # without a session in the script, one elsewhere may take it
    (OP + ON + TO, None, "data"),
])  # fmt: skip
def test_a_configuration_that_is_given_to_nothing_dumps_nothing(text, optimizer, kind):
    config = files.read(text, "tensorflow")
    assert config.data["script"].get("optimizer") == optimizer
    plan = config.plan()
    assert (plan.kind if plan.iterations.ranges != () else "nothing") == kind
    told = {note.code for note in config.judge().notes()}
    assert ("config/tf-exception-brief" in told) == (kind != "nothing")
    assert ("optimizer-name" in [p.id for p in config.check()]) == (kind == "nothing")
    assert ("dump-off" in [p.id for p in config.check()]) == (kind == "exception")
    assert files.read(config.to_text(), "tensorflow").data == config.data


@pytest.mark.parametrize(("line", "error"), [
    ('["enable_dump"].s = True', ("other-type", "TypeError")),
    ('["enable_dump"].s = 1', ("other-type", "TypeError")),
    ('["dump_step"].i = b"1"', ("other-type", "TypeError")),
    ('["dump_step"].b = None', ("other-type", "TypeError")),
    ('["dump_step"].b = str(1)', ("other-type", "TypeError")),
    ('["enable_dump"].s = "1"', ("plain-text", "TypeError")),
    ('["enable_dump"].B = True', ("no-member", "AttributeError")),
    ('["enable_dump"].bool = True', ("no-member", "AttributeError")),
    ('["enable_dump"] = True', ("no-member", "ValueError")),
    ('["enable_dump"].i = 1', None),
    ('["enable_dump"].s = b"1"', None),
    ('["enable_dump"].f = 1.5', None),
    ('["dump_step"].i = -1', None),
    ('["dump_step"].b = args.on', None),
])  # fmt: skip
def test_a_member_takes_its_own_type(line, error):
    assert verdict(f"{OP}op.parameter_map{line}\n") == ([error] if error else [])


@pytest.mark.skipif(os.name != "posix", reason="links of a POSIX system")
@pytest.mark.parametrize("switch", [ON, DEBUG])
def test_a_link_to_a_folder_is_none(tmp_path, switch):
    """mmIsDir is lstat: a slash behind a link asks for what it leads to."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for path, refused in (
        ("folder", False),
        ("folder/", False),
        ("link", True),
        ("link/", False),
        ("none", True),
    ):
        text = OP + switch + TO.replace("/d", f"{tmp_path}/{path}") + RUN
        found = {(p.severity, p.id) for p in problems(text, here=True)}
        assert (("error", "folder") in found) == refused, path
        assert ("error", "folder") not in {(p.severity, p.id) for p in problems(text)}


@pytest.mark.parametrize(
    "line", ['["dump_step"].s = "1"', '["dump_step"].s = 5', '["enable_dump"].B = True']
)
def test_what_is_taken_out_again_was_set_before(line):
    assert verdict(f"{OP}op.parameter_map{line}\nop.parameter_map.clear()\n{RUN}") != []
