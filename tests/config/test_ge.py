"""What is the same in every dump of the graph engine: its checks of a session, texts of steps, folders."""

import itertools

import pytest

from workbench.config import of
from workbench.config.context import Context
from workbench.config.ge.plans import exception_folder, mode_of
from workbench.config.ge.steps import (
    LARGEST,
    LARGEST_OF_ADUMP,
    adump_iterations,
    bridge_fault,
    bridge_iterations,
    ge_fault,
    step_text,
)
from workbench.core.plan import Iterations

TF, TA = {"enable_dump": True, "dump_path": "/d"}, {"enable_dump": True}
COLLECT = Context(env={"NPU_COLLECT_PATH": "/c"})


@pytest.mark.parametrize(("surface", "dump", "context", "expected"), [
    ("tensorflow", TF, Context(), []),
    ("tensorflow", TF | {"enable_dump_debug": True}, Context(), [("ge-both", "enable_dump", "E10001")]),
    ("tensorflow", TF, COLLECT, [("ge-collect-path", "enable_dump", "E10056")]),
    ("tensorflow", TF | {"enable_dump": False, "enable_dump_debug": True}, COLLECT,
     [("ge-collect-path", "enable_dump_debug", "E10056")]),
    ("tensorflow", TF | {"enable_dump_debug": True}, COLLECT,
     [("ge-both", "enable_dump", "E10001"), ("ge-collect-path", "enable_dump", "E10056")]),
    ("tensorflow", TF | {"enable_dump": False}, COLLECT, []),
    ("tensorflow", TF | {"dump_step": "5|"}, Context(), [("ge-step", "dump_step", "E10001")]),
    # GE never sees what npu_bridge refuses, and reads no step of a search for overflow
    ("tensorflow", TF | {"dump_step": "5-5"}, COLLECT, []),
    ("tensorflow", TF | {"enable_dump": False, "enable_dump_debug": True, "dump_step": "5|"}, Context(), []),
    ("torchair", TA, Context(), []),
    ("torchair", TA, COLLECT, [("ge-collect-path", "enable_dump", "E10056")]),
    ("torchair", TA | {"dump_step": "5-3"}, Context(), [("ge-step", "dump_step", "E10001")]),
    ("torchair", TA | {"enable_dump": False, "dump_step": "5-3"}, COLLECT, []),
])  # fmt: skip
def test_every_row_of_ges_checks(surface, dump, context, expected):
    section = {"tensorflow": "dump", "torchair": "dump_config"}[surface]
    found = [p for p in of(surface, {section: dump}).check(context) if p.id.startswith("ge-")]
    assert [(p.id, p.path.removeprefix(f"{section}."), p.code) for p in found] == expected
    assert {p.severity for p in found} <= {"warning"}


def test_what_the_script_itself_sets_counts():
    form = of("torchair", {"dump_config": TA, "environment": {"NPU_COLLECT_PATH": "/c"}})
    (found,) = [p for p in form.check() if p.id == "ge-collect-path"]
    assert found.message.values["folder"] == "/c"


@pytest.mark.parametrize(
    "good", ["", "0", "0|5-8", "007", "2147483647", "|".join("1" * 100), "0-2147483647", "0" * 5000]
)
def test_steps_that_ge_takes(good):
    assert ge_fault(good) == ""


@pytest.mark.parametrize(("fault", "steps"), [
    ("order", ["3-3", "9-3", "1|9-3"]),
    ("numbers", ["5|", "|5", "1||2", "5-", "-5", "1-2-3", "a", "2147483648", "1 ", "|", "+1"]),
    ("numbers", ["²", "9" * 5000]),
    ("pieces", ["|".join("1" * 101)]),
])  # fmt: skip
def test_steps_that_ge_refuses(fault, steps):
    assert {text: ge_fault(text) for text in steps} == dict.fromkeys(steps, fault)
    for text in steps:
        form = of("torchair", {"dump_config": TA | {"dump_step": text}})
        said = [p.message.values["fault"].code for p in form.check() if p.id == "ge-step"]
        assert said == [f"config/ge-{fault}"] or not form.accepted()


