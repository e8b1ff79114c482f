"""A script is read as it would run, never run, and written so that it reads the same."""

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import check_said, refused
from workbench import config as surfaces
from workbench.config.context import Context
from workbench.config.form.reader import MANY
from workbench.config.form.settings import RuntimeValue
from workbench.config.torchair.script import decode, recognises
from workbench.config.torchair.write import encode
from workbench.core.errors import FormatError
from workbench.core.words import Message

# the settings of the example in the vendor's guide, one by one
GUIDE = """import torch_npu, torchair
config = torchair.CompilerConfig()
config.dump_config.enable_dump = True
config.dump_config.dump_mode = "all"
config.dump_config.dump_path = '/home/dump'
config.dump_config.quant_dumpable = True
config.dump_config.dump_step = "0|1"
config.dump_config.dump_layer = "Add_1Mul_1 Add2"
config.dump_config.dump_data = "stats"
config.dump_config.dump_config_path = "/home/dump_config.json"
npu_backend= torchair.get_npu_backend(compiler_config=config)
opt_model = torch.compile(model, backend=npu_backend)
"""
GUIDE_DATA = {
    "dump_config": {
        "enable_dump": True,
        "dump_mode": "all",
        "dump_path": "/home/dump",
        "quant_dumpable": True,
        "dump_step": "0|1",
        "dump_layer": "Add_1Mul_1 Add2",
        "dump_data": "stats",
        "dump_config_path": "/home/dump_config.json",
    }
}


def read(text):
    return decode(text).data


def dumping(**options):
    return {"dump_config": options}


def of_config(lines, before=""):
    """What is read where ``lines`` follow the making of a configuration."""
    return read(f"{before}config = torchair.CompilerConfig()\n{lines}")


def test_the_example_of_the_guide_goes_in_and_out_and_is_taken():
    form = surfaces.read(GUIDE)
    assert form.surface.name == "torchair"
    assert form.data == GUIDE_DATA
    assert read(form.to_text()) == GUIDE_DATA
    assert form.accepted(Context("7.3"))
    assert [p.id for p in form.check()] == ["config-path-and-options", "config-file-unread"]


def test_problems_name_the_line_of_the_script():
    form = surfaces.read(GUIDE.replace('"0|1"', '"0-"'))
    (problem,) = [p for p in form.check() if p.severity == "error"]
    assert (problem.path, problem.line) == ("dump_config.dump_step", 7)


@pytest.mark.parametrize(("lines", "expected"), [
    ("config.mode = 'npugraph_ex'", {"mode": "npugraph_ex"}),
    ("config.debug.graph_dump.type = 'txt'", {"options": {"debug.graph_dump.type": "txt"}}),
    ("config.post_grad_custom_pre_pass = f", {"options": {"post_grad_custom_pre_pass": RuntimeValue("f")}}),
    ("config.dumps = 1", {"dumps": 1}),
    ("setattr(config.dump_config, 'dump_step', '1')", dumping(dump_step="1")),
    ("dump = config.dump_config\ndump.dump_step = '1'", dumping(dump_step="1")),
    ("c = config\nc.dump_config.dump_step = '1'", dumping(dump_step="1")),
    ("d = config.dump_config\nd.dump_step, d.dump_mode = '1', 'input'", dumping(dump_step="1", dump_mode="input")),
    ("config.dump_config.dump_step = config.dump_config.dump_layer = ''", dumping(dump_step="", dump_layer="")),
    ("config.dump_config.dump_step: str = '1'", dumping(dump_step="1")),
    ("config.dump_config.dump_step = '|'.join(steps)", dumping(dump_step=RuntimeValue("'|'.join(steps)"))),
    ("config.dump_config.dump_layer += ' Add'",
     dumping(dump_layer=RuntimeValue("config.dump_config.dump_layer + ' Add'"))),
    ("if debug:\n    config.dump_config.enable_dump = True", dumping(enable_dump=True)),
    ("os.environ['DUMP_GE_GRAPH'] = '3'", {"environment": {"DUMP_GE_GRAPH": "3"}}),
    ("os.environ.setdefault('DUMP_GE_GRAPH', '3')", {"environment": {"DUMP_GE_GRAPH": "3"}}),
    ("os.environ['MASTER_PORT'] = '1'", {}),
    ("other.dump_step = '1'", {}),
    ("config = other\nconfig.mode = 'x'", {}),
    ("x = 1", {}),
])  # fmt: skip
def test_an_assignment_is_found_however_it_is_written(lines, expected):
    data = of_config(lines)
    assert data == expected
    assert json.dumps(data, default=str) == json.dumps(expected, default=str)


def test_names_bound_to_a_literal_are_looked_up():
    found = of_config("config.dump_config.dump_path = ROOT + '/d'", "ROOT = '/data'\n")
    assert found == dumping(dump_path="/data/d")


@pytest.mark.parametrize("name", ["config", "cfg", "self.config", "a.b.c"])
def test_a_configuration_may_have_any_name(name):
    text = f"{name} = tng.CompilerConfig()\n{name}.dump_config.dump_step = '1'\n"
    assert read(text) == dumping(dump_step="1")


