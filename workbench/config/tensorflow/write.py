"""Write the form as the lines of a training script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from workbench.config.form.settings import RuntimeValue
from workbench.config.script.write import double_quoted, expression
from workbench.config.tensorflow.find import OPTIMIZER
from workbench.config.tensorflow.keys import MEMBERS, UNTOLD
from workbench.config.tensorflow.settings import is_manual_estimator, is_name, misread

FLAG = "dump_flag"
"""Name of the variable that is true on the one rank that dumps."""

SWITCHES = ("enable_dump", "enable_dump_debug")

ADD = "graph_options.rewrite_options.custom_optimizers.add()"

USES = {
    ("estimator", "automated"): (
        "run_config = tf.estimator.RunConfig(session_config=session_config)",
        "estimator_config = npu_run_config_init(run_config=run_config)",
        "# give estimator_config to tf.estimator.Estimator as its config",
    ),
    ("session", "automated"): (
        "config = npu_config_proto(config_proto=session_config)",
        "with tf.Session(config=config) as sess:",
        "    pass  # run what computes, and nothing else: every sess.run is a graph of its own",
    ),
    ("keras", "automated"): (
        "npu_keras_sess = set_keras_session_npu_config(config=session_config)",
        "# build, compile and train the model",
    ),
    ("session", "manual"): (
        "with tf.Session(config=session_config) as sess:",
        "    pass  # run what computes, and nothing else: every sess.run is a graph of its own",
    ),
    ("keras", "manual"): (
        "K.set_session(tf.Session(config=session_config))",
        "# build, compile and train the model",
    ),
}
"""How a session's configuration is put to use, by interface and porting."""

INIT = (
    "(npu_sess, npu_shutdown) = init_resource(config=session_config)",
    "tf.app.run()",
    "shutdown_resource(npu_sess, npu_shutdown)",
    "close_session(npu_sess)",
)


def encode(data: Mapping[str, Any]) -> str:
    """Return the lines of a script that say what a form says, wrong settings included."""
    script = _section(data, "script")
    lines = [*_head(data, script), *_flag(data, script)]
    if is_manual_estimator(data):
        lines += _estimator(data, script)
    elif script.get("porting", "automated") == "automated" and script.get("init_resource"):
        lines += _with_init(data, script)
    else:
        lines += [*_block(data, script), *_resource(script), *_use(script)]
    return "\n".join(lines) + "\n"


_text = partial(expression, text=double_quoted)


def _section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name)
    return value if isinstance(value, Mapping) else {}


def _kind(script: Mapping[str, Any]) -> tuple[Any, Any]:
    kind = script.get("interface", "session"), script.get("porting", "automated")
    return kind if all(isinstance(part, str) for part in kind) else ("any", "manual")


def _head(data: Mapping[str, Any], script: Mapping[str, Any]) -> Iterator[str]:
    """Imports, and the environment in front of them."""
    environment = _section(data, "environment")
    if environment or _has_rank(script):
        yield from ("import os", "")
    for name, value in environment.items():
        yield f"os.environ[{_text(name)}] = {_text(value)}"
    if environment:
        yield ""
    yield "import tensorflow as tf"
    yield "from npu_bridge.npu_init import *"
    if any(key in script for key in ("remapping_off", "memory_optimization_off")):
        yield "from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig"
    if _kind(script) == ("keras", "manual"):
        yield "from tensorflow.python.keras import backend as K"
    yield ""


def _has_rank(script: Mapping[str, Any]) -> bool:
    return script.get("rank") is not None


def _flag(data: Mapping[str, Any], script: Mapping[str, Any]) -> Iterator[str]:
    if flag := _flag_name(data):
        yield f'if int(os.getenv("RANK_ID", "0")) == {_text(script["rank"])}:'
        yield f"    {flag} = True"
        yield "else:"
        yield f"    {flag} = False"
        yield ""


def _flag_name(data: Mapping[str, Any]) -> str:
    """Name of the flag, one that no expression of the form uses; empty if every rank dumps."""
    if not _has_rank(_section(data, "script")):
        return ""
    flag, text = FLAG, repr(data)
    while flag in text:
        flag += "_"
    return flag


def _with_init(data: Mapping[str, Any], script: Mapping[str, Any]) -> Iterator[str]:
    """Automated porting with ``init_resource``: its session, and in ``main`` that which trains."""
    if _kind(script) in USES:
        yield "def main(_):"
        yield from (f"    {line}" for line in (*_block(data, script), *_use(script), "return"))
        yield ""
        yield ""
    yield 'if __name__ == "__main__":'
    yield from (f"    {line}" for line in (*_block(data, script), *INIT))


