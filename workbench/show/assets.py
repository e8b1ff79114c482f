"""Style sheets and modules of the pages, as they lie beside this file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent

EXPLORER = (
    "words",
    "data",
    "store",
    "drawing",
    "layers",
    "plot",
    "press",
    "table",
    "details",
    "bar",
    "mount",
)
"""Files of the explorer, in the order in which they make one module."""


@cache
def read_asset(name: str) -> str:
    """Read a style sheet or module of this package."""
    return (FOLDER / name).read_text(encoding="utf-8")


def style_sheets(*names: str) -> str:
    """Return the style sheets of these names as one."""
    return "".join(read_asset(f"{name}.css") for name in names)


@cache
def explorer_module() -> str:
    """Return the explorer as one ES module, which report and notebook share; without comments and indentation."""
    text = "\n".join(read_asset(f"explorer/{name}.mjs") for name in EXPLORER)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