def test_a_configuration_made_elsewhere_is_known_by_its_dump_options():
    text = "def f(cfg):\n    cfg.dump_config.dump_step = '1'\n    cfg.mode = 'max-autotune'\n"
    assert read(text) == {"dump_config": {"dump_step": "1"}, "mode": "max-autotune"}


def test_a_later_assignment_wins_and_is_reported():
    text = GUIDE + "config.dump_config.dump_step = '7'\n"
    form = surfaces.read(text)
    assert form.data["dump_config"]["dump_step"] == "7"
    (problem,) = [p for p in form.check() if p.id == "duplicate-key"]
    assert (problem.path, problem.line) == ("dump_config.dump_step", 13)


TWO = """a = torchair.CompilerConfig()
a.dump_config.dump_step = '1'
b = torchair.CompilerConfig()
b.dump_config.dump_step = '2'
"""


@pytest.mark.parametrize(("end", "step"), [
    ("", "2"),
    ("torchair.get_npu_backend(compiler_config=a)", "1"),
    ("torch.compile(m, backend=torchair.get_npu_backend(compiler_config=a))", "1"),
    ("get_npu_backend(compiler_config=b)", "2"),
    ("c = torchair.CompilerConfig()\nget_npu_backend(compiler_config=c)", "2"),
])  # fmt: skip
def test_of_several_configurations_the_compiled_one_is_read_and_the_others_are_named(end, step):
    form = surfaces.read(TWO + end, "torchair")
    assert form.data["dump_config"] == {"dump_step": step}
    (problem,) = [p for p in form.check() if p.id == "several-configs"]
    assert problem.severity == "hint"
    name, line = {"1": ("a", 1), "2": ("b", 3)}[step]
    check_said(problem.message, "several-configs", count=2, lines=[1, 3], name=name, line=line)
    assert problem.line == line


MADE = "import torchair\nconfig = torchair.CompilerConfig()\nconfig.dump_config.dump_step = '0'\n"


def errors_of(text):
    form = surfaces.read(text, "torchair")
    assert not form.accepted()
    errors = [p for p in form.check() if p.severity == "error"]
    return [(p.path.removeprefix("dump_config."), p.line, p.code) for p in errors]


@pytest.mark.parametrize(("lines", "errors"), [
    ("config.dump_config.dump_mode = 'x'\nconfig.dump_config.dump_mode = 'all'", [("dump_mode", 4, "ValueError")]),
    ("config.dump_config.dump_mode = 'x'\nconfig.dump_config.dump_mode = 'y'",
     [("dump_mode", 4, "ValueError"), ("dump_mode", 5, "ValueError")]),
    ("MODE = 'x'\nconfig.dump_config.dump_mode = MODE\nconfig.dump_config.dump_mode = 'all'",
     [("dump_mode", 5, "ValueError")]),
    ("config.dump_config.dumps = 1\nconfig.dump_config.dumps = 2",
     [("dumps", 4, "ValueError"), ("dumps", 5, "ValueError")]),
    ("config.mode = 'x'\nconfig.mode = 'max-autotune'", [("mode", 4, "ValueError")]),
    ("config.dump_config.dump_path = None\nconfig.dump_config.dump_step = 5\nconfig.dump_config.dump_path = '/d'",
     [("dump_path", 4, "FileNotFoundError"), ("dump_step", 5, "TypeError")]),
    ("def setup(cfg):\n    cfg.dump_config.dump_data = 'all'\nsetup(config)", [("dump_data", 5, "ValueError")]),
    (
        "other = torchair.CompilerConfig()\nother.dump_config.dump_layer = 'a:b'\n"
        "torchair.get_npu_backend(compiler_config=config)",
        [("dump_layer", 5, "ValueError")],
    ),
])  # fmt: skip
def test_a_wrong_assignment_stops_the_script_whatever_comes_after(lines, errors):
    assert errors_of(MADE + lines) == errors


@pytest.mark.parametrize(("lines", "apart"), [
    ("if rank:\n    {0}\nelse:\n    {1}", True),
    ("if rank:\n    {0}\nelif x:\n    {1}\nelse:\n    pass", True),
    ("if rank:\n    if y:\n        {0}\nelse:\n    for i in z:\n        {1}", True),
    ("match rank:\n    case 0:\n        {0}\n    case _:\n        {1}", True),
    ("def f():\n    with a:\n        if rank:\n            {0}\n        else:\n            {1}", True),
    ("if rank:\n    {0}\nif not rank:\n    {1}", False),
    ("{0}\nif rank:\n    {1}", False),
    ("if rank:\n    {0}\n    {1}", False),
    ("try:\n    {0}\nexcept E:\n    {1}", False),
])  # fmt: skip
def test_the_branches_of_one_condition_do_not_replace_each_other(lines, apart):
    on, off = (f"config.dump_config.enable_dump = {value}" for value in (True, False))
    form = surfaces.read(MADE + lines.format(on, off), "torchair")
    found = [p for p in form.check() if p.id in ("branches", "duplicate-key")]
    assert [p.id for p in found] == ["branches" if apart else "duplicate-key"]
    line = 4 + next(i for i, text in enumerate(lines.split("\n")) if "{0}" in text)
    if apart:
        told = found[0].severity, found[0].path, found[0].line
        assert told == ("hint", "dump_config.enable_dump", line)
    assert form.data["dump_config"]["enable_dump"] is False


