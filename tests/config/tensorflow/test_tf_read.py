"""Settings read out of scripts as people write them."""

import ast
import re
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import check_said
from workbench import config as surfaces
from workbench.config.form.settings import RuntimeValue
from workbench.config.tensorflow.lint import TEXT_RULES, decode
from workbench.core.errors import FormatError

ADD = "op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
NAMED = f'{ADD}op.name = "NpuOptimizer"\n'
ON = {"enable_dump": True}


def read(text):
    return decode(text, "train.py").data


def dump(text):
    return read(text).get("dump", {})


def said(text):
    return {problem.id: problem for problem in decode(text).problems}


@pytest.mark.parametrize(("text", "expected"), [
    ('DumpConfig(True, "/d", "0|5")', ON | {"dump_path": "/d", "dump_step": "0|5"}),
    ('DumpConfig(True, dump_path="/d")', {"enable_dump": True, "dump_path": "/d"}),
    ('npu.DumpConfig(enable_dump=1)', {"enable_dump": True}),
    ("DumpConfig(enable_dump=True, dump_path=None, dump_layer=None)", {"enable_dump": True}),
    ("DumpConfig(dump_mode=None)", {"dump_mode": None}),
    ("DumpConfig(False, None, None, 'output', True, 'aicore_overflow', 'stats', 'a b')", {
        "enable_dump": False, "dump_mode": "output", "enable_dump_debug": True,
        "dump_debug_mode": "aicore_overflow", "dump_data": "stats", "dump_layer": "a b"}),
    ("DumpConfig(dump_step='0' + '|5')", {"dump_step": "0|5"}),
    ("STEP = '7'\nDumpConfig(dump_step=STEP)", {"dump_step": "7"}),
    ("def f(STEP):\n    return DumpConfig(dump_step=STEP)\nSTEP = '7'", {"dump_step": "STEP"}),
    ("DumpConfig(dump_path=os.path.join(root, 'd'))", {"dump_path": "os.path.join(root, 'd')"}),
    ("DumpConfig(**{'enable_dump': True, 'dump_path': '/d'})", {"enable_dump": True, "dump_path": "/d"}),
    ("DumpConfig(dump_paths='/d')", {"dump_paths": "/d"}),
    (NAMED + 'op.parameter_map["enable_dump"].b = True', {"enable_dump": True}),
    (NAMED.replace("op", "my.op_7") + 'my.op_7.parameter_map["dump_path"].s = b"/d"', {"dump_path": "/d"}),
    (NAMED + "op.parameter_map['dump_path'].s = compat.as_bytes('/d')", {"dump_path": "/d"}),
    (NAMED + "op.parameter_map['dump_path'].s = '/d'.encode()", {"dump_path": "/d"}),
    (NAMED + "op.parameter_map['dump_path'].s = as_bytes(a.path)", {"dump_path": "as_bytes(a.path)"}),
    (NAMED + "KEY = 'dump_step'\nop.parameter_map[KEY].s = b'3'", {"dump_step": "3"}),
    (NAMED + "op.parameter_map['enable_dump'].i = 1", {"enable_dump": {"i": 1}}),
    (NAMED + "op.parameter_map['dump_mode'].b = True", {"dump_mode": {"b": True}}),
    (NAMED + "op.parameter_map['dump_mode'].type = 3", {"dump_mode": {"type": 3}}),
    (NAMED + "op.parameter_map['dump_steps'].s = b'3'", {"dump_steps": "3"}),
    ("options.custom_optimizers[0].parameter_map['enable_dump'].b = True", ON),
])  # fmt: skip
def test_settings_of_dumps_are_read(text, expected):
    assert dump(text) == expected


def test_values_of_a_run_stay_expressions():
    value = dump("DumpConfig(dump_path=args.path)")["dump_path"]
    assert isinstance(value, RuntimeValue)
    config = surfaces.read("DumpConfig(True, args.path)\n", "tensorflow")
    found = [(p.id, p.path) for p in config.check() if "dump." in p.path]
    assert found == [("unresolved", "dump.dump_path"), ("volume", "dump.dump_step")]
    assert "dump_path=args.path," in config.to_text()


