"""The five surfaces of MindSpore: one form, judged and read in five ways."""

from __future__ import annotations

import difflib
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.config.mindspore.code import code
from workbench.config.mindspore.notes import notes
from workbench.config.mindspore.plan import from_plan, plan
from workbench.config.mindspore.reading import reading
from workbench.config.mindspore.row import PARSER, rules_of
from workbench.config.mindspore.rules import ROWS, order
from workbench.config.mindspore.settings import (
    COMMON,
    E2E,
    CpuForm,
    GeForm,
    GpuForm,
    MindSporeForm,
    O2Form,
)
from workbench.config.mindspore.start import start
from workbench.config.surface import Surface

if TYPE_CHECKING:
    from collections.abc import Callable


def _surface(
    model: type[MindSporeForm], title: str, version: str, recognises: Callable[[Any], bool]
) -> Surface:
    target = model.target
    return Surface(
        name=f"mindspore-{target}",
        title=title,
        product="MindSpore",
        version=version,
        source=PARSER,
        language="json",
        model=model,
        rules=rules_of(target, ROWS),
        reading=reading,
        start=partial(start, target),
        plan=plan,
        from_plan=partial(from_plan, target),
        notes=notes,
        code=code,
        recognises=recognises,
        path_key=f"{COMMON}.path",
        suffix=".json",
        order=order,
    )


def _holds(data: Any, name: str) -> bool:
    """Whether an object has a section, or one that is spelt nearly like it."""
    keys = [key for key in data if isinstance(key, str)] if isinstance(data, dict) else []
    return bool(difflib.get_close_matches(name, keys, 1, 0.85))


def _by_kernel(data: Any) -> bool:
    return _holds(data, E2E)


def _whole_graph(data: Any) -> bool:
    return _holds(data, COMMON)


def _never(_: Any) -> bool:
    return False


O0O1 = _surface(MindSporeForm, "MindSpore on Ascend, O0/O1", "2.10.0", _by_kernel)
O2 = _surface(O2Form, "MindSpore on Ascend, O2", "2.5.0", _whole_graph)
CPU = _surface(CpuForm, "MindSpore on a CPU", "2.10.0", _never)
GPU = _surface(GpuForm, "MindSpore on a GPU", "2.10.0", _never)
GE = _surface(GeForm, "MindSpore on Ascend, dumped by GE", "2.5.0", _never)
