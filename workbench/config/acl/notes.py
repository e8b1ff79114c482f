"""What a plan does not show of a dump by ``acl.json``: the tree, conditions, consequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.acl.reading import (
    exception_root,
    is_old,
    prints_kernels,
    remote,
)
from workbench.config.acl.settings import EXCEPTIONS, Dump
from workbench.config.ge.plans import EXCEPTION_DETAIL
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.acl.reading import AclReading
    from workbench.config.context import Context


def notes(r: AclReading) -> Iterator[Message]:
    """Yield what the user should know."""
    dump, context, kind = r.dump, r.context, r.kind
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
    yield Message("config/acl-loaded")
    yield Message("config/acl-names")
    yield Message("config/acl-container")


def _tree(dump: Dump, context: Context) -> Iterator[Message]:
    place = remote(dump.dump_path)
    root = (place.folder if place else dump.dump_path).rstrip("/")
    device = f"{root}/{{YYYYMMDDHHMMSS}}/{context.device}"
    if place:
        yield Message("config/acl-host", host=place.host)
    yield Message("config/acl-tree", folder=device)
    if dump.dump_op_switch == "on":
        yield Message("config/acl-single-tree", folder=device)


def _data(dump: Dump) -> Iterator[Message]:
    if dump.dump_op_switch == "on" and not dump.dump_list:
        yield Message("config/acl-every-model")
    if dump.dump_data == "stats":
        yield Message("config/acl-csv")
    yield from _kernels(dump)
    yield Message("config/acl-never")


def _kernels(dump: Dump) -> Iterator[Message]:
    if prints_kernels(dump):
        yield Message("config/acl-printf")


def _overflow(dump: Dump) -> Iterator[Message]:
    yield Message("config/acl-overflow")
    yield Message("config/acl-overflow-950")
    if dump.dump_list:
        yield Message("config/acl-overflow-list")


def _watch(dump: Dump) -> Iterator[Message]:
    if not dump.dump_list:
        return
    entry = dump.dump_list[-1]
    if not entry.layer:
        yield Message("config/acl-watch-all")
    yield Message("config/acl-watch-overwritten")
    yield Message("config/acl-watch-static")
    yield Message("config/acl-watch-fused")
    yield Message("config/acl-watch-single")


def _exception(dump: Dump, context: Context) -> Iterator[Message]:
    root, _ = exception_root(dump, context)
    yield Message("config/acl-exception-tree", folder=root.rstrip("/"), device=context.device)
    first = "NPU_COLLECT_PATH" if is_old(context) else "ASCEND_DUMP_PATH"
    yield Message("config/acl-exception-folder", first=first)
    detail = EXCEPTION_DETAIL[dump.dump_scene]
    if dump.dump_scene == "lite_exception":
        yield Message("config/acl-lite")
    yield Message(f"config/acl-exception-{detail}")
    if detail == "detail":
        yield from map(Message, _DETAIL)


def _environment(context: Context) -> Iterator[Message]:
    """Say which exception dump the variables ask for where the file asks for nothing."""
    scene, collect = map(context.variable, ("ASCEND_DUMP_SCENE", "NPU_COLLECT_PATH"))
    if scene in EXCEPTIONS[1:]:
        root, _ = exception_root(Dump(), context)
        yield Message("config/acl-scene-variable", folder=root)
    elif collect:
        yield Message("config/acl-collect-variable", folder=collect)


_DETAIL = (
    "config/acl-detail-product",
    "config/acl-detail-set",
    "config/acl-detail-halts",
    "config/acl-detail-ends",
    "config/acl-detail-second",
)
