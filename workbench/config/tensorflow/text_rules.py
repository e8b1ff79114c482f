"""Rules on the text of a script: the surface's ``examine``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.config.python_text import parse_python
from workbench.config.tensorflow import faults
from workbench.config.tensorflow.faults import Fault
from workbench.config.tensorflow.form import ATTRS, SEED
from workbench.config.tensorflow.read import Reading, read
from workbench.config.tensorflow.scan import scan
from workbench.core.errors import FormatError
from workbench.core.problems import Problem

if TYPE_CHECKING:
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


_ADD = "op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
_NAMED = _ADD + 'op.name = "NpuOptimizer"\n'
_SWITCH = _NAMED + 'op.parameter_map["enable_dump"].b = True\n'
_RUN = 'run_config = NPURunConfig(dump_config=DumpConfig(enable_dump=True, dump_path="/d"))\n'

TEXT_RULES = (
    TextRule(
        "plain-text",
        "error",
        faults.plain_text,
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
        faults.wrong_member,
        "be set by its own member",
        "npu_bridge reads false, 0 or no text where another member is set",
        ATTRS,
        _NAMED + 'op.parameter_map["enable_dump"].i = 1\n',
        _SWITCH,
    ),
    TextRule(
        "no-member",
        "error",
        faults.no_member,
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
        faults.other_optimizer,
        "be 'NpuOptimizer' on every custom optimizer with parameters",
        "what stands on another one is not read",
        ATTRS,
        _SWITCH + _ADD + 'op.name = "Other"\nop.parameter_map["dump_step"].s = b"1"\n',
        _SWITCH,
    ),
    TextRule(
        "conflict",
        "warning",
        faults.conflicts,
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
        faults.only_init,
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
        faults.overridden,
        "be given by DumpConfig",
        "NPUEstimator turns dumps off where NPURunConfig has no dump_config",
        ESTIMATOR,
        _SWITCH + "run_config = NPURunConfig(session_config=config)\n",
        _RUN,
    ),
    TextRule(
        "unused-dump-config",
        "warning",
        faults.unused,
        "be given to NPURunConfig",
        "add dump_config= to NPURunConfig; nothing is dumped without",
        CONFIG,
        "dump_config = DumpConfig(enable_dump=True)\nrun_config = NPURunConfig()\n",
        _RUN,
    ),
    TextRule(
        "arguments",
        "error",
        faults.refused,
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
        faults.other_branch,
        "stand in the branch of the data dump to be judged",
        "judge it in a script of its own; GE refuses a run that takes both",
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
        "be compared as number with number, or as text with text",
        "wrap it in int(…): what the environment holds is text, which equals no number",
        SEED,
        "on = os.getenv('RANK_ID') == 7\n",
        "on = int(os.getenv('RANK_ID')) == 7\n",
    ),
    TextRule(
        "unused-config",
        "warning",
        faults.unused_config,
        "be set on the configuration of a session",
        "give it to the session, as config=; nothing is dumped without",
        SEED,
        _SWITCH + "sess = tf.Session()\n",
        _SWITCH + "sess = tf.Session(config=config)\n",
    ),
    TextRule(
        "conditional",
        "hint",
        faults.conditions,
        "hold whenever the script runs",
        "it is judged as if it did",
        SEED,
        _NAMED + 'if args.dump:\n    op.parameter_map["enable_dump"].b = True\n',
        _SWITCH,
    ),
    TextRule(
        "untold",
        "hint",
        faults.untold,
        "have arguments that can be read here",
        "they are known in a run only; they are not judged",
        CONFIG,
        "dump_config = DumpConfig(**settings)\n",
        _RUN,
    ),
    TextRule(
        "npu-device",
        "hint",
        faults.npu_device,
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
        faults.strays,
        "run what computes",
        "remove it or fetch it together with the training step: every sess.run is a graph of its "
        "own, and one that computes nothing may fail while dumping",
        SEED,
        "with tf.Session() as sess:\n    step = sess.run(global_step)\n",
        "with tf.Session() as sess:\n    _, step = sess.run([train_op, global_step])\n",
    ),
)
"""Every rule on the text of a script."""
