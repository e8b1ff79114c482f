"""Forms written as scripts and read back."""

import ast
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import config as surfaces
from workbench.config.form.settings import RuntimeValue
from workbench.config.tensorflow.keys import JUDGED, MEMBERS, RUN_ARGUMENTS
from workbench.config.tensorflow.lint import decode
from workbench.config.tensorflow.surface import TENSORFLOW
from workbench.config.tensorflow.write import encode

KINDS = [
    (interface, porting, init)
    for interface, porting, init in itertools.product(
        ("estimator", "session", "keras", "any"), ("automated", "manual"), (False, True)
    )
    if interface != "any" or (porting == "automated") == init
]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
EXPRESSIONS = st.sampled_from(["args.x", "os.path.join(a, 'b')", "f'{x}'", "[n for n in y]"])
UNRESOLVED = EXPRESSIONS.map(RuntimeValue)
DUMP = {
    "enable_dump": st.booleans() | UNRESOLVED,
    "dump_path": TEXT | UNRESOLVED,
    "dump_step": TEXT | UNRESOLVED,
    "dump_mode": st.sampled_from(["input", "output", "all"]),
    "enable_dump_debug": st.booleans(),
    "dump_debug_mode": st.sampled_from(["aicore_overflow", "atomic_overflow", "all"]),
    "dump_data": st.sampled_from(["tensor", "stats"]),
    "dump_layer": TEXT,
}
RUN = {
    "enable_exception_dump": st.integers(-5, 5),
    "precision_mode": st.sampled_from(["force_fp32", "allow_mix_precision"]),
    "precision_mode_v2": st.sampled_from(["origin", "fp16"]),
    "op_select_implmode": st.just("high_precision"),
    "modify_mixlist": TEXT,
    "quant_dumpable": st.sampled_from(["0", "1"]),
}
ENVIRONMENT = dict.fromkeys(
    ("DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_PATH", "DUMP_GRAPH_FORMAT"), TEXT | UNRESOLVED
)
SCRIPT = {
    "rank": st.integers(0, 10**6),
    "use_off_line": st.booleans(),
    "remapping_off": st.booleans(),
    "memory_optimization_off": st.booleans(),
}
OTHERS = sorted(set(MEMBERS) & set(RUN_ARGUMENTS) - set(JUDGED))


def some(settings):
    return st.fixed_dictionaries({}, optional=settings)


def options():
    values = {"b": st.booleans(), "i": st.integers(-(2**40), 2**40), "s": TEXT}
    known = {key: values[MEMBERS[key]] for key in OTHERS}
    return st.lists(st.sampled_from(OTHERS), max_size=3, unique=True).flatmap(
        lambda keys: st.fixed_dictionaries({key: known[key] for key in keys})
    )


@st.composite
def forms(draw):
    """Forms that a script can hold, right or wrong in value, with unknown keys."""
    interface, porting, init = draw(st.sampled_from(KINDS))
    script = {"interface": interface, "porting": porting}
    if init:
        script["init_resource"] = True
    data = {"script": script | draw(some(SCRIPT))}
    sections = {"dump": DUMP, "run": RUN, "environment": ENVIRONMENT}
    drawn = {name: some(settings) for name, settings in sections.items()}
    for name, strategy in (drawn | {"options": options()}).items():
        if value := draw(strategy):
            data[name] = value
    for name, word in (("dump", "dump_x"), ("run", "x")):
        if name in data:
            unknown = draw(st.dictionaries(NAMES.map(f"{word}{{}}".format), TEXT, max_size=1))
            data[name] = data[name] | {k: v for k, v in unknown.items() if k not in MEMBERS}
    return data


def kinds(data):
    """Types of the values, so that an expression is told from the same text."""
    return {(name, key): type(value) for name, part in data.items() for key, value in part.items()}


@given(forms())
def test_a_form_goes_out_as_python_and_comes_back(data):
    text = encode(data)
    ast.parse(text)
    read = decode(text, "train.py")
    assert read.data == data
    assert kinds(read.data) == kinds(data)
    assert read.duplicates == ()
    assert TENSORFLOW.recognises(text)


@pytest.mark.parametrize(("interface", "porting", "init"), KINDS)
@pytest.mark.parametrize("rank", [None, 0, 7])
def test_every_kind_of_script_comes_back(interface, porting, init, rank):
    script = {"interface": interface, "porting": porting}
    script |= {"init_resource": True} if init else {}
    script |= {} if rank is None else {"rank": rank}
    data = {
        "script": script,
        "dump": {"enable_dump": True, "dump_path": "/d", "dump_step": "0|5"},
        "run": {"enable_exception_dump": 1},
        "environment": {"DUMP_GE_GRAPH": "2"},
        "options": {"deterministic": 1},
    }
    config = surfaces.read(encode(data), "tensorflow")
    assert config.data == data
    assert config.accepted()
    ranks = None if rank is None else (rank,)
    assert config.plan().ranks == ranks


@pytest.mark.parametrize(("interface", "porting", "init"), KINDS)
@pytest.mark.parametrize("key", ["enable_dump", "dump_path", "dump_mode"])
def test_a_wrong_member_comes_back(interface, porting, init, key):
    script = {"interface": interface, "porting": porting} | (
        {"init_resource": True} if init else {}
    )
    data = {"script": script, "dump": {"dump_step": "0", key: {"i": 1}}}
    assert decode(encode(data)).data == data


@pytest.mark.parametrize("dump", [
    {"dump_mode": None},
    {"dump_path": 'a"b\\c\n\t'},
    {"dump_path": "ä 空"},
    {"dump_step": 5, "dump_path": 1.5, "dump_layer": ["a", "b"]},
    {"class": "x", "a b": 1, "dump-mode": "y"},
    {"enable_dump": "True"},
])  # fmt: skip
def test_wrong_settings_come_back(dump):
    for porting in ("automated", "manual"):
        data = {"script": {"interface": "estimator", "porting": porting}, "dump": dump}
        known = set(dump) <= set(JUDGED)
        if porting == "manual" or known:
            assert decode(encode(data)).data == data
        ast.parse(encode(data))


def test_a_dump_config_that_is_none_comes_back():
    for value in ("text", 5, [1, 2], "{'enable_dump': True}"):
        data = {"script": {"interface": "estimator", "porting": "manual"}, "dump": value}
        config = surfaces.read(encode(data), "tensorflow")
        assert config.data == data
        found = [(p.path, p.code) for p in config.check() if p.severity == "error"]
        assert found == [("dump", "ValueError")]


def test_expressions_that_are_none_are_written_as_text():
    data = {
        "script": {"interface": "session"},
        "dump": {"dump_path": RuntimeValue("an expression")},
    }
    assert '.s = "an expression"' in encode(data)
    ast.parse(encode(data))


def test_the_flag_has_a_name_that_the_script_does_not_use():
    dump = {"enable_dump": True, "enable_dump_debug": RuntimeValue("dump_flag")}
    data = {"script": {"interface": "session", "porting": "automated", "rank": 3}, "dump": dump}
    read = decode(encode(data)).data
    assert read == data
    assert isinstance(read["dump"]["enable_dump_debug"], RuntimeValue)
