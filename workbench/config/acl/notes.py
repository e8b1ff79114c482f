"""What a plan does not show of a dump by ``acl.json``: the tree, conditions, consequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.acl.form import EXCEPTIONS, Dump
from workbench.config.acl.plan import DETAIL
from workbench.config.acl.reading import (
    exception_root,
    is_old,
    kind_of,
    prints_kernels,
    remote,
    view,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.acl.form import AclForm
    from workbench.config.context import Context

_LOADED = (
    "it holds for models loaded after it is set; one that is loaded already dumps nothing until it "
    "is loaded again"
)
_NEVER = (
    "control flow (if, while, case), data and data-flow operators and those marked _no_task run "
    "nowhere on the device and leave no file"
)
_NAMES = (
    "names are {op_type}.{op_name}.{task}.{stream}.{microseconds}, with '_' for blanks, '.', '/' "
    "and '\\'; of more than 255 characters become digits that mapping.csv explains"
)
_CONTAINER = "inside a container nothing is dumped"


def notes(form: AclForm, context: Context) -> Iterator[str]:
    """Yield what the user should know, a sentence each."""
    dump = view(form, context)
    kind = kind_of(dump)
    if kind == "exception":
        yield from _exception(dump, context)
        return
    if kind == "none":
        yield from _environment(context)
        yield from _kernels(dump)
        return
    yield from _tree(dump, context)
    if kind == "data":
        yield from _data(dump)
    elif kind == "overflow":
        yield from _overflow(dump)
    else:
        yield from _watch(dump)
    yield _LOADED
    yield _NAMES
    yield _CONTAINER


def _tree(dump: Dump, context: Context) -> Iterator[str]:
    place = remote(dump.dump_path)
    root = (place.folder if place else dump.dump_path).rstrip("/")
    device = f"{root}/{{YYYYMMDDHHMMSS}}/{context.device}"
    where = f" on {place.host}" if place else ""
    model = f"{device}/{{model_name}}/{{model_id}}/{{data_index}}/"
    yield f"files of models go to {model}{where}; data_index counts the executions from 0"
    if dump.dump_op_switch == "on":
        yield f"files of single operators go to {device}/{where}, without levels of a model"


def _data(dump: Dump) -> Iterator[str]:
    if dump.dump_op_switch == "on" and not dump.dump_list:
        yield "with an empty dump_list the operators of every model loaded are dumped too"
    if dump.dump_data == "stats":
        yield (
            "each operator leaves one .csv, its columns in fixed order and with a Count between "
            "them; fields of data types that the device cannot count stay empty"
        )
    yield from _kernels(dump)
    yield _NEVER


def _kernels(dump: Dump) -> Iterator[str]:
    if prints_kernels(dump):
        yield (
            "what kernels print goes to the folder printf below ASCEND_DUMP_PATH or "
            "ASCEND_WORK_PATH if one is set, else below dump_path"
        )


def _overflow(dump: Dump) -> Iterator[str]:
    yield (
        "only AI Core operators are looked at; one that overflows leaves its tensors and a record "
        "Opdebug.Node_OpDebug.{task}.{stream}.{microseconds}, whose task is not the operator's"
    )
    yield "Ascend 950 writes no such record"
    if dump.dump_list:
        yield "dump_list is not read: every operator is looked at"


def _watch(dump: Dump) -> Iterator[str]:
    if not dump.dump_list:
        return
    entry = dump.dump_list[-1]
    if not entry.layer:
        yield "without layer the watched outputs are written after every operator of the model"
    yield (
        "a watched output that differs between a file written after another operator and the one "
        "written after its own was overwritten"
    )
    yield "operators outside of static graphs and static subgraphs are left out"
    yield "a fused operator is watched under its name after fusion"
    yield "operators called singly are not watched"


def _exception(dump: Dump, context: Context) -> Iterator[str]:
    root, _ = exception_root(dump, context)
    yield f"files go to {root.rstrip('/')}/extra-info/data-dump/{context.device}/"
    first = "NPU_COLLECT_PATH" if is_old(context) else "ASCEND_DUMP_PATH"
    yield f"the folder is {first}, else ASCEND_WORK_PATH, else dump_path, else the current one"
    detail = DETAIL[dump.dump_scene]
    if dump.dump_scene == "lite_exception":
        yield "lite_exception is the former name of aic_err_brief_dump"
    yield {
        "brief": "inputs, outputs and workspaces are written without their data types",
        "norm": "inputs, outputs and workspaces are written with shape, data type, format and "
        "attributes",
        "detail": "an ELF file .core with memory, registers and call stack of the AI Core is "
        "written; msDebug reads it",
    }[detail]
    if detail == "detail":
        yield from _DETAIL


def _environment(context: Context) -> Iterator[str]:
    """Say which exception dump the variables ask for where the file asks for nothing."""
    scene, collect = map(context.variable, ("ASCEND_DUMP_SCENE", "NPU_COLLECT_PATH"))
    if scene in EXCEPTIONS[1:]:
        root, _ = exception_root(Dump(), context)
        yield f"ASCEND_DUMP_SCENE asks for a dump of operators that fail, below {root}"
    elif collect:
        yield f"NPU_COLLECT_PATH asks for a norm dump of operators that fail, below {collect}"


_DETAIL = (
    "it needs an Atlas A2 or A3 product and driver 25.0.RC1 or later",
    "set it before aclrtSetDevice; aclmdlFinalizeDump cannot switch it off",
    "the AI Core stands still while files are written, which other processes on the device feel",
    "the process is ended after the files are written; errors it reports then mean nothing",
    "a second process that asks for it on the same device gets aic_err_brief_dump",
)
