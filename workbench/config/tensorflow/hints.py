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
        yield Breach("script.rank", form.script.rank, {"size": rank_size(context)})


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
    says: str,
    fix: str,
    breaks: Example,
    keeps: Example | None = None,
    source: str = SEED,
) -> Rule:
    return Rule(id_, severity, find, says, fix, source, breaks, keeps or make())


_FEW = {"env": {"RANK_SIZE": "8"}}

HINTS: tuple[Rule, ...] = (
    _rule(
        "hint",
        "dump-off",
        _off,
        "Neither enable_dump nor enable_dump_debug is on: only operators that fail leave a record",
        "Set one of them to True.",
        make({"dump.enable_dump": False}),
    ),
    _rule(
        "warning",
        "host-only",
        _host_only,
        "{key} is False: graphs run on the host, and nothing is dumped",
        "Set it to True.",
        make({"script.use_off_line": False}),
        source=ATTRS,
    ),
    _rule(
        "hint",
        "off-line-unset",
        _off_line_unset,
        "{key} is not set, and older versions then train on the host",
        "Set it to True.",
        make({key: value for key, value in MANUAL.items() if key != "script.use_off_line"}),
        make(MANUAL),
    ),
    _rule(
        "hint",
        "remapping",
        _remapping,
        "{key} is not true, as manual porting needs it",
        "Set rewrite_options.remapping to RewriterConfig.OFF.",
        make(MANUAL | {"script.remapping_off": False}),
        make(MANUAL),
    ),
    _rule(
        "hint",
        "memory-optimization",
        _memory,
        "{key} is not true, as manual porting needs it",
        "Set rewrite_options.memory_optimization to RewriterConfig.OFF.",
        make(MANUAL | {"script.memory_optimization_off": False}),
        make(MANUAL),
    ),
    _rule(
        "warning",
        "optimizer-name",
        _optimizer,
        "npu_bridge does not read custom optimizer {got!r}: nothing is dumped",
        "Name it 'NpuOptimizer'.",
        make({"script.optimizer": "NPUOptimizer"}),
        source=ATTRS,
    ),
    _rule(
        "hint",
        "every-rank",
        _every_rank,
        "Every process of a data-parallel job dumps",
        "Set rank to the RANK_ID that should dump.",
        make(**_FEW),
        make({"script.rank": 7}, **_FEW),
    ),
    _rule(
        "hint",
        "time-folders",
        _every_rank,
        "Processes start at different seconds, and each start makes its own time folder",
        "Set rank to the RANK_ID that should dump.",
        make(**_FEW),
        make({"script.rank": 0}, **_FEW),
    ),
    _rule(
        "warning",
        "no-rank",
        _no_rank,
        "{key} {got} does not exist in a job of {size} processes: nothing is dumped",
        "Choose a rank below RANK_SIZE.",
        make({"script.rank": 8}, **_FEW),
        make({"script.rank": 7}, **_FEW),
    ),
    _rule(
        "hint",
        "volume",
        _volume,
        "A large network dumps dozens of GB per iteration",
        "Dump one iteration.",
        make({"dump.dump_step": "0|5-8"}),
    ),
    _rule(
        "hint",
        "path-literal",
        _literal_path,
        "{key} {got!r} is taken literally: '~' and variables are not expanded",
        "Write the full path.",
        make({"dump.dump_path": "$HOME/output"}),
        source=ATTRS,
    ),
    _rule(
        "hint",
        "layer-separator",
        _separators,
        "{key} {got!r}: separators other than spaces become part of a name, which then matches nothing",
        "Separate names by spaces.",
        make({"dump.dump_layer": "conv1,conv2"}),
        make({"dump.dump_layer": "conv1 conv2"}),
    ),
    _rule(
        "warning",
        "quant-dumpable",
        _quant,
        "{key} {got!r} is neither '0' nor '1'",
        "Use '1' to keep tensors around quantization.",
        make({"run.quant_dumpable": "true"}),
        make({"run.quant_dumpable": "1"}),
        "hicann/ge ge.quant_dumpable",
    ),
    _rule(
        "hint",
        "graph-unset",
        _no_graph,
        "{key} is not set, so the graph that names the operators and the folder of the dump is not written",
        "Set it to 2 and read the Build text.",
        make({"environment.DUMP_GE_GRAPH": ""}),
        make({"environment.DUMP_GE_GRAPH": ""}, env={"DUMP_GE_GRAPH": "2"}),
    ),
    _rule(
        "warning",
        "graph-value",
        _graph_value,
        "{key} {got!r} is not 1, 2 or 3",
        "Use 2 (graphs without weights).",
        make({"environment.DUMP_GE_GRAPH": "0"}),
        source=GRAPHS,
    ),
    _rule(
        "hint",
        "graph-structure",
        _structure,
        "{key} 3 writes operators without attributes, so without original names and _no_task",
        "Use 2 to align a dump.",
        make({"environment.DUMP_GE_GRAPH": "3"}),
        source=GRAPHS,
    ),
    _rule(
        "warning",
        "graph-level",
        _level,
        "{key} {got!r} is neither 1 to 4 nor stage names joined by '|'",
        "Use 3 for the executed graph only.",
        make({"environment.DUMP_GRAPH_LEVEL": "5"}),
        make({"environment.DUMP_GRAPH_LEVEL": "3"}),
        GRAPHS,
    ),
    _rule(
        "hint",
        "graph-format",
        _format,
        "{key} {got!r} lacks ge_proto, from which the Build text is read",
        "Add ge_proto to align a dump.",
        make({"environment.DUMP_GRAPH_FORMAT": "onnx"}),
        make({"environment.DUMP_GRAPH_FORMAT": "onnx|ge_proto"}),
        GRAPHS,
    ),
)
"""Hints, and warnings of what stays without effect."""