def test_a_long_chain_of_branches_is_read():
    chain = "if a == 0:\n    pass\n" + "".join(
        f"elif a == {n}:\n    config.dump_config.dump_step = '{n}'\n" for n in range(1, 150)
    )
    found = surfaces.read(MADE + chain, "torchair").check()
    *told, last = [p for p in found if p.id == "branches"]
    assert len(told) == MANY
    check_said(last.message, "config/more", count=148 - MANY)
    assert sum(p.id == "duplicate-key" for p in found) == 1  # the value before the chain


def test_what_only_a_run_knows_is_said_to_be_left_out():
    form = surfaces.read(MADE + "config.dump_config.dump_path = args.out\n")
    assert form.code().startswith(
        "# Left out, because only a run knows it: dump_config.dump_path\n"
    )
    lost = Message("config/lost-run-time", path="dump_config.dump_path")
    assert lost in form.convert("acl").losses
    assert "Left out" not in surfaces.read(MADE).code()
    losses = surfaces.read(MADE).convert("acl").losses
    assert "config/lost-run-time" not in {loss.code for loss in losses}


def test_a_name_used_again_is_a_new_configuration():
    text = TWO.replace("b", "a").replace("dump_step = '2'", "dump_mode = 'input'")
    assert read(text) == dumping(dump_mode="input")


@pytest.mark.parametrize(("text", "line"), [
    ("config.dump_config.dump_step = \n", 1),
    ("x = 1\n  y = 2\n", 2),
    ("a\0b", 1),
    ("(" * 999, 1),
])  # fmt: skip
def test_what_is_not_python_is_refused_with_its_line(text, line):
    codes = ("config/python", "config/python-text")
    with refused(codes, FormatError, place=f"train.py:{line}"):
        surfaces.read(text, "torchair", "train.py")


def test_a_script_is_known_by_its_words():
    assert recognises(GUIDE)
    assert recognises("from torchair import CompilerConfig\nx.dump_config.enable_dump = 1")
    assert not recognises("import torchair")
    assert not recognises("DumpConfig(enable_dump=True)  # dump_config")
    assert not recognises({"dump_config": {}})


def test_reading_runs_nothing(tmp_path):
    trap = tmp_path / "trap"
    read(GUIDE + f"config.dump_config.dump_step = open({str(trap)!r}, 'w').write('x')\n")
    assert not trap.exists()


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
DUMP = st.fixed_dictionaries(
    {"enable_dump": st.sampled_from([True, False, 0, 1, 1.0])},
    optional={
        "dump_path": TEXT.filter(lambda text: text and "\0" not in text),
        "dump_mode": st.sampled_from(["input", "output", "all"]),
        "quant_dumpable": st.booleans(),
        "dump_step": st.from_regex(
            r"(\d{1,12}(-\d{1,12})?(\|\d(-\d)?){0,3}\|?)?\n?", fullmatch=True
        ),
        "dump_layer": st.from_regex(r'[0-9a-zA-Z_" /\\.]{0,12}', fullmatch=True),
        "dump_data": st.sampled_from(["tensor", "stats"]),
        "dump_config_path": st.none() | TEXT.map(lambda text: text.replace("\0", "") + ".json"),
        "data_dump_stage": st.sampled_from(["original", "optimized"]),
    },
)
OPTIONS = st.dictionaries(
    st.sampled_from(["debug.run_eagerly", "fusion_config.fusion_switch_file", "debug.a b"]),
    TEXT | st.booleans() | st.none() | st.lists(st.integers(-9, 9), max_size=2),
    min_size=1,
)
FORMS = st.fixed_dictionaries(
    {"dump_config": DUMP},
    optional={
        "mode": st.sampled_from(["max-autotune", "reduce-overhead", "npugraph_ex"]),
        "options": OPTIONS,
        "environment": st.dictionaries(
            st.sampled_from(["DUMP_GE_GRAPH", "ASCEND_WORK_PATH"]), TEXT, min_size=1
        ),
    },
)


@given(FORMS)
def test_a_form_that_is_written_reads_the_same(data):
    text = encode(data)
    ast.parse(text)
    assert read(text) == data


@given(FORMS)
def test_the_code_of_a_form_compiles_and_reads_the_same(data):
    form = surfaces.of("torchair", data)
    text = form.code()
    ast.parse(text)
    again = surfaces.of("torchair", read(text))
    assert again.settings == form.settings


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        got = read(text)
    except FormatError as error:
        got = str(error)
    assert isinstance(got, dict) or got.startswith("<text>:")