def _resource(script: Mapping[str, Any]) -> Iterator[str]:
    if script.get("init_resource"):
        yield INIT[0]


def _use(script: Mapping[str, Any]) -> Iterator[str]:
    yield from USES.get(_kind(script), ())


def _block(data: Mapping[str, Any], script: Mapping[str, Any]) -> Iterator[str]:
    """A session's configuration with its custom optimizer."""
    flag = _flag_name(data)
    yield "session_config = tf.ConfigProto(allow_soft_placement=True)"
    yield f"custom_op = session_config.{ADD}"
    yield f"custom_op.name = {_text(script.get('optimizer', OPTIMIZER))}"
    if "use_off_line" in script:
        yield _parameter("use_off_line", script["use_off_line"])
    for name in ("dump", "run", "options"):
        for key, value in _section(data, name).items():
            yield _parameter(key, value, flag)
    yield from _rewrites(script)


def _rewrites(script: Mapping[str, Any]) -> Iterator[str]:
    for key in ("remapping", "memory_optimization"):
        if f"{key}_off" in script:
            value = script[f"{key}_off"]
            switch = f"RewriterConfig.{'OFF' if value else 'ON'}"
            text = _text(value) if isinstance(value, RuntimeValue) else switch
            yield f"session_config.graph_options.rewrite_options.{key} = {text}"


def _parameter(key: str, value: Any, flag: str = "") -> str:
    member = MEMBERS.get(key) or _member_of(value)
    if misread(value, member):
        ((member, value),) = value.items()
    text = _switch(key, value, flag)
    if member == "s" and not isinstance(value, RuntimeValue):
        text = f"tf.compat.as_bytes({text})"
    return f"custom_op.parameter_map[{_text(key)}].{member} = {text}"


def _member_of(value: Any) -> str:
    """Proto member of a key that npu_bridge does not know."""
    for kind, member in ((bool, "b"), (int, "i"), (float, "f")):
        if isinstance(value, kind):
            return member
    return "s"


def _switch(key: str, value: Any, flag: str) -> str:
    """Text of a value; the flag in place of a switch that is on for one rank only."""
    return flag if flag and key in SWITCHES and value is True else _text(value)


def _estimator(data: Mapping[str, Any], script: Mapping[str, Any]) -> Iterator[str]:
    """Manual porting of an Estimator: ``DumpConfig`` in ``NPURunConfig``."""
    dump, flag = data.get("dump"), _flag_name(data)
    misplaced = {
        name: {
            key: value
            for key, value in _section(data, name).items()
            if misread(value, MEMBERS.get(key, ""))
        }
        for name in ("dump", "run", "options")
    }
    if isinstance(dump, Mapping):
        rest = {key: value for key, value in dump.items() if key not in misplaced["dump"]}
        yield from _call("dump_config = DumpConfig", _arguments(rest, flag))
    yield from _session_config(script, misplaced)
    yield from _resource(script)
    more = {
        key: value
        for name in ("options", "run")
        for key, value in _section(data, name).items()
        if key not in misplaced[name] and key not in UNTOLD
    }
    given = "dump_config" if isinstance(dump, Mapping) else _text(dump)
    first = [f"dump_config={given}"] if dump is not None else []
    parts = [*first, "session_config=session_config", *_arguments(more, flag)]
    yield from _call("run_config = NPURunConfig", parts)
    yield "# give run_config to NPUEstimator as its config"


def _call(name: str, parts: list[str]) -> Iterator[str]:
    """One call, an argument on each line."""
    yield f"{name}("
    yield from (f"    {part}," for part in parts)
    yield ")"


def _session_config(script: Mapping[str, Any], misplaced: Mapping[str, Any]) -> Iterator[str]:
    """The session's configuration; with parameters of its own only where arguments cannot say them."""
    if any(misplaced.values()) or "use_off_line" in script or "optimizer" in script:
        yield from _block(misplaced, script)
    else:
        yield "session_config = tf.ConfigProto(allow_soft_placement=True)"
        yield from _rewrites(script)


def _arguments(values: Mapping[str, Any], flag: str) -> list[str]:
    """Keyword arguments; names that cannot be keywords go through a dictionary."""
    good = {key: value for key, value in values.items() if is_name(key)}
    parts = [f"{key}={_switch(key, value, flag)}" for key, value in good.items()]
    rest = [f"{key!r}: {_text(value)}" for key, value in values.items() if key not in good]
    return [*parts, *([f"**{{{', '.join(rest)}}}"] if rest else [])]
