"""What is wrong with a script as text, beyond the form that it holds: the surface's ``examine``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from workbench.config.python_text import parse_python, source_of
from workbench.config.tensorflow.branches import is_main
from workbench.config.tensorflow.facts import OPTIMIZER, Entry, Test
from workbench.config.tensorflow.form import ATTRS, SEED
from workbench.config.tensorflow.keys import MEMBERS
from workbench.config.tensorflow.rank import rank_around
from workbench.config.tensorflow.read import (
    Reading,
    counting_dumps,
    read,
    section_of,
    unknown_dumps,
)
from workbench.config.tensorflow.scan import scan
from workbench.config.tensorflow.strays import stray_runs
from workbench.core.errors import FormatError
from workbench.core.problems import Problem

if TYPE_CHECKING:
    from workbench.core.problems import Severity

INIT = "hicann/tensorflow npu_bridge/npu_init.py"
CONFIG = "hicann/tensorflow npu_bridge/estimator/npu/npu_config.py"
ESTIMATOR = "hicann/tensorflow npu_bridge/estimator/npu/npu_estimator.py"
MEMBER_NAMES = {"b": "bool", "i": "integer", "s": "bytes", "f": "float"}
VALUE_MEMBERS = (*MEMBER_NAMES, "type", "shape", "tensor", "list", "func", "placeholder")
"""Members of ``AttrValue``; protobuf has no others."""


class Fault(NamedTuple):
    """Where a script is at fault: the setting (may be empty), what stands there, and the line."""

    path: str
    got: str
    line: int
    must: str = ""


@dataclass(frozen=True, slots=True)
class TextRule:
    """One rule on the text of a script, with a script that breaks it and one that keeps it."""

    id: str
    severity: Severity
    find: Callable[[Reading], Iterable[Fault]]
    must: str
    fix: str
    source: str
    breaks: str
    keeps: str
    code: str = ""


def examine(text: str) -> Iterator[Problem]:
    """Yield the problems of a script's text, with their lines; nothing if it is no Python."""
    try:
        reading = read(scan(parse_python(text)))
    except FormatError:
        return
    for rule in TEXT_RULES:
        for fault in rule.find(reading):
            subject = fault.path or f"line {fault.line}"
            message = f"{subject} must {fault.must or rule.must}, got {fault.got[:120]}"
            yield Problem(
                rule.id,
                rule.severity,
                fault.path,
                message,
                rule.fix,
                fault.line,
                rule.code,
                rule.source,
            )


def _entries(reading: Reading) -> Iterator[Entry]:
    for block in reading.facts.blocks:
        yield from block.entries


def _plain_text(reading: Reading) -> Iterator[Fault]:
    for entry in _entries(reading):
        text = isinstance(entry.node, ast.Constant) and isinstance(entry.node.value, str)
        if entry.member == "s" and (text or isinstance(entry.node, ast.JoinedStr)):
            path = f"{section_of(entry.key)}.{entry.key}"
            yield Fault(path, source_of(entry.node), entry.line)


def _wrong_member(reading: Reading) -> Iterator[Fault]:
    for entry in _entries(reading):
        member = MEMBERS.get(entry.key, entry.member)
        if member != entry.member and entry.member in VALUE_MEMBERS:
            must = f"be set by .{member} ({MEMBER_NAMES[member]})"
            path = f"{section_of(entry.key)}.{entry.key}"
            yield Fault(path, f".{entry.member}", entry.line, must)


def _no_member(reading: Reading) -> Iterator[Fault]:
    """Parameters that are set whole, or by a member that protobuf does not have."""
    strange = [entry for entry in _entries(reading) if entry.member not in VALUE_MEMBERS]
    for entry in (*reading.facts.bare, *strange):
        path = f"{section_of(entry.key)}.{entry.key}"
        must = f"be set by .{MEMBERS.get(entry.key, 's')}"
        got = f".{entry.member}" if entry.member else f"= {source_of(entry.node)}"
        yield Fault(path, got, entry.line, must)


def _other_optimizer(reading: Reading) -> Iterator[Fault]:
    blocks = [block for block in reading.facts.blocks if block.entries]
    if any(block.name == OPTIMIZER for block in blocks):
        for block in blocks:
            if block.name != OPTIMIZER:
                yield Fault("script.optimizer", repr(block.name), block.line)


def _conflicts(reading: Reading) -> Iterator[Fault]:
    for path, wins, loses in reading.conflicts:
        got = f"{wins.value!r} on line {wins.line}, which counts, and {loses.value!r} here"
        yield Fault(path, got, loses.line)


