"""What a ``config.json`` does beyond its plan, and the lines of a script that put it to use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from workbench.config.msprobe.reading import MODULES, names
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.msprobe.reading import MsprobeReading


def notes(r: MsprobeReading) -> Iterator[Message]:
    """Say what follows from a form that its plan does not show."""
    if r.loads:
        yield Message("config/mp-load", modules=list(r.form.load.modules), path=r.form.load.path)
    if not r.dumps:
        yield Message("config/mp-off")
        return
    yield from _tree(r)
    yield from _calls(r)
    if not r.form.extra_info:
        yield Message("config/mp-no-stack")
    if r.form.async_dump:
        yield Message("config/mp-async")
    if r.by_pytorch and r.form.dump_enable is not None:
        yield Message("config/mp-dynamic")


def _tree(r: MsprobeReading) -> Iterator[Message]:
    folder = (r.form.dump_path or "").rstrip("/") or "/"
    if r.kernels and r.by_pytorch:
        yield Message("config/mp-tree-kernel", folder=folder)
    elif r.kernels:
        yield Message("config/mp-tree-mindspore", folder=folder)
    elif r.level == "debug":
        yield Message("config/mp-tree-debug", folder=folder)
        yield Message("config/mp-save")
    else:
        yield Message("config/mp-tree", folder=folder)
        if r.task == "tensor" or names(getattr(r.options, "tensor_list", ())):
            suffix = "pt" if r.by_pytorch else "npy"
            yield Message("config/mp-tensors", suffix=suffix)
    yield Message("config/mp-process")


def _calls(r: MsprobeReading) -> Iterator[Message]:
    options = r.options
    if r.kernels:
        return
    if r.selects and (options.list or options.scope):
        yield Message("config/mp-names")
    phases = [one for one in options.data_mode or () if one in ("forward", "backward")]
    if len(phases) == 1:
        yield Message("config/mp-phase", phase=phases[0])
    if options.slice:
        yield Message("config/mp-slice")
    if options.request_id:
        yield Message("config/mp-request", request=options.request_id)
    if listed := names(getattr(options, "tensor_list", ())):
        yield Message("config/mp-tensor-list", names=list(listed))
    risk = r.form.risk_level
    chosen = options.list or options.scope or r.level not in ("L1", "mix")
    if r.by_pytorch and risk != "ALL" and not chosen:
        yield Message(f"config/mp-risk-{risk.lower()}")
    if r.by_pytorch and r.form.precision == "high":
        yield Message("config/mp-precision")
    if bench := getattr(options, "bench_path", None):
        yield Message("config/mp-bench", path=bench)


def code(r: MsprobeReading, file: str) -> str:
    """Return the lines of a training script; ``file`` is where the form will lie."""
    package = "pytorch" if r.by_pytorch else "mindspore"
    start = "debugger.start(model=model)" if r.level in MODULES else "debugger.start()"
    run = ["    ...  # forward and backward pass, optimizer"]
    if r.level == "debug":
        run.append('    debugger.save(tensor, "name")  # what is dumped')
    lines = [
        "# pip install mindstudio-probe",
        f"from msprobe.{package} import PrecisionDebugger",
        "",
        f"debugger = PrecisionDebugger(config_path={json.dumps(file or 'config.json')})",
        "for batch in data:",
        f"    {start}",
        *run,
        "    debugger.stop()",
        "    debugger.step()  # the next step begins",
    ]
    return "\n".join(lines) + "\n"
