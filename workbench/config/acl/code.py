"""Lines that put an ``acl.json`` to use: pyACL, with the shell and C++ beside it as comments."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from workbench.config.acl.reading import kind_of, remote
from workbench.config.ge.plans import EXCEPTION_DETAIL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.acl.reading import AclReading
    from workbench.config.acl.settings import Dump

_CALLS = {
    "init": ("aclInit(nullptr);", "ret = acl.init()"),
    "init dump": ("aclmdlInitDump();", "ret = acl.mdl.init_dump()"),
    "set dump": ("aclmdlSetDump({file});", "ret = acl.mdl.set_dump({file})"),
    "device": ("aclrtSetDevice({device});", "ret = acl.rt.set_device({device})"),
    "load": (
        'aclmdlLoadFromFile("model.om", &modelId);',
        'model_id, ret = acl.mdl.load_from_file("model.om")',
    ),
    "execute": (
        "aclmdlExecute(modelId, inputs, outputs);",
        "ret = acl.mdl.execute(model_id, inputs, outputs)",
    ),
    "operator": ("// call the operators", "# call the operators"),
    "finalize dump": ("aclmdlFinalizeDump();", "ret = acl.mdl.finalize_dump()"),
    "unload": ("aclmdlUnload(modelId);", "ret = acl.mdl.unload(model_id)"),
    "reset": ("aclrtResetDevice({device});", "ret = acl.rt.reset_device({device})"),
    "finalize": ("aclFinalize();", "ret = acl.finalize()"),
}
"""Calls in C++ and pyACL."""

_DUMP = ("init dump", "set dump")
_MODEL = ("load", "execute")


def code(r: AclReading, file: str) -> str:
    """Return a Python text; ``file`` is where the form will lie."""
    dump = r.dump
    words = {"file": json.dumps(file or "acl.json"), "device": str(r.context.device)}
    calls = [tuple(line.format(**words) for line in _CALLS[step]) for step in _steps(dump)]
    cpp, python = zip(*calls, strict=True)
    lines = [
        *(f"# {line}" for line in _shell(dump)),
        "# Every call returns 0, or an error of acl that must be looked at.",
        *(f"# {line}" for line in _remarks(dump, words["file"], old=r.old)),
        "import acl",
        "",
        *python,
        "",
        "# The same in C++:",
        *(f"#   {line}" for line in cpp),
    ]
    return "\n".join(lines) + "\n"


def _steps(dump: Dump) -> Iterator[str]:
    """Yield the calls in order; a detailed exception dump is set before the device and stays."""
    detailed = EXCEPTION_DETAIL.get(dump.dump_scene) == "detail"
    single = kind_of(dump) == "data" and dump.dump_op_switch == "on" and not dump.dump_list
    yield "init"
    yield from (*_DUMP, "device") if detailed else ("device", *_DUMP)
    yield from ("operator",) if single else _MODEL
    if not detailed:
        yield "finalize dump"
    yield from () if single else ("unload",)
    yield "reset"
    yield "finalize"


def _shell(dump: Dump) -> Iterator[str]:
    kind, path = kind_of(dump), dump.dump_path
    yield "In the shell, before the program starts:"
    if path and path.isprintable() and not remote(path):
        yield f"  mkdir -p {shlex.quote(path)}"
    if kind == "exception":
        yield "  unset ASCEND_DUMP_PATH ASCEND_WORK_PATH  # they come before dump_path"
    else:
        yield "  unset NPU_COLLECT_PATH ASCEND_DUMP_SCENE  # they ask for an exception dump"


def _remarks(dump: Dump, file: str, *, old: bool) -> Iterator[str]:
    fails = "; init_dump then fails" if old and kind_of(dump) != "exception" else ""
    yield f"acl.init({file}) alone does it too, once in a process{fails}."
    if EXCEPTION_DETAIL.get(dump.dump_scene) == "detail":
        yield "set_dump comes before set_device, and finalize_dump has no effect on this dump."
    else:
        yield "What is loaded before set_dump is not dumped; a later set_dump replaces it."
