"""Which of several settings counts: names of other origin, branches, objects that are not given."""

import pytest

from kit.words import check_said, refused
from workbench import config as surfaces
from workbench.config.explain import plan_words
from workbench.config.form.settings import RuntimeValue
from workbench.config.tensorflow.lint import decode
from workbench.core.errors import FormatError
from workbench.core.words import Message

OP = 'op = config.graph_options.rewrite_options.custom_optimizers.add()\nop.name = "NpuOptimizer"\n'
DATA = 'op.parameter_map["enable_dump"].b = True\n'
OVERFLOW = 'op.parameter_map["enable_dump_debug"].b = True\n'
GIVEN = "run = NPURunConfig(dump_config={})\n"


def dump(text):
    return decode(text, "train.py").data.get("dump", {})


def ids(text):
    return [p.id for p in surfaces.read(text, "tensorflow").check() if p.id != "graph-unset"]


def to(path):
    return f'op.parameter_map["dump_path"].s = tf.compat.as_bytes("{path}")\n'


def under(condition, *lines):
    body = "".join(f"    {line}" for text in lines for line in text.splitlines(keepends=True))
    return f"{condition}:\n{body}"


@pytest.mark.parametrize("text", [
    "from npu_bridge.estimator.npu.npu_config import DumpConfig as DC\nDC(dump_step='3')",
    "import npu_bridge.estimator.npu.npu_config as nc\nnc.DumpConfig(dump_step='3')",
    "from npu_bridge.npu_init import *\nDumpConfig(dump_step='3')",
    "def f():\n    from npu_bridge.npu_init import DumpConfig\n    return DumpConfig(dump_step='3')",
    "class DumpConfig(npu_config.DumpConfig):\n    pass\nDumpConfig(dump_step='3')",
])  # fmt: skip
def test_classes_of_npu_bridge_go_by_any_name(text):
    assert dump(text) == {"dump_step": "3"}


@pytest.mark.parametrize("text", [
    "from msmodelslim import DumpConfig\nDumpConfig(dump_path='/d', token_range=[0])",
    "from .settings import DumpConfig as DC\nDC(dump_path='/d')",
    "class DumpConfig:\n    pass\nDumpConfig(anything=1)",
])  # fmt: skip
def test_classes_of_others_are_left_alone(text):
    assert dump(text) == {}
    assert ids(text) == ["dump-off"]


def test_calls_of_other_names_tell_the_interface():
    text = "from npu_bridge.npu_init import npu_config_proto as proto\nconfig = proto(config)"
    assert decode(text).data["script"] == {"interface": "session", "porting": "automated"}


@pytest.mark.parametrize("text", [
    OP + under("if a.dump", DATA, to("/d")) + under("elif a.over", OVERFLOW, to("/o")),
    OP + under("if a.over", OVERFLOW, to("/o")) + under("else", DATA, to("/d")),
    OP + under("if a.dump", DATA, to("/d")) + under("if a.over", OVERFLOW, to("/o")),
    OP + under("if a.o()", OVERFLOW) + under("else", DATA) + under("if a.o()", to("/o")) + under("else", to("/d")),
])  # fmt: skip
def test_of_two_kinds_of_dump_in_branches_the_data_dump_is_judged(text):
    assert dump(text) == {"enable_dump": True, "dump_path": "/d"}
    found = {problem.id: problem for problem in decode(text).problems}
    assert text.splitlines()[found["other-branch"].line - 1].endswith(OVERFLOW.strip())
    assert "ge-both" not in ids(text)


@pytest.mark.parametrize("text", [
    OP + DATA + OVERFLOW + to("/d"),
    OP + DATA + to("/d") + under("if a.over", OVERFLOW),
    OP + under("if a.dump", DATA, to("/d"), under("if a.over", OVERFLOW)),
    OP + under("if a.dump", DATA, OVERFLOW, to("/d")),
    OP + under("if __name__ == '__main__'", DATA, to("/d")) + OVERFLOW,
])  # fmt: skip
def test_kinds_of_dump_that_one_run_turns_on_exclude_each_other(text):
    assert "ge-both" in ids(text)
    assert "other-branch" not in ids(text)