def _only_init(reading: Reading) -> Iterator[Fault]:
    """Switches that only ``init_resource`` is given."""
    blocks = [block for block in reading.facts.blocks if block.entries]
    if blocks and all(block.only_init for block in blocks) and not reading.facts.runs:
        for entry in _entries(reading):
            if entry.key in ("enable_dump", "enable_dump_debug"):
                yield Fault(f"dump.{entry.key}", "init_resource alone", entry.line)


def _overridden(reading: Reading) -> Iterator[Fault]:
    """Switches in a session's configuration that ``NPURunConfig`` overrides."""
    if not reading.facts.runs or any("dump_config" in run.entries for run in reading.facts.runs):
        return
    for block in reading.facts.blocks:
        for entry in block.entries:
            if entry.key in ("enable_dump", "enable_dump_debug") and not block.only_init:
                yield Fault(f"dump.{entry.key}", "parameter_map alone", entry.line)


def _unused(reading: Reading) -> Iterator[Fault]:
    """A ``DumpConfig`` that no ``NPURunConfig`` is given."""
    runs = reading.facts.runs
    given = any("dump_config" in run.entries or run.extra for run in runs)
    counting = counting_dumps(reading.facts) if given else []
    for dump in reading.facts.dumps if runs else ():
        if dump not in counting and (not given or _idle(reading, dump.variable)):
            yield Fault("dump", "a DumpConfig that is given to none", dump.line)


def _idle(reading: Reading, name: str) -> bool:
    """Whether a name is bound and never read."""
    uses = [n for n in ast.walk(reading.facts.tree) if isinstance(n, ast.Name) and n.id == name]
    return bool(uses) and all(isinstance(use.ctx, ast.Store) for use in uses)


def _refused(reading: Reading) -> Iterator[Fault]:
    """Arguments that Python refuses."""
    for home, calls in (("dump", reading.facts.dumps), ("run", reading.facts.runs)):
        for call in calls:
            for got in call.refused:
                yield Fault(home, got, call.line)


def _other_branch(reading: Reading) -> Iterator[Fault]:
    """Overflow dumps that are not judged."""
    for entry, instead in reading.other.values():
        got = f"another than line {instead.line}, which is judged"
        yield Fault(f"dump.{entry.key}", got, entry.line)


def _conditions(reading: Reading) -> Iterator[Fault]:
    """Settings that hold only under a condition which is not the rank."""
    seen: set[ast.expr] = set()
    dumps = [entry for call in reading.facts.dumps for entry in call.entries.values()]
    for entry in (*_entries(reading), *dumps):
        if (
            "dump" not in entry.key
            or not reading.judged(entry)
            or rank_around(entry.test, reading.facts.once)
        ):
            continue
        test = _condition(entry.test)
        if test is not None and test.node not in seen:
            seen.add(test.node)
            words = source_of(test.node)
            got = f"{'if' if test.holds else 'unless'} {words}"
            yield Fault(f"{section_of(entry.key)}.{entry.key}", got, entry.line)


def _condition(test: Test | None) -> Test | None:
    """Innermost condition that is more than being the main module."""
    while test is not None and is_main(test.node):
        test = test.outer
    return test


def _untold(reading: Reading) -> Iterator[Fault]:
    for name, calls in (("DumpConfig", reading.facts.dumps), ("NPURunConfig", reading.facts.runs)):
        for call in calls:
            for text in call.extra:
                yield Fault("dump" if name == "DumpConfig" else "run", text, call.line)
    for node in unknown_dumps(reading.facts):
        yield Fault("dump", source_of(node), node.lineno)


def _npu_device(reading: Reading) -> Iterator[Fault]:
    for name, line in reading.facts.imports.items():
        if name.split(".")[0] == "npu_device":
            yield Fault("", name, line)


def _strays(reading: Reading) -> Iterator[Fault]:
    for call in stray_runs(reading.facts):
        yield Fault("", source_of(call), call.lineno)


_ADD = "op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
_NAMED = _ADD + 'op.name = "NpuOptimizer"\n'
_SWITCH = _NAMED + 'op.parameter_map["enable_dump"].b = True\n'
_RUN = 'run_config = NPURunConfig(dump_config=DumpConfig(enable_dump=True, dump_path="/d"))\n'

