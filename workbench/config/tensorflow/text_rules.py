"""A script decoded: its form, and what rules on its text find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.config.form.rules import sentences
from workbench.config.python_text import parse_python
from workbench.config.tensorflow import faults
from workbench.config.tensorflow.faults import Fault
from workbench.config.tensorflow.read import Reading, form_of, read
from workbench.config.tensorflow.scan import scan
from workbench.config.tensorflow.settings import ATTRS, SEED
from workbench.core.problems import Problem

if TYPE_CHECKING:
    from workbench.config.form.json_text import Decoded
    from workbench.core.problems import Severity

INIT = "hicann/tensorflow npu_bridge/npu_init.py"
CONFIG = "hicann/tensorflow npu_bridge/estimator/npu/npu_config.py"
ESTIMATOR = "hicann/tensorflow npu_bridge/estimator/npu/npu_estimator.py"


@dataclass(frozen=True, slots=True)
class TextRule:
    """One rule on the text of a script, with a script that breaks it and one that keeps it."""

    id: str
    severity: Severity
    find: Callable[[Reading], Iterable[Fault]]
    says: str
    fix: str
    source: str
    breaks: str
    keeps: str
    code: str = ""


def decode(text: str, where: str = "<text>") -> Decoded:
    """Return the form of a script, and what is wrong with its text.

    Raises FormatError ``where:line:`` if it is no Python.
    """
    reading = read(scan(parse_python(text, where)))
    return replace(form_of(reading, text), problems=tuple(_problems(reading)))


def _problems(reading: Reading) -> Iterator[Problem]:
    """Yield the problems of a script's text, with their lines."""
    for rule in TEXT_RULES:
        for fault in rule.find(reading):
            values = {"got": fault.got[:120], "line": fault.line, **fault.values}
            code = values.pop("code", rule.code)
            yield Problem(
                rule.id,
                rule.severity,
                fault.path,
                *sentences(rule, fault.path, values),
                fault.line,
                code,
                rule.source,
            )


_ADD = "op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
_NAMED = _ADD + 'op.name = "NpuOptimizer"\n'
_SWITCH = _NAMED + 'op.parameter_map["enable_dump"].b = True\n'
_RUN = 'run_config = NPURunConfig(dump_config=DumpConfig(enable_dump=True, dump_path="/d"))\n'

