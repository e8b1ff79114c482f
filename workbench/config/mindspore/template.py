"""Forms that dump something, one a surface, and the same with some settings changed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from workbench.config.mindspore.settings import COMMON, E2E

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.config.mindspore.settings import Target

ABSENT: Final = object()
"""What a setting is changed to in order to remove it."""

_COMMON: dict[str, Any] = {
    "op_debug_mode": 0,
    "dump_mode": 0,
    "path": "/dump",
    "net_name": "Net",
    "iteration": "0",
    "saved_data": "tensor",
    "input_output": 0,
    "kernels": [],
    "support_device": [0, 1, 2, 3, 4, 5, 6, 7],
}


def template(target: Target) -> dict[str, Any]:
    """Return a form that passes its check and dumps every tensor of the first iteration."""
    form: dict[str, Any] = {COMMON: copy.deepcopy(_COMMON)}
    if target in ("o2", "ge"):
        form[COMMON]["file_format"] = "npy" if target == "o2" else "bin"
    else:
        form[E2E] = {"enable": True, "trans_flag": True}
    return form


def changed(target: Target, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same with settings changed.

    Keys are those of the common section, ``e2e.KEY``, or names of sections.
    """
    form = template(target)
    for key, value in change.items():
        section, name = form.setdefault(COMMON, {}), key
        if key.startswith("e2e."):
            section, name = form.setdefault(E2E, {}), key[4:]
        elif key.endswith("_settings"):
            section = form
        if value is ABSENT:
            section.pop(name, None)
        else:
            section[name] = value
    return form
