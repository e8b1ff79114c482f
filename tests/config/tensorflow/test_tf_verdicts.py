"""What npu_bridge takes, changes and refuses: one row for each fact of the reference."""

import pytest

from workbench.config.config import Config
from workbench.config.context import Context
from workbench.config.form.settings import RuntimeValue
from workbench.config.ge.steps import bridge_fault
from workbench.config.tensorflow.surface import TENSORFLOW

MANUAL = {"interface": "estimator", "porting": "manual"}
GRAPH = {"DUMP_GE_GRAPH": "2"}


def form(script=None, run=None, environment=None, **dump):
    """A form that dumps one iteration, with changes; ``...`` removes a setting."""
    dump = {"enable_dump": True, "dump_path": "/d", "dump_step": "0"} | dump
    return {
        "script": {"interface": "session", "porting": "automated"} | (script or {}),
        "dump": {key: value for key, value in dump.items() if value is not ...},
        "run": run or {},
        "environment": GRAPH if environment is None else environment,
    }


DEBUG = {"enable_dump": False, "enable_dump_debug": True, "dump_step": ...}
HUNDRED = "|".join(str(n) for n in range(100))
OK, WARN, ERR, HINT = "accepted", "warning", "error", "hint"
PLAIN = (OK, "", "")
STEPS_GE = (WARN, "ge-step", "E10001")

OFF = ("use_off_line", "remapping_off", "memory_optimization_off")
BY_HAND = {"porting": "manual"} | dict.fromkeys(OFF, True)


def by_hand(missing):
    """Settings of manual porting without one of them."""
    return {key: value for key, value in BY_HAND.items() if key != missing}


AICORE = {"dump_debug_mode": "aicore_overflow"}
TYPES, LISTS = {"optypelist_for_implmode": "Pooling"}, {"modify_mixlist": "/l.json"}
TWO = {"precision_mode": "force_fp32", "precision_mode_v2": "fp16"}


def exception(number, script=None):
    return form(script, {"enable_exception_dump": number})


RANGE = (ERR, "exception-range", "Internal")
PRECISION = (ERR, "value", "InvalidArgument")
NO_MODE = DEBUG | AICORE | {"dump_mode": None}

