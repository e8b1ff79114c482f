"""What npu_bridge refuses beyond the types and choices of the settings, in the order of its checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.context import Context
from workbench.config.form.rules import Example, Rule
from workbench.config.ge.steps import bridge_fault
from workbench.config.tensorflow.settings import ATTRS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.config.form.rules import At
    from workbench.config.tensorflow.reading import TensorFlowReading

CONFIG = "hicann/tensorflow npu_bridge/estimator/npu/npu_config.py"
MIXED = (
    "allow_mix_precision",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "mixed_float16",
    "mixed_bfloat16",
    "mixed_hif8",
)
ARGUMENTS = {"script.interface": "estimator", "script.porting": "manual"}
EXCEPTION = "run.enable_exception_dump"


def make(change: Mapping[str, Any] | None = None, **context: Any) -> Example:
    """Return a form that dumps, with settings changed by path, and its context."""
    form: dict[str, Any] = {
        "script": {"interface": "session", "porting": "automated"},
        "dump": {"enable_dump": True, "dump_path": "/d", "dump_step": "0"},
        "environment": {"DUMP_GE_GRAPH": "2"},
    }
    for path, value in (change or {}).items():
        section, _, key = path.partition(".")
        form[section] = {**form.get(section, {}), key: value}
    return Example(form, Context(**context))


def _any_by_hand(r: TensorFlowReading, at: At) -> bool:
    script = r.form.script
    automated = script.porting == "automated"
    return bool(at.value == "any" and script.init_resource != automated)


def _lacks_folder(r: TensorFlowReading, at: At) -> bool:
    usable = bool(at.value) and r.context.own_folder(at.value)
    return r.dumps and at.given and not usable


def _fault(r: TensorFlowReading, at: At) -> str:
    return bridge_fault(at.value) if r.form.dump.enable_dump and at.value else ""


def _lacks_implmode(r: TensorFlowReading, at: At) -> bool:
    return at.value is None and "optypelist_for_implmode" in r.form.run.given


def _lacks_mixed_mode(r: TensorFlowReading, at: At) -> bool:
    mode = r.form.run.precision_mode or r.form.run.precision_mode_v2
    return at.given and mode not in MIXED


REFUSALS = (
    Rule(
        id="interface-any",
        severity="error",
        at="script.interface",
        when=_any_by_hand,
        says="{key} 'any' is only for the lines of init_resource (automated porting)",
        fix="Choose estimator, session or keras.",
        source="the form of this workbench",
        breaks=make({"script.interface": "any"}),
        keeps=make({"script.interface": "any", "script.init_resource": True}),
    ),
    Rule(
        id="mode-none",
        severity="error",
        at="dump.dump_mode",
        when=lambda r, at: at.value is None and not r.takes_arguments and {"got": None},
        says="{key} is {got!r}, but parameter_map takes text",
        fix="Remove it for 'output'.",
        source="tf.compat.as_bytes",
        breaks=make({"dump.dump_mode": None}),
        keeps=make({"dump.dump_mode": None} | ARGUMENTS),
        code="TypeError",
    ),
    Rule(
        id="exception-sign",
        severity="error",
        at=EXCEPTION,
        when=lambda r, at: r.takes_arguments and at.value < 0,
        says="{key} {got!r} is negative",
        fix="Use 0 for no exception dump.",
        source=CONFIG,
        breaks=make({EXCEPTION: -1} | ARGUMENTS),
        keeps=make({EXCEPTION: 0} | ARGUMENTS),
        code="ValueError",
    ),
    Rule(
        id="exception-range",
        severity="error",
        at=EXCEPTION,
        when=lambda r, at: at.value > 2 or (at.value < 0 and not r.takes_arguments),
        says="{key} {got!r} is not 0, 1 or 2",
        fix="0 = none, 1 = full, 2 = brief.",
        source=ATTRS,
        breaks=make({EXCEPTION: 3}),
        keeps=make({EXCEPTION: 2}),
        code="Internal",
    ),
    Rule(
        id="folder",
        severity="error",
        at="dump.dump_path",
        when=_lacks_folder,
        says="{key} {got!r} is not an existing folder that the process can read and write; a link is not accepted",
        fix="Create it where the training runs, or add '/' behind a link.",
        source=ATTRS,
        breaks=make({"dump.dump_path": ""}),
        keeps=make({"dump.dump_path": "output"}),
        code="Internal",
    ),
    Rule(
        id="step-pieces",
        severity="error",
        at="dump.dump_step",
        when=lambda r, at: _fault(r, at) == "pieces",
        says="{key} has more than 100 pieces",
        fix="Merge neighbors into ranges.",
        source=ATTRS,
        breaks=make({"dump.dump_step": "|".join(["1"] * 101)}),
        keeps=make({"dump.dump_step": "|".join(["1"] * 100)}),
        code="Internal",
    ),
    Rule(
        id="step-format",
        severity="error",
        at="dump.dump_step",
        when=lambda r, at: _fault(r, at) == "format",
        says="{key} {got!r} is not a list of numbers and ranges joined by '|'",
        fix="Write it like '0|5|10-20'.",
        source=ATTRS,
        breaks=make({"dump.dump_step": "1||2"}),
        keeps=make({"dump.dump_step": "1|2-4"}),
        code="Internal",
    ),
    Rule(
        id="step-order",
        severity="error",
        at="dump.dump_step",
        when=lambda r, at: _fault(r, at) == "order",
        says="{key} {got!r} has a range that does not ascend",
        fix="Write a single iteration as one number.",
        source=ATTRS,
        breaks=make({"dump.dump_step": "3-3"}),
        keeps=make({"dump.dump_step": "3-4"}),
        code="Internal",
    ),
    Rule(
        id="precision-both",
        severity="error",
        at="run.precision_mode_v2",
        when=lambda r, at: at.value is not None and r.form.run.precision_mode is not None,
        says="precision_mode and precision_mode_v2 are both set",
        fix="Keep one of them.",
        source=ATTRS,
        breaks=make({"run.precision_mode": "force_fp32", "run.precision_mode_v2": "origin"}),
        keeps=make({"run.precision_mode_v2": "origin"}),
        code="Internal",
    ),
    Rule(
        id="implmode-missing",
        severity="error",
        at="run.op_select_implmode",
        when=_lacks_implmode,
        says="{key} is missing, but optypelist_for_implmode is set",
        fix="Add it, or use op_precision_mode instead of both.",
        source=ATTRS,
        breaks=make({"run.optypelist_for_implmode": "Pooling"}),
        keeps=make(
            {"run.optypelist_for_implmode": "Pooling", "run.op_select_implmode": "high_precision"}
        ),
        code="FATAL",
    ),
    Rule(
        id="mixlist-mode",
        severity="error",
        at="run.modify_mixlist",
        when=_lacks_mixed_mode,
        says="{key} needs a mixed precision mode",
        fix=f"Set precision_mode or precision_mode_v2 to one of {', '.join(MIXED)}.",
        source=ATTRS,
        breaks=make({"run.modify_mixlist": "/lists.json", "run.precision_mode": "force_fp32"}),
        keeps=make(
            {"run.modify_mixlist": "/lists.json", "run.precision_mode": "allow_mix_precision"}
        ),
        code="Internal",
    ),
)