EITHER = ":\n    on = {}\nelse:\n    on = {}\n"
ON_OFF, OFF_ON = EITHER.format(True, False), EITHER.format(False, True)
RANKS = [
    f"if int(os.getenv('RANK_ID')) == 7{ON_OFF}",
    f"if int(os.environ['RANK_ID']) == 7{ON_OFF}",
    f"if int(os.environ.get('RANK_ID', 0)) == 7{ON_OFF}",
    f"if 7 == int(os.getenv('RANK_ID')){ON_OFF}",
    f"if os.getenv('RANK_ID') == '7'{ON_OFF}",
    f"if int(os.getenv('RANK_ID')) != 7{OFF_ON}",
    f"if not int(os.getenv('RANK_ID')) == 7{OFF_ON}",
    "on = False\nif int(os.getenv('RANK_ID')) == 7:\n    on = True\n",
    f"rank = int(os.getenv('RANK_ID'))\nif rank == 7{ON_OFF}",
    "on = int(os.getenv('RANK_ID')) == 7\n",
    "on = True if int(os.getenv('RANK_ID')) == 7 else False\n",
    "on = False if int(os.getenv('RANK_ID')) != 7 else True\n",
    "on = get_rank_id() == 7\n",
]


@pytest.mark.parametrize("condition", RANKS)
def test_one_rank_is_read_from_its_condition(condition):
    form = read(f"{condition}DumpConfig(enable_dump=on, dump_path='/d')\n")
    assert form["script"]["rank"] == 7
    assert form["dump"]["enable_dump"] is True
    form = read(f"{condition}{NAMED}op.parameter_map['enable_dump_debug'].b = on\n")
    assert form["script"]["rank"] == 7
    assert form["dump"] == {"enable_dump_debug": True}


def test_one_rank_is_read_where_the_switch_stands_under_the_condition():
    switch = 'op.parameter_map["enable_dump"].b = {}\n'
    text = f"{NAMED}if int(os.getenv('RANK_ID')) == 3:\n    {switch.format(True)}"
    assert read(text)["script"]["rank"] == 3
    other = f"if os.getenv('RANK_ID') != '3':\n    {switch.format(False)}"
    text = f"{NAMED}{switch.format(True)}{other}"
    assert read(text)["script"]["rank"] == 3
    assert read(text)["dump"] == {"enable_dump": True}
    assert "conditional" not in said(text)


@pytest.mark.parametrize("condition", [
    "if int(os.getenv('RANK_ID')) == 0:\n    is_main = True\nelse:\n    is_main = False\n",
    "if int(os.getenv('RANK_ID')) > 3:\n    on = True\nelse:\n    on = False\n",
    "if int(os.getenv('DEVICE_ID')) == 3:\n    on = True\nelse:\n    on = False\n",
    "if int(os.getenv('RANK_ID')) == 3:\n    on = True\nelse:\n    on = True\n",
])  # fmt: skip
def test_other_conditions_are_no_rank(condition):
    form = read(f"{condition}DumpConfig(enable_dump=on, dump_path='/d')\n")
    assert "rank" not in form["script"]
    assert isinstance(form["dump"]["enable_dump"], RuntimeValue)


@pytest.mark.parametrize(("text", "interface", "porting"), [
    ("c = NPURunConfig(session_config=config)", "estimator", "manual"),
    ("c = npu_run_config_init(run_config=run_config)", "estimator", "automated"),
    ("c = npu_config_proto(config_proto=config)", "session", "automated"),
    ("c = set_keras_session_npu_config(config=config)", "keras", "automated"),
    ("with tf.Session(config=config) as sess:\n    pass", "session", "manual"),
    ("tf.compat.v1.keras.backend.set_session(tf.Session(config=config))", "keras", "manual"),
    ("import keras\ns = tf.Session(config=config)", "keras", "manual"),
    ("with tf.train.MonitoredTrainingSession(config=config) as s:\n    pass", "session", "manual"),
    ("(a, b) = init_resource(config=config)", "any", "automated"),
    ("pass", "any", "manual"),
])  # fmt: skip
def test_interface_is_that_of_the_calls(text, interface, porting):
    script = read(f'{NAMED}op.parameter_map["enable_dump"].b = True\n{text}\n')["script"]
    assert (script["interface"], script["porting"]) == (interface, porting)
    assert script.get("init_resource", False) == ("init_resource" in text)


