"""Lines that put the settings to use, and what else a user should know about them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from workbench.config.ge.plans import exception_folder
from workbench.config.tensorflow.reading import variable
from workbench.config.tensorflow.settings import Environment
from workbench.config.tensorflow.write import encode
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.tensorflow.reading import TensorFlowReading

PLACES = {
    ("estimator", "automated"): "where the script calls npu_run_config_init",
    ("session", "automated"): "where the script calls npu_config_proto",
    ("keras", "automated"): "where the script calls set_keras_session_npu_config",
    ("estimator", "manual"): "before NPUEstimator is made",
    ("session", "manual"): "before the session is made",
    ("keras", "manual"): "before the model is built",
}
"""Where in the script the lines belong, by interface and porting."""


def code(r: TensorFlowReading, file: str) -> str:
    """Return a Python text: what the shell does first, as comments, and the lines of the script."""
    script = r.form.script
    place = PLACES.get(
        (script.interface, script.porting), "where the session's configuration is made"
    )
    data = r.form.data()
    data.pop("environment", None)
    head = [
        "# 1. In the shell:",
        *(f"#      {line}" for line in _shell(r, file or "train.py")),
        f"# 2. In {file or 'train.py'}, {place}; the import of npu_bridge comes first:",
    ]
    return "\n".join([*head, "", encode(data)])


def _shell(r: TensorFlowReading, file: str) -> Iterator[str]:
    form = r.form
    if r.dumps and form.dump.dump_path:
        yield f"mkdir -p {shlex.quote(form.dump.dump_path)}"
    for name in Environment.fields:
        value = variable(r.form, r.context, name)
        if not value and name == "DUMP_GE_GRAPH":
            value = "2"
        if value:
            yield f"export {name}={shlex.quote(value)}"
    if form.script.rank is not None:
        yield "export RANK_ID=0  # in each process its own, where the launcher sets none"
    yield f"python3 {shlex.quote(file)}"


def notes(r: TensorFlowReading) -> Iterator[Message]:
    """Yield what a plan does not show."""
    if r.on_device:
        yield from _dumped(r)
        yield from _exceptions(r)
    yield from _script(r)


def _dumped(r: TensorFlowReading) -> Iterator[Message]:
    dump = r.form.dump
    if r.dumps:
        yield Message("config/tf-tree")
        yield from _graphs(r)
        yield Message("config/tf-container")
    if dump.enable_dump:
        yield Message("config/tf-index")
        yield Message("config/tf-never")
        if dump.dump_data == "stats":
            yield Message("config/tf-csv")
        if dump.dump_layer:
            yield Message("config/tf-names")
        if dump.dump_mode in (None, "output"):
            yield Message("config/tf-outputs")


def _graphs(r: TensorFlowReading) -> Iterator[Message]:
    collect = r.context.variable("NPU_COLLECT_PATH")
    root = variable(r.form, r.context, "DUMP_GRAPH_PATH")
    place = Message("config/tf-working-folder")
    if collect:
        place = Message("config/tf-collect-folder", folder=collect)
    elif root:
        place = Message("config/tf-graph-folder", folder=root)
    elif folder := r.context.variable("ASCEND_WORK_PATH"):
        place = Message("config/tf-work-path", folder=folder)
    asked = variable(r.form, r.context, "DUMP_GE_GRAPH")
    yield Message("config/tf-graphs" if asked else "config/tf-graph", folder=place)


def _exceptions(r: TensorFlowReading) -> Iterator[Message]:
    value = r.form.run.enable_exception_dump
    if value in (1, 2):
        root = (exception_folder(r.context)[0] or "./").rstrip("/") or "/"
        code = "config/tf-exception-full" if value == 1 else "config/tf-exception-brief"
        yield Message(code, folder=root)


def _script(r: TensorFlowReading) -> Iterator[Message]:
    script = r.form.script
    if script.init_resource:
        yield Message("config/tf-init")
    if script.rank is not None:
        yield Message("config/tf-rank", rank=script.rank)
    if r.takes_arguments:
        yield Message("config/tf-arguments")
