"""Every example of the vendor's document on TensorFlow dumps: in and out as data, and its verdict.

The document prints most of them on one line; they stand here as a user writes them.
"""

import ast
from textwrap import dedent, indent

import pytest

from workbench import config as surfaces
from workbench.core.plan import BOTH, Iterations, Selector

HEAD = """\
import os
import tensorflow as tf
from npu_bridge.npu_init import *
"""
RUN_CONFIG = """\
    train_distribute=distribution_strategy,
    session_config=session_config,
    save_checkpoints_secs=60 * 60 * 24,
"""
PARAMETERS = """\
custom_op.parameter_map["enable_dump"].b = True
custom_op.parameter_map["dump_path"].s = tf.compat.as_bytes("/home/HwHiAiUser/output")
custom_op.parameter_map["dump_step"].s = tf.compat.as_bytes("0|5|10")
custom_op.parameter_map["dump_mode"].s = tf.compat.as_bytes("all")
custom_op.parameter_map["dump_layer"].s = tf.compat.as_bytes("nodename1 nodename2 nodename3")
"""


def block(config, more="", quote="'"):
    """Lines that make a configuration and its optimizer."""
    return (
        f"{config} = tf.ConfigProto(allow_soft_placement=True)\n"
        f"custom_op = {config}.graph_options.rewrite_options.custom_optimizers.add()\n"
        f"custom_op.name = {quote}NpuOptimizer{quote}\n" + more + PARAMETERS
    )


INIT = f"""{HEAD}
if __name__ == '__main__':
{indent(block("session_config", quote='"'), "    ")}
    (npu_sess, npu_shutdown) = init_resource(config=session_config)
    tf.app.run()
    shutdown_resource(npu_sess, npu_shutdown)
    close_session(npu_sess)
"""
ESTIMATOR = f"""{HEAD}
{block("session_config")}
run_config = tf.estimator.RunConfig(
{RUN_CONFIG})
classifier = tf.estimator.Estimator(
    model_fn=model_function,
    model_dir=flags_obj.model_dir,
    config=npu_run_config_init(run_config=run_config))
"""
ESTIMATOR_BEFORE = f"""{HEAD}
session_config = tf.ConfigProto(allow_soft_placement=True)
run_config = tf.estimator.RunConfig(
{RUN_CONFIG})
classifier = tf.estimator.Estimator(
    model_fn=model_function,
    model_dir=flags_obj.model_dir,
    config=npu_run_config_init(run_config=run_config))
"""
ESTIMATOR_MANUAL = """\
from npu_bridge.npu_init import *
dump_config = DumpConfig(enable_dump=True, dump_path = "/home/HwHiAiUser/output",
                         dump_step="0|5|10", dump_mode="all")
session_config=tf.ConfigProto(allow_soft_placement=True)
config = NPURunConfig(
    dump_config=dump_config,
    session_config=session_config
)
"""
SESSION = f"""{HEAD}
{block("session_config")}
config = npu_config_proto(config_proto=session_config)
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    interaction_table.init.run()
"""
SESSION_MANUAL = f"""{HEAD}
{block("config", 'custom_op.parameter_map["use_off_line"].b = True' + chr(10), '"')}
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF
with tf.Session(config=config) as sess:
    print(sess.run(cost))
"""
KERAS = f"""\
import tensorflow as tf
import tensorflow.python.keras as keras
from tensorflow.python.keras import backend as K
from npu_bridge.npu_init import *
{block("config_proto")}
npu_keras_sess = set_keras_session_npu_config(config=config_proto)
# data, model, training
"""
KERAS_MANUAL = SESSION_MANUAL.replace(
    "with tf.Session(config=config) as sess:\n    print(sess.run(cost))",
    "tf.keras.backend.set_session(tf.Session(config=config))",
)
ONE_RANK = """\
if int(os.getenv('RANK_ID')) == 7:
    dump_flag = True
else:
    dump_flag = False
dump_config = DumpConfig(enable_dump=dump_flag, dump_path="/home/data_dump", dump_step="20",
                         dump_mode="output")
"""

DUMP = {
    "enable_dump": True,
    "dump_path": "/home/HwHiAiUser/output",
    "dump_step": "0|5|10",
    "dump_mode": "all",
    "dump_layer": "nodename1 nodename2 nodename3",
}
NO_LAYER = {key: value for key, value in DUMP.items() if key != "dump_layer"}
OFF = {"use_off_line": True, "remapping_off": True, "memory_optimization_off": True}
HINTS = {"graph-unset", "volume"}


def script(interface, porting, **more):
    return {"interface": interface, "porting": porting, **more}


