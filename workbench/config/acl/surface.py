"""The surface ``acl``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.config.acl.code import code
from workbench.config.acl.from_plan import from_plan
from workbench.config.acl.notes import notes
from workbench.config.acl.plan import plan
from workbench.config.acl.reading import reading
from workbench.config.acl.rules import RULES, examine, order
from workbench.config.acl.settings import ADUMP, AclForm, value_code
from workbench.config.form.json_text import Decoded, decode_json
from workbench.config.surface import Surface


def template() -> dict[str, Any]:
    """Return a form that dumps every operator of every model in its first execution."""
    return {
        "dump": {
            "dump_path": "./",
            "dump_list": [{}],
            "dump_mode": "all",
            "dump_op_switch": "off",
            "dump_data": "tensor",
            "dump_step": "0",
        }
    }


def decode(text: str, where: str) -> Decoded:
    """Decode a file; acl takes an empty one for one that asks for nothing."""
    found = decode_json(text, where) if text else Decoded({}, text)
    return replace(found, problems=tuple(examine(text)))


def recognises(data: Any) -> bool:
    """Whether decoded data is an ``acl.json`` with a dump."""
    return isinstance(data, dict) and "dump" in data


ACL = Surface(
    name="acl",
    title="AscendCL acl.json",
    product="CANN",
    version="8.5",
    source=ADUMP,
    language="json",
    model=AclForm,
    rules=RULES,
    reading=reading,
    template=template,
    plan=plan,
    from_plan=from_plan,
    notes=notes,
    code=code,
    recognises=recognises,
    decode=decode,
    value_code=value_code,
    path_key="dump.dump_path",
    strict_end=True,
    syntax_code="EP0004",
    order=order,
)