def test_environment_is_read_in_every_way_to_set_it():
    text = """
os.environ["DUMP_GE_GRAPH"] = "2"
os.environ.setdefault("DUMP_GRAPH_LEVEL", "3")
os.environ.update({"DUMP_GRAPH_PATH": "/g"}, DUMP_GRAPH_FORMAT="ge_proto", OTHER="1")
os.putenv("DUMP_GRAPHS", "1")
os.environ["RANK_ID"] = "0"
"""
    graphs = {"GE_GRAPH": "2", "GRAPH_LEVEL": "3", "GRAPH_PATH": "/g", "GRAPH_FORMAT": "ge_proto"}
    expected = {f"DUMP_{name}": value for name, value in (graphs | {"GRAPHS": "1"}).items()}
    assert read(text)["environment"] == expected


def test_switches_of_manual_porting_are_read():
    text = f"""{NAMED}
op.parameter_map["use_off_line"].b = True
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
config.graph_options.rewrite_options.memory_optimization = rewriter_config_pb2.RewriterConfig.ON
"""
    script = read(text)["script"]
    assert script["use_off_line"] is True
    assert script["remapping_off"] is True
    assert script["memory_optimization_off"] is False


def test_other_settings_are_kept_and_not_judged():
    text = f"""{NAMED}
op.parameter_map["iterations_per_loop"].i = 10
op.parameter_map["precision_mode"].s = tf.compat.as_bytes("force_fp32")
op.parameter_map["enable_dump"].b = False
"""
    form = read(text)
    assert form["options"] == {"iterations_per_loop": 10}
    assert form["run"] == {"precision_mode": "force_fp32"}
    text = "NPURunConfig(10, model_dir=FLAGS.dir, enable_exception_dump=1, deterministic=1)\n"
    form = read(text)
    options = {"iterations_per_loop": 10, "model_dir": "FLAGS.dir", "deterministic": 1}
    assert form["options"] == options
    assert form["run"] == {"enable_exception_dump": 1}


def test_settings_have_the_lines_they_stand_on():
    text = (
        f"{NAMED}op.parameter_map['enable_dump'].b = True\nop.parameter_map['dump_mode'].s = b'x'\n"
    )
    lines = decode(text).lines
    assert (lines["dump.enable_dump"], lines["dump.dump_mode"], lines["dump"]) == (3, 4, 3)
    problems = surfaces.read(text, "tensorflow").check()
    assert [(p.line, p.code) for p in problems if p.path == "dump.dump_mode"] == [(4, "FATAL")]
    session = "\nwith tf.Session(config=config) as sess:\n    pass\n"
    problems = {p.id: p.line for p in surfaces.read(text + session, "tensorflow").check()}
    assert (problems["missing"], problems["remapping"], problems["graph-unset"]) == (3, 6, 0)


def test_the_last_of_two_values_counts_and_is_reported():
    steps = [f"op.parameter_map['dump_step'].s = b'{number}'\n" for number in (1, 2)]
    text = NAMED + "".join(steps)
    config = surfaces.read(text, "tensorflow")
    assert config.data["dump"] == {"dump_step": "2"}
    twice = [(p.path, p.line) for p in config.check() if p.id == "duplicate-key"]
    assert twice == [("dump.dump_step", 4)]


