"""The torchair surface: one row of the table of surfaces."""

from __future__ import annotations

from typing import Any

from workbench.config.surface import Surface
from workbench.config.torchair.code import code, notes
from workbench.config.torchair.plan import from_plan, plan
from workbench.config.torchair.reading import reading
from workbench.config.torchair.rules import RULES, order
from workbench.config.torchair.script import TEXT_RULES, decode, recognises
from workbench.config.torchair.settings import SOURCE, Torchair, value_code
from workbench.config.torchair.write import encode


def template() -> dict[str, Any]:
    """Return a form that dumps every operator of the first iteration."""
    dump = {"enable_dump": True, "dump_path": "./", "dump_mode": "all", "dump_step": "0"}
    return {"mode": "max-autotune", "dump_config": dump}


TORCHAIR = Surface(
    name="torchair",
    title="torchair CompilerConfig().dump_config",
    product="torchair of Ascend Extension for PyTorch",
    version="26.0",
    source=SOURCE,
    language="python",
    model=Torchair,
    rules=(*TEXT_RULES, *RULES),
    reading=reading,
    template=template,
    plan=plan,
    from_plan=from_plan,
    notes=notes,
    code=code,
    recognises=recognises,
    decode=decode,
    encode=encode,
    value_code=value_code,
    path_key="dump_config.dump_path",
    suffix=".py",
    order=order,
)
