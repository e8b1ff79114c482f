"""The form behind a TensorFlow training script: where its settings stand, and what they are.

The vendor's form is the script itself; this is what `workbench.config.tensorflow.script` finds there and
`workbench.config.tensorflow.write` puts there. Defaults are npu_bridge's for an absent setting.
A value under a wrong proto member keeps it (``{"i": 1}``); npu_bridge reads false, 0 or no text.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from workbench.config.form.kinds import (
    RECORD,
    SWITCH,
    TEXT,
    Kind,
    converted,
    integer_from,
    optional,
)
from workbench.config.form.settings import (
    Condition,
    Form,
    Options,
    Said,
    Section,
    choice,
    one_of,
    section,
    setting,
    switch,
    text,
)
from workbench.config.ge.options import DEBUG_MODES, MODES

if TYPE_CHECKING:
    from workbench.core.problems import Severity

ATTRS = "hicann/tensorflow tf_adapter/util/npu_attrs.cc"
SEED = "Dump Data Collection (TensorFlow)"
GRAPHS = "hicann/ge graph dump"


def part(form: Form, name: str) -> Form:
    """Return a section of a form; an empty one if it is missing or no object."""
    value = form.get(name)
    return value if isinstance(value, Mapping) else {}


def is_manual_estimator(form: Form) -> bool:
    """Whether the settings are arguments of ``DumpConfig`` and ``NPURunConfig``."""
    script = part(form, "script")
    return (script.get("interface"), script.get("porting")) == ("estimator", "manual")


def misread(value: Any, member: str) -> bool:
    """Whether a value stands under another proto member than the one that is read."""
    keys = list(value) if isinstance(value, Mapping) else []
    return len(keys) == 1 and keys[0] != member and is_name(keys[0])


def is_name(text: Any) -> bool:
    """Whether a text can be a name in Python."""
    known = isinstance(text, str) and text.isascii() and text.isidentifier()
    return known and not keyword.iskeyword(text)


def _member(member: str, zero: Any, kind: Kind) -> Kind:
    """A kind that npu_bridge reads from one proto member: under another it finds ``zero``."""
    return converted(lambda value: zero if misread(value, member) else value, kind)


def truth(default: bool, help: str, **said: Unpack[Said]) -> Any:
    """Declare a setting that is true or false in Python."""
    words: Said = {"expected": "True or False", "misfit": "True"}
    return setting(_member("b", False, SWITCH), default, help, **words | said)


def number(default: int, help: str, **said: Unpack[Said]) -> Any:
    """Declare a setting of a number."""
    return setting(_member("i", 0, integer_from()), default, help, **said)


def words(default: str, help: str, **said: Unpack[Said]) -> Any:
    """Declare a setting of text."""
    return setting(_member("s", "", TEXT), default, help, **said)


def word(default: str, options: Options, help: str, **said: Unpack[Said]) -> Any:
    """Declare a setting of one text out of several."""
    return setting(_member("s", "", one_of(options)), default, help, **said)


def maybe(default: str | None, options: Options, help: str, **said: Unpack[Said]) -> Any:
    """Declare a setting of one text out of several, or None."""
    kind = optional(one_of(options))
    return setting(_member("s", "", kind), default, help, **said)


def _on(*switches: str) -> Condition:
    return lambda form: any(part(form, "dump").get(switch) is True for switch in switches)


def _choice_read(key: str, switch: str) -> Condition:
    """Choices count while their switch is on; what is no text is never taken, but what stands under another member."""
    is_on = _on(switch)

    def is_read(form: Form) -> bool:
        value = part(form, "dump").get(key)
        return is_on(form) or not (isinstance(value, str) or misread(value, "s"))

    return is_read


_PRECISION = """
force_fp32 allow_fp32_to_fp16 force_fp16 must_keep_origin_dtype allow_mix_precision cube_fp16in_fp32out
allow_mix_precision_fp16 allow_mix_precision_bf16 allow_fp32_to_bf16
"""


class Arguments(Section):
    """Settings that manual porting passes as arguments, whose names Python checks."""

    @classmethod
    def unknown_in(cls, form: Form) -> Severity:
        return "error" if is_manual_estimator(form) else "warning"


class Script(Section):
    """Where the settings stand."""

    interface: str = choice(
        "session",
        "estimator session keras any",
        "Training interface: Estimator, sess.run or tf.keras. any = only the lines common to all.",
        misfit="trainer",
    )
    porting: str = choice(
        "automated", "automated manual", "Ported by the porting tool or by hand.", misfit="auto"
    )
    init_resource: bool = switch(
        False, "The script calls init_resource, which gets the settings too.", misfit=1
    )
    rank: int | None = setting(
        optional(integer_from(0)), None, "RANK_ID of the only rank that dumps."
    )
    use_off_line: bool = truth(True, "Run graphs on the device (manual sess.run, keras).")
    remapping_off: bool = switch(False, "Turn remapping off in rewrite_options.", misfit="OFF")
    memory_optimization_off: bool = switch(
        False, "Turn memory optimization off in rewrite_options.", misfit="OFF"
    )
    optimizer: str = text(
        "NpuOptimizer",
        "Name of the custom optimizer; others are not read. Empty = none.",
        expected="'NpuOptimizer'",
        misfit=0,
    )


class Dump(Arguments):
    """What is dumped: ``DumpConfig`` or ``parameter_map``; in the order of ``DumpConfig``."""

    called: ClassVar[str] = "a DumpConfig"

    enable_dump: bool = truth(False, "Dump inputs and outputs of operators.", run_default=True)
    dump_path: str = words(
        "",
        "Existing folder that the training process can read and write.",
        expected="a folder",
        misfit=7,
        required=_on("enable_dump", "enable_dump_debug"),
        widget="path",
    )
    dump_step: str = words(
        "",
        "Iterations to dump, at most 100 pieces. Empty = all.",
        expected="text like '0|5-8'",
        misfit=5,
        widget="iterations",
    )
    dump_mode: str | None = maybe(
        "output",
        MODES,
        "Dump inputs, outputs or both.",
        expected=f"one of {', '.join(MODES)}",
        misfit="both",
        read_when=_choice_read("dump_mode", "enable_dump"),
    )
    enable_dump_debug: bool = truth(False, "Detect overflow instead of dumping.")
    dump_debug_mode: str = word(
        "all",
        DEBUG_MODES,
        "Overflow of AI Core operators, of atomic additions, or both.",
        expected=f"one of {', '.join(DEBUG_MODES)}",
        misfit="aicore",
        read_when=_choice_read("dump_debug_mode", "enable_dump_debug"),
    )
    dump_data: str = word(
        "tensor", "tensor stats", "Full tensors or their statistics.", misfit="full"
    )
    dump_layer: str = words(
        "",
        "Operators to dump. Empty = all.",
        expected="names joined by spaces",
        misfit=["conv1"],
        widget="names",
    )


class Run(Arguments):
    """What else concerns dumps and accuracy: ``NPURunConfig`` or ``parameter_map``."""

    enable_exception_dump: int = number(
        2, "Exception dump: 0 = none, 1 = full, 2 = brief.", expected="0, 1 or 2"
    )
    precision_mode: str | None = maybe(
        None,
        _PRECISION,
        "Dtypes that operators use.",
        expected="a precision mode like 'force_fp32'",
        misfit="fp32",
    )
    precision_mode_v2: str | None = maybe(
        None,
        "fp16 origin cube_fp16in_fp32out mixed_float16 mixed_bfloat16 cube_hif8 mixed_hif8",
        "Newer names of the precision modes.",
        expected="a precision mode like 'origin'",
        misfit="force_fp32",
    )
    op_select_implmode: str | None = maybe(
        None,
        "high_precision high_performance high_precision_for_all high_performance_for_all",
        "Implementations that operators use.",
        expected="a mode like 'high_precision'",
        misfit="high",
    )
    optypelist_for_implmode: str = words(
        "", "Operator types that op_select_implmode applies to.", expected="types joined by commas"
    )
    modify_mixlist: str = words(
        "", "Operator lists for mixed precision.", expected="a file", widget="file"
    )
    quant_dumpable: str = words(
        "",
        "'1' = keep tensors around quantization, so that they can be dumped.",
        expected="'0' or '1'",
    )


class Environment(Section):
    """Variables that the script sets by ``os.environ``; they choose the graph files that GE writes."""

    DUMP_GE_GRAPH: str = text(
        "",
        "Write graphs: 1 = all, 2 = without weights, 3 = structure only.",
        expected="'1', '2' or '3'",
        misfit=2,
        source=GRAPHS,
    )
    DUMP_GRAPH_LEVEL: str = text(
        "",
        "Stages to write: 1 = all, 2 = usual ones, 3 = last (Build), 4 = first.",
        expected="'1' to '4' or stage names joined by '|'",
        source=GRAPHS,
    )
    DUMP_GRAPH_PATH: str = text(
        "", "Folder of the graphs. Empty = working folder.", expected="a folder", widget="path"
    )
    DUMP_GRAPH_FORMAT: str = text(
        "",
        "Formats of the graph files.",
        expected="names of 'ge_proto', 'onnx', 'readable' joined by '|'",
        source=GRAPHS,
    )


class TensorFlowForm(Section):
    """What a training script says about dumps."""

    script: Script = section(Script)
    dump: Dump = section(Dump)
    run: Run = section(Run)
    environment: Environment = section(Environment)
    options: Mapping[str, Any] = setting(
        RECORD, {}, "Other settings of the script: kept, not checked."
    )


def takes_arguments(form: TensorFlowForm) -> bool:
    """Whether the settings are arguments of ``DumpConfig`` and ``NPURunConfig``."""
    return (form.script.interface, form.script.porting) == ("estimator", "manual")


def dumps(form: TensorFlowForm) -> bool:
    """Whether either kind of dump is on."""
    return form.dump.enable_dump or form.dump.enable_dump_debug