ROWS = [
    ("nothing set", {}, {}, (HINT, "dump-off", "")),
    ("dump", form(), {}, PLAIN),
    ("overflow", form(**DEBUG), {}, PLAIN),
    ("DumpConfig validates nothing", form(MANUAL, enable_dump=False, dump_step="a"), {}, (HINT, "dump-off", "")),
    ("dump_config is text", form() | {"dump": "yes"}, {}, (ERR, "value", "ValueError")),
    ("dump_config is a dict", form(MANUAL) | {"dump": "{'enable_dump': True}"}, {}, (ERR, "value", "ValueError")),
    # enable_exception_dump
    *((f"exception dump {n}", form(run={"enable_exception_dump": n}), {}, PLAIN) for n in (0, 1, 2)),
    ("exception dump 3", exception(3), {}, RANGE),
    ("exception dump -1 in parameter_map", exception(-1), {}, RANGE),
    ("exception dump -1 in NPURunConfig", exception(-1, MANUAL), {}, (ERR, "exception-sign", "ValueError")),
    ("exception dump 3 in NPURunConfig", exception(3, MANUAL), {}, RANGE),
    ("exception dump is text", exception("1"), {}, (ERR, "value", "TypeError")),
    # forwarding by the estimator
    ("debug mode, dump_mode None", form(MANUAL, **NO_MODE), {}, (WARN, "debug-mode-dropped", "")),
    ("debug mode, dump_mode default", form(MANUAL, **DEBUG | AICORE), {}, PLAIN),
    ("debug mode in parameter_map", form(**DEBUG | AICORE), {}, PLAIN),
    ("dump_mode None in parameter_map", form(dump_mode=None), {}, (ERR, "mode-none", "TypeError")),
    # dump_path
    ("no path", form(dump_path=...), {}, (ERR, "missing", "Internal")),
    ("no path, overflow", form(**DEBUG, dump_path=...), {}, (ERR, "missing", "Internal")),
    ("no path, off", form(enable_dump=False, dump_path=...), {}, (HINT, "dump-off", "")),
    ("empty path", form(dump_path=""), {}, (ERR, "folder", "Internal")),
    ("relative path", form(dump_path="out"), {}, PLAIN),
    ("path not looked at", form(dump_path="/no/such/folder"), {}, PLAIN),
    ("path looked at", form(dump_path="/no/such/folder"), {"here": True}, (ERR, "folder", "Internal")),
    ("path is a variable", form(dump_path="$HOME/output"), {}, (HINT, "path-literal", "")),
    # dump_step, which is read with enable_dump only
    ("all steps", form(dump_step=""), {}, (HINT, "volume", "")),
    ("step", form(dump_step="5"), {}, PLAIN),
    ("range", form(dump_step="5-8"), {}, (HINT, "volume", "")),
    ("100 pieces", form(dump_step=HUNDRED), {}, (HINT, "volume", "")),
    ("101 pieces", form(dump_step=HUNDRED + "|100"), {}, (ERR, "step-pieces", "Internal")),
    ("equal ends", form(dump_step="3-3"), {}, (ERR, "step-order", "Internal")),
    ("falling ends", form(dump_step="9-3"), {}, (ERR, "step-order", "Internal")),
    ("trailing bar", form(dump_step="5|"), {}, STEPS_GE),
    ("trailing dash", form(dump_step="5-"), {}, STEPS_GE),
    ("leading dash", form(dump_step="-5"), {}, STEPS_GE),
    ("leading bar", form(dump_step="|5"), {}, (ERR, "step-format", "Internal")),
    ("two bars", form(dump_step="1||2"), {}, (ERR, "step-format", "Internal")),
    ("three ends", form(dump_step="1-2-3"), {}, (ERR, "step-format", "Internal")),
    ("letter", form(dump_step="a"), {}, (ERR, "step-format", "Internal")),
    ("blank", form(dump_step="0 | 5"), {}, (ERR, "step-format", "Internal")),
    ("comma", form(dump_step="0,5"), {}, (ERR, "step-format", "Internal")),
    ("past 32 bits", form(dump_step="4294967296"), {}, STEPS_GE),
    ("wrong step, overflow", form(**DEBUG | {"dump_step": "a"}), {}, PLAIN),
    ("step is a number", form(dump_step=5), {}, (ERR, "value", "TypeError")),
    # choices
    *((f"mode {m}", form(dump_mode=m), {}, PLAIN) for m in ("input", "output", "all")),
    ("wrong mode", form(dump_mode="both"), {}, (ERR, "value", "FATAL")),
    ("empty mode", form(dump_mode=""), {}, (ERR, "value", "FATAL")),
    ("wrong mode, overflow", form(**DEBUG, dump_mode="both"), {}, (HINT, "value-unread", "")),
    ("mode is a number", form(dump_mode=1), {}, (ERR, "value", "TypeError")),
    ("mode is a number, off", form(**DEBUG, dump_mode=1), {}, (ERR, "value", "TypeError")),
    *((f"debug mode {m}", form(**DEBUG, dump_debug_mode=m), {}, PLAIN)
      for m in ("aicore_overflow", "atomic_overflow", "all")),
    ("wrong debug mode", form(**DEBUG, dump_debug_mode="aicore"), {}, (ERR, "value", "FATAL")),
    ("wrong debug mode, dump", form(dump_debug_mode="aicore"), {}, (HINT, "value-unread", "")),
    ("data stats", form(dump_data="stats"), {}, PLAIN),
    ("wrong data", form(dump_data="full"), {}, (ERR, "value", "Internal")),
    ("wrong data, off", form(enable_dump=False, dump_data="full"), {}, (ERR, "value", "Internal")),
    ("layers", form(dump_layer="a b/c"), {}, PLAIN),
    ("layers by comma", form(dump_layer="a,b"), {}, (HINT, "layer-separator", "")),
    # both kinds
    ("dump and overflow", form(enable_dump_debug=True), {}, (WARN, "ge-both", "E10001")),
    ("collect path", form(), {"env": {"NPU_COLLECT_PATH": "/c"}}, (WARN, "ge-collect-path", "E10056")),
    # precision
    *((f"precision {mode}", form(run={"precision_mode": mode}), {}, PLAIN)
      for mode in ("force_fp32", "allow_fp32_to_fp16", "force_fp16", "must_keep_origin_dtype", "allow_mix_precision",
                   "cube_fp16in_fp32out", "allow_mix_precision_fp16", "allow_mix_precision_bf16",
                   "allow_fp32_to_bf16")),
    *((f"precision {mode}", form(run={"precision_mode": mode}), {}, PRECISION)
      for mode in ("force_lowerprecision", "allow_fp32_to_lowprecision", "fp16", "")),
    *((f"precision v2 {mode}", form(run={"precision_mode_v2": mode}), {}, PLAIN)
      for mode in ("fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16", "cube_hif8",
                   "mixed_hif8")),
    ("precision v2 force_fp32", form(run={"precision_mode_v2": "force_fp32"}), {}, PRECISION),
    ("both precision modes", form(run=TWO), {}, (ERR, "precision-both", "Internal")),
    *((f"implementation {mode}", form(run={"op_select_implmode": mode}), {}, PLAIN)
      for mode in ("high_precision", "high_performance", "high_precision_for_all", "high_performance_for_all")),
    ("wrong implementation", form(run={"op_select_implmode": "fast"}), {}, (ERR, "value", "FATAL")),
    ("types without implementation", form(run=TYPES), {}, (ERR, "implmode-missing", "FATAL")),
    ("lists without mixed precision", form(run=LISTS), {}, (ERR, "mixlist-mode", "Internal")),
    # members and names
    ("switch under .i", form(enable_dump={"i": 1}), {}, (HINT, "dump-off", "")),
    ("path under .b", form(dump_path={"b": True}), {}, (ERR, "folder", "Internal")),
    ("step under .i is no text: all", form(dump_step={"i": 5}), {}, (HINT, "volume", "")),
    ("mode under .i is no text", form(dump_mode={"i": 0}), {}, (ERR, "value", "FATAL")),
    ("switch is text", form(enable_dump="True"), {}, (ERR, "value", "TypeError")),
    ("unknown parameter", form(dump_modes="all"), {}, (WARN, "unknown-key", "")),
    ("unknown argument", form(MANUAL, dump_modes="all"), {}, (ERR, "unknown-key", "TypeError")),
    ("unknown argument of NPURunConfig", form(MANUAL, {"dump_step": "0"}), {}, (ERR, "unknown-key", "TypeError")),
    ("other optimizer", form({"optimizer": "Npu"}), {}, (WARN, "optimizer-name", "")),
    ("on the host", form({"use_off_line": False}), {}, (WARN, "host-only", "")),
    # an expression is shown, not judged
    ("path of a run", form(dump_path=RuntimeValue("args.path")), {"here": True}, (HINT, "unresolved", "")),
    ("mode of a run", form(dump_mode=RuntimeValue("args.mode")), {}, (HINT, "unresolved", "")),
    # precautions
    ("manual: no remapping", form(by_hand("remapping_off")), {}, (HINT, "remapping", "")),
    ("manual: memory optimization", form(by_hand("memory_optimization_off")), {}, (HINT, "memory-optimization", "")),
    ("manual: use_off_line", form(by_hand("use_off_line")), {}, (HINT, "off-line-unset", "")),
    ("rank out of 8", form({"rank": 8}), {"env": {"RANK_SIZE": "8"}}, (WARN, "no-rank", "")),
    ("one rank of 8", form({"rank": 7}), {"env": {"RANK_SIZE": "8"}}, PLAIN),
    ("no graph", form(environment={}), {}, (HINT, "graph-unset", "")),
    ("graph of the shell", form(environment={}), {"env": {"DUMP_GE_GRAPH": "1"}}, PLAIN),
    ("structure only", form(environment={"DUMP_GE_GRAPH": "3"}), {}, (HINT, "graph-structure", "")),
    ("graph 4", form(environment={"DUMP_GE_GRAPH": "4"}), {}, (WARN, "graph-value", "")),
    *((f"level {n}", form(environment=GRAPH | {"DUMP_GRAPH_LEVEL": n}), {}, PLAIN)
      for n in ("1", "2", "3", "4", "Build|PreRunBegin")),
    ("level 5", form(environment=GRAPH | {"DUMP_GRAPH_LEVEL": "5"}), {}, (WARN, "graph-level", "")),
    ("format onnx", form(environment=GRAPH | {"DUMP_GRAPH_FORMAT": "onnx"}), {}, (HINT, "graph-format", "")),
    ("formats", form(environment=GRAPH | {"DUMP_GRAPH_FORMAT": "onnx|ge_proto"}), {}, PLAIN),
    ("variable is a number", form(environment={"DUMP_GE_GRAPH": 2}), {}, (ERR, "value", "TypeError")),
]  # fmt: skip
EXTRA_HINTS = {"dump-off", "volume", "graph-unset"}
"""Hints that may stand beside the row's own problem."""


