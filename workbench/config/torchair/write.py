"""Write a torchair form as the script fragment that sets it."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any

from workbench.config.script.write import expression

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

IMPORTS = "import torch\nimport torch_npu  # before torchair, which needs it\nimport torchair\n"
COMPILE = (
    "npu_backend = torchair.get_npu_backend(compiler_config=config)\n"
    "model = torch.compile(model, backend=npu_backend)\n"
)


def encode(data: Mapping[str, Any]) -> str:
    """Return imports, the ``CompilerConfig``, its assignments and the compilation of ``model``."""
    variables = list(environment(data.get("environment")))
    parts = ["import os\n", *variables, "\n"] if variables else []
    settings = "".join(assignments(data))
    return f"{''.join(parts)}{IMPORTS}\nconfig = torchair.CompilerConfig()\n{settings}{COMPILE}"


def environment(values: Any) -> Iterator[str]:
    """Lines that set environment variables; they come first, CANN reads them when it is loaded."""
    if hasattr(values, "items"):
        for name, value in values.items():
            yield f"os.environ[{name!r}] = {expression(value)}\n"
    elif values is not None:
        yield f"os.environ = {expression(values)}\n"


def assignments(data: Mapping[str, Any]) -> Iterator[str]:
    """Lines that set the attributes of ``config``, in the order of the form."""
    for key, value in data.items():
        if key == "environment":
            continue
        if key in ("dump_config", "options") and hasattr(value, "items"):
            owner = "config.dump_config" if key == "dump_config" else "config"
            for name, item in value.items():
                yield _assignment(owner, name, item)
        else:
            yield _assignment("config", key, value)


def _assignment(owner: str, name: str, value: Any) -> str:
    if all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split(".")):
        return f"{owner}.{name} = {expression(value)}\n"
    return f"setattr({owner}, {name!r}, {expression(value)})\n"
