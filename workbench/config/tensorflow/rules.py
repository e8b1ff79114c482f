"""What npu_bridge refuses, and what GE refuses after it; the order is that of their checks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from workbench.config.ge_options import (
    BOTH,
    DATA,
    DEBUG_MODE,
    ENABLE,
    ENABLE_DEBUG,
    LAYER,
    MODE,
    PATH,
    SOURCE,
    STEP,
    WRONG,
    ge_breaches,
)
from workbench.config.rule import Breach, Example, Rule
from workbench.config.tensorflow.examples import make
from workbench.config.tensorflow.form import ATTRS, TensorFlowForm, dumps, takes_arguments
from workbench.config.tensorflow.hints import HINTS
from workbench.config.tensorflow.steps import step_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.context import Context
    from workbench.config.rule import Find

CONFIG = "hicann/tensorflow npu_bridge/estimator/npu/npu_config.py"
ESTIMATOR = "hicann/tensorflow npu_bridge/estimator/npu/npu_estimator.py"
MIXED = (
    "allow_mix_precision",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "mixed_float16",
    "mixed_bfloat16",
    "mixed_hif8",
)

PATH_OF = {
    ENABLE: "dump.enable_dump",
    ENABLE_DEBUG: "dump.enable_dump_debug",
    PATH: "dump.dump_path",
    STEP: "dump.dump_step",
    MODE: "dump.dump_mode",
    DEBUG_MODE: "dump.dump_debug_mode",
    DATA: "dump.dump_data",
    LAYER: "dump.dump_layer",
}
"""The setting that each option of GE comes from."""


def options(form: TensorFlowForm) -> dict[str, str]:
    """Session options that npu_bridge hands to GE."""
    dump = form.dump
    return {
        ENABLE: str(int(dump.enable_dump)),
        ENABLE_DEBUG: str(int(dump.enable_dump_debug)),
        PATH: dump.dump_path,
        STEP: dump.dump_step,
        MODE: dump.dump_mode or "output",
        DEBUG_MODE: dump.dump_debug_mode,
        DATA: dump.dump_data,
        LAYER: dump.dump_layer,
    }


def _any_interface(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    script = form.script
    if script.interface == "any" and script.init_resource != (script.porting == "automated"):
        yield Breach("script.interface", "any")


def _none_mode(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if form.dump.dump_mode is None and not takes_arguments(form):
        yield Breach("dump.dump_mode", None)


def _exception_sign(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if takes_arguments(form) and form.run.enable_exception_dump < 0:
        yield Breach("run.enable_exception_dump", form.run.enable_exception_dump)


def _exception_range(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    value = form.run.enable_exception_dump
    if value > 2 or (value < 0 and not takes_arguments(form)):
        yield Breach("run.enable_exception_dump", value)


def _folder(form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    path = form.dump.dump_path
    given = "dump_path" in form.dump.model_fields_set
    if dumps(form) and given and (not path or not context.usable_folder(path)):
        yield Breach("dump.dump_path", path)


def _step(fault: str, form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    text = form.dump.dump_step
    if form.dump.enable_dump and text and step_fault(text) == fault:
        yield Breach("dump.dump_step", text)


def _precision(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if form.run.precision_mode is not None and form.run.precision_mode_v2 is not None:
        yield Breach("run.precision_mode_v2", form.run.precision_mode_v2)


def _type_list(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    given = "optypelist_for_implmode" in form.run.model_fields_set
    if given and form.run.op_select_implmode is None:
        yield Breach("run.op_select_implmode")


def _mixlist(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    run = form.run
    mode = run.precision_mode or run.precision_mode_v2
    if "modify_mixlist" in run.model_fields_set and mode not in MIXED:
        yield Breach("run.modify_mixlist", run.modify_mixlist)


def _dropped(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    dump = form.dump
    lost = takes_arguments(form) and dump.dump_mode is None and dump.dump_debug_mode != "all"
    if lost and dump.enable_dump_debug:
        yield Breach("dump.dump_debug_mode", dump.dump_debug_mode)


def _in_ge(id_: str, form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    """What GE refuses of a form that npu_bridge took."""
    if any(True for rule in REFUSALS for _ in rule.find(form, context)):
        return
    for breach in ge_breaches(options(form), context):
        if breach.id == id_:
            yield Breach(PATH_OF[breach.option], breach.got)


ARGUMENTS = {"script.interface": "estimator", "script.porting": "manual"}
DEBUG = {"dump.enable_dump": False, "dump.enable_dump_debug": True}
EXCEPTION = "run.enable_exception_dump"


def _refusal(
    id_: str,
    find: Find,
    says: str,
    fix: str,
    breaks: Example,
    keeps: Example,
    code: str,
    source: str = ATTRS,
) -> Rule:
    return Rule(id_, "error", find, says, fix, source, breaks, keeps, code)


REFUSALS = (
    _refusal(
        "interface-any",
        _any_interface,
        "{key} 'any' is only for the lines of init_resource (automated porting)",
        "Choose estimator, session or keras.",
        make({"script.interface": "any"}),
        make({"script.interface": "any", "script.init_resource": True}),
        "",
        "the form of this workbench",
    ),
    _refusal(
        "mode-none",
        _none_mode,
        "{key} must be text in parameter_map, got {got!r}",
        "Remove it for 'output'.",
        make({"dump.dump_mode": None}),
        make({"dump.dump_mode": None} | ARGUMENTS),
        "TypeError",
        "tf.compat.as_bytes",
    ),
    _refusal(
        "exception-sign",
        _exception_sign,
        "{key} must not be negative, got {got!r}",
        "Use 0 for no exception dump.",
        make({EXCEPTION: -1} | ARGUMENTS),
        make({EXCEPTION: 0} | ARGUMENTS),
        "ValueError",
        CONFIG,
    ),
    _refusal(
        "exception-range",
        _exception_range,
        "{key} must be 0, 1 or 2, got {got!r}",
        "0 = none, 1 = full, 2 = brief.",
        make({EXCEPTION: 3}),
        make({EXCEPTION: 2}),
        "Internal",
    ),
    _refusal(
        "folder",
        _folder,
        "{key} {got!r} is not an existing folder that the process can read and write",
        "Create it on the machine or in the container that trains.",
        make({"dump.dump_path": ""}),
        make({"dump.dump_path": "output"}),
        "Internal",
    ),
    _refusal(
        "step-pieces",
        partial(_step, "pieces"),
        "{key} has more than 100 pieces",
        "Merge neighbors into ranges.",
        make({"dump.dump_step": "|".join(["1"] * 101)}),
        make({"dump.dump_step": "|".join(["1"] * 100)}),
        "Internal",
    ),
    _refusal(
        "step-format",
        partial(_step, "format"),
        "{key} must be numbers and ranges joined by '|', got {got!r}",
        "Write it like '0|5|10-20'.",
        make({"dump.dump_step": "1||2"}),
        make({"dump.dump_step": "1|2-4"}),
        "Internal",
    ),
    _refusal(
        "step-order",
        partial(_step, "order"),
        "{key} {got!r} has a range that does not ascend",
        "Write a single iteration as one number.",
        make({"dump.dump_step": "3-3"}),
        make({"dump.dump_step": "3-4"}),
        "Internal",
    ),
    _refusal(
        "precision-both",
        _precision,
        "precision_mode and precision_mode_v2 are both set",
        "Keep one of them.",
        make({"run.precision_mode": "force_fp32", "run.precision_mode_v2": "origin"}),
        make({"run.precision_mode_v2": "origin"}),
        "Internal",
    ),
    _refusal(
        "implmode-missing",
        _type_list,
        "{key} is missing, but optypelist_for_implmode is set",
        "Add it, or use op_precision_mode instead of both.",
        make({"run.optypelist_for_implmode": "Pooling"}),
        make(
            {"run.optypelist_for_implmode": "Pooling", "run.op_select_implmode": "high_precision"}
        ),
        "FATAL",
    ),
    _refusal(
        "mixlist-mode",
        _mixlist,
        "{key} needs a mixed precision mode",
        f"Set precision_mode or precision_mode_v2 to one of {', '.join(MIXED)}.",
        make({"run.modify_mixlist": "/lists.json", "run.precision_mode": "force_fp32"}),
        make({"run.modify_mixlist": "/lists.json", "run.precision_mode": "allow_mix_precision"}),
        "Internal",
    ),
)
"""What npu_bridge refuses beyond the types and choices of the settings."""

LATER = (
    Rule(
        "debug-mode-dropped",
        "warning",
        _dropped,
        "{key} {got!r} is dropped: NPUEstimator passes it on only beside a dump_mode, and 'all' is used",
        "Set dump_mode.",
        ESTIMATOR,
        make(
            DEBUG | ARGUMENTS | {"dump.dump_mode": None, "dump.dump_debug_mode": "aicore_overflow"}
        ),
        make(DEBUG | ARGUMENTS | {"dump.dump_debug_mode": "aicore_overflow"}),
    ),
    Rule(
        "ge-both",
        "warning",
        partial(_in_ge, "ge-both"),
        "enable_dump and enable_dump_debug are both on; npu_bridge accepts both, GE refuses the session",
        "Turn one of them off.",
        SOURCE,
        make({"dump.enable_dump_debug": True}),
        make(),
        WRONG,
    ),
    Rule(
        "ge-collect-path",
        "warning",
        partial(_in_ge, "ge-collect-path"),
        "GE refuses the session while NPU_COLLECT_PATH is set",
        "Unset the variable.",
        SOURCE,
        make(env={"NPU_COLLECT_PATH": "/c"}),
        make(),
        BOTH,
    ),
    Rule(
        "ge-step",
        "warning",
        partial(_in_ge, "ge-step"),
        "GE refuses {key} {got!r}: every end must be a number below 2147483648 (npu_bridge accepts more)",
        "Write it like '0|5|10-20'.",
        SOURCE,
        make({"dump.dump_step": "5|"}),
        make(),
        WRONG,
    ),
)
"""What is changed on the way, or refused by GE."""

RULES: tuple[Rule, ...] = (*REFUSALS, *LATER, *HINTS)
