import pytest

from workbench.config.context import Context
from workbench.config.ge_options import ge_breaches, step_fault

ON = {"ge.exec.enableDump": "1", "ge.exec.dumpPath": "/d"}
DEBUG = {"ge.exec.enableDumpDebug": "1", "ge.exec.dumpPath": "/d"}


def found(options, context=None):
    return [(b.id, b.code) for b in ge_breaches(options, context or Context())]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"ge.exec.enableDump": ""}, []),
        ({"ge.exec.enableDump": "0", "ge.exec.dumpStep": "x", "ge.exec.dumpMode": "x"}, []),
        ({"ge.exec.enableDump": "true"}, [("ge-enable", "E10001")]),
        ({"ge.exec.enableDumpDebug": "on"}, [("ge-enable", "E10001")]),
        (ON, []),
        (ON | DEBUG, [("ge-both", "E10001")]),
        ({"ge.exec.enableDump": "1"}, [("ge-path", "E10058")]),
        ({"ge.exec.enableDumpDebug": "1"}, [("ge-path", "E10058")]),
        (ON | {"ge.exec.dumpPath": ""}, [("ge-path", "E10001")]),
        (ON | {"ge.exec.dumpStep": ""}, []),
        (ON | {"ge.exec.dumpStep": "5-5"}, [("ge-step", "E10001")]),
        (ON | {"ge.exec.dumpMode": "both"}, [("ge-mode", "E10001")]),
        (ON | {"ge.exec.dumpMode": ""}, [("ge-mode", "E10001")]),
        (ON | {"ge.exec.dumpData": "whatever", "ge.exec.dumpLayer": " a  b "}, []),
        (ON | {"ge.exec.dumpDebugMode": "x"}, []),
        (DEBUG | {"ge.exec.dumpDebugMode": "x"}, [("ge-debug-mode", "E10001")]),
        (DEBUG | {"ge.exec.dumpDebugMode": "aicore_overflow"}, []),
        (DEBUG | {"ge.exec.dumpStep": "5-5", "ge.exec.dumpMode": "x"}, []),
    ],
)
def test_every_row_of_ges_option_table(options, expected):
    assert found(options) == expected


@pytest.mark.parametrize("options", [ON, DEBUG])
def test_a_dump_and_npu_collect_path_exclude_each_other(options):
    context = Context(env={"NPU_COLLECT_PATH": "/c"})
    assert found(options, context) == [("ge-collect-path", "E10056")]
    assert found({}, context) == []


def test_the_folder_is_looked_at_only_where_the_process_runs(tmp_path):
    missing = ON | {"ge.exec.dumpPath": str(tmp_path / "missing")}
    assert found(missing, Context(here=True)) == [("ge-path", "E10001")]
    assert found(missing, Context()) == []
    assert found(ON | {"ge.exec.dumpPath": str(tmp_path)}, Context(here=True)) == []


@pytest.mark.parametrize(
    "good", ["0", "0|5-8", "007", "2147483647", "|".join("1" * 100), "0-2147483647", "0" * 5000]
)
def test_steps_that_pass(good):
    assert step_fault(good) == ""


@pytest.mark.parametrize(
    ("fault", "steps"),
    [
        ("order", ["3-3", "9-3", "1|9-3"]),
        ("numbers", ["5|", "|5", "1||2", "5-", "-5", "1-2-3", "a", "2147483648", "1 ", "|", "+1"]),
        ("numbers", ["²", "9" * 5000]),
        ("pieces", ["|".join("1" * 101)]),
    ],
)
def test_steps_that_do_not(fault, steps):
    for text in steps:
        assert step_fault(text) == fault
        (breach,) = ge_breaches(ON | {"ge.exec.dumpStep": text}, Context())
        assert (breach.id, breach.option, breach.got) == ("ge-step", "ge.exec.dumpStep", text)
        assert breach.values["fault"].code == f"config/ge-{fault}"