HELPER = "def set_dump(optimizer):\n    optimizer.parameter_map['dump_path'].s = b'/d'\n{}\n"
HELPED = "    optimizer.parameter_map['dump_step'].s = b'3'\n"
SESSION = "sess = tf.Session(config=config)\n"
SECOND = NAMED.replace("op", "second", 1).replace("op.name", "second.name")
PATH = "op.parameter_map['dump_path'].s = b'/own'\n"
DUMPS = "op.parameter_map['enable_dump'].b = True\n"
GIVEN = "set_dump(op)\n"
FALLS = "if args.dump:\n    set_dump(op)\n"


@pytest.mark.parametrize(("text", "expected", "rules"), [
    (HELPER.format(HELPED) + NAMED + "set_dump(op)\n", {"dump_path": "/d", "dump_step": "3"}, ""),
    (HELPER.format(HELPED) + NAMED + "set_dump(optimizer=op)\n", {"dump_path": "/d", "dump_step": "3"}, ""),
    (HELPER.format("") + NAMED + "set_dump(op)\nop.parameter_map.clear()\n", {}, "changed-map"),
    (HELPER.format("") + NAMED + PATH + "set_dump(op)\n", {"dump_path": "/d"}, "duplicate-key"),
    (HELPER.format("") + NAMED + "set_dump(op)\n" + PATH, {"dump_path": "/own"}, "duplicate-key"),
    (HELPER.format("") + NAMED + DUMPS + GIVEN + SECOND + "set_dump(second)\n", ON | {"dump_path": "/d"}, ""),
    (HELPER.format("") + NAMED + DUMPS + "set_dump(op)\n" + SECOND, ON | {"dump_path": "/d"}, "several-optimizers"),
    (HELPER.format("") + NAMED + DUMPS + FALLS, ON | {"dump_path": "/d"}, "conditional"),
    (HELPER.format("") + NAMED + "set_dump(other)\n", {"dump_path": "/d"}, ""),
    (HELPER.format("") + ADD + "set_dump(op)\n", {"dump_path": "/d"}, ""),
    (NAMED + "set_dump(op)\n" + HELPER.format(""), {"dump_path": "/d"}, ""),
    (HELPER.format("") + NAMED + "set_dump(op)\n" * 2, {"dump_path": "/d"}, ""),
    (HELPER.format("") * 2 + NAMED + "set_dump(op)\n", {"dump_path": "/d"}, "duplicate-key"),
    (HELPER.format("") + NAMED, {"dump_path": "/d"}, ""),
])  # fmt: skip
def test_what_a_function_sets_is_the_settings_of_the_block_that_it_is_given(text, expected, rules):
    config = surfaces.read(text + SESSION, "tensorflow")
    assert config.data.get("dump", {}) == expected
    found = {"several-optimizers", "conditional", "changed-map", "duplicate-key", "missing"}
    assert {one.id for one in config.check()} & found == {*rules.split()}


def test_what_a_function_sets_on_a_configuration_that_no_session_gets_is_not_judged():
    path = HELPER.format("").replace("b'/d'", "b''") + NAMED + DUMPS + "set_dump(op)\n"
    assert not surfaces.read(path + SESSION, "tensorflow").accepted()
    assert surfaces.read(path + "sess = tf.Session()\n", "tensorflow").accepted()


TWO_BLOCKS = """
def main(_):
    session_config = tf.ConfigProto()
    custom_op = session_config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["enable_dump"].b = True
    custom_op.parameter_map["dump_mode"].s = tf.compat.as_bytes("input")
    custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("force_fp16")
    config = npu_config_proto(config_proto=session_config)

if __name__ == "__main__":
    session_config = tf.ConfigProto()
    custom_op = session_config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["dump_mode"].s = tf.compat.as_bytes("all")
    custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("force_fp32")
    (npu_sess, npu_shutdown) = init_resource(config=session_config)
"""