TEXT_RULES = (
    TextRule(
        "plain-text",
        "error",
        faults.plain_text,
        "{path}: protobuf takes bytes, not the text {got}, and raises TypeError",
        "Wrap it in tf.compat.as_bytes(…).",
        "protobuf, AttrValue.s",
        _NAMED + 'op.parameter_map["dump_path"].s = "/d"\n',
        _NAMED + 'op.parameter_map["dump_path"].s = tf.compat.as_bytes("/d")\n',
        "TypeError",
    ),
    TextRule(
        "wrong-member",
        "warning",
        faults.wrong_member,
        "{path} is set by {got}, but npu_bridge reads .{member} and finds false, 0 or no text",
        "Set .{member} ({kind}).",
        ATTRS,
        _NAMED + 'op.parameter_map["enable_dump"].i = 1\n',
        _SWITCH,
    ),
    TextRule(
        "no-member",
        "error",
        faults.no_member,
        "{path} cannot be set with {got}: protobuf raises {raised}",
        "Set .{member}.",
        "protobuf, AttrValue",
        _NAMED + 'op.parameter_map["enable_dump"] = True\n',
        _SWITCH,
        "ValueError",
    ),
    TextRule(
        "other-type",
        "error",
        faults.other_type,
        "{path}: .{member} takes {kind}, got {got}; protobuf raises TypeError",
        "Set the member that npu_bridge reads.",
        "protobuf, AttrValue",
        _NAMED + 'op.parameter_map["enable_dump"].s = True\n',
        _SWITCH,
        "TypeError",
    ),
    TextRule(
        "changed-map",
        "hint",
        faults.changed_map,
        "line {line}: {got} changes parameter_map in a way that is followed in part only",
        "Set each parameter by its member, e.g. parameter_map[…].b = True.",
        ATTRS,
        _SWITCH + "op.parameter_map.clear()\n",
        _SWITCH,
    ),
    TextRule(
        "several-optimizers",
        "error",
        faults.several,
        "line {line}: {fault}",
        "Set all parameters on one NpuOptimizer.",
        ATTRS,
        _SWITCH + 'op.parameter_map["dump_path"].s = b"/d"\n' + _NAMED,
        _SWITCH + 'op.parameter_map["dump_path"].s = b"/d"\n',
        "Internal",
    ),
    TextRule(
        "debug-mode-unread",
        "warning",
        faults.dropped_mode,
        "{path} {got} is not passed on, because dump_mode is None",
        "Set dump_mode, or remove both.",
        ESTIMATOR,
        'NPURunConfig(dump_config=DumpConfig(dump_mode=None, dump_debug_mode="aicore"))\n',
        'NPURunConfig(dump_config=DumpConfig(dump_mode="all", dump_debug_mode="all"))\n',
    ),
    TextRule(
        "other-optimizer",
        "warning",
        faults.other_optimizer,
        "line {line}: parameters of the custom optimizer {got} are not read",
        "Set them on 'NpuOptimizer'.",
        ATTRS,
        _SWITCH + _ADD + 'op.name = "Other"\nop.parameter_map["dump_step"].s = b"1"\n',
        _SWITCH,
    ),
    TextRule(
        "conflict",
        "warning",
        faults.conflicts,
        "{path} is {loses!r} here and {counts!r} on line {counting}, which counts",
        "Set it once, or to the same value everywhere.",
        INIT,
        _NAMED
        + 'op.parameter_map["dump_mode"].s = b"all"\n'
        + "init_resource(config=config)\n"
        + _NAMED.replace("config.", "other.")
        + 'op.parameter_map["dump_mode"].s = b"input"\n'
        + "sess = tf.Session(config=other)\n",
        _NAMED
        + 'op.parameter_map["dump_mode"].s = b"all"\n'
        + "init_resource(config=config)\n"
        + _NAMED.replace("config.", "other.")
        + 'op.parameter_map["dump_mode"].s = b"all"\n'
        + "sess = tf.Session(config=other)\n",
    ),
    TextRule(
        "only-init",
        "hint",
        faults.only_init,
        "{path} is set for init_resource only, whose session trains nothing",
        "Pass the same settings to npu_run_config_init, npu_config_proto or set_keras_session_npu_config.",
        SEED,
        _SWITCH + "(sess, end) = init_resource(config=config)\n",
        _SWITCH
        + "(sess, end) = init_resource(config=config)\n"
        + "run = npu_config_proto(config_proto=config)\n",
    ),
    TextRule(
        "overridden",
        "warning",
        faults.overridden,
        "{path} is set in parameter_map, but NPUEstimator turns dumps off where NPURunConfig has no dump_config",
        "Pass a DumpConfig to NPURunConfig.",
        ESTIMATOR,
        _SWITCH + "run_config = NPURunConfig(session_config=config)\n",
        _RUN,
    ),
    TextRule(
        "unused-dump-config",
        "warning",
        faults.unused,
        "line {line}: this DumpConfig is not passed to NPURunConfig, so nothing is dumped",
        "Add dump_config= to NPURunConfig.",
        CONFIG,
        "dump_config = DumpConfig(enable_dump=True)\nrun_config = NPURunConfig()\n",
        _RUN,
    ),
    TextRule(
        "arguments",
        "error",
        faults.refused,
        "line {line}: {fault}; Python raises TypeError",
        "Pass each argument of the signature once.",
        CONFIG,
        'dump_config = DumpConfig(True, "/d", enable_dump=True)\n',
        _RUN,
        "TypeError",
    ),
    TextRule(
        "other-branch",
        "hint",
        faults.other_branch,
        "{path} stands in another branch than line {judged}, which is checked instead",
        "Check it in a script of its own. GE refuses a run that takes both branches.",
        SEED,
        _NAMED
        + 'if args.dump:\n    op.parameter_map["enable_dump"].b = True\n'
        + 'elif args.overflow:\n    op.parameter_map["enable_dump_debug"].b = True\n',
        _SWITCH,
    ),
    TextRule(
        "rank-type",
        "warning",
        faults.rank_types,
        "line {line}: {got} compares text with a number, and the environment holds text: it is the same on every rank",
        "Convert with int(…).",
        SEED,
        "on = os.getenv('RANK_ID') == 7\n",
        "on = int(os.getenv('RANK_ID')) == 7\n",
    ),
    TextRule(
        "unused-config",
        "warning",
        faults.unused_config,
        "{path} is set on {got}, which is passed to no session, so nothing is dumped",
        "Pass it to the session as config=.",
        SEED,
        _SWITCH + "sess = tf.Session()\n",
        _SWITCH + "sess = tf.Session(config=config)\n",
    ),
    TextRule(
        "conditional",
        "hint",
        faults.conditions,
        "{path} is set only {condition}",
        "The check assumes that it is.",
        SEED,
        _NAMED + 'if args.dump:\n    op.parameter_map["enable_dump"].b = True\n',
        _SWITCH,
    ),
    TextRule(
        "untold",
        "hint",
        faults.untold,
        "line {line}: the arguments {got} are known only at run time",
        "They are not checked.",
        CONFIG,
        "dump_config = DumpConfig(**settings)\n",
        _RUN,
    ),
    TextRule(
        "npu-device",
        "hint",
        faults.npu_device,
        "Options of npu_device (TensorFlow 2) are not read here",
        "They have the same names and are checked when they are set (ValueError).",
        "hicann/tensorflow npu_device/configs/dump_config.py",
        "import npu_device\n",
        "import npu_bridge\n",
    ),
    TextRule(
        "stray-run",
        "hint",
        faults.strays,
        "line {line}: {got} computes nothing, but every sess.run is a graph of its own and may fail while dumping",
        "Remove it, or fetch it together with the training step.",
        SEED,
        "with tf.Session() as sess:\n    step = sess.run(global_step)\n",
        "with tf.Session() as sess:\n    _, step = sess.run([train_op, global_step])\n",
    ),
)
"""Every rule on the text of a script."""
