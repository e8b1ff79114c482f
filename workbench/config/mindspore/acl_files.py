"""``acl_dump_{device}.json``: what an O2 dump tells ACL before every step.

MindSpore writes the file anew before each step and hands it to ``aclmdlSetDump``: for a step that is
not wanted with a number of a step that never comes. Source: MindSpore ``acl_dump_json_writer.cc`` and
``debug_actor.cc`` (up to 2.6), msprobe ``AclDumper.cpp`` (from 2.7 on).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workbench.config.ge.plans import STATISTICS
from workbench.config.mindspore.kernels import compiled, is_regex, kernel_text, read_kernel
from workbench.config.mindspore.reading import (
    MindSporeReading,
    iterations,
    own_device,
    own_rank,
    reading,
)
from workbench.core.regex import compile_bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.config.context import Context
    from workbench.config.mindspore.settings import MindSporeForm

NEVER = "2147483647"
"""Step that never comes."""

_MODES = ("all", "input", "output")


def acl_dump_files(
    form: MindSporeForm,
    context: Context,
    steps: Iterable[int],
    operators: Sequence[str] = (),
    *,
    stamp: str = "",
) -> dict[str, tuple[str, ...]]:
    """Return what is written before each step, by file name.

    Parameters
    ----------
    form : O2Form
    context : Context
        From 2.7 on msprobe writes, in its own way.
    steps : iterable of int
        Steps that run, from 0 on.
    operators : sequence of str
        Full names of the graph's operators, among which regular expressions choose; with dump_mode
        2 those that the script marks.
    stamp : str
        When msprobe starts, 14 digits; a level of its folders.
    """
    r = reading(form, context)
    texts = []
    wanted_steps = iterations(r.common.iteration)
    for step in steps:
        wanted = step + r.first_iteration in wanted_steps
        layer = _by_msprobe(r, operators) if r.by_msprobe else _layer(r, operators)
        place = (stamp, step) if r.by_msprobe else step
        write = _msprobe if r.by_msprobe else _mindspore
        texts.append(_compact(write(r, layer, place, wanted)))
    number = own_device(context)
    if r.by_msprobe:
        number = own_rank(context, number)
    return {f"acl_dump_{number}.json": tuple(texts)}


def _compact(dump: dict[str, Any]) -> str:
    return json.dumps({"dump": dump}, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def _layer(r: MindSporeReading, operators: Sequence[str]) -> list[str]:
    """Entries as they are written, in the order of their text, then what expressions find."""
    mode = r.dump_mode
    if mode == 2:
        return list(operators) or ["NoSetDumpTarget"]
    entries = r.common.kernels if mode == 1 else ()
    texts = sorted({text for entry in entries if (text := kernel_text(entry))})
    found = [name for text in texts for name in operators if _finds(text, name)]
    return texts + found


def _finds(text: str, name: str) -> bool:
    """Whether an expression occurs anywhere in a name: O2 searches where O0/O1 match the whole."""
    if not is_regex(text):
        return False
    selector = read_kernel(text.replace("\\", '"'))
    if selector is None or compiled(selector.text) is None:
        return False
    return compile_bounded(selector.text).search(name)


def _by_msprobe(r: MindSporeReading, operators: Sequence[str]) -> list[str]:
    """Entries that are no expressions as they are, then what expressions match; nothing is ``""``."""
    if r.dump_mode != 1:
        return list(operators) if r.dump_mode == 2 else []
    kernels = r.common.kernels
    selectors = [found for entry in kernels if (found := read_kernel(entry))]
    listed = [found.text for found in selectors if found.kind != "regex"]
    matched = (found for found in selectors if found.kind == "regex")
    listed += [name for found in matched for name in operators if found.matches(name, "")]
    return listed or [""] if selectors else []


def _mindspore(r: MindSporeReading, layer: list[str], step: Any, wanted: bool) -> dict[str, Any]:
    base = r.folder
    if r.debug_mode == 4:
        return {"dump_scene": "lite_exception"}
    if r.debug_mode == 3:
        return {"dump_path": f"{base}/{step}", "dump_debug": "on"}
    dump: dict[str, Any] = {
        "dump_path": f"{base}/{step}" if wanted else base,
        "dump_mode": _MODES[r.common.input_output],
        "dump_list": [{"layer": layer}] if layer else [],
        "dump_op_switch": "on",
    }
    return dump if wanted else dump | {"dump_step": NEVER}


def _msprobe(r: MindSporeReading, layer: list[str], place: Any, wanted: bool) -> dict[str, Any]:
    if r.debug_mode == 4:
        return {"dump_scene": "lite_exception"}
    base, (stamp, step) = r.folder, place
    rank = own_rank(r.context)
    dump: dict[str, Any] = {"dump_path": base}
    if wanted:
        dump["dump_path"] = f"{base}/rank_{rank}/{stamp}/step_{step}"
    else:
        dump["dump_step"] = NEVER
    if r.debug_mode == 3:
        return dump | {"dump_debug": "on"}
    dump["dump_mode"] = _MODES[r.common.input_output]
    dump["dump_list"] = [{"layer": layer}] if layer and wanted else []
    dump["dump_op_switch"] = "on"
    named = r.categories
    by_host = r.common.saved_data == "tensor" or "md5" in named
    if by_host:
        return dump | {"dump_data": "tensor"}
    names = {word: name for name, word in STATISTICS.items()}
    options = [names[word] for word in named if word in names]
    return dump | {"dump_data": "stats", "dump_stats": options}
