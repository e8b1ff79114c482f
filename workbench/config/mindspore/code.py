"""Lines of shell and Python that put a ``data_dump.json`` to use, in the order they must run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.mindspore.reading import MindSporeReading

SCRIPT = "# in the script"
"""How the line begins behind which Python stands."""

_CONTEXT = {
    "o0o1": 'device_target="Ascend", jit_level="O0")  # or "O1"',
    "o2": 'device_target="Ascend", jit_level="O2")',
    "ge": 'device_target="Ascend", jit_level="O2")',
    "cpu": 'device_target="CPU")',
    "gpu": 'device_target="GPU")',
}
_TRAIN = {
    "o0o1": "model.train(epochs, dataset)",
    "o2": "model.train(epochs, dataset, sink_size=1)",
    "ge": "model.train(epochs, dataset)",
    "cpu": "model.train(epochs, dataset)",
    "gpu": "model.train(epochs, dataset, dataset_sink_mode=False)",
}


def code(r: MindSporeReading, file: str) -> str:
    """Return shell lines, then, behind a line that begins with `SCRIPT`, lines of the script."""
    lines = ["# in the shell, before the script starts", *_shell(r, file)]
    lines += ["", f"{SCRIPT}, before mindspore.communication.init()", *_python(r)]
    return "\n".join(lines) + "\n"


def _shell(r: MindSporeReading, file: str) -> Iterator[str]:
    if not r.common.path:
        base = r.context.variable("MS_DIAGNOSTIC_DATA_PATH") or "/path/of/dumps"
        yield f"export MS_DIAGNOSTIC_DATA_PATH={shlex.quote(base)}"
    if r.form.target == "ge":
        yield "export ENABLE_MS_GE_DUMP=1"
    elif r.form.target == "o2":
        yield "unset ENABLE_MS_GE_DUMP"
    yield f"export MINDSPORE_DUMP_CONFIG={_absolute(file)}"


def _absolute(file: str) -> str:
    if not file or file.startswith("<"):
        file = "data_dump.json"
    return shlex.quote(file) if file.startswith("/") else f'"$PWD"/{shlex.quote(file)}'


def _python(r: MindSporeReading) -> Iterator[str]:
    yield "import mindspore"
    yield ""
    yield f"mindspore.set_context(mode=mindspore.GRAPH_MODE, {_CONTEXT[r.form.target]}"
    if r.dump_mode == 2:
        yield "mindspore.set_dump(net.layer)  # once for each operator or cell to dump"
    yield _TRAIN[r.form.target]