def test_of_two_blocks_the_session_that_trains_decides_what_is_dumped():
    form = read(TWO_BLOCKS)
    assert form["script"] == {"interface": "session", "porting": "automated", "init_resource": True}
    assert form["dump"] == {"enable_dump": True, "dump_mode": "input"}
    assert form["run"] == {"precision_mode": "force_fp32"}
    problems = [problem for problem in decode(TWO_BLOCKS).problems if problem.id == "conflict"]
    places = [(p.path, p.line) for p in problems]
    assert places == [("dump.dump_mode", 15), ("run.precision_mode", 8)]
    check_said(problems[0].message, "conflict", counts="input", counting=7)


def test_blocks_of_other_optimizers_do_not_count():
    other = ADD.replace("op =", "other =") + 'other.name = "Other"\n'
    text = f"{NAMED}op.parameter_map['dump_step'].s = b'1'\n{other}other.parameter_map['dump_step'].s = b'2'\n"
    assert dump(text) == {"dump_step": "1"}
    alone = f"{other}other.parameter_map['enable_dump'].b = True\n"
    assert read(alone)["script"]["optimizer"] == "Other"
    problems = surfaces.read(alone, "tensorflow").check()
    assert "optimizer-name" in {problem.id for problem in problems}
    assert "error" not in {problem.severity for problem in problems}  # nobody asks for a dump_path


@pytest.mark.parametrize(("call", "stray"), [
    ("sess.run(global_step)", True),
    ("sess.run([global_step])", True),
    ("self.sess.run(self.global_step)", True),
    ("session.run(tf.train.get_global_step())", True),
    ("mon_sess.run('global_step:0')", True),
    ("sess.run([learning_rate, global_step])", True),
    ("global_step.eval()", True),
    ("tf.train.global_step(sess, step)", True),
    ("sess.run(tf.global_variables_initializer())", False),
    ("sess.run([train_op, loss, global_step])", False),
    ("sess.run(init_op)", False),
    ("sess.run(iterator.initializer)", False),
    ("sess.run(train_step)", False),
    ("sess.run(fetches[0])", False),
    ("runner.run(global_step)", False),
    ("loss.eval()", False),
    ("sess.run()", False),
])  # fmt: skip
def test_runs_that_compute_nothing_are_found(call, stray):
    text = f"import tensorflow as tf\nwith tf.Session() as sess:\n    x = {call}\n"
    found = said(text)
    assert ("stray-run" in found) == stray
    if stray:
        assert found["stray-run"].line == 3
        check_said(found["stray-run"].message, "stray-run", got=call, line=3)


def test_main_module_is_no_condition():
    lines = f"{NAMED}op.parameter_map['enable_dump'].b = True\n"
    text = f"if __name__ == '__main__':\n{indent(lines, '    ')}"
    assert said(text) == {}


@pytest.mark.parametrize(("text", "known"), [
    ("from npu_bridge.npu_init import *\n", True),
    ('op.name = "NpuOptimizer"\n', True),
    ("c = DumpConfig(True)\n", True),
    ("c = NPURunConfig()\n", True),
    ("o.parameter_map['enable_dump_debug'].b = True\n", True),
    ("import torchair\nfrom npu_bridge.npu_init import *\n", False),
    ("import tensorflow as tf\n", False),
])  # fmt: skip
def test_scripts_are_recognised(text, known):
    assert surfaces.get("tensorflow").recognises(text) == known


@pytest.mark.parametrize(("text", "place"), [
    ("DumpConfig(enable_dump=True,,)\n", "train.py:1: "),
    ("from npu_bridge.npu_init import *\nx = (\n", "train.py:2: "),
    ("x = 1\n  y = 2  # DumpConfig(\n", "train.py:2: "),
    ("DumpConfig(\x00)\n", "train.py:"),
    ("DumpConfig(" + "(" * 5000 + ")" * 5000 + ")", "train.py:1: "),
    ("DumpConfig(" + "-" * 100_000 + "1)", "train.py:1: "),
    ("#" * 1_000_001, "train.py:1: "),
])  # fmt: skip
def test_text_that_is_no_python_is_refused_with_its_line(text, place):
    with pytest.raises(FormatError) as error:
        surfaces.read(text, "tensorflow", "train.py")
    assert str(error.value).startswith(place)


