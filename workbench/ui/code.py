"""Python that makes what was clicked; every panel offers its own."""

from __future__ import annotations

from pprint import pformat
from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.config import Config


def config_code(config: Config) -> str:
    """Return the expression that makes an equal form, in lines of bearable length."""
    data = pformat(dict(config.data), width=92, sort_dicts=False)
    return f"wb.config.of(\n    {config.surface.name!r},\n{indent(data, '    ')},\n)"
