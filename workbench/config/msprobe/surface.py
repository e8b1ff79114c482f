"""The surfaces ``msprobe`` (PyTorch) and ``msprobe-mindspore``: one form, read by either framework."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.config.msprobe.notes import code, notes
from workbench.config.msprobe.order import order, value_code
from workbench.config.msprobe.plan import from_plan, plan
from workbench.config.msprobe.reading import reading
from workbench.config.msprobe.rules import TEMPLATE, rules_for
from workbench.config.msprobe.settings import COMMON, MindSporeForm, MsprobeForm
from workbench.config.surface import Surface

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.config.msprobe.settings import Framework

_SIGNS = frozenset(("task", "statistics", "tensor", "level"))


def template() -> dict[str, Any]:
    """Return a form that dumps the tensors of every call in the first step."""
    return copy.deepcopy(TEMPLATE)


def recognises(data: Any) -> bool:
    """Whether decoded data is a form of msprobe; PyTorch's, since nothing in it tells which it is."""
    return isinstance(data, dict) and len(_SIGNS & data.keys()) > 1


def _surface(
    framework: Framework,
    name: str,
    title: str,
    model: type[MsprobeForm | MindSporeForm],
    claims: Callable[[Any], bool],
) -> Surface:
    return Surface(
        name=name,
        title=title,
        product="msprobe",
        version="26.2.0",
        source=COMMON,
        language="json",
        model=model,
        rules=tuple(rules_for(framework, model)),
        reading=reading,
        template=template,
        plan=plan,
        from_plan=partial(from_plan, framework),
        notes=notes,
        code=code,
        recognises=claims,
        value_code=value_code(framework),
        path_key="dump_path",
        suffix=".json",
        order=order,
    )


PYTORCH = _surface("pytorch", "msprobe", "msprobe, PyTorch", MsprobeForm, recognises)
MINDSPORE = _surface(
    "mindspore", "msprobe-mindspore", "msprobe, MindSpore", MindSporeForm, lambda _: False
)
