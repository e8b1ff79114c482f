"""Options of several commands: what their texts mean, and what both a file and an option say."""

import pytest

from kit.words import refused
from workbench.cli.options import compiler_options, places_of, variables
from workbench.core.errors import WorkbenchError
from workbench.npu.precision.modes import Precision
from workbench.npu.precision.options import CompilerOptions


@pytest.mark.parametrize(("items", "found"), [
    (None, {}),
    (["A=1", "B=x=y", "C="], {"A": "1", "B": "x=y", "C": ""}),
    (["A=1", "A=2"], {"A": "2"}),
])  # fmt: skip
def test_variables_are_read_up_to_the_first_equals_sign(items, found):
    assert variables(items) == found


@pytest.mark.parametrize("item", ["A", "=1", ""])
def test_what_is_no_variable_is_refused(item):
    with refused("cli/variable", got=item):
        variables([item])


@pytest.mark.parametrize(("text", "places"), [("", None), ("0", [0]), ("0,0,12", [0, 0, 12])])
def test_a_schedule_is_a_list_of_places(text, places):
    assert places_of(text) == places


@pytest.mark.parametrize("text", [",", "0,", "x", "-1", "0 1", "1000", "\u0661"])
def test_what_is_no_schedule_is_refused(text):
    with refused("cli/schedule", got=text):
        places_of(text)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "options.cfg"
    path.write_text("precision_mode=force_fp16\nlog=info\nfusion_switch_file=off.json\n")
    return path


@pytest.mark.parametrize(("mode", "fusion", "found"), [
    ("", "", CompilerOptions()),
    ("force_fp16", "", CompilerOptions(Precision("force_fp16"))),
    ("", "off", CompilerOptions(fusion="off")),
])  # fmt: skip
def test_without_a_file_the_options_ask_alone(mode, fusion, found):
    assert compiler_options("", mode, fusion, pytest.fail) == found


def test_a_file_asks_and_what_changes_nothing_is_told_beside(file):
    told = []
    found = compiler_options(str(file), "", "", told.append)
    assert (found.precision.mode, found.fusion) == ("force_fp16", str(file.parent / "off.json"))
    assert [str(one) for one in told] == [f"{file}: no effect in the simulation: log"]


@pytest.mark.parametrize(
    ("mode", "fusion", "option"), [("fp16", "", "precision-mode"), ("", "off", "fusion")]
)
def test_what_both_say_is_refused(file, mode, fusion, option):
    with refused("cli/said-twice", WorkbenchError, option=f"--{option}", file=str(file)):
        compiler_options(str(file), mode, fusion, pytest.fail)


def test_what_the_file_leaves_open_the_options_say(tmp_path):
    path = tmp_path / "options.cfg"
    path.write_text("allow_hf32=true\n")
    found = compiler_options(str(path), "force_fp16", "off", pytest.fail)
    assert (found.precision.mode, found.precision.hf32) == ("force_fp16", (True, True))
    assert found.fusion == "off"
