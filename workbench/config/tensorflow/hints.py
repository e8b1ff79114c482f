"""What npu_bridge takes and a user will regret: the precautions of the vendor's document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from workbench.config.rule import Breach, Example, Rule
from workbench.config.tensorflow.examples import make
from workbench.config.tensorflow.facts import OPTIMIZER
from workbench.config.tensorflow.form import ATTRS, GRAPHS, SEED, TensorFlowForm, dumps
from workbench.config.tensorflow.steps import iterations_of, step_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.context import Context
    from workbench.config.rule import Find

MANUAL = {
    "script.porting": "manual",
    "script.use_off_line": True,
    "script.remapping_off": True,
    "script.memory_optimization_off": True,
}
LEVELS = ("1", "2", "3", "4")


def _ported_by_hand(form: TensorFlowForm) -> bool:
    return form.script.porting == "manual" and form.script.interface in ("session", "keras")


def rank_size(context: Context) -> int:
    """Number of processes of the job, by its environment; 1 if that does not say."""
    text = context.variable("RANK_SIZE") or context.variable("CM_WORKER_SIZE")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1


def _off(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if not dumps(form):
        yield Breach("dump.enable_dump", False)


def _host_only(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if not form.script.use_off_line:
        yield Breach("script.use_off_line", False)


def _off_line_unset(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if _ported_by_hand(form) and "use_off_line" not in form.script.model_fields_set:
        yield Breach("script.use_off_line")


def _remapping(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if _ported_by_hand(form) and not form.script.remapping_off:
        yield Breach("script.remapping_off", False)


def _memory(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if _ported_by_hand(form) and not form.script.memory_optimization_off:
        yield Breach("script.memory_optimization_off", False)


def _optimizer(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if form.script.optimizer != OPTIMIZER:
        yield Breach("script.optimizer", form.script.optimizer)


def _every_rank(form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    if dumps(form) and form.script.rank is None and rank_size(context) > 1:
        yield Breach("script.rank")


def _no_rank(form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    known = context.variable("RANK_SIZE") or context.variable("CM_WORKER_SIZE")
    if known and form.script.rank is not None and form.script.rank >= rank_size(context):
        yield Breach("script.rank", form.script.rank)


def _volume(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    text = form.dump.dump_step
    if not form.dump.enable_dump or step_fault(text):
        return
    ranges = iterations_of(text).ranges
    if ranges is None or sum(high - low + 1 for low, high in ranges) > 1:
        yield Breach("dump.dump_step", text)


def _literal_path(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    path = form.dump.dump_path
    if dumps(form) and (path.startswith("~") or "$" in path):
        yield Breach("dump.dump_path", path)


def _separators(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if form.dump.enable_dump and set(form.dump.dump_layer) & set(",;|"):
        yield Breach("dump.dump_layer", form.dump.dump_layer)


def _quant(form: TensorFlowForm, _context: Context) -> Iterator[Breach]:
    if form.run.quant_dumpable not in ("", "0", "1"):
        yield Breach("run.quant_dumpable", form.run.quant_dumpable)


def variable(form: TensorFlowForm, context: Context, name: str) -> str:
    """Value of a variable of the environment: the script's own, else the process's."""
    own: str = getattr(form.environment, name)
    return own or context.variable(name)


def _no_graph(form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    if dumps(form) and not variable(form, context, "DUMP_GE_GRAPH"):
        yield Breach("environment.DUMP_GE_GRAPH")


def _graph_value(form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    value = variable(form, context, "DUMP_GE_GRAPH")
    if value and value not in ("1", "2", "3"):
        yield Breach("environment.DUMP_GE_GRAPH", value)


def _structure(form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    if dumps(form) and variable(form, context, "DUMP_GE_GRAPH") == "3":
        yield Breach("environment.DUMP_GE_GRAPH", "3")


def _level(form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    level = variable(form, context, "DUMP_GRAPH_LEVEL")
    if level.lstrip("-").isdigit() and level not in LEVELS:
        yield Breach("environment.DUMP_GRAPH_LEVEL", level)


def _format(form: TensorFlowForm, context: Context) -> Iterator[Breach]:
    text = variable(form, context, "DUMP_GRAPH_FORMAT")
    if dumps(form) and text and "ge_proto" not in text:
        yield Breach("environment.DUMP_GRAPH_FORMAT", text)


def _rule(
    severity: Literal["warning", "hint"],
    id_: str,
    find: Find,
    must: str,
    fix: str,
    breaks: Example,
    keeps: Example | None = None,
    source: str = SEED,
) -> Rule:
    return Rule(id_, severity, find, must, fix, source, breaks, keeps or make())


_FEW = {"env": {"RANK_SIZE": "8"}}

HINTS: tuple[Rule, ...] = (
    _rule(
        "hint",
        "dump-off",
        _off,
        "be true, or enable_dump_debug, for a dump",
        "only operators that fail leave a record",
        make({"dump.enable_dump": False}),
    ),
    _rule(
        "warning",
        "host-only",
        _host_only,
        "be true for graphs to run on the device",
        "nothing reaches the device and nothing is dumped",
        make({"script.use_off_line": False}),
        source=ATTRS,
    ),
    _rule(
        "hint",
        "off-line-unset",
        _off_line_unset,
        "be set in manual porting",
        "set it to true: older versions train on the host without it",
        make({key: value for key, value in MANUAL.items() if key != "script.use_off_line"}),
        make(MANUAL),
    ),
    _rule(
        "hint",
        "remapping",
        _remapping,
        "be true in manual porting",
        "set rewrite_options.remapping to RewriterConfig.OFF",
        make(MANUAL | {"script.remapping_off": False}),
        make(MANUAL),
    ),
    _rule(
        "hint",
        "memory-optimization",
        _memory,
        "be true in manual porting",
        "set rewrite_options.memory_optimization to RewriterConfig.OFF",
        make(MANUAL | {"script.memory_optimization_off": False}),
        make(MANUAL),
    ),
    _rule(
        "warning",
        "optimizer-name",
        _optimizer,
        "be 'NpuOptimizer'",
        "npu_bridge reads no other optimizer; nothing is dumped",
        make({"script.optimizer": "NPUOptimizer"}),
        source=ATTRS,
    ),
    _rule(
        "hint",
        "every-rank",
        _every_rank,
        "name one rank in data parallel, where every process dumps",
        "set the RANK_ID that shall dump",
        make(**_FEW),
        make({"script.rank": 7}, **_FEW),
    ),
    _rule(
        "hint",
        "time-folders",
        _every_rank,
        "name one rank for a single folder of time: processes start at different seconds",
        "expect one folder for each start, or set the RANK_ID that shall dump",
        make(**_FEW),
        make({"script.rank": 0}, **_FEW),
    ),
    _rule(
        "warning",
        "no-rank",
        _no_rank,
        "be below the number of processes, RANK_SIZE",
        "no process has this rank and nothing is dumped",
        make({"script.rank": 8}, **_FEW),
        make({"script.rank": 7}, **_FEW),
    ),
    _rule(
        "hint",
        "volume",
        _volume,
        "name one iteration",
        "a large network dumps dozens of GB in each",
        make({"dump.dump_step": "0|5-8"}),
    ),
    _rule(
        "hint",
        "path-literal",
        _literal_path,
        "be the path itself",
        "neither '~' nor variables are expanded",
        make({"dump.dump_path": "$HOME/output"}),
        source=ATTRS,
    ),
    _rule(
        "hint",
        "layer-separator",
        _separators,
        "have names joined by spaces",
        "other separators become part of a name, which then matches nothing",
        make({"dump.dump_layer": "conv1,conv2"}),
        make({"dump.dump_layer": "conv1 conv2"}),
    ),
    _rule(
        "warning",
        "quant-dumpable",
        _quant,
        "be '0' or '1'",
        "use '1' to keep tensors around a quantisation",
        make({"run.quant_dumpable": "true"}),
        make({"run.quant_dumpable": "1"}),
        "hicann/ge ge.quant_dumpable",
    ),
    _rule(
        "hint",
        "graph-unset",
        _no_graph,
        "be set to find the computational graph",
        "set it to 2; its Build text names the folder and the operators of the dump",
        make({"environment.DUMP_GE_GRAPH": ""}),
        make({"environment.DUMP_GE_GRAPH": ""}, env={"DUMP_GE_GRAPH": "2"}),
    ),
    _rule(
        "warning",
        "graph-value",
        _graph_value,
        "be 1, 2 or 3",
        "use 2: graphs without weights",
        make({"environment.DUMP_GE_GRAPH": "0"}),
        source=GRAPHS,
    ),
    _rule(
        "hint",
        "graph-structure",
        _structure,
        "be 1 or 2 to align a dump",
        "use 2: with 3 operators have no attributes, so neither original names nor _no_task",
        make({"environment.DUMP_GE_GRAPH": "3"}),
        source=GRAPHS,
    ),
    _rule(
        "warning",
        "graph-level",
        _level,
        "be 1 to 4 or names of stages joined by '|'",
        "use 3 for the executed graph alone",
        make({"environment.DUMP_GRAPH_LEVEL": "5"}),
        make({"environment.DUMP_GRAPH_LEVEL": "3"}),
        GRAPHS,
    ),
    _rule(
        "hint",
        "graph-format",
        _format,
        "hold ge_proto to align a dump",
        "add ge_proto: the Build text is read from it",
        make({"environment.DUMP_GRAPH_FORMAT": "onnx"}),
        make({"environment.DUMP_GRAPH_FORMAT": "onnx|ge_proto"}),
        GRAPHS,
    ),
)
"""Hints, and warnings of what stays without effect."""