@pytest.mark.parametrize(
    ("what", "data", "context", "expected"), ROWS, ids=[row[0] for row in ROWS]
)
def test_row(what, data, context, expected):
    verdict, id_, code = expected
    problems = Config(TENSORFLOW, data).check(Context(**context))
    errors = [problem for problem in problems if problem.severity == "error"]
    assert bool(errors) == (verdict == ERR)
    said = {(problem.severity, problem.id, problem.code) for problem in problems}
    if verdict == OK:
        assert said == set()
    else:
        assert (verdict, id_, code) in said
        rest = {row for row in said if row[1] not in EXTRA_HINTS} - {(verdict, id_, code)}
        assert rest == set()


def test_every_rank_gets_both_hints_of_a_distributed_job():
    problems = Config(TENSORFLOW, form()).check(Context(env={"RANK_SIZE": "8"}))
    assert [problem.id for problem in problems] == ["every-rank", "time-folders"]


def test_version_is_that_of_cann():
    assert TENSORFLOW.version == "8.5"


def _split(text, delimiter):
    """Behave as ``std::getline`` does in npu_bridge: characters up to a delimiter, again and again."""
    pieces, piece, open_ = [], "", False
    for character in text:
        if character == delimiter:
            pieces.append(piece)
            piece, open_ = "", False
        else:
            piece, open_ = piece + character, True
    return [*pieces, piece] if open_ else pieces


def _npu_bridge(text):
    """An independent reading of checkDumpStep: whether it returns an error."""
    pieces = _split(text, "|")
    if len(pieces) > 100:
        return True
    for piece in pieces:
        ends = _split(piece, "-")
        if len(ends) not in (1, 2) or not all(set(end) <= set("0123456789") for end in ends):
            return True
        if len(ends) == 2 and int(ends[0] or 0) >= int(ends[1] or 0):
            return True
    return False


def test_steps_are_taken_and_refused_as_by_getline():
    alphabet, texts = "05|-a", [""]
    for _ in range(5):
        texts += [text + character for text in texts[-(5**5) :] for character in alphabet]
    texts = sorted(set(texts))
    assert len(texts) > 3000
    wrong = [text for text in texts if text and bool(bridge_fault(text)) != _npu_bridge(text)]
    assert wrong == []
