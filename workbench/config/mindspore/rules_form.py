"""Rules on what a form is judged by, its sections, its folder, its iterations and its devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workbench.config.context import Context
from workbench.config.form.rules import Example, Row
from workbench.config.mindspore.reading import iterations, own_device
from workbench.config.mindspore.settings import (
    ASCEND,
    COMMON,
    E2E,
    SEEN,
    TUTORIAL,
    WHOLE_GRAPH,
    common_path,
    e2e_path,
)
from workbench.config.mindspore.template import ABSENT

if TYPE_CHECKING:
    from workbench.config.form.rules import At
    from workbench.config.mindspore.reading import MindSporeReading

PATH = re.compile(r"/[A-Za-z0-9_/-]*")
_NAME_MAX, _PATH_MAX = 255, 4095
_VARIABLE = "MINDSPORE_DUMP_CONFIG"
_MSPROBE = "Write a config.json for msprobe (level L2) and start it from the script."
_OLD = Context(version="2.2")


def _is_odd_path(r: MindSporeReading, at: At) -> Any:
    return r.has_common and r.folder and not PATH.fullmatch(r.folder) and {"got": r.folder}


def _is_too_long(r: MindSporeReading, at: At) -> bool:
    steps = r.folder.split("/")
    return len(r.folder) > _PATH_MAX or any(len(step) > _NAME_MAX for step in steps)


def _has_no_room(r: MindSporeReading, at: At) -> Any:
    """Look for a place where the folder can be made, if the process runs here."""
    if not r.context.here or not PATH.fullmatch(r.folder):
        return False
    steps = [step for step in r.folder.split("/") if step]
    above = ["/" + "/".join(steps[:count]) for count in range(len(steps) + 1)]
    in_way = any(map(r.context.file_exists, above))
    return (in_way or not any(map(r.context.usable_folder, above))) and {"got": r.folder}


def _void_pieces(r: MindSporeReading, at: At) -> list[dict[str, str]]:
    pieces = [piece for piece in at.value.split("|") if piece] or [at.value]
    ranges = {piece: iterations(piece).ranges for piece in pieces}
    return [
        {"got": piece}
        for piece in pieces
        if (found := ranges[piece]) is not None and not any(low <= high for low, high in found)
    ]


def _is_passed(r: MindSporeReading, at: At) -> Any:
    """Whether every iteration that is asked for lies before the first that runs."""
    ranges = [one for one in iterations(at.value).ranges or () if one[0] <= one[1]]
    passed = bool(ranges) and all(high < r.first_iteration for _, high in ranges)
    return passed and r.debug_mode != 4 and {"first": r.first_iteration}


def _is_alarmed(r: MindSporeReading, at: At) -> bool:
    """Whether MindSpore foretells an empty dump; releases before 2.7 were not seen to."""
    release = r.context.release()
    return not at.given and r.has_common and (not release or release >= (2, 7))


def _leaves_out_the_device(r: MindSporeReading, at: At) -> Any:
    device = own_device(r.context)
    return r.has_common and device not in r.devices and {"device": device}


ENVIRONMENT = (
    Row(
        id="config-empty",
        severity="warning",
        at="$MINDSPORE_DUMP_CONFIG",
        when=lambda r, at: at.given and not at.value,
        says="{key} is empty, which turns the dump off",
        fix="Set it to this file.",
        breaks=Example({}, Context(env={_VARIABLE: ""})),
        keeps=Example({}, Context(env={_VARIABLE: "/data/data_dump.json"})),
    ),
    Row(
        id="config-name",
        severity="error",
        at="$MINDSPORE_DUMP_CONFIG",
        when=lambda r, at: at.value and not at.value.endswith(".json"),
        says="{key} {got!r} does not end in '.json'",
        fix="Rename the file. '~' and '$HOME' are not expanded.",
        breaks=Example({}, Context(env={_VARIABLE: "/data/data_dump.txt"})),
        keeps=Example({}, Context(env={_VARIABLE: "/data/data_dump.json"})),
    ),
    Row(
        id="config-relative",
        severity="hint",
        at="$MINDSPORE_DUMP_CONFIG",
        when=lambda r, at: at.value and not at.value.startswith("/"),
        says="{key} {got!r} is relative: a process that starts in another folder does not find it",
        fix="Use an absolute path.",
        breaks=Example({}, Context(env={_VARIABLE: "data_dump.json"})),
        keeps=Example({}, Context(env={_VARIABLE: "/data/data_dump.json"})),
        source=TUTORIAL,
    ),
    Row(
        id="simulation-level",
        severity="warning",
        at="$MS_SIMULATION_LEVEL",
        when=lambda r, at: at.value == "0",
        says="{key} is 0: the network is compiled and not run, and nothing is written",
        fix="Unset it.",
        breaks=Example({}, Context(env={"MS_SIMULATION_LEVEL": "0"})),
        keeps=Example({}, Context(env={"MS_SIMULATION_LEVEL": "1"})),
        source=SEEN,
        on="cpu",
    ),
    Row(
        id="ge-switch",
        severity="warning",
        at="$ENABLE_MS_GE_DUMP",
        when=lambda r, at: at.value != "1",
        says="{key} is not '1', so MindSpore dumps in its own O2 way",
        fix="Set ENABLE_MS_GE_DUMP=1.",
        breaks={},
        keeps=Example({}, Context(env={"ENABLE_MS_GE_DUMP": "1"})),
        source=TUTORIAL,
        on="ge",
    ),
    Row(
        id="ge-switch-on",
        severity="warning",
        at="$ENABLE_MS_GE_DUMP",
        when=lambda r, at: at.value == "1",
        says="{key}=1 makes this a GE dump with another folder tree",
        fix="Unset it, or use surface mindspore-ge.",
        breaks=Example({}, Context(env={"ENABLE_MS_GE_DUMP": "1"})),
        keeps={},
        source=TUTORIAL,
        on="o2",
    ),
    Row(
        id="msprobe",
        severity="warning",
        at="$version",
        when=lambda r, at: r.context.release() >= (2, 7),
        says="From MindSpore 2.7 on, msprobe writes O2 dumps; this is {got}",
        fix=_MSPROBE,
        breaks=Example({}, Context("2.7")),
        keeps=Example({}, Context("2.5")),
        source="MindSpore tutorial 2.7 and release notes 2.6",
        on=WHOLE_GRAPH,
    ),
    Row(
        id="deprecated",
        severity="hint",
        at="$version",
        when=lambda r, at: (2, 6) <= r.context.release() < (2, 7),
        says="From MindSpore 2.7 on, msprobe writes O2 dumps; {got} warns of it",
        fix=_MSPROBE,
        breaks=Example({}, Context("2.6")),
        keeps=Example({}, Context("2.5")),
        source="MindSpore release notes 2.6",
        on=WHOLE_GRAPH,
    ),
)
"""What the process and the release say to any form, in the order in which it is met."""

ROWS = (
    *ENVIRONMENT,
    Row(
        id="e2e-absent",
        severity="warning",
        at=E2E,
        when=lambda r, at: not at.given,
        says="{key} is missing, so Ascend dumps in the O2 way, which writes nothing with O0/O1",
        fix='Add "e2e_dump_settings": {{}}.',
        breaks={E2E: ABSENT},
        keeps={E2E: {}},
        on="o0o1",
    ),
    Row(
        id="e2e-alarm",
        severity="hint",
        at=E2E,
        when=_is_alarmed,
        says="{key} is missing: MindSpore warns that nothing will be dumped, but CPU and GPU dump all the same",
        fix='Add "e2e_dump_settings": {{}}.',
        breaks=Example({E2E: ABSENT}, Context("2.7")),
        keeps=Example({E2E: {}}, Context("2.7")),
        source=SEEN,
        on="cpu gpu",
    ),
    Row(
        id="e2e-present",
        severity="warning",
        at=E2E,
        when=lambda r, at: at.given and r.by_kernel,
        says="{key} turns the O2 dump off, and a graph compiled as a whole then dumps nothing",
        fix="Remove the section.",
        breaks={E2E: {"enable": False}},
        keeps={E2E: ABSENT},
        on=WHOLE_GRAPH,
    ),
    Row(
        id="e2e-required",
        severity="error",
        at=e2e_path("enable|trans_flag"),
        when=lambda r, at: r.old and r.e2e and not at.given and {"version": r.context.version},
        says="{path} is missing; MindSpore {version} requires it",
        fix="Add the key.",
        breaks=Example({E2E: {}}, _OLD),
        keeps=Example({E2E: {"enable": True, "trans_flag": True}}, _OLD),
    ),
    Row(
        id="e2e-enable",
        severity="warning",
        at=e2e_path("enable"),
        when=lambda r, at: r.old and r.e2e and not at.value and {"version": r.context.version},
        says="{path} is false, so MindSpore {version} dumps in the O2 way, which writes nothing here",
        fix="Set it to true.",
        breaks=Example({E2E: {"enable": False, "trans_flag": True}}, _OLD),
        keeps=Example({E2E: {"enable": True, "trans_flag": True}}, _OLD),
        on="o0o1",
    ),
    Row(
        id="section",
        severity="error",
        at=COMMON,
        when=lambda r, at: not at.given,
        says="{key} is missing",
        fix="Add the section.",
        breaks={COMMON: ABSENT},
        keeps={},
    ),
    Row(
        id="path",
        severity="error",
        at=common_path("path"),
        when=_is_odd_path,
        says="{key} {got!r} is not an absolute path of letters, digits, '-', '_' and '/'",
        fix="Choose another folder.",
        breaks={"path": "/a.b"},
        keeps={"path": "/a/b-1_c"},
    ),
    Row(
        id="path-missing",
        severity="error",
        at=common_path("path"),
        when=lambda r, at: r.has_common and not r.folder,
        says="{key} is empty or missing",
        fix="Name a folder, or set MS_DIAGNOSTIC_DATA_PATH (its debug_dump is used).",
        breaks={"path": ""},
        keeps=Example({"path": ""}, Context(env={"MS_DIAGNOSTIC_DATA_PATH": "/data"})),
    ),
    Row(
        id="path-long",
        severity="warning",
        at=common_path("path"),
        when=_is_too_long,
        says=f"{{key}} has more than {_PATH_MAX} characters, or {_NAME_MAX} in a folder; nothing is written",
        fix="Choose a shorter path.",
        breaks={"path": "/" + "x" * 256},
        keeps={"path": "/" + "x" * 255},
        source=SEEN,
    ),
    Row(
        id="path-unusable",
        severity="warning",
        at=common_path("path"),
        when=_has_no_room,
        says="{key} {got!r} cannot be created or written: the run succeeds, but nothing is written",
        fix="Choose another folder.",
        breaks=Example({"path": "/etc/passwd/x"}, Context(here=True)),
        keeps=Example({"path": "/etc/passwd/x"}, Context(here=False)),
        source=SEEN,
    ),
    Row(
        id="net-name-long",
        severity="warning",
        at=common_path("net_name"),
        when=lambda r, at: len(at.value) > _NAME_MAX,
        says=f"{{key}} has more than {_NAME_MAX} characters: its folder cannot be created, and no tensor is written",
        fix="Choose a shorter name.",
        breaks={"net_name": "x" * 256},
        keeps={"net_name": "x" * 255},
        source=SEEN,
    ),
    Row(
        id="iteration-void",
        severity="warning",
        at=common_path("iteration"),
        when=_void_pieces,
        says="{key}: {got!r} never matches",
        fix="Write numbers and ascending ranges like '5-8'.",
        breaks={"iteration": "0||5-"},
        keeps={"iteration": "0||5-5"},
    ),
    Row(
        id="iteration-passed",
        severity="warning",
        at=common_path("iteration"),
        when=_is_passed,
        says="{key} {got!r} lies before initial_iteration {first}, the first that runs: nothing is dumped",
        fix="Count iterations from {first}, or lower initial_iteration.",
        breaks={"iteration": "0|2", "initial_iteration": 10},
        keeps={"iteration": "0|10", "initial_iteration": 10},
        source=SEEN,
        on="o0o1 cpu gpu",
    ),
    Row(
        id="support-device",
        severity="warning",
        at=common_path("support_device"),
        when=_leaves_out_the_device,
        says="{key} {got!r} does not contain device {device}, which runs: nothing is dumped",
        fix="Add {device}.",
        breaks={"support_device": []},
        keeps={"support_device": [0]},
        on=ASCEND + " gpu",
    ),
    Row(
        id="support-device-twice",
        severity="warning",
        at=common_path("support_device"),
        when=lambda r, at: len(r.devices) < len(at.value),
        says="{key} {got!r} lists a device twice (MindSpore keeps 32 bits of each number)",
        fix="Remove the duplicates.",
        breaks={"support_device": [0, 0]},
        keeps={"support_device": [0, 1]},
    ),
)
"""Order is that of MindSpore's own checks."""
