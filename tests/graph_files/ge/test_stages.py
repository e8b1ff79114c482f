"""Which graph files an environment asks for: the rules of GE's code and of CANN's documents, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph_files.ge.stages import STAGES, stage_files, stage_folder

LISTED = [
    "PreRunBegin",
    "PreRunAfterNormalizeGraph",
    "AfterInfershape",
    "PreRunAfterPrepare",
    "PreRunAfterOptimizeOriginalGraph",
    "PreRunAfterOptimizeAfterStage1",
    "PreRunAfterOptimizeSubgraph",
    "PreRunAfterOptimizeGraphBeforeBuild",
    "Build",
]
"""The documents' white list without what only custom passes and dynamic shapes have, in its order."""

EVERY = [stage.name for stage in STAGES]
LEVEL, STAGE, FORM = "DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_FORMAT"


def names(env, *, dumps=False):
    return [file.stage.name for file in stage_files(env, dumps=dumps)]


@pytest.mark.parametrize(
    ("env", "stages"),
    [
        ({}, []),
        ({STAGE: "1"}, []),
        ({LEVEL: ""}, []),
        ({LEVEL: "0"}, []),
        ({LEVEL: "4"}, []),
        ({LEVEL: "no"}, []),
        ({LEVEL: "2"}, LISTED),
        ({LEVEL: " 2x"}, LISTED),
        ({LEVEL: "1", STAGE: "2"}, LISTED),
        ({LEVEL: "1", STAGE: "1"}, EVERY),
        ({LEVEL: "1", STAGE: "3"}, ["Build"]),
        ({LEVEL: "1", STAGE: "4"}, ["PreRunBegin"]),
        ({LEVEL: "1", STAGE: "04"}, ["PreRunBegin"]),
        ({LEVEL: "1", STAGE: "5"}, []),
        ({LEVEL: "1", STAGE: ""}, []),
        ({LEVEL: "1", STAGE: "PreRunBegin|AfterInfershape"}, ["PreRunBegin", "AfterInfershape"]),
        ({LEVEL: "1", STAGE: "Stage1_"}, ["OptimizeStage1_1", "OptimizeStage1_2"]),
        ({LEVEL: "1", STAGE: "-1"}, []),
        ({LEVEL: "1", STAGE: "3", FORM: "onnx"}, []),
        ({LEVEL: "1", STAGE: "3", FORM: ""}, ["Build"]),
        ({LEVEL: "1", STAGE: "3", FORM: "ONNX|GE_Proto"}, ["Build"]),
    ],
)
def test_the_environment_names_the_stages(env, stages):
    assert names(env) == stages


@pytest.mark.parametrize(
    ("env", "stages"),
    [
        ({}, ["Build"]),
        ({LEVEL: "1", STAGE: "PreRunBegin|AfterInfershape"},
         ["PreRunBegin", "AfterInfershape", "Build"]),
        ({LEVEL: "1", STAGE: "3"}, ["Build"]),
        ({LEVEL: "1", FORM: "onnx"}, ["Build"]),
    ],
)  # fmt: skip
def test_a_dump_brings_the_last_stage_with_it(env, stages):
    assert names(env, dumps=True) == stages


@pytest.mark.parametrize(("level", "options"), [("1", True), ("2", True), ("3", False)])
def test_the_last_stage_of_a_dump_is_whole_whatever_the_level(level, options):
    first, *_, last = stage_files({LEVEL: level}, dumps=True)
    assert (first.level, first.options) == (int(level), options)
    assert (last.stage.name, last.level, last.options) == ("Build", 1, options)
    assert stage_files({LEVEL: level}, dumps=False)[-1].level == int(level)
    (alone,) = stage_files({}, dumps=True)
    assert (alone.level, alone.options) == (1, False)


def test_formats_of_the_device_come_after_the_framework_is_done():
    laid = {stage.name: stage.laid for stage in STAGES}
    assert not laid["PreRunBegin"]
    assert not laid["PreRunAfterOptimizeOriginalGraph"]
    assert laid["PreRunAfterOptimizeAfterStage1"]
    assert laid["Build"]


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, ""),
        ({"ASCEND_WORK_PATH": "/a/b"}, ""),
        ({"DUMP_GRAPH_PATH": "../out", "ASCEND_WORK_PATH": "/a"}, "pid_7_deviceid_2"),
        ({"NPU_COLLECT_PATH": "/c", "DUMP_GRAPH_PATH": "/d"}, "extra-info/graph/7_2"),
    ],
)
def test_the_folder_leaves_out_the_environments_own(env, folder):
    assert stage_folder(env, 7, 2) == folder


@given(st.dictionaries(st.sampled_from([LEVEL, STAGE, FORM]), st.text(max_size=12)), st.booleans())
def test_any_environment_gives_stages_in_their_order(env, dumps):
    found = names(env, dumps=dumps)
    assert found == [name for name in EVERY if name in found]
    assert not dumps or "Build" in found
