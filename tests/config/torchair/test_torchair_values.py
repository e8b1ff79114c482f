"""Every row of the vendor's table of attributes: what passes, what raises, and which exception."""

import itertools
import re

import pytest

from workbench import config as surfaces
from workbench.config.context import Context
from workbench.config.torchair.settings import LAYER_TEXT, STEP_TEXT


def config(**dump):
    return surfaces.of("torchair", {"dump_config": {"enable_dump": True, "dump_step": "0"} | dump})


def codes(form, context=None):
    problems = form.check(context)
    return {
        (p.path.removeprefix("dump_config."), p.code) for p in problems if p.severity == "error"
    }


ACCEPTED = [
    *(("enable_dump", value) for value in (True, False, 0, 1, 0.0, 1.0)),
    *(("quant_dumpable", value) for value in (True, False, 0, 1, 1.0)),
    *(("dump_path", value) for value in ("./", "/home/dump", "out", "x y", "é")),
    *(("dump_mode", value) for value in ("input", "output", "all")),
    *(("dump_step", value) for value in ("", "0", "0|1", "0|3-5|10", "3|", "5-3", "12", "1-22-3")),
    *(("dump_step", value) for value in ("3\n", "\n", "3-3", "|".join("1" * 101), "9" * 5000)),
    *(("dump_layer", value) for value in ("", "Add_1Mul_1 Add2", 'a/b\\c.d "e"', "Add\n")),
    *(("dump_data", value) for value in ("tensor", "stats")),
    *(("dump_config_path", value) for value in (None, "/home/dump_config.json", ".json")),
    *(("data_dump_stage", value) for value in ("original", "optimized")),
]

REFUSED = [
    *(("enable_dump", value, "ValueError") for value in ("True", "1", 2, None, [], -1, 0.5)),
    *(("quant_dumpable", value, "ValueError") for value in ("False", 2, None, {})),
    *(("dump_path", value, "FileNotFoundError") for value in (None, "", 7, True, "a\0b")),
    *(("dump_path", value, "TypeError") for value in (["a"], {}, 1.5)),
    *(("dump_mode", value, "ValueError") for value in ("both", "ALL", "", None, 2, [])),
    *(("dump_step", value, "ValueError") for value in ("3-", "-3", "a", "1,2", "|3", "|", "1||2")),
    *(("dump_step", value, "ValueError") for value in ("0 | 5", "1-2-3", "3\n\n", "all", " 3")),
    *(("dump_step", value, "TypeError") for value in (None, 3, True, ["3"], 1.0)),
    *(("dump_layer", value, "ValueError") for value in ("conv-1", "a:b", "a,b", "é", "a\tb")),
    *(("dump_layer", value, "TypeError") for value in (None, 3, ["Add"])),
    *(("dump_data", value, "ValueError") for value in ("statistic", "", None, 1)),
    *(("dump_config_path", value, "ValueError") for value in ("",)),
    *(("dump_config_path", value, "FileNotFoundError") for value in ("d.txt", "d.JSON", "d.json ")),
    *(("dump_config_path", value, "TypeError") for value in (["d.json"], {}, 1.5)),
    *(("data_dump_stage", value, "ValueError") for value in ("optimised", "", None, True)),
    *((name, 1, "ValueError") for name in ("dump_steps", "enable", "", "__class__", "dump debug")),
]


@pytest.mark.parametrize(("key", "value"), ACCEPTED)
def test_a_value_that_the_vendor_takes_passes(key, value):
    assert codes(config(**{key: value})) == set()


@pytest.mark.parametrize(("key", "value", "code"), REFUSED)
def test_a_value_that_raises_there_is_refused_with_that_exception(key, value, code):
    assert codes(config(**{key: value})) == {(key, code)}


@pytest.mark.parametrize(("data", "code"), [
    ({"mode": "default"}, "ValueError"),
    ({"mode": None}, "ValueError"),
    ({"mode": ["max-autotune"]}, "ValueError"),
    ({"dump": {}}, "ValueError"),
    ({"dump_config": True}, "ValueError"),
    ({"options": {"dump.enable": 1}}, "AttributeError"),
    ({"environment": {"DUMP_GE_GRAPH": 3}}, "TypeError"),
])  # fmt: skip
def test_whatever_else_a_compiler_config_raises(data, code):
    problems = surfaces.of("torchair", data).check()
    assert {p.code for p in problems if p.severity == "error"} == {code}


def test_numbers_that_equal_a_truth_value_are_one():
    dump = config(enable_dump=1.0, quant_dumpable=0).settings.dump_config
    assert (dump.enable_dump, dump.quant_dumpable) == (True, False)


def test_steps_are_accepted_exactly_where_the_vendors_pattern_accepts_them():
    pattern = re.compile(r"^(((\d+)|(\d+-{0,1}\d+))\|{0,1})*$")
    for length in range(7):
        for letters in itertools.product("12-|\n٣", repeat=length):
            text = "".join(letters)
            assert bool(STEP_TEXT.match(text)) == bool(pattern.match(text)), text


def test_layers_are_accepted_exactly_where_the_vendors_pattern_accepts_them():
    pattern = re.compile(r'^[0-9a-zA-Z_" "/\\.]*$')
    for code in range(256):
        for text in (chr(code), f"a{chr(code)}b", f"a{chr(code)}"):
            assert bool(LAYER_TEXT.match(text)) == bool(pattern.match(text)), text


def test_steps_that_take_the_vendors_pattern_forever_are_judged_at_once():
    assert not STEP_TEXT.match("1" * 100_000 + "a")
    assert not STEP_TEXT.match("11-" * 50_000)


@pytest.mark.parametrize(("data", "version", "refused"), [
    ({"dump_config": {"dump_data": "stats"}}, "7.0.0", True),
    ({"dump_config": {"dump_data": "stats"}}, "7.2.0", False),
    ({"dump_config": {"dump_config_path": "a.json"}}, "6.0.rc3", True),
    ({"dump_config": {"dump_config_path": "a.json"}}, "7.2", False),
    ({"dump_config": {"data_dump_stage": "original"}}, "7.3.0", True),
    ({"dump_config": {"data_dump_stage": "original"}}, "26.0.0", False),
    ({"mode": "reduce-overhead"}, "6.0.0", True),
    ({"mode": "reduce-overhead"}, "7.0.0", False),
    ({"mode": "npugraph_ex"}, "7.3.0", True),
    ({"mode": "npugraph_ex"}, "26.0.0", False),
    ({"dump_config": {"dump_step": "0", "dump_layer": "Add"}}, "6.0.0", False),
])  # fmt: skip
def test_what_a_version_does_not_know_raises_there(data, version, refused):
    problems = surfaces.of("torchair", data).check(Context(version))
    assert [p.code for p in problems if p.severity == "error"] == ["ValueError"] * refused


def test_paths_are_looked_at_only_where_the_script_runs(tmp_path):
    missing, there = str(tmp_path / "missing"), Context(here=True)
    assert codes(config(dump_path=missing)) == set()
    assert codes(config(dump_path=missing), there) == {("dump_path", "FileNotFoundError")}
    assert codes(config(dump_path=str(tmp_path)), there) == set()
    file = tmp_path / "d.json"
    lost = config(enable_dump=False, dump_config_path=str(file))
    assert codes(lost) == set()
    assert codes(lost, there) == {("dump_config_path", "FileNotFoundError")}
    file.write_text('{"dump": {}}')
    assert codes(lost, there) == set()
    assert codes(config(dump_path=str(file)), there) == {("dump_path", "FileNotFoundError")}
