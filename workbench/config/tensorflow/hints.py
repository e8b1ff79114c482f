"""What npu_bridge takes: changed on the way, refused by GE, or regretted by a user (the vendor's precautions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.form.rules import Rule, rules_of
from workbench.config.ge.options import ROWS as GE_ROWS
from workbench.config.ge.options import SOURCE
from workbench.config.ge.steps import bridge_fault, bridge_iterations
from workbench.config.tensorflow.find import OPTIMIZER
from workbench.config.tensorflow.reading import variable
from workbench.config.tensorflow.refusals import ARGUMENTS, REFUSALS, make
from workbench.config.tensorflow.settings import ATTRS, GRAPHS, SEED, TensorFlowForm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.config.context import Context
    from workbench.config.form.rules import At
    from workbench.config.tensorflow.reading import TensorFlowReading

ESTIMATOR = "hicann/tensorflow npu_bridge/estimator/npu/npu_estimator.py"
DEBUG = {"dump.enable_dump": False, "dump.enable_dump_debug": True}
MANUAL = {
    "script.porting": "manual",
    "script.use_off_line": True,
    "script.remapping_off": True,
    "script.memory_optimization_off": True,
}
LEVELS = ("1", "2", "3", "4")


_FEW = {"env": {"RANK_SIZE": "8"}}


def rank_size(context: Context) -> int:
    """Number of processes of the job, by its environment; 1 if that does not say."""
    text = context.variable("RANK_SIZE") or context.variable("CM_WORKER_SIZE")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1


def _variable(r: TensorFlowReading, at: At) -> str:
    return variable(r.form, r.context, at.path.rpartition(".")[2])


def _is_dropped(r: TensorFlowReading, at: At) -> bool:
    lost = r.takes_arguments and r.form.dump.dump_mode is None and at.value != "all"
    return lost and r.form.dump.enable_dump_debug


def _is_every_rank(r: TensorFlowReading, at: At) -> bool:
    return r.dumps and at.value is None and rank_size(r.context) > 1


def _is_no_rank(r: TensorFlowReading, at: At) -> Any:
    known = r.context.variable("RANK_SIZE") or r.context.variable("CM_WORKER_SIZE")
    size = rank_size(r.context)
    return known and at.value is not None and at.value >= size and {"size": size}


def _takes_several(r: TensorFlowReading, at: At) -> bool:
    if not r.form.dump.enable_dump or bridge_fault(at.value):
        return False
    ranges = bridge_iterations(at.value).ranges
    return ranges is None or sum(high - low + 1 for low, high in ranges) > 1


def _is_no_graph_value(r: TensorFlowReading, at: At) -> Any:
    value = _variable(r, at)
    return value and value not in ("1", "2", "3") and {"got": value}


def _is_no_level(r: TensorFlowReading, at: At) -> Any:
    level = _variable(r, at)
    return level.lstrip("-").isdigit() and level not in ("1", "2", "3", "4") and {"got": level}


def _lacks_ge_proto(r: TensorFlowReading, at: At) -> Any:
    text = _variable(r, at)
    return r.dumps and text and "ge_proto" not in text and {"got": text}


def _in_section(change: Mapping[str, Any]) -> Any:
    return make({f"dump.{key}": value for key, value in change.items()}).form


LATER = (
    Rule(
        id="debug-mode-dropped",
        severity="warning",
        at="dump.dump_debug_mode",
        when=_is_dropped,
        says="{key} {got!r} is ignored: NPUEstimator passes it on only with a dump_mode, so 'all' is used",
        fix="Set dump_mode.",
        source=ESTIMATOR,
        breaks=make(
            DEBUG | ARGUMENTS | {"dump.dump_mode": None, "dump.dump_debug_mode": "aicore_overflow"}
        ),
        keeps=make(DEBUG | ARGUMENTS | {"dump.dump_debug_mode": "aicore_overflow"}),
    ),
    *rules_of(GE_ROWS, "tensorflow", _in_section, SOURCE, model=TensorFlowForm, below="dump"),
)
"""What is changed on the way, or refused by GE."""

HINTS = (
    Rule(
        id="dump-off",
        severity="hint",
        at="dump.enable_dump",
        when=lambda r, at: r.on_device and not r.dumps,
        says="Neither enable_dump nor enable_dump_debug is on: only operators that fail leave a record",
        fix="Set one of them to True.",
        source=SEED,
        breaks=make({"dump.enable_dump": False}),
        keeps=make(),
    ),
    Rule(
        id="host-only",
        severity="warning",
        at="script.use_off_line",
        when=lambda r, at: not at.value,
        says="{key} is False: graphs run on the host, and nothing is dumped",
        fix="Set it to True.",
        source=ATTRS,
        breaks=make({"script.use_off_line": False}),
        keeps=make(),
    ),
    Rule(
        id="off-line-unset",
        severity="hint",
        at="script.use_off_line",
        when=lambda r, at: r.ported_by_hand and not at.given,
        says="{key} is not set, and older versions then train on the host",
        fix="Set it to True.",
        source=SEED,
        breaks=make({key: value for key, value in MANUAL.items() if key != "script.use_off_line"}),
        keeps=make(MANUAL),
    ),
    Rule(
        id="remapping",
        severity="hint",
        at="script.remapping_off",
        when=lambda r, at: r.ported_by_hand and not at.value,
        says="{key} is not true; manual porting requires it",
        fix="Set rewrite_options.remapping to RewriterConfig.OFF.",
        source=SEED,
        breaks=make(MANUAL | {"script.remapping_off": False}),
        keeps=make(MANUAL),
    ),
    Rule(
        id="memory-optimization",
        severity="hint",
        at="script.memory_optimization_off",
        when=lambda r, at: r.ported_by_hand and not at.value,
        says="{key} is not true; manual porting requires it",
        fix="Set rewrite_options.memory_optimization to RewriterConfig.OFF.",
        source=SEED,
        breaks=make(MANUAL | {"script.memory_optimization_off": False}),
        keeps=make(MANUAL),
    ),
    Rule(
        id="optimizer-name",
        severity="warning",
        at="script.optimizer",
        when=lambda r, at: at.value != OPTIMIZER,
        says="The session's custom optimizer is {got!r}, not 'NpuOptimizer': nothing is dumped",
        fix="Name it 'NpuOptimizer', and pass its configuration to the session.",
        source=ATTRS,
        breaks=make({"script.optimizer": "NPUOptimizer"}),
        keeps=make(),
    ),
    Rule(
        id="every-rank",
        severity="hint",
        at="script.rank",
        when=_is_every_rank,
        says="Every process of a data-parallel job dumps",
        fix="Set rank to the RANK_ID that should dump.",
        source=SEED,
        breaks=make(**_FEW),
        keeps=make({"script.rank": 7}, **_FEW),
    ),
    Rule(
        id="time-folders",
        severity="hint",
        at="script.rank",
        when=_is_every_rank,
        says="Processes start at different seconds, and each start makes its own time folder",
        fix="Set rank to the RANK_ID that should dump.",
        source=SEED,
        breaks=make(**_FEW),
        keeps=make({"script.rank": 0}, **_FEW),
    ),
    Rule(
        id="no-rank",
        severity="warning",
        at="script.rank",
        when=_is_no_rank,
        says="{key} {got} does not exist in a job of {size} processes: nothing is dumped",
        fix="Choose a rank below RANK_SIZE.",
        source=SEED,
        breaks=make({"script.rank": 8}, **_FEW),
        keeps=make({"script.rank": 7}, **_FEW),
    ),
    Rule(
        id="volume",
        severity="hint",
        at="dump.dump_step",
        when=_takes_several,
        says="A large network dumps dozens of GB per iteration",
        fix="Dump one iteration.",
        source=SEED,
        breaks=make({"dump.dump_step": "0|5-8"}),
        keeps=make(),
    ),
    Rule(
        id="path-literal",
        severity="hint",
        at="dump.dump_path",
        when=lambda r, at: r.dumps and (at.value.startswith("~") or "$" in at.value),
        says="{key} {got!r} is taken literally: '~' and variables are not expanded",
        fix="Write the full path.",
        source=ATTRS,
        breaks=make({"dump.dump_path": "$HOME/output"}),
        keeps=make(),
    ),
    Rule(
        id="layer-separator",
        severity="hint",
        at="dump.dump_layer",
        when=lambda r, at: r.form.dump.enable_dump and set(at.value) & set(",;|"),
        says="{key} {got!r}: separators other than spaces become part of a name, which then matches nothing",
        fix="Separate names by spaces.",
        source=SEED,
        breaks=make({"dump.dump_layer": "conv1,conv2"}),
        keeps=make({"dump.dump_layer": "conv1 conv2"}),
    ),
    Rule(
        id="quant-dumpable",
        severity="warning",
        at="run.quant_dumpable",
        when=lambda r, at: at.value not in ("", "0", "1"),
        says="{key} {got!r} is neither '0' nor '1'",
        fix="Use '1' to keep tensors around quantization.",
        source="hicann/ge ge.quant_dumpable",
        breaks=make({"run.quant_dumpable": "true"}),
        keeps=make({"run.quant_dumpable": "1"}),
    ),
    Rule(
        id="graph-unset",
        severity="hint",
        at="environment.DUMP_GE_GRAPH",
        when=lambda r, at: r.dumps and not _variable(r, at),
        says="{key} is not set, so the graph that names the operators and the folder of the dump is not written",
        fix="Set it to 2 and read the Build text.",
        source=SEED,
        breaks=make({"environment.DUMP_GE_GRAPH": ""}),
        keeps=make({"environment.DUMP_GE_GRAPH": ""}, env={"DUMP_GE_GRAPH": "2"}),
    ),
    Rule(
        id="graph-value",
        severity="warning",
        at="environment.DUMP_GE_GRAPH",
        when=_is_no_graph_value,
        says="{key} {got!r} is not 1, 2 or 3",
        fix="Use 2 (graphs without weights).",
        source=GRAPHS,
        breaks=make({"environment.DUMP_GE_GRAPH": "0"}),
        keeps=make(),
    ),
    Rule(
        id="graph-structure",
        severity="hint",
        at="environment.DUMP_GE_GRAPH",
        when=lambda r, at: r.dumps and _variable(r, at) == "3",
        says="{key} 3 writes operators without attributes, so without original names and _no_task",
        fix="Use 2 to align a dump.",
        source=GRAPHS,
        breaks=make({"environment.DUMP_GE_GRAPH": "3"}),
        keeps=make(),
    ),
    Rule(
        id="graph-level",
        severity="warning",
        at="environment.DUMP_GRAPH_LEVEL",
        when=_is_no_level,
        says="{key} {got!r} is neither 1 to 4 nor stage names joined by '|'",
        fix="Use 3 for the executed graph only.",
        source=GRAPHS,
        breaks=make({"environment.DUMP_GRAPH_LEVEL": "5"}),
        keeps=make({"environment.DUMP_GRAPH_LEVEL": "3"}),
    ),
    Rule(
        id="graph-format",
        severity="hint",
        at="environment.DUMP_GRAPH_FORMAT",
        when=_lacks_ge_proto,
        says="{key} {got!r} lacks ge_proto, from which the Build text is read",
        fix="Add ge_proto to align a dump.",
        source=GRAPHS,
        breaks=make({"environment.DUMP_GRAPH_FORMAT": "onnx"}),
        keeps=make({"environment.DUMP_GRAPH_FORMAT": "onnx|ge_proto"}),
    ),
)
"""Hints, and warnings of what stays without effect."""

RULES = (*REFUSALS, *LATER, *HINTS)