TEXT_RULES = (
    TextRule(
        "plain-text",
        "error",
        _plain_text,
        "be bytes",
        "wrap it in tf.compat.as_bytes(…); protobuf raises TypeError",
        "protobuf, AttrValue.s",
        _NAMED + 'op.parameter_map["dump_path"].s = "/d"\n',
        _NAMED + 'op.parameter_map["dump_path"].s = tf.compat.as_bytes("/d")\n',
        "TypeError",
    ),
    TextRule(
        "wrong-member",
        "warning",
        _wrong_member,
        "be set by its own member",
        "npu_bridge reads false, 0 or no text where another member is set",
        ATTRS,
        _NAMED + 'op.parameter_map["enable_dump"].i = 1\n',
        _SWITCH,
    ),
    TextRule(
        "no-member",
        "error",
        _no_member,
        "be set by its own member",
        "protobuf has no other way: it raises ValueError for a whole value, AttributeError for a "
        "member that it does not know",
        "protobuf, AttrValue",
        _NAMED + 'op.parameter_map["enable_dump"] = True\n',
        _SWITCH,
        "ValueError",
    ),
    TextRule(
        "other-optimizer",
        "warning",
        _other_optimizer,
        "be 'NpuOptimizer' on every custom optimizer with parameters",
        "what stands on another one is not read",
        ATTRS,
        _SWITCH + _ADD + 'op.name = "Other"\nop.parameter_map["dump_step"].s = b"1"\n',
        _SWITCH,
    ),
    TextRule(
        "conflict",
        "warning",
        _conflicts,
        "be the same wherever it stands",
        "write it once, or the same everywhere",
        INIT,
        _NAMED
        + 'op.parameter_map["dump_mode"].s = b"all"\n'
        + "init_resource(config=config)\n"
        + _NAMED.replace("config.", "other.")
        + 'op.parameter_map["dump_mode"].s = b"input"\n',
        _NAMED
        + 'op.parameter_map["dump_mode"].s = b"all"\n'
        + "init_resource(config=config)\n"
        + _NAMED.replace("config.", "other.")
        + 'op.parameter_map["dump_mode"].s = b"all"\n',
    ),
    TextRule(
        "only-init",
        "hint",
        _only_init,
        "be set for the session that trains too",
        "give npu_run_config_init, npu_config_proto or set_keras_session_npu_config the same "
        "settings: init_resource takes only what initialize_system takes, and its session trains "
        "nothing",
        SEED,
        _SWITCH + "(sess, end) = init_resource(config=config)\n",
        _SWITCH
        + "(sess, end) = init_resource(config=config)\n"
        + "run = npu_config_proto(config_proto=config)\n",
    ),
    TextRule(
        "overridden",
        "warning",
        _overridden,
        "be given by DumpConfig",
        "NPUEstimator turns dumps off where NPURunConfig has no dump_config",
        ESTIMATOR,
        _SWITCH + "run_config = NPURunConfig(session_config=config)\n",
        _RUN,
    ),
    TextRule(
        "unused-dump-config",
        "warning",
        _unused,
        "be given to NPURunConfig",
        "add dump_config= to NPURunConfig; nothing is dumped without",
        CONFIG,
        "dump_config = DumpConfig(enable_dump=True)\nrun_config = NPURunConfig()\n",
        _RUN,
    ),
    TextRule(
        "arguments",
        "error",
        _refused,
        "have each argument of its signature once",
        "Python raises TypeError",
        CONFIG,
        'dump_config = DumpConfig(True, "/d", enable_dump=True)\n',
        _RUN,
        "TypeError",
    ),
    TextRule(
        "other-branch",
        "hint",
        _other_branch,
        "stand in the branch of the data dump to be judged",
        "judge it in a script of its own; GE refuses a run that takes both",
        SEED,
        _NAMED
        + 'if args.dump:\n    op.parameter_map["enable_dump"].b = True\n'
        + 'elif args.overflow:\n    op.parameter_map["enable_dump_debug"].b = True\n',
        _SWITCH,
    ),
    TextRule(
        "conditional",
        "hint",
        _conditions,
        "hold whenever the script runs",
        "it is judged as if it did",
        SEED,
        _NAMED + 'if args.dump:\n    op.parameter_map["enable_dump"].b = True\n',
        _SWITCH,
    ),
    TextRule(
        "untold",
        "hint",
        _untold,
        "have arguments that can be read here",
        "they are known in a run only; they are not judged",
        CONFIG,
        "dump_config = DumpConfig(**settings)\n",
        _RUN,
    ),
    TextRule(
        "npu-device",
        "hint",
        _npu_device,
        "use npu_bridge",
        "options of npu_device (TensorFlow 2) have the same names, are checked when they are set "
        "(ValueError), and are not read here",
        "hicann/tensorflow npu_device/configs/dump_config.py",
        "import npu_device\n",
        "import npu_bridge\n",
    ),
    TextRule(
        "stray-run",
        "hint",
        _strays,
        "run what computes",
        "remove it or fetch it together with the training step: every sess.run is a graph of its "
        "own, and one that computes nothing may fail while dumping",
        SEED,
        "with tf.Session() as sess:\n    step = sess.run(global_step)\n",
        "with tf.Session() as sess:\n    _, step = sess.run([train_op, global_step])\n",
    ),
)
"""Every rule on the text of a script."""
