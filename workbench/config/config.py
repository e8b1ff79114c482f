"""`Config`: the form that users hold. One call for everything that can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench._faces import make_face
from workbench.config.bare import BareConfig
from workbench.config.convert import convert
from workbench.config.json_text import json_kind
from workbench.config.registry import get
from workbench.config.words import explain, run_only
from workbench.core.errors import FormatError
from workbench.core.files import write_text

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.config.surface import Surface
    from workbench.core.words import Message


class Config(BareConfig):
    """One form of a surface, as decoded; nothing of the file is lost, right or wrong."""

    def code(self, context: Context | None = None, file: str = "") -> str:
        """Shell and Python lines that put the form to use; ``file`` is where it will lie."""
        lines = self.surface.code(self.settings, self.context(context), file or self.path)
        unknown = ", ".join(run_only(self.check(context)))
        return f"# Left out, because only a run knows it: {unknown}\n{lines}" if unknown else lines

    def explain(self, context: Context | None = None, *, operators: int | None = None) -> str:
        """Say in words what the form will do; ``operators`` is how many match, if that is known."""
        return explain(self, self.context(context), operators)

    def convert(self, surface: str, context: Context | None = None) -> Conversion:
        """Say the same on another surface; raises ConfigError if this form is refused."""
        target, context = get(surface), self.context(context)
        if target is self.surface:
            self.plan(context)
            return Conversion(self, ())
        data, losses = convert(self, target, context)
        return Conversion(Config(target, data), losses)

    def form(self, context: Context | None = None, *, graph: Any = None) -> Any:
        """Return the widget: inputs for every setting, problems beside them, preview of ``graph``."""
        return make_face("config", self, context=context, graph=graph)

    def save(self, path: str | Path) -> Path:
        """Write the form to a file; raises FormatError if it cannot be written."""
        return write_text(path, self.to_text())

    def __str__(self) -> str:
        return self.to_text()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A form on another surface and what could not be said there."""

    config: Config
    losses: tuple[Message, ...]


def read_text(surface: Surface, text: str, where: str = "<text>") -> Config:
    """Decode a form; raises FormatError, its first line ``where:line: …``, if it cannot be."""
    decoded = surface.decode(text, where)
    if surface.language == "json" and not isinstance(decoded.data, dict):
        raise FormatError("config/not-an-object", place=f"{where}:1", got=json_kind(decoded.data))
    if decoded.trailing and surface.strict_end:
        raise FormatError("config/text-after", place=f"{where}:{decoded.trailing}")
    return Config(surface, decoded.data, decoded, where)
