"""Rules on what a form is judged by: environment variables and the release of MindSpore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.context import Context
from workbench.config.mindspore.row import TUTORIAL, WHOLE_GRAPH, Row
from workbench.config.rule import NOTHING, Breach, Example

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.mindspore.form import MindSporeForm

_VARIABLE = "MINDSPORE_DUMP_CONFIG"
_MSPROBE = "Write a config.json for msprobe (level L2) and start it from the script."


def _variable_empty(_: MindSporeForm, context: Context) -> Iterator[Breach]:
    if _VARIABLE in context.env and not context.variable(_VARIABLE):
        yield Breach(_VARIABLE, "")


def _variable_name(_: MindSporeForm, context: Context) -> Iterator[Breach]:
    named = context.variable(_VARIABLE)
    if named and not named.endswith(".json"):
        yield Breach(_VARIABLE, named)


def _variable_relative(_: MindSporeForm, context: Context) -> Iterator[Breach]:
    named = context.variable(_VARIABLE)
    if named and not named.startswith("/"):
        yield Breach(_VARIABLE, named)


def _ge_switch(_: MindSporeForm, context: Context) -> Iterator[Breach]:
    value = context.variable("ENABLE_MS_GE_DUMP")
    if value != "1":
        yield Breach("ENABLE_MS_GE_DUMP", value or NOTHING)


def _no_ge_switch(_: MindSporeForm, context: Context) -> Iterator[Breach]:
    if context.variable("ENABLE_MS_GE_DUMP") == "1":
        yield Breach("ENABLE_MS_GE_DUMP", "1")


def _moved(_: MindSporeForm, context: Context) -> Iterator[Breach]:
    if context.release() >= (2, 7):
        yield Breach("version", context.version)


def _deprecated(_: MindSporeForm, context: Context) -> Iterator[Breach]:
    if (2, 6) <= context.release() < (2, 7):
        yield Breach("version", context.version)


ROWS = (
    Row(
        "config-empty",
        "warning",
        _variable_empty,
        "{key} is empty, which turns the dump off",
        "Set it to this file.",
        Example({}, Context(env={_VARIABLE: ""})),
        Example({}, Context(env={_VARIABLE: "/data/data_dump.json"})),
    ),
    Row(
        "config-name",
        "error",
        _variable_name,
        "{key} must end in '.json', got {got!r}",
        "Rename the file. '~' and '$HOME' are not expanded.",
        Example({}, Context(env={_VARIABLE: "/data/data_dump.txt"})),
        Example({}, Context(env={_VARIABLE: "/data/data_dump.json"})),
    ),
    Row(
        "config-relative",
        "hint",
        _variable_relative,
        "{key} {got!r} is relative: a process that starts in another folder does not find it",
        "Use an absolute path.",
        Example({}, Context(env={_VARIABLE: "data_dump.json"})),
        Example({}, Context(env={_VARIABLE: "/data/data_dump.json"})),
        TUTORIAL,
    ),
    Row(
        "ge-switch",
        "warning",
        _ge_switch,
        "{key} is not '1', so MindSpore dumps in its own O2 way",
        "Set ENABLE_MS_GE_DUMP=1.",
        {},
        Example({}, Context(env={"ENABLE_MS_GE_DUMP": "1"})),
        TUTORIAL,
        on="ge",
    ),
    Row(
        "ge-switch-on",
        "warning",
        _no_ge_switch,
        "{key}=1 makes this a GE dump with another folder tree",
        "Unset it, or use surface mindspore-ge.",
        Example({}, Context(env={"ENABLE_MS_GE_DUMP": "1"})),
        {},
        TUTORIAL,
        on="o2",
    ),
    Row(
        "msprobe",
        "warning",
        _moved,
        "From MindSpore 2.7 on, msprobe writes O2 dumps; this is {got}",
        _MSPROBE,
        Example({}, Context("2.7")),
        Example({}, Context("2.5")),
        "MindSpore tutorial 2.7 and release notes 2.6",
        on=WHOLE_GRAPH,
    ),
    Row(
        "deprecated",
        "hint",
        _deprecated,
        "From MindSpore 2.7 on, msprobe writes O2 dumps; {got} warns of it",
        _MSPROBE,
        Example({}, Context("2.6")),
        Example({}, Context("2.5")),
        "MindSpore release notes 2.6",
        on=WHOLE_GRAPH,
    ),
)
"""Order is that in which they are met."""