ONE = {
    "enable_dump": True,
    "dump_path": "/home/data_dump",
    "dump_step": "20",
    "dump_mode": "output",
}
SEEDS = {
    # name: (text, its script and dump in the form, ids of what is said; nothing is refused)
    "automated, init_resource": (INIT, script("any", "automated", init_resource=True), DUMP, HINTS | {"only-init"}),
    "Estimator, automated, run_config before": (ESTIMATOR_BEFORE, script("estimator", "automated"), None, {"dump-off"}),
    "Estimator, automated, run_config after": (ESTIMATOR, script("estimator", "automated"), DUMP, HINTS),
    "Estimator, manual": (ESTIMATOR_MANUAL, script("estimator", "manual"), NO_LAYER, HINTS),
    "sess.run, automated": (SESSION, script("session", "automated"), DUMP, HINTS),
    "sess.run, manual": (SESSION_MANUAL, script("session", "manual", **OFF), DUMP, HINTS),
    "tf.keras, automated": (KERAS, script("keras", "automated"), DUMP, HINTS),
    "tf.keras, manual (like sess.run)": (KERAS_MANUAL, script("keras", "manual", **OFF), DUMP, HINTS),
    "one rank of a distributed job": (ONE_RANK, script("estimator", "manual", rank=7), ONE, {"graph-unset"}),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEDS)
def test_example_goes_in_and_out_and_is_accepted(name):
    text, interface, dump, said = SEEDS[name]
    form = {"script": interface} | ({"dump": dump} if dump else {})
    config = surfaces.read(text, where="train.py")
    assert config.surface.name == "tensorflow"
    assert config.data == form
    assert surfaces.read(config.to_text(), "tensorflow").data == form
    ast.parse(config.to_text())
    assert config.accepted()
    assert {problem.id for problem in config.check()} == said
    assert all(problem.severity == "hint" for problem in config.check())


def test_examples_ask_for_what_the_document_says():
    plan = surfaces.read(SESSION_MANUAL).plan()
    assert (plan.path, plan.iterations) == ("/home/HwHiAiUser/output", Iterations.parse("0|5|10"))
    assert plan.io == BOTH
    assert plan.select == tuple(Selector("name", f"nodename{n}") for n in (1, 2, 3))
    assert (plan.files, plan.host_format, plan.ranks) == ("bin", False, None)


def test_example_of_one_rank_dumps_outputs_of_that_rank():
    plan = surfaces.read(ONE_RANK).plan()
    assert plan.ranks == (7,)
    assert plan.io == frozenset({"output"})
    assert plan.iterations == Iterations(((20, 20),))


@pytest.mark.parametrize("interface", ["estimator", "session", "keras"])
def test_fragment_of_init_resource_gives_both_sessions_the_settings(interface):
    data = {"script": script(interface, "automated", init_resource=True), "dump": DUMP}
    config = surfaces.of("tensorflow", data)
    text = config.to_text()
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    names = [node.id for node in calls if isinstance(node, ast.Name)]
    made = {
        "estimator": "npu_run_config_init",
        "session": "npu_config_proto",
        "keras": "set_keras_session_npu_config",
    }
    needed = {"init_resource", "shutdown_resource", "close_session", made[interface]}
    assert needed <= set(names)
    assert text.count('parameter_map["enable_dump"].b = True') == 2
    read = surfaces.read(text)
    assert read.data == data
    assert {problem.id for problem in read.check()} == HINTS


def test_fragment_of_manual_porting_imports_what_it_uses():
    data = {"script": script("session", "manual", **OFF), "dump": DUMP}
    text = surfaces.of("tensorflow", data).to_text()
    expected = dedent("""\
        import tensorflow as tf
        from npu_bridge.npu_init import *
        from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

        session_config = tf.ConfigProto(allow_soft_placement=True)
        custom_op = session_config.graph_options.rewrite_options.custom_optimizers.add()
        custom_op.name = "NpuOptimizer"
        custom_op.parameter_map["use_off_line"].b = True
        custom_op.parameter_map["enable_dump"].b = True
        custom_op.parameter_map["dump_path"].s = tf.compat.as_bytes("/home/HwHiAiUser/output")
        custom_op.parameter_map["dump_step"].s = tf.compat.as_bytes("0|5|10")
        custom_op.parameter_map["dump_mode"].s = tf.compat.as_bytes("all")
        custom_op.parameter_map["dump_layer"].s = tf.compat.as_bytes("nodename1 nodename2 nodename3")
        session_config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
        session_config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF
        with tf.Session(config=session_config) as sess:
            pass  # run what computes, and nothing else: every sess.run is a graph of its own
        """)
    assert text == expected