PIECES = [("", "1", "3", "4294967297", "1-3", "3-1", "-3", "1-", "1-2-3"), ("|", "")]
TEXTS = sorted({"".join(parts) for parts in itertools.product(PIECES[0], PIECES[1], PIECES[0])})
TAKEN = [text for text in TEXTS if text and not bridge_fault(text)]


@pytest.mark.parametrize("text", TAKEN)
def test_what_npu_bridge_takes_it_reads_as_the_plan_says(text):
    """Written again and read again, a text that is taken means the same, as far as 31 bits go."""
    meant = bridge_iterations(text)
    again = step_text(meant)
    kept = [(low, min(high, LARGEST)) for low, high in meant.ranges if low <= LARGEST]
    assert (bridge_iterations(again).ranges if again else ()) == tuple(kept)


@pytest.mark.parametrize(("text", "ranges"), [
    ("", None),
    ("3", ((3, 3),)),
    ("3-3|1", ((3, 3), (1, 1))),
    ("5-3|x|1-2-3|7", ((7, 7),)),
    (f"0-{'9' * 30}", ((0, LARGEST_OF_ADUMP),)),
])  # fmt: skip
def test_executions_of_adump(text, ranges):
    assert adump_iterations(text) == Iterations(ranges)


@pytest.mark.parametrize(("ranges", "as_it_is", "rising"), [
    (None, "", ""),
    ((), None, None),
    (((9, 3),), None, None),
    (((0, 0),), "0", "0"),
    (((3, 4), (4, 9), (1, 1)), "3-4|4-9|1", "1|3-9"),
    (((3, 4), (5, 9)), "3-4|5-9", "3-9"),
    (((3, 4), (6, 9)), "3-4|6-9", "3-4|6-9"),
    (((-2, 3), (-5, -1)), "0-3", "0-3"),
    (((0, 2**40),), "0-2147483647", "0-2147483647"),
    (((2**31, 2**31),), None, None),
    (tuple((n, n) for n in range(150)), "0-149", "0-149"),
    (tuple((n, n) for n in range(0, 400, 2)), *["|".join(map(str, range(0, 200, 2)))] * 2),
])  # fmt: skip
def test_iterations_as_text(ranges, as_it_is, rising):
    assert step_text(Iterations(ranges)) == as_it_is
    assert step_text(Iterations(ranges), rising=True) == rising


def test_a_surface_may_count_further():
    assert step_text(Iterations(((0, 2**70),)), LARGEST_OF_ADUMP) == f"0-{LARGEST_OF_ADUMP}"


@pytest.mark.parametrize(("env", "new", "old"), [
    ({}, "", ""),
    ({"ASCEND_WORK_PATH": "/w"}, "ASCEND_WORK_PATH", "ASCEND_WORK_PATH"),
    ({"ASCEND_WORK_PATH": "/w", "ASCEND_DUMP_PATH": "/d"}, "ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"),
    ({"ASCEND_WORK_PATH": "/w", "NPU_COLLECT_PATH": "/n"}, "ASCEND_WORK_PATH", "NPU_COLLECT_PATH"),
])  # fmt: skip
def test_which_variable_names_the_folder_of_exceptions(env, new, old):
    context = Context(env=env)
    assert exception_folder(context) == (env.get(new, ""), new)
    assert exception_folder(context, old=True) == (env.get(old, ""), old)


def test_a_variable_that_names_a_file_is_passed_over(tmp_path):
    (tmp_path / "file").touch()
    env = {"ASCEND_DUMP_PATH": str(tmp_path / "file"), "ASCEND_WORK_PATH": str(tmp_path)}
    assert exception_folder(Context(env=env, here=True)) == (str(tmp_path), "ASCEND_WORK_PATH")
    assert exception_folder(Context(env=env))[1] == "ASCEND_DUMP_PATH"


@pytest.mark.parametrize(("io", "mode"), [
    (("input", "output"), "all"), (("input",), "input"), (("output",), "output"), ((), "output"),
])  # fmt: skip
def test_modes_say_what_is_written_and_the_vendors_default_where_nothing_is(io, mode):
    assert mode_of(frozenset(io)) == mode
