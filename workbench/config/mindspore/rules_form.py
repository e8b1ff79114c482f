"""Rules on the sections of a form, its folder, its iterations and its devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.config.context import Context
from workbench.config.mindspore.form import COMMON, E2E
from workbench.config.mindspore.reading import (
    asks_e2e,
    common,
    devices,
    e2e,
    folder,
    is_old,
    iterations,
    own_device,
)
from workbench.config.mindspore.row import (
    ASCEND,
    SEEN,
    WHOLE_GRAPH,
    Row,
    e2e_setting,
    setting,
)
from workbench.config.mindspore.start import ABSENT
from workbench.config.rule import NOTHING, Breach, Example

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.mindspore.form import MindSporeForm

PATH = re.compile(r"/[A-Za-z0-9_/-]*")
_NAME_MAX, _PATH_MAX = 255, 4095


def _old_keys(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section is not None and is_old(context):
        for key in ("enable", "trans_flag"):
            if key not in section.model_fields_set:
                yield Breach(e2e_setting(key), NOTHING, {"version": context.version})


def _old_enable(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section is not None and is_old(context) and not section.enable:
        yield Breach(e2e_setting("enable"), section.enable, {"version": context.version})


def _no_e2e(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if e2e(form) is None:
        yield Breach(E2E)


def _has_e2e(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section is not None and asks_e2e(form, context):
        yield Breach(E2E, section.model_dump(exclude_unset=True))


def _no_common(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if common(form) is None:
        yield Breach(COMMON)


def _folder(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    named = folder(form, context)
    if common(form) and named and not PATH.fullmatch(named):
        yield Breach(setting("path"), named)


def _no_folder(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = common(form)
    if section and not folder(form, context):
        got = section.path if "path" in section.model_fields_set else NOTHING
        yield Breach(setting("path"), got)


def _long_path(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    named = folder(form, context)
    if len(named) > _PATH_MAX or any(len(step) > _NAME_MAX for step in named.split("/")):
        yield Breach(setting("path"), named)


def _no_room(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    """Look for a place where the folder can be made, if the process runs here."""
    named = folder(form, context)
    if not context.here or not PATH.fullmatch(named):
        return
    steps = [step for step in named.split("/") if step]
    above = ["/" + "/".join(steps[:count]) for count in range(len(steps) + 1)]
    in_way = any(map(context.file_exists, above))
    if in_way or not any(map(context.usable_folder, above)):
        yield Breach(setting("path"), named)


def _long_name(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    named = form.common_dump_settings.net_name
    if len(named) > _NAME_MAX:
        yield Breach(setting("net_name"), named)


def _void(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    text = form.common_dump_settings.iteration
    pieces = [piece for piece in text.split("|") if piece] or [text]
    for piece in pieces:
        ranges = iterations(piece).ranges
        if ranges is not None and not any(low <= high for low, high in ranges):
            yield Breach(setting("iteration"), piece)


def _own_device(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section, device = common(form), own_device(context)
    if section and device not in devices(form):
        values = {"device": device}
        yield Breach(setting("support_device"), list(section.support_device), values)


def _twice(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    named = form.common_dump_settings.support_device
    if len(devices(form)) < len(named):
        yield Breach(setting("support_device"), list(named))


_OLD = Context(version="2.2")

ROWS = (
    Row(
        "e2e-absent",
        "warning",
        _no_e2e,
        "{key} is missing, so Ascend dumps in the O2 way, which writes nothing with O0/O1",
        'Add "e2e_dump_settings": {{}}.',
        {E2E: ABSENT},
        {E2E: {}},
        on="o0o1",
    ),
    Row(
        "e2e-present",
        "warning",
        _has_e2e,
        "{key} turns the O2 dump off, and a graph compiled as a whole then dumps nothing",
        "Remove the section.",
        {E2E: {"enable": False}},
        {E2E: ABSENT},
        on=WHOLE_GRAPH,
    ),
    Row(
        "e2e-required",
        "error",
        _old_keys,
        "{path} is missing; MindSpore {version} requires it",
        "Add the key.",
        Example({E2E: {}}, _OLD),
        Example({E2E: {"enable": True, "trans_flag": True}}, _OLD),
    ),
    Row(
        "e2e-enable",
        "warning",
        _old_enable,
        "{path} is false, so MindSpore {version} dumps in the O2 way, which writes nothing here",
        "Set it to true.",
        Example({E2E: {"enable": False, "trans_flag": True}}, _OLD),
        Example({E2E: {"enable": True, "trans_flag": True}}, _OLD),
        on="o0o1",
    ),
    Row(
        "section",
        "error",
        _no_common,
        "{key} is missing",
        "Add the section.",
        {COMMON: ABSENT},
        {},
    ),
    Row(
        "path",
        "error",
        _folder,
        "{key} must be an absolute path of letters, digits, '-', '_' and '/', got {got!r}",
        "Choose another folder.",
        {"path": "/a.b"},
        {"path": "/a/b-1_c"},
    ),
    Row(
        "path-missing",
        "error",
        _no_folder,
        "{key} is empty or missing",
        "Name a folder, or set MS_DIAGNOSTIC_DATA_PATH (its debug_dump is used).",
        {"path": ""},
        Example({"path": ""}, Context(env={"MS_DIAGNOSTIC_DATA_PATH": "/data"})),
    ),
    Row(
        "path-long",
        "warning",
        _long_path,
        f"{{key}} has more than {_PATH_MAX} characters, or {_NAME_MAX} in a folder; nothing is written",
        "Choose a shorter path.",
        {"path": "/" + "x" * 256},
        {"path": "/" + "x" * 255},
        SEEN,
    ),
    Row(
        "path-unusable",
        "warning",
        _no_room,
        "{key} {got!r} cannot be created or written: the run succeeds, but nothing is written",
        "Choose another folder.",
        Example({"path": "/etc/passwd/x"}, Context(here=True)),
        Example({"path": "/etc/passwd/x"}, Context(here=False)),
        SEEN,
    ),
    Row(
        "net-name-long",
        "warning",
        _long_name,
        f"{{key}} has more than {_NAME_MAX} characters: its folder cannot be created, and no tensor is written",
        "Choose a shorter name.",
        {"net_name": "x" * 256},
        {"net_name": "x" * 255},
        SEEN,
    ),
    Row(
        "iteration-void",
        "warning",
        _void,
        "{key}: {got!r} never matches",
        "Write numbers and ascending ranges like '5-8'.",
        {"iteration": "0||5-"},
        {"iteration": "0||5-5"},
    ),
    Row(
        "support-device",
        "warning",
        _own_device,
        "{key} {got!r} does not contain device {device}, which runs: nothing is dumped",
        "Add {device}.",
        {"support_device": []},
        {"support_device": [0]},
        on=ASCEND + " gpu",
    ),
    Row(
        "support-device-twice",
        "warning",
        _twice,
        "{key} {got!r} lists a device twice (MindSpore keeps 32 bits of each number)",
        "Remove the others.",
        {"support_device": [0, 0]},
        {"support_device": [0, 1]},
    ),
)
"""Order is that of MindSpore's own checks."""
