"""Rules on modes: which operators, what the debug modes change, and what a target lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.mindspore.form import E2E
from workbench.config.mindspore.reading import asks_e2e, common, debug_mode, e2e
from workbench.config.mindspore.row import (
    SEEN,
    TUTORIAL,
    WHOLE_GRAPH,
    Row,
    e2e_setting,
    setting,
)
from workbench.config.mindspore.start import ABSENT
from workbench.config.rule import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.context import Context
    from workbench.config.mindspore.form import MindSporeForm


def _set_dump(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if form.common_dump_settings.dump_mode == 2:
        yield Breach(setting("dump_mode"), 2)


def _mapped(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if form.common_dump_settings.op_debug_mode in (1, 2):
        yield Breach(setting("op_debug_mode"), form.common_dump_settings.op_debug_mode)


def _mode_of_another(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    mode = form.common_dump_settings.dump_mode
    if mode and debug_mode(form):
        yield Breach(setting("dump_mode"), mode, {"mode": debug_mode(form)})


def _exception(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if debug_mode(form) == 4:
        yield Breach(setting("op_debug_mode"), 4)


def _overflow(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if debug_mode(form) == 3:
        yield Breach(setting("op_debug_mode"), form.common_dump_settings.op_debug_mode)


def _exception_by_kernel(form: MindSporeForm, context: Context) -> bool:
    return debug_mode(form) == 4 and asks_e2e(form, context)


def _exception_iteration(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    text = form.common_dump_settings.iteration
    if _exception_by_kernel(form, context) and text != "all":
        yield Breach(setting("iteration"), text)


def _exception_sample(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section and section.sample_mode and _exception_by_kernel(form, context):
        yield Breach(e2e_setting("sample_mode"), section.sample_mode)


def _exception_saved(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    named = form.common_dump_settings.saved_data
    if named != "tensor" and _exception_by_kernel(form, context):
        yield Breach(setting("saved_data"), named)


def _exception_io(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if debug_mode(form) == 4 and section.input_output == 2:
        yield Breach(setting("input_output"), 2)


def _overflow_io(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if debug_mode(form) == 3 and section.input_output:
        yield Breach(setting("input_output"), section.input_output)


def _overflow_statistics(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if debug_mode(form) == 3 and section.saved_data != "tensor":
        yield Breach(setting("saved_data"), section.saved_data)


def _overflow_sample(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section and section.sample_mode and debug_mode(form) == 3:
        yield Breach(e2e_setting("sample_mode"), section.sample_mode)


def _debug_iteration(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if debug_mode(form) and section.iteration != "all":
        values = {"mode": debug_mode(form)}
        yield Breach(setting("iteration"), section.iteration, values)


def _number(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = common(form)
    if section and "overflow_number" in section.model_fields_set and debug_mode(form) != 3:
        values = {"mode": section.op_debug_mode}
        yield Breach(setting("overflow_number"), section.overflow_number, values)


def _number_of_bin(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if section.overflow_number and debug_mode(form) == 3 and section.file_format == "bin":
        yield Breach(setting("overflow_number"), section.overflow_number)


def _format(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if "file_format" in section.model_fields_set:
        yield Breach(setting("file_format"), section.file_format)


def _arguments(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section and section.save_kernel_args and not section.enable:
        yield Breach(e2e_setting("save_kernel_args"), section.save_kernel_args)


def _no_effect(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section is None:
        return
    for key, default in (("trans_flag", True), ("save_kernel_args", False), ("sample_mode", 0)):
        value = getattr(section, key)
        if value != default:
            yield Breach(e2e_setting(key), value)


def _sample_number(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section and not section.sample_mode and "sample_num" in section.model_fields_set:
        yield Breach(e2e_setting("sample_num"), section.sample_num)


ROWS = (
    Row(
        "set-dump",
        "error",
        _set_dump,
        "{key} 2 is not supported on CPU and GPU: only Ascend knows mindspore.set_dump",
        "Select operators by kernels (dump_mode 1).",
        {"dump_mode": 2},
        {"dump_mode": 1},
        SEEN,
        on="cpu gpu",
    ),
    Row(
        "set-dump-o2",
        "hint",
        _set_dump,
        "{key} 2 is not documented for O2, and a parser of 2024 refuses it",
        "Select operators by kernels (dump_mode 1).",
        {"dump_mode": 2},
        {"dump_mode": 1},
        TUTORIAL,
        on=WHOLE_GRAPH,
    ),
    Row(
        "debug-mode",
        "warning",
        _mapped,
        "{key} {got} is read as 3",
        "Use 0, 3 or 4.",
        {"op_debug_mode": 1},
        {"op_debug_mode": 3},
    ),
    Row(
        "exception-host",
        "warning",
        _exception,
        "{key} 4 dumps no operator on CPU and GPU, only the parameters of every iteration",
        "Set it to 0.",
        {"op_debug_mode": 4},
        {"op_debug_mode": 0},
        SEEN,
        on="cpu gpu",
    ),
    Row(
        "overflow-host",
        "warning",
        _overflow,
        "{key} {got} detects no overflow on CPU and GPU: every operator is dumped",
        "Set it to 0.",
        {"op_debug_mode": 3},
        {"op_debug_mode": 0},
        SEEN,
        on="cpu gpu",
    ),
    Row(
        "exception-ge",
        "warning",
        _exception,
        "{key} 4 is not supported in a GE dump",
        "Use surface mindspore-o2, or set it to 0 or 3.",
        {"op_debug_mode": 4},
        {"op_debug_mode": 3},
        TUTORIAL,
        on="ge",
    ),
    Row(
        "debug-dump-mode",
        "warning",
        _mode_of_another,
        "{key} {got} is ignored with op_debug_mode {mode}: all operators are watched",
        "Set it to 0.",
        {"op_debug_mode": 3, "dump_mode": 1},
        {"op_debug_mode": 3, "dump_mode": 0},
    ),
    Row(
        "exception-iteration",
        "warning",
        _exception_iteration,
        "{key} {got!r} is ignored with op_debug_mode 4: MindSpore uses 'all'",
        "Set it to 'all'.",
        {"op_debug_mode": 4, "iteration": "3", E2E: {}},
        {"op_debug_mode": 4, "iteration": "all", E2E: {}},
        on="o0o1 cpu gpu",
    ),
    Row(
        "exception-sample",
        "warning",
        _exception_sample,
        "{key} {got} is ignored with op_debug_mode 4: full tensors are saved",
        "Set it to 0.",
        {"op_debug_mode": 4, "iteration": "all", "e2e.sample_mode": 1},
        {"op_debug_mode": 4, "iteration": "all", "e2e.sample_mode": 0},
        on="o0o1 cpu gpu",
    ),
    Row(
        "exception-saved",
        "warning",
        _exception_saved,
        "{key} {got!r} is ignored with op_debug_mode 4: MindSpore uses 'tensor'",
        "Set it to 'tensor'.",
        {"op_debug_mode": 4, "iteration": "all", "saved_data": "full"},
        {"op_debug_mode": 4, "iteration": "all", "saved_data": "tensor"},
        on="o0o1 cpu gpu",
    ),
    Row(
        "exception-io",
        "hint",
        _exception_io,
        "{key} 2 selects outputs, but op_debug_mode 4 saves only the inputs of the failing operator",
        "Set it to 0 or 1.",
        {"op_debug_mode": 4, "input_output": 2},
        {"op_debug_mode": 4, "input_output": 1},
        TUTORIAL,
        on="o0o1",
    ),
    Row(
        "overflow-io",
        "warning",
        _overflow_io,
        "{key} {got} is ignored with op_debug_mode 3: inputs and outputs are saved",
        "Set it to 0.",
        {"op_debug_mode": 3, "input_output": 1},
        {"op_debug_mode": 3, "input_output": 0},
    ),
    Row(
        "overflow-statistics",
        "hint",
        _overflow_statistics,
        "Statistics are documented for op_debug_mode 0 only",
        "Set {key} to 'tensor'.",
        {"op_debug_mode": 3, "saved_data": "statistic", "file_format": "npy"},
        {"op_debug_mode": 3, "saved_data": "tensor"},
        TUTORIAL,
        on="o0o1 o2 ge gpu",
    ),
    Row(
        "overflow-sample",
        "hint",
        _overflow_sample,
        "Samples are documented for op_debug_mode 0 only",
        "Set {key} to 0.",
        {"op_debug_mode": 3, "e2e.sample_mode": 1},
        {"op_debug_mode": 3, "e2e.sample_mode": 0},
        TUTORIAL,
        on="o0o1",
    ),
    Row(
        "debug-iteration",
        "hint",
        _debug_iteration,
        "{key} is documented for op_debug_mode 0 only, not for {mode}",
        "Set it to 'all'.",
        {"op_debug_mode": 3, "iteration": "3"},
        {"op_debug_mode": 3, "iteration": "all"},
        TUTORIAL,
        on=WHOLE_GRAPH,
    ),
    Row(
        "overflow-number",
        "error",
        _number,
        "{key} is not allowed with op_debug_mode {mode}",
        "Remove it, or set op_debug_mode to 3.",
        {"overflow_number": 1, "op_debug_mode": 0},
        {"overflow_number": 1, "op_debug_mode": 3},
    ),
    Row(
        "overflow-number-bin",
        "hint",
        _number_of_bin,
        "{key} has no effect with file_format 'bin': every overflow is dumped",
        "Set file_format to 'npy', or remove {key}.",
        {"overflow_number": 1, "op_debug_mode": 3, "file_format": "bin"},
        {"overflow_number": 1, "op_debug_mode": 3, "file_format": "npy"},
        TUTORIAL,
        on=WHOLE_GRAPH,
    ),
    Row(
        "file-format-unread",
        "hint",
        _format,
        "{key} is not read where MindSpore dumps kernel by kernel; files are npy",
        "Remove it.",
        {"file_format": "npy"},
        {"file_format": ABSENT},
        on="o0o1 cpu gpu",
    ),
    Row(
        "kernel-args",
        "hint",
        _arguments,
        "{key} is documented for enable true only",
        "Set enable to true.",
        {"e2e.save_kernel_args": True, "e2e.enable": False},
        {"e2e.save_kernel_args": True, "e2e.enable": True},
        TUTORIAL,
        on="o0o1",
    ),
    Row(
        "no-effect",
        "warning",
        _no_effect,
        "{key} has no effect on CPU and GPU",
        "Remove it.",
        {"e2e.sample_mode": 1},
        {"e2e.sample_mode": 0},
        f"{SEEN}; {TUTORIAL}",
        on="cpu gpu",
    ),
    Row(
        "sample-unread",
        "hint",
        _sample_number,
        "{key} is not read with sample_mode 0",
        "Set sample_mode to 1.",
        {"e2e.sample_mode": 0, "e2e.sample_num": 5},
        {"e2e.sample_mode": 1, "e2e.sample_num": 5},
        on="o0o1",
    ),
)
"""Order is that of MindSpore's own checks."""
