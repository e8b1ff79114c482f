"""The form behind a TensorFlow training script: where its settings stand, and what they are.

The vendor's form is the script itself; this is what `workbench.config.tensorflow.read` finds there and
`workbench.config.tensorflow.write` puts there. Defaults are npu_bridge's for an absent setting.
A value under a wrong proto member keeps it (``{"i": 1}``); npu_bridge reads false, 0 or no text.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from workbench.config.setting import Condition, Form, Section, Setting

if TYPE_CHECKING:
    from workbench.core.problems import Severity

MODES = ("input", "output", "all")
DEBUG_MODES = ("aicore_overflow", "atomic_overflow", "all")
ATTRS = "hicann/tensorflow tf_adapter/util/npu_attrs.cc"
SEED = "Dump Data Collection (TensorFlow)"
GRAPHS = "hicann/ge graph dump"


def section(form: Form, name: str) -> Form:
    """Return a section of a form; an empty one if it is missing or no object."""
    value = form.get(name)
    return value if isinstance(value, Mapping) else {}


def is_manual_estimator(form: Form) -> bool:
    """Whether the settings are arguments of ``DumpConfig`` and ``NPURunConfig``."""
    script = section(form, "script")
    return (script.get("interface"), script.get("porting")) == ("estimator", "manual")


def misread(value: Any, member: str) -> bool:
    """Whether a value stands under another proto member than the one that is read."""
    keys = list(value) if isinstance(value, Mapping) else []
    return len(keys) == 1 and keys[0] != member and is_name(keys[0])


def is_name(text: Any) -> bool:
    """Whether a text can be a name in Python."""
    known = isinstance(text, str) and text.isascii() and text.isidentifier()
    return known and not keyword.iskeyword(text)


def _read_as(zero: Any, member: str) -> BeforeValidator:
    return BeforeValidator(lambda value: zero if misread(value, member) else value)


Switch = Annotated[bool, _read_as(False, "b")]
Number = Annotated[int, _read_as(0, "i")]
Text = Annotated[str, _read_as("", "s")]


def _on(*switches: str) -> Condition:
    return lambda form: any(section(form, "dump").get(switch) is True for switch in switches)


def _choice_read(key: str, switch: str) -> Condition:
    """Choices count while their switch is on; what is no text is never taken."""
    is_on = _on(switch)
    return lambda form: is_on(form) or not isinstance(section(form, "dump").get(key), str)


class Arguments(Section):
    """Settings that manual porting passes as arguments, whose names Python checks."""

    @classmethod
    def unknown_in(cls, form: Form) -> Severity:
        return "error" if is_manual_estimator(form) else "warning"


class Script(Section):
    """Where the settings stand."""

    interface: Annotated[
        Literal["estimator", "session", "keras", "any"],
        Setting(
            "'estimator', 'session', 'keras' or 'any'",
            "Training interface: Estimator, sess.run or tf.keras. any = only the lines common to all.",
            bad="trainer",
        ),
    ] = "session"
    porting: Annotated[
        Literal["automated", "manual"],
        Setting("'automated' or 'manual'", "Ported by the porting tool or by hand.", bad="auto"),
    ] = "automated"
    init_resource: Annotated[
        bool,
        Setting(
            "true or false", "The script calls init_resource, which gets the settings too.", bad=1
        ),
    ] = False
    rank: Annotated[
        int | None,
        Field(ge=0),
        Setting("an integer of at least 0", "RANK_ID of the only rank that dumps.", bad=-1),
    ] = None
    use_off_line: Annotated[
        Switch,
        Setting("True or False", "Run graphs on the device (manual sess.run, keras).", bad="True"),
    ] = True
    remapping_off: Annotated[
        bool, Setting("true or false", "Turn remapping off in rewrite_options.", bad="OFF")
    ] = False
    memory_optimization_off: Annotated[
        bool,
        Setting("true or false", "Turn memory optimization off in rewrite_options.", bad="OFF"),
    ] = False
    optimizer: Annotated[
        str, Setting("'NpuOptimizer'", "Name of the custom optimizer; others are not read.", bad=0)
    ] = "NpuOptimizer"


class Dump(Arguments):
    """What is dumped: ``DumpConfig`` or ``parameter_map``; in the order of ``DumpConfig``."""

    called: ClassVar[str] = "a DumpConfig"

    enable_dump: Annotated[
        Switch,
        Setting("True or False", "Dump inputs and outputs of operators.", bad="True", assumed=True),
    ] = False
    dump_path: Annotated[
        Text,
        Setting(
            "a folder",
            "Existing folder that the training process can read and write.",
            bad=7,
            required=_on("enable_dump", "enable_dump_debug"),
            widget="path",
        ),
    ] = ""
    dump_step: Annotated[
        Text,
        Setting(
            "text like '0|5-8'",
            "Iterations to dump, at most 100 pieces. Empty = all.",
            bad=5,
            widget="iterations",
        ),
    ] = ""
    dump_mode: Annotated[
        Literal["input", "output", "all"] | None,
        _read_as("", "s"),
        Setting(
            f"one of {', '.join(MODES)}",
            "Dump inputs, outputs or both.",
            bad="both",
            read=_choice_read("dump_mode", "enable_dump"),
        ),
    ] = "output"
    enable_dump_debug: Annotated[
        Switch, Setting("True or False", "Detect overflow instead of dumping.", bad="True")
    ] = False
    dump_debug_mode: Annotated[
        Literal["aicore_overflow", "atomic_overflow", "all"],
        _read_as("", "s"),
        Setting(
            f"one of {', '.join(DEBUG_MODES)}",
            "Overflow of AI Core operators, of atomic additions, or both.",
            bad="aicore",
            read=_choice_read("dump_debug_mode", "enable_dump_debug"),
        ),
    ] = "all"
    dump_data: Annotated[
        Literal["tensor", "stats"],
        _read_as("", "s"),
        Setting("'tensor' or 'stats'", "Full tensors or their statistics.", bad="full"),
    ] = "tensor"
    dump_layer: Annotated[
        Text,
        Setting(
            "names joined by spaces",
            "Operators to dump. Empty = all.",
            bad=["conv1"],
            widget="names",
        ),
    ] = ""


class Run(Arguments):
    """What else concerns dumps and accuracy: ``NPURunConfig`` or ``parameter_map``."""

    enable_exception_dump: Annotated[
        Number,
        Setting("0, 1 or 2", "Exception dump: 0 = none, 1 = full, 2 = brief.", bad="1"),
    ] = 2
    precision_mode: Annotated[
        Literal[
            "force_fp32",
            "allow_fp32_to_fp16",
            "force_fp16",
            "must_keep_origin_dtype",
            "allow_mix_precision",
            "cube_fp16in_fp32out",
            "allow_mix_precision_fp16",
            "allow_mix_precision_bf16",
            "allow_fp32_to_bf16",
        ]
        | None,
        _read_as("", "s"),
        Setting("a precision mode like 'force_fp32'", "Dtypes that operators use.", bad="fp32"),
    ] = None
    precision_mode_v2: Annotated[
        Literal[
            "fp16",
            "origin",
            "cube_fp16in_fp32out",
            "mixed_float16",
            "mixed_bfloat16",
            "cube_hif8",
            "mixed_hif8",
        ]
        | None,
        _read_as("", "s"),
        Setting(
            "a precision mode like 'origin'",
            "Newer names of the precision modes.",
            bad="force_fp32",
        ),
    ] = None
    op_select_implmode: Annotated[
        Literal[
            "high_precision",
            "high_performance",
            "high_precision_for_all",
            "high_performance_for_all",
        ]
        | None,
        _read_as("", "s"),
        Setting("a mode like 'high_precision'", "Implementations that operators use.", bad="high"),
    ] = None
    optypelist_for_implmode: Annotated[
        Text,
        Setting(
            "types joined by commas", "Operator types that op_select_implmode applies to.", bad=1
        ),
    ] = ""
    modify_mixlist: Annotated[
        Text, Setting("a file", "Operator lists for mixed precision.", bad=1, widget="file")
    ] = ""
    quant_dumpable: Annotated[
        Text,
        Setting(
            "'0' or '1'",
            "'1' = keep tensors around quantization, so that they can be dumped.",
            bad=1,
        ),
    ] = ""


class Environment(Section):
    """Variables that the script sets by ``os.environ``; they choose the graph files that GE writes."""

    DUMP_GE_GRAPH: Annotated[
        str,
        Setting(
            "'1', '2' or '3'",
            "Write graphs: 1 = all, 2 = without weights, 3 = structure only.",
            bad=2,
            source=GRAPHS,
        ),
    ] = ""
    DUMP_GRAPH_LEVEL: Annotated[
        str,
        Setting(
            "'1' to '4' or stage names joined by '|'",
            "Stages to write: 1 = all, 2 = usual ones, 3 = last (Build), 4 = first.",
            bad=1,
            source=GRAPHS,
        ),
    ] = ""
    DUMP_GRAPH_PATH: Annotated[
        str,
        Setting("a folder", "Folder of the graphs. Empty = working folder.", bad=1, widget="path"),
    ] = ""
    DUMP_GRAPH_FORMAT: Annotated[
        str,
        Setting(
            "names of 'ge_proto', 'onnx', 'readable' joined by '|'",
            "Formats of the graph files.",
            bad=1,
            source=GRAPHS,
        ),
    ] = ""


class TensorFlowForm(Section):
    """What a training script says about dumps."""

    script: Script = Script()
    dump: Dump = Dump()
    run: Run = Run()
    environment: Environment = Environment()
    options: Annotated[
        dict[str, Any],
        Setting("an object", "Other settings of the script: kept, not checked.", bad=[]),
    ] = Field(default={})


def takes_arguments(form: TensorFlowForm) -> bool:
    """Whether the settings are arguments of ``DumpConfig`` and ``NPURunConfig``."""
    return (form.script.interface, form.script.porting) == ("estimator", "manual")


def dumps(form: TensorFlowForm) -> bool:
    """Whether either kind of dump is on."""
    return form.dump.enable_dump or form.dump.enable_dump_debug
