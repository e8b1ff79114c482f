"""The five surfaces of MindSpore."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.config.mindspore.form import (
    COMMON,
    E2E,
    CpuForm,
    GeForm,
    GpuForm,
    MindSporeForm,
    O2Form,
)
from workbench.config.mindspore.plan import from_plan, plan
from workbench.config.mindspore.row import PARSER, rules_of
from workbench.config.mindspore.rules import ROWS
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
        start=partial(start, target),
        plan=plan,
        from_plan=partial(from_plan, target),
        notes=lambda _settings, _context: (),
        code=lambda _settings, _context, file: f"export MINDSPORE_DUMP_CONFIG={file}\n",
        recognises=recognises,
        path_key=f"{COMMON}.path",
        suffix="json",
    )


def _has_e2e(data: Any) -> bool:
    return isinstance(data, dict) and E2E in data


def _has_common(data: Any) -> bool:
    return isinstance(data, dict) and COMMON in data


def _never(_: Any) -> bool:
    return False


O0O1 = _surface(MindSporeForm, "MindSpore on Ascend, O0/O1", "2.7", _has_e2e)
O2 = _surface(O2Form, "MindSpore on Ascend, O2", "2.6", _has_common)
CPU = _surface(CpuForm, "MindSpore on a CPU", "2.7", _never)
GPU = _surface(GpuForm, "MindSpore on a GPU", "2.7", _never)
GE = _surface(GeForm, "MindSpore on Ascend, dumped by GE", "2.6", _never)