def test_syntax_errors_have_a_caret():
    with pytest.raises(FormatError) as error:
        decode("x = 1\nDumpConfig(True True)\n", "train.py")
    assert str(error.value).splitlines()[1:] == ["DumpConfig(True True)", "           ^"]


def test_long_chains_of_conditions_are_read():
    text = "if a == 0:\n    b = 0\n" + "".join(f"elif a == {n}:\n    b = {n}\n" for n in range(150))
    text += "else:\n    DumpConfig(True, '/d')\n"
    assert dump(text) == {"enable_dump": True, "dump_path": "/d"}
    assert "conditional" in said(text)


def test_numbers_that_no_form_holds_stay_expressions():
    for value in ("0x" + "f" * 5000, "1e999", "...", "2j", "'\\ud800'"):
        assert isinstance(dump(f"DumpConfig(dump_step={value})")["dump_step"], RuntimeValue)
        surfaces.read(f"DumpConfig(dump_step={value})", "tensorflow").check()


@pytest.mark.parametrize("text", [
    "op = add()\nop.name = 1\nop.parameter_map['x'] = 2\n",
    "x.parameter_map['enable_dump'].b, y = 1, 2\n",
    "x.parameter_map['enable_dump'].b: bool = True\nz: int\n",
    "def f():\n    class A:\n        async def g(self):\n            return await DumpConfig()\n",
    "try:\n    a = 1\nexcept E as e:\n    NPURunConfig(*a, **b)\nfinally:\n    DumpConfig(*a)\n",
    "match a:\n    case 1 if b:\n        DumpConfig(True)\n",
    "NPURunConfig(" + ",".join(["1"] * 100) + ")\n",
    "custom_optimizers.add()\na = custom_optimizers.add\n",
    "os.environ[key] = 'x'\nos.environ.update(**x)\n",
    "(lambda: sess.run(global_step))()\n[DumpConfig() for _ in x]\n",
    "",
    "\ufeffimport os\n",
])  # fmt: skip
def test_strange_scripts_are_read(text):
    config = surfaces.read(text, "tensorflow")
    config.check()
    config.explain()
    config.code()
    assert surfaces.read(config.to_text(), "tensorflow").data["script"]


@given(st.data())
def test_damaged_scripts_are_read_or_refused(data):
    text = data.draw(st.sampled_from([TWO_BLOCKS, f"{RANKS[0]}DumpConfig(on, '/d')\n"]))
    for _ in range(data.draw(st.integers(1, 3))):
        low = data.draw(st.integers(0, len(text)))
        high = data.draw(st.integers(low, min(low + 20, len(text))))
        text = text[:low] + data.draw(st.sampled_from(["", "0", "(", "x", "\n", "'"])) + text[high:]
    try:
        config = surfaces.read(text, "tensorflow", "train.py")
    except FormatError as error:
        message = str(error)
    else:
        message = "train.py:0: read"
        config.check()
        assert surfaces.read(config.to_text(), "tensorflow").data == config.data
    assert re.match(r"train\.py:\d+: ", message)


@pytest.mark.parametrize("rule", TEXT_RULES, ids=lambda rule: rule.id)
@pytest.mark.parametrize("example", ["breaks", "keeps"])
def test_a_script_is_walked_as_often_whatever_its_length(rule, example, monkeypatch):
    """Once for every block, a script of a thousand blocks would take minutes."""
    text = getattr(rule, example).form + "\n"
    walks = []
    walk = ast.walk

    def counting(node):
        walks.append(isinstance(node, ast.Module))
        return walk(node)

    monkeypatch.setattr(ast, "walk", counting)
    counts = []
    for times in (2, 6):
        walks.clear()
        surfaces.read(text * times, "tensorflow").check()
        counts.append(sum(walks))
    assert counts[0] == counts[1] > 0