DUMPS = (
    'data = DumpConfig(enable_dump=True, dump_path="/d", dump_step="0")\n'
    'over = DumpConfig(enable_dump_debug=True, dump_path="/o")\n'
)


@pytest.mark.parametrize(("given", "expected", "unused"), [
    (GIVEN.format("over"), {"enable_dump_debug": True, "dump_path": "/o"}, [1]),
    (GIVEN.format("data if rank == 0 else None"), {"enable_dump": True, "dump_path": "/d", "dump_step": "0"}, [2]),
    (GIVEN.format('DumpConfig(enable_dump=True, dump_path="/i")'), {"enable_dump": True, "dump_path": "/i"}, [1, 2]),
    (GIVEN.format("over") + "other = [data]\n", {"enable_dump_debug": True, "dump_path": "/o"}, []),
    ("run = NPURunConfig()\n", None, [1, 2]),
])  # fmt: skip
def test_the_dump_config_that_is_given_counts(given, expected, unused):
    text = DUMPS + given
    problems = decode(text).problems
    assert [p.line for p in problems if p.id == "unused-dump-config"] == unused
    if expected is not None:
        assert dump(text) == expected
        assert "ge-both" not in ids(text)


def test_what_only_a_run_knows_may_be_the_same():
    given = "run = NPURunConfig(dump_config=DumpConfig(enable_dump=True, dump_path=cfg.D))\n"
    same = "op.parameter_map['dump_path'].s = as_bytes(cfg.D)\n"
    assert "conflict" not in ids(given + OP + DATA + same)


@pytest.mark.parametrize(("text", "switch"), [
    ("d = DumpConfig(**given)\n" + GIVEN.format("d"), "given['enable_dump']"),
    ("d = DumpConfig(*given)\n" + GIVEN.format("d"), "given"),
    (OP + "for k, v in given:\n    op.parameter_map[k].s = v\n", "v"),
    (GIVEN.format("make('dump')"), "make('dump')._enable_dump"),
    ("npu_device.global_options().dump_config.dump_step = '3'\n",
     "npu_device.global_options().dump_config.enable_dump"),
    ("config = tool.session_dump_config(config, action='dump')\n", "session_dump_config"),
])  # fmt: skip
def test_nothing_is_said_of_a_switch_that_only_a_run_knows(text, switch):
    found = dump(text)
    assert found["enable_dump"] == switch
    assert isinstance(found["enable_dump"], RuntimeValue)
    assert not {"dump-off", "missing"} & set(ids(text))


def test_a_folder_that_only_a_run_knows_is_not_missing():
    assert "missing" not in ids(f"{OP}{DATA}op.parameter_map[key].s = value\n")
    assert "missing" in ids(OP + DATA)


TWICE = Message("config/argument-twice", name="enable_dump")


@pytest.mark.parametrize(("text", "got"), [
    ('DumpConfig(True, "/d", enable_dump=True)', TWICE),
    ('DumpConfig(True, **{"enable_dump": True})', TWICE),
    ('DumpConfig(1, "", "", "", 0, "", "", "", 9, 9)', Message("config/arguments-many", limit=8)),
])  # fmt: skip
def test_arguments_that_python_refuses_are_errors(text, got):
    (problem,) = [problem for problem in decode(text).problems if problem.id == "arguments"]
    assert (problem.severity, problem.code, problem.line) == ("error", "TypeError", 1)
    check_said(problem.message, "arguments", fault=got, line=1)


def test_a_keyword_twice_is_no_python():
    with refused("config/python", FormatError, place="t.py:2"):
        decode("x = 1\nDumpConfig(dump_step='1', dump_step='2')\n", "t.py")


@pytest.mark.parametrize(
    "line", ['op.parameter_map["enable_dump"] = True', DATA.replace(".b", ".bool")]
)
def test_parameters_are_set_by_a_member_of_their_own(line):
    (problem,) = [problem for problem in decode(OP + line).problems if problem.severity == "error"]
    assert (problem.id, problem.path, problem.line) == ("no-member", "dump.enable_dump", 3)
    check_said(problem.message, "no-member", path="dump.enable_dump", member="b")


