"""``acl.json``: every setting of its ``dump`` object, once.

Facts: ``dump_config_converter.cpp`` of hicann/runtime (adump). What adump checks only after the
types and the lists of values (paths, steps, conflicts) is a rule, not a declaration: the order of
its checks decides which error a user sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from workbench.config.setting import Form, Section, Setting

ADUMP = "hicann/runtime dump_config_converter.cpp"
ACL_PARSER = "hicann/runtime acl/common/json_parser.cpp"
GE_MANAGER = "hicann/ge base/common/dump/dump_manager.cc"
GUIDE = "aclmdlSetDump reference"
OLDER = "documents of CANN 8.0 and before; not verified in code"
NEWER = "8.1"
"""First release with the keys that older acl does not know; not verified in code."""

EXCEPTIONS = ("lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump")
STATISTICS = ("Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm")
KERNEL_DATA = ("all", "printf", "tensor", "assert", "timestamp")
CHOSEN = ("dump_mode", "dump_data", "dump_op_switch", "dump_level", "dump_debug", "dump_scene")
"""Settings with one value out of a list, in the order they are looked at."""

_NONE: Any = None
_NAMES = Field(strict=False)
_PIECE = f"({'|'.join(KERNEL_DATA)})"


def dump_of(form: Form) -> Mapping[str, Any]:
    """Return the ``dump`` object of decoded data; an empty one if there is none."""
    value = form.get("dump")
    return value if isinstance(value, Mapping) else {}


def _needs_path(form: Form) -> bool:
    dump = dump_of(form)
    return bool(dump) and dump.get("dump_scene", "watcher") == "watcher"


class Range(Section):
    """Operators from one name to another, in execution order."""

    begin: Annotated[str, Setting("text", "First operator of the range.", bad=1, since=NEWER)] = ""
    end: Annotated[str, Setting("text", "Last operator of the range.", bad=1, since=NEWER)] = ""


class Blacklist(Section):
    """An operator, by name or type, and the tensors of it that stay out."""

    name: Annotated[str, Setting("text", "Exact name or type of the operator.", bad=1)] = ""
    pos: Annotated[
        tuple[str, ...],
        _NAMES,
        Setting(
            "a list of 'input<n>' and 'output<n>'",
            "Tensors to exclude; without any the entry has no effect.",
            bad="input0",
            widget="list",
        ),
    ] = ()


class Item(Section):
    """One entry of ``dump_list``: a model, or operators whatever their model."""

    model_name: Annotated[
        str,
        Setting("text", "Model to dump (name of its .om file or graph). Absent = any.", bad=1),
    ] = ""
    layer: Annotated[
        tuple[str, ...],
        _NAMES,
        Setting(
            "a list of operator names",
            "Operators to dump. Absent = all. With watcher: operators that may overwrite memory.",
            bad="conv1",
            widget="names",
        ),
    ] = ()
    watcher_nodes: Annotated[
        tuple[str, ...],
        _NAMES,
        Setting(
            "a list of operator names",
            "Operators whose outputs are written after each of layer (dump_scene watcher).",
            bad="conv1",
            since=NEWER,
            widget="names",
        ),
    ] = ()
    optype_blacklist: tuple[Blacklist, ...] = ()
    opname_blacklist: tuple[Blacklist, ...] = ()
    opname_range: tuple[Range, ...] = ()


class Dump(Section):
    """``dump``."""

    dump_path: Annotated[
        str,
        Setting(
            "a folder, as text",
            "Existing folder, absolute or relative to the process. 'ip:path' for another host.",
            bad=1,
            required=_needs_path,
            widget="path",
        ),
    ] = ""
    dump_mode: Annotated[
        Literal["input", "output", "all"],
        Setting("'input', 'output' or 'all'", "Tensors to dump of each operator.", bad="both"),
    ] = "output"
    dump_op_switch: Annotated[
        Literal["on", "off"],
        Setting("'on' or 'off'", "Dump single operators (called outside a model).", bad=True),
    ] = "off"
    dump_level: Annotated[
        Literal["op", "kernel", "all"],
        Setting(
            "'op', 'kernel' or 'all'",
            "Dump operators, the kernels launched for them, or both.",
            bad="layer",
            since=NEWER,
        ),
    ] = "all"
    dump_scene: Annotated[
        Literal[
            "lite_exception",
            "aic_err_brief_dump",
            "aic_err_norm_dump",
            "aic_err_detail_dump",
            "watcher",
        ],
        Setting(
            f"one of {', '.join([*EXCEPTIONS, 'watcher'])}",
            "Dump failing operators (aic_err_*; lite_exception is brief), or watch memory.",
            bad="exception",
        ),
    ] = _NONE
    dump_data: Annotated[
        Literal["tensor", "stats"],
        Setting("'tensor' or 'stats'", "Full tensors, or one csv of statistics each.", bad="full"),
    ] = "tensor"
    dump_debug: Annotated[
        Literal["on", "off"],
        Setting("'on' or 'off'", "Dump only AI Core operators that overflow.", bad="yes"),
    ] = "off"
    dump_kernel_data: Annotated[
        str,
        Field(pattern=f"^{_PIECE}(,{_PIECE})*$"),
        Setting(
            f"{', '.join(KERNEL_DATA)}; several joined by ','",
            "Output of Ascend C kernels to dump.",
            bad="all,",
            since=NEWER,
        ),
    ] = "all"
    dump_step: Annotated[
        str,
        Setting(
            "text like '0|5-8'",
            "Executions to dump, counted from 0. Empty = all.",
            bad=0,
            widget="iterations",
        ),
    ] = ""
    dump_stats: Annotated[
        tuple[str, ...],
        _NAMES,
        Setting(
            f"a list of {', '.join(STATISTICS)}",
            "Statistics (dump_data stats). Absent = all but L2norm.",
            bad="Max",
            since=NEWER,
            widget="list",
        ),
    ] = ()
    dump_list: tuple[Item, ...] = ()


class AclForm(Section):
    """An ``acl.json``; other parts of it than ``dump`` are not the dump's concern."""

    unknown: ClassVar[Any] = "hint"
    foreign: ClassVar[frozenset[str]] = frozenset(
        {
            "acl_graph",
            "defaultDevice",
            "err_msg_mode",
            "max_opqueue_num",
            "profiler",
            "simd_printf_fifo_size_per_core",
            "simt_printf_fifo_size",
            "StackSize",
        }
    )

    dump: Dump | None = None


def value_code(key: str, value: Any) -> str:
    """Return adump's code of a value that does not fit its declaration.

    >>> value_code("dump_mode", "x"), value_code("dump_mode", ""), value_code("dump_mode", None)
    ('EP0002', 'EP0001', 'EP0001')
    """
    if key == "dump_kernel_data" and isinstance(value, str):
        wrong = (piece for piece in value.split(",") if piece not in KERNEL_DATA)
        return "EP0002" if next(wrong) else "EP0001"
    if key in CHOSEN and isinstance(value, str) and value:
        return "EP0002"
    return "EP0001"
