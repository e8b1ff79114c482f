"""``acl.json``: every setting of its ``dump`` object, once.

Facts: ``dump_config_converter.cpp`` of hicann/runtime (adump). What adump checks only after the
types and the lists of values (paths, steps, conflicts) is a rule, not a declaration: the order of
its checks decides which error a user sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.config.form.settings import Form, Section, choice, items, section, sections, text
from workbench.config.ge.plans import EXCEPTION_DETAIL, STATISTICS

if TYPE_CHECKING:
    from workbench.core.plan import Level

ADUMP = "hicann/runtime dump_config_converter.cpp"
ACL_PARSER = "hicann/runtime acl/common/json_parser.cpp"
GE_MANAGER = "hicann/ge base/common/dump/dump_manager.cc"
GUIDE = "aclmdlSetDump reference"
OLDER = "documents of CANN 8.0 and before; not verified in code"
NEWER = "8.1"
"""First release with the keys that older acl does not know; not verified in code."""

EXCEPTIONS = tuple(EXCEPTION_DETAIL)
KERNEL_DATA = ("all", "printf", "tensor", "assert", "timestamp")
CHOSEN = ("dump_mode", "dump_data", "dump_op_switch", "dump_level", "dump_debug", "dump_scene")
"""Settings with one value out of a list, in the order they are looked at."""

SCENES = (*EXCEPTIONS, "watcher")
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

    begin: str = text("", "First operator of the range.", since=NEWER)
    end: str = text("", "Last operator of the range.", since=NEWER)


class Blacklist(Section):
    """An operator, by name or type, and the tensors of it that stay out."""

    name: str = text("", "Exact name or type of the operator.")
    pos: tuple[str, ...] = items(
        "text",
        "Tensors to exclude; without any the entry has no effect.",
        expected="a list of 'input<n>' and 'output<n>'",
        misfit="input0",
    )


class Item(Section):
    """One entry of ``dump_list``: a model, or operators whatever their model."""

    model_name: str = text("", "Model to dump (name of its .om file or graph). Absent = any.")
    layer: tuple[str, ...] = items(
        "text",
        "Operators to dump. Absent = all. With watcher: operators that may overwrite memory.",
        expected="a list of operator names",
        misfit="conv1",
        widget="names",
    )
    watcher_nodes: tuple[str, ...] = items(
        "text",
        "Operators whose outputs are written after each of layer (dump_scene watcher).",
        expected="a list of operator names",
        misfit="conv1",
        since=NEWER,
        widget="names",
    )
    optype_blacklist: tuple[Blacklist, ...] = sections(Blacklist)
    opname_blacklist: tuple[Blacklist, ...] = sections(Blacklist)
    opname_range: tuple[Range, ...] = sections(Range)


class Dump(Section):
    """``dump``."""

    dump_path: str = text(
        "",
        "Existing folder, absolute or relative to the process. 'ip:path' for another host.",
        expected="a folder, as text",
        required=_needs_path,
        widget="path",
    )
    dump_mode: str = choice(
        "output", "input output all", "Tensors to dump of each operator.", misfit="both"
    )
    dump_op_switch: str = choice(
        "off", "on off", "Dump single operators (called outside a model).", misfit=True
    )
    dump_level: Level = choice(
        "all",
        "op kernel all",
        "Dump operators, the kernels launched for them, or both.",
        misfit="layer",
        since=NEWER,
    )
    dump_scene: str = choice(
        None,
        SCENES,
        "Dump failing operators (aic_err_*; lite_exception is brief), or watch memory.",
        expected=f"one of {', '.join(SCENES)}",
        misfit="exception",
    )
    dump_data: str = choice(
        "tensor", "tensor stats", "Full tensors, or one csv of statistics each.", misfit="full"
    )
    dump_debug: str = choice(
        "off", "on off", "Dump only AI Core operators that overflow.", misfit="yes"
    )
    dump_kernel_data: str = text(
        "all",
        "Output of Ascend C kernels to dump.",
        pattern=f"^{_PIECE}(,{_PIECE})*$",
        expected=f"{', '.join(KERNEL_DATA)}; several joined by ','",
        misfit="all,",
        since=NEWER,
    )
    dump_step: str = text(
        "",
        "Executions to dump, counted from 0. Empty = all.",
        expected="text like '0|5-8'",
        misfit=0,
        widget="iterations",
    )
    dump_stats: tuple[str, ...] = items(
        "text",
        "Statistics (dump_data stats). Absent = all but L2norm.",
        expected=f"a list of {', '.join(STATISTICS)}",
        misfit="Max",
        since=NEWER,
    )
    dump_list: tuple[Item, ...] = sections(Item)


class AclForm(Section):
    """An ``acl.json``; other parts of it than ``dump`` are not the dump's concern."""

    unknown: ClassVar[Any] = "hint"
    other_keys: ClassVar[frozenset[str]] = frozenset(
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

    dump: Dump | None = section(Dump, optional=True)


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