@pytest.mark.parametrize(("rest", "unused"), [
    ("sess = tf.Session()", True),
    ("config.gpu_options.allow_growth = True\nsess = tf.Session()", True),
    ("sess = tf.Session(config=config)", False),
    ("sess = tf.Session('', graph, config)", False),
    ("def make():\n    return config\nsess = tf.Session(config=make())", False),
    ("other.CopyFrom(config)\nsess = tf.Session(config=other)", False),
    ("sess = self.open(npu_config_proto(config_proto=config))", False),
    ("", False),
])  # fmt: skip
def test_a_configuration_that_no_session_is_given_has_no_effect(rest, unused):
    text = f"config = tf.ConfigProto()\n{OP}{DATA}{to('/d')}{rest}\n"
    found = [problem for problem in decode(text).problems if problem.id == "unused-config"]
    problem = ("warning", "dump.enable_dump", 4)
    assert [(p.severity, p.path, p.line) for p in found] == [problem] * unused


@pytest.mark.parametrize(("condition", "rank"), [
    ("os.getenv('RANK_ID') == '7'", 7),
    ("int(os.getenv('RANK_ID')) == 7", 7),
    ("str(int(os.environ['RANK_ID'])) == '7'", 7),
    ("get_rank_id() == 7", 7),
    ("'7' == os.environ.get('RANK_ID', 0)", 7),
    ("os.getenv('RANK_ID') == 7", None),
    ("7 != os.environ['RANK_ID']", None),
    ("int(os.getenv('RANK_ID')) == '7'", None),
    ("str(get_rank_id()) == 7", None),
])  # fmt: skip
def test_a_rank_equals_only_what_is_of_its_type(condition, rank):
    text = f"on = {condition}\nd = DumpConfig(on, '/d')\nrun = NPURunConfig(dump_config=d)\n"
    assert decode(text).data["script"].get("rank") == rank
    found = [(p.severity, p.line) for p in decode(text).problems if p.id == "rank-type"]
    assert found == ([] if rank is not None else [("warning", 1)])


@pytest.mark.parametrize(("value", "rank", "said"), [
    ("d if os.getenv('RANK_ID') == '4' else None", 4, []),
    ("None if os.getenv('RANK_ID') != '4' else d", 4, []),
    ("None if '4' == os.getenv('RANK_ID') else d", None,
     [Message("config/unless", condition="'4' == os.getenv('RANK_ID')")]),
    ("d if args.dump else None", None, [Message("config/if", condition="args.dump")]),
    ("None if args.quiet else d", None, [Message("config/unless", condition="args.quiet")]),
    ("d", None, []),
])  # fmt: skip
def test_a_dump_config_may_be_given_on_one_rank(value, rank, said):
    text = "d = DumpConfig(True, '/d')\n" + GIVEN.format(value)
    assert dump(text) == {"enable_dump": True, "dump_path": "/d"}
    assert decode(text).data["script"].get("rank") == rank
    found = [problem.message for problem in decode(text).problems if problem.id == "conditional"]
    assert [message.values["condition"] for message in found] == said


def test_a_dump_that_only_the_run_turns_on_is_judged_as_if_it_did():
    text = "d = DumpConfig(args.dump, '/d', '{}', 'all')\n" + GIVEN.format("d")
    assert ids(text.format("3-3")) == ["unresolved", "step-order"]
    good = surfaces.read(text.format("3"), "tensorflow")
    assert [problem.id for problem in good.check() if problem.id != "graph-unset"] == ["unresolved"]
    check_said(good.check()[0].fix, "config/unresolved-assumed", assumed=True)
    words, paths = plan_words(good.plan()), ["dump.enable_dump"]
    said = str(Message("config/plan-run-time", plan=words, paths=paths))
    assert said in good.explain().splitlines()[0]
    assert good.plan().iterations.ranges == ((3, 3),)
    assert "enable_dump=args.dump" in good.to_text()
    assert "enable_dump" not in good.code().partition("DumpConfig(")[2]


def test_an_overflow_dump_beside_a_data_dump_of_a_run_is_no_fault_yet():
    text = "d = DumpConfig(args.dump, '/d', '0', 'all', True)\n" + GIVEN.format("d")
    assert "ge-both" not in ids(text)


def test_npu_device_alone_dumps_nothing():
    text = "import npu_device\nnpu_device.open().as_default()\n"
    assert dump(text) == {}
    assert ids(text) == ["npu-device", "dump-off"]
