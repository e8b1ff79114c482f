"""Lines that put the settings to use, and what else a user should know about them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from workbench.config.tensorflow.form import Environment, dumps, takes_arguments
from workbench.config.tensorflow.hints import variable
from workbench.config.tensorflow.plan import exception_root
from workbench.config.tensorflow.write import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.context import Context
    from workbench.config.tensorflow.form import TensorFlowForm

PLACES = {
    ("estimator", "automated"): "where the script calls npu_run_config_init",
    ("session", "automated"): "where the script calls npu_config_proto",
    ("keras", "automated"): "where the script calls set_keras_session_npu_config",
    ("estimator", "manual"): "before NPUEstimator is made",
    ("session", "manual"): "before the session is made",
    ("keras", "manual"): "before the model is built",
}
"""Where in the script the lines belong, by interface and porting."""


def code(form: TensorFlowForm, context: Context, file: str) -> str:
    """Return a Python text: what the shell does first, as comments, and the lines of the script."""
    kind = form.script.interface, form.script.porting
    place = PLACES.get(kind, "where the session's configuration is made")
    data = form.model_dump(exclude_unset=True, warnings=False)
    data.pop("environment", None)
    head = [
        "# 1. In the shell:",
        *(f"#      {line}" for line in _shell(form, context, file or "train.py")),
        f"# 2. In {file or 'train.py'}, {place}; the import of npu_bridge comes first:",
    ]
    return "\n".join([*head, "", encode(data)])


def _shell(form: TensorFlowForm, context: Context, file: str) -> Iterator[str]:
    if dumps(form) and form.dump.dump_path:
        yield f"mkdir -p {shlex.quote(form.dump.dump_path)}"
    for name in Environment.model_fields:
        value = variable(form, context, name)
        if not value and name == "DUMP_GE_GRAPH":
            value = "2"
        if value:
            yield f"export {name}={shlex.quote(value)}"
    if form.script.rank is not None:
        yield "export RANK_ID=0  # in each process its own, where the launcher sets none"
    yield f"python3 {shlex.quote(file)}"


def notes(form: TensorFlowForm, context: Context) -> Iterator[str]:
    """Yield what a plan does not show, a sentence each."""
    dump = form.dump
    if dumps(form):
        yield (
            "files lie in {dump_path}/{time}/{device}/{model_name}/{model_id}/{data_index}; the "
            "folder that counts is named like the first graph of the computational ge_proto file, "
            "the *_Build.txt that holds an Iterator"
        )
        yield from _graphs(form, context)
        yield "in a container the dump stays in the container unless the folder is mounted"
    if dump.enable_dump:
        yield (
            "data_index is the iteration; with iterations_per_loop n above 0 on the device it is "
            "step * (n + 1) + position, so numbers have gaps"
        )
        yield (
            "conditional operators, data operators (Data, RefData, Const), data flow and operators "
            "marked _no_task never dump"
        )
        if dump.dump_data == "stats":
            yield "statistics are one CSV file an operator, computed on the device"
        if dump.dump_layer:
            yield "names are those of the executed graph, after fusion; others match nothing"
        if dump.dump_mode in (None, "output"):
            yield "inputs are not dumped: dump_mode is output unless it is set"
    yield from _exceptions(form, context)
    yield from _script(form)


def _graphs(form: TensorFlowForm, context: Context) -> Iterator[str]:
    asked = variable(form, context, "DUMP_GE_GRAPH")
    if not asked and not dumps(form):
        return
    collect = context.variable("NPU_COLLECT_PATH")
    root = variable(form, context, "DUMP_GRAPH_PATH")
    folder = context.variable("ASCEND_WORK_PATH") or "the working folder"
    if collect:
        folder = f"{collect}/extra-info/graph/{{pid}}_{{device}}"
    elif root:
        folder = f"{root}/pid_{{pid}}_deviceid_{{device}} (older versions: {{pid}}_{{device}})"
    yield f"{'graph files lie' if asked else 'the graph that runs lies'} in {folder}"


def _exceptions(form: TensorFlowForm, context: Context) -> Iterator[str]:
    value = form.run.enable_exception_dump
    if value in (1, 2):
        detail = {1: "a full", 2: "a brief"}[value]
        root = exception_root(context).rstrip("/") or "/"
        yield (
            f"an operator that fails leaves {detail} record below {root}/extra-info/data-dump "
            f"(enable_exception_dump {value})"
        )


def _script(form: TensorFlowForm) -> Iterator[str]:
    script = form.script
    if script.init_resource:
        yield (
            "init_resource takes only what initialize_system takes; the session that trains must "
            "be given the settings of its own"
        )
    if script.rank is not None:
        yield f"the process whose RANK_ID is {script.rank} dumps; a process without RANK_ID is 0"
    if takes_arguments(form):
        yield "DumpConfig checks nothing; NPUEstimator hands its values on when it is made"
