"""A script decoded: its form, and the rules on its text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.config.form.rules import TEXT, Example, Rule
from workbench.config.script.literals import parse_python
from workbench.config.tensorflow import faults
from workbench.config.tensorflow.find import find_facts
from workbench.config.tensorflow.keys import DUMP_ARGUMENTS, JUDGED
from workbench.config.tensorflow.script import form_of, read_script, section_of
from workbench.config.tensorflow.settings import ATTRS, SEED

if TYPE_CHECKING:
    from workbench.config.form.json_text import Decoded

INIT = "hicann/tensorflow npu_bridge/npu_init.py"
CONFIG = "hicann/tensorflow npu_bridge/estimator/npu/npu_config.py"
ESTIMATOR = "hicann/tensorflow npu_bridge/estimator/npu/npu_estimator.py"


def decode(text: str, where: str = "<text>") -> Decoded:
    """Return the form of a script, and what is wrong with its text.

    Raises FormatError ``where:line:`` if it is no Python.
    """
    reading = read_script(find_facts(parse_python(text, where)))
    problems = [problem for rule in TEXT_RULES for problem in rule.problems(reading)]
    return replace(form_of(reading, text), problems=tuple(problems))


_SETTINGS = " ".join(f"{section_of(key)}.{key}" for key in JUDGED)
_TEXTS = " ".join(f"{section_of(key)}.{key}" for key, member in JUDGED.items() if member == "s")
_DUMPS = " ".join(f"dump.{key}" for key in DUMP_ARGUMENTS)
_WALKED = "dump.dump_path|dump_step|dump_mode|dump_debug_mode|dump_data run.enable_exception_dump"
_SWITCHES = "dump.enable_dump|enable_dump_debug"

_ADD = "op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
_NAMED = _ADD + 'op.name = "NpuOptimizer"\n'
_FOLDER = 'op.parameter_map["dump_path"].s = b"/d"\n'
_SWITCH = _NAMED + _FOLDER + 'op.parameter_map["enable_dump"].b = True\n'
_RUN = 'run_config = NPURunConfig(dump_config=DumpConfig(enable_dump=True, dump_path="/d"))\n'

TEXT_RULES = (
    Rule(
        id="plain-text",
        severity="error",
        at=TEXT,
        when=faults.plain_text,
        says="{path}: protobuf takes bytes, not the text {got}, and raises TypeError",
        fix="Wrap it in tf.compat.as_bytes(…).",
        source="protobuf, AttrValue.s",
        breaks=Example(_NAMED + 'op.parameter_map["dump_path"].s = "/d"\n'),
        keeps=Example(_NAMED + 'op.parameter_map["dump_path"].s = tf.compat.as_bytes("/d")\n'),
        code="TypeError",
        about=_TEXTS,
    ),
    Rule(
        id="wrong-member",
        severity="warning",
        at=TEXT,
        when=faults.wrong_member,
        says="{path} is set by {got}, but npu_bridge reads .{member} and finds false, 0 or no text",
        fix="Set .{member} ({kind}).",
        source=ATTRS,
        breaks=Example(_NAMED + 'op.parameter_map["enable_dump"].i = 1\n'),
        keeps=Example(_SWITCH),
        about=_SETTINGS,
    ),
    Rule(
        id="no-member",
        severity="error",
        at=TEXT,
        when=faults.no_member,
        says="{path} cannot be set by {got}: protobuf raises {raised}",
        fix="Set .{member}.",
        source="protobuf, AttrValue",
        breaks=Example(_NAMED + 'op.parameter_map["enable_dump"] = True\n'),
        keeps=Example(_SWITCH),
        code="ValueError",
        about=_SETTINGS,
    ),
    Rule(
        id="other-type",
        severity="error",
        at=TEXT,
        when=faults.other_type,
        says="{path}: .{member} takes {kind}, got {got}; protobuf raises TypeError",
        fix="Set the member that npu_bridge reads.",
        source="protobuf, AttrValue",
        breaks=Example(_NAMED + 'op.parameter_map["enable_dump"].s = True\n'),
        keeps=Example(_SWITCH),
        code="TypeError",
        about=_SETTINGS,
    ),
    Rule(
        id="changed-map",
        severity="hint",
        at=TEXT,
        when=faults.changed_map,
        says="line {line}: {got} changes parameter_map, and the check follows it only in part",
        fix="Set each parameter by its member, e.g. parameter_map[…].b = True.",
        source=ATTRS,
        breaks=Example(_SWITCH + "op.parameter_map.clear()\n"),
        keeps=Example(_SWITCH),
    ),
    Rule(
        id="several-optimizers",
        severity="error",
        at=TEXT,
        when=faults.several,
        says="line {line}: {fault}",
        fix="Set all parameters on one NpuOptimizer.",
        source=ATTRS,
        breaks=Example(_SWITCH + _NAMED),
        keeps=Example(_SWITCH),
        code="Internal",
        about=_WALKED,
    ),
    Rule(
        id="debug-mode-unread",
        severity="warning",
        at=TEXT,
        when=faults.dropped_mode,
        says="{path} {got} is not passed on, because dump_mode is None",
        fix="Set dump_mode, or remove both.",
        source=ESTIMATOR,
        breaks=Example(
            'NPURunConfig(dump_config=DumpConfig(dump_mode=None, dump_debug_mode="aicore"))\n'
        ),
        keeps=Example(
            'NPURunConfig(dump_config=DumpConfig(dump_mode="all", dump_debug_mode="all"))\n'
        ),
        about="dump.dump_debug_mode",
    ),
    Rule(
        id="other-optimizer",
        severity="warning",
        at=TEXT,
        when=faults.other_optimizer,
        says="line {line}: parameters of the custom optimizer {got} are not read",
        fix="Set them on 'NpuOptimizer'.",
        source=ATTRS,
        breaks=Example(
            _SWITCH + _ADD + 'op.name = "Other"\nop.parameter_map["dump_step"].s = b"1"\n'
        ),
        keeps=Example(_SWITCH),
        about="script.optimizer",
    ),
    Rule(
        id="conflict",
        severity="warning",
        at=TEXT,
        when=faults.conflicts,
        says="{path} is {loses!r} here and {counts!r} on line {counting}, which counts",
        fix="Set it once, or to the same value everywhere.",
        source=INIT,
        breaks=Example(
            _NAMED
            + 'op.parameter_map["dump_mode"].s = b"all"\n'
            + "init_resource(config=config)\n"
            + _NAMED.replace("config.", "other.")
            + 'op.parameter_map["dump_mode"].s = b"input"\n'
            + "sess = tf.Session(config=other)\n"
        ),
        keeps=Example(
            _NAMED
            + 'op.parameter_map["dump_mode"].s = b"all"\n'
            + "init_resource(config=config)\n"
            + _NAMED.replace("config.", "other.")
            + 'op.parameter_map["dump_mode"].s = b"all"\n'
            + "sess = tf.Session(config=other)\n"
        ),
        about=_SETTINGS,
    ),
    Rule(
        id="only-init",
        severity="hint",
        at=TEXT,
        when=faults.only_init,
        says="{path} is set for init_resource only, whose session trains nothing",
        fix="Pass the same settings to npu_run_config_init, npu_config_proto or set_keras_session_npu_config.",
        source=SEED,
        breaks=Example(_SWITCH + "(sess, end) = init_resource(config=config)\n"),
        keeps=Example(
            _SWITCH
            + "(sess, end) = init_resource(config=config)\n"
            + "run = npu_config_proto(config_proto=config)\n"
        ),
        about=_SWITCHES,
    ),
    Rule(
        id="overridden",
        severity="warning",
        at=TEXT,
        when=faults.overridden,
        says="{path} is set in parameter_map, but NPUEstimator turns dumps off where NPURunConfig has no dump_config",
        fix="Pass a DumpConfig to NPURunConfig.",
        source=ESTIMATOR,
        breaks=Example(_SWITCH + "run_config = NPURunConfig(session_config=config)\n"),
        keeps=Example(_RUN),
        about=_SWITCHES,
    ),
    Rule(
        id="unused-dump-config",
        severity="warning",
        at=TEXT,
        when=faults.unused,
        says="line {line}: this DumpConfig is not passed to NPURunConfig, so nothing is dumped",
        fix="Add dump_config= to NPURunConfig.",
        source=CONFIG,
        breaks=Example("dump_config = DumpConfig(enable_dump=True)\nrun_config = NPURunConfig()\n"),
        keeps=Example(_RUN),
        about="dump",
    ),
    Rule(
        id="arguments",
        severity="error",
        at=TEXT,
        when=faults.refused,
        says="line {line}: {fault}; Python raises TypeError",
        fix="Pass each argument of the signature once.",
        source=CONFIG,
        breaks=Example('dump_config = DumpConfig(True, "/d", enable_dump=True)\n'),
        keeps=Example(_RUN),
        code="TypeError",
        about="dump run",
    ),
    Rule(
        id="other-branch",
        severity="hint",
        at=TEXT,
        when=faults.other_branch,
        says="{path} stands in another branch than line {judged}, which is checked instead",
        fix="Check it in a script of its own. GE refuses a run that takes both branches.",
        source=SEED,
        breaks=Example(
            _NAMED
            + _FOLDER
            + 'if args.dump:\n    op.parameter_map["enable_dump"].b = True\n'
            + 'elif args.overflow:\n    op.parameter_map["enable_dump_debug"].b = True\n'
        ),
        keeps=Example(_SWITCH),
        about="dump.enable_dump_debug",
    ),
    Rule(
        id="rank-type",
        severity="warning",
        at=TEXT,
        when=faults.rank_types,
        says="line {line}: {got} compares text with a number, so it is the same on every rank",
        fix="Environment variables are text: convert with int(…).",
        source=SEED,
        breaks=Example("on = os.getenv('RANK_ID') == 7\n"),
        keeps=Example("on = int(os.getenv('RANK_ID')) == 7\n"),
        about="script.rank",
    ),
    Rule(
        id="unused-config",
        severity="warning",
        at=TEXT,
        when=faults.unused_config,
        says="{path} is set on {got}, which is passed to no session, so nothing is dumped",
        fix="Pass it to the session as config=.",
        source=SEED,
        breaks=Example(_SWITCH + "sess = tf.Session()\n"),
        keeps=Example(_SWITCH + "sess = tf.Session(config=config)\n"),
        about=_SWITCHES,
    ),
    Rule(
        id="conditional",
        severity="hint",
        at=TEXT,
        when=faults.conditions,
        says="{path} is set only {condition}",
        fix="The check assumes that it is.",
        source=SEED,
        breaks=Example(
            _NAMED + _FOLDER + 'if args.dump:\n    op.parameter_map["enable_dump"].b = True\n'
        ),
        keeps=Example(_SWITCH),
        about=_DUMPS,
    ),
    Rule(
        id="untold",
        severity="hint",
        at=TEXT,
        when=faults.runtime_arguments,
        says="line {line}: the arguments {got} are known only at run time",
        fix="They are not checked.",
        source=CONFIG,
        breaks=Example("dump_config = DumpConfig(**settings)\n"),
        keeps=Example(_RUN),
        about="dump run",
    ),
    Rule(
        id="npu-device",
        severity="hint",
        at=TEXT,
        when=faults.npu_device,
        says="Options of npu_device (TensorFlow 2) are not read here",
        fix="They have the same names and are checked when they are set (ValueError).",
        source="hicann/tensorflow npu_device/configs/dump_config.py",
        breaks=Example("import npu_device\n"),
        keeps=Example("import npu_bridge\n"),
    ),
    Rule(
        id="stray-run",
        severity="hint",
        at=TEXT,
        when=faults.unused_runs,
        says="line {line}: {got} computes nothing, but every sess.run is a graph of its own and may fail while dumping",
        fix="Remove it, or fetch it together with the training step.",
        source=SEED,
        breaks=Example("with tf.Session() as sess:\n    step = sess.run(global_step)\n"),
        keeps=Example(
            "with tf.Session() as sess:\n    _, step = sess.run([train_op, global_step])\n"
        ),
    ),
)
"""Rules on the text of a script, in the order in which they are told."""
