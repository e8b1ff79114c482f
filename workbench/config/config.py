"""`Config`: the form that users hold. One call for everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench._faces import make_face
from workbench.config.context import Context
from workbench.config.convert import convert
from workbench.config.form.json_text import json_kind
from workbench.config.form.paths import assign, delete
from workbench.config.form.reader import Reader
from workbench.config.guide import guide_context
from workbench.config.judge import Judged, judge
from workbench.config.surface import get
from workbench.core.errors import FormatError
from workbench.core.files import write_text

if TYPE_CHECKING:
    from workbench.config.form.json_text import Decoded
    from workbench.config.form.rules import Example
    from workbench.config.form.settings import Section
    from workbench.config.surface import Surface
    from workbench.core.plan import DumpPlan
    from workbench.core.problems import Problem
    from workbench.core.words import Message


@dataclass(frozen=True)
class Config:
    """One form of a surface, as decoded; nothing of the file is lost, right or wrong.

    ``data`` holds the form, ``decoded`` what reading its text found, ``path`` where it came from.
    """

    surface: Surface
    data: Mapping[str, Any]
    decoded: Decoded | None = field(default=None, repr=False, compare=False)
    path: str = field(default="", compare=False)

    @cached_property
    def settings(self) -> Any:
        """The typed form; what does not fit its declaration is at its default."""
        return Reader(self.data, self.surface.source).read(self.surface.model, self.data)

    @property
    def iterations_key(self) -> str:
        """Path of the setting that says which iterations are dumped; empty where the surface has none."""
        return _iterations_key(self.surface.model)

    def judge(self, context: Context | None = None) -> Judged:
        """Judge the form: from the answer come plan, words and code, without another look at it."""
        return judge(self, self.context(context))

    def check(self, context: Context | None = None) -> tuple[Problem, ...]:
        """Every problem of the form, in the order the vendor would meet them; nothing is raised."""
        return self.judge(context).problems

    def accepted(self, context: Context | None = None) -> bool:
        """Whether the vendor's reader takes the form."""
        return self.judge(context).accepted

    def plan(self, context: Context | None = None, *, out: str = "") -> DumpPlan:
        """Return what a run shall write; raises ConfigError if the vendor would refuse the form.

        ``out`` replaces the form's own folder, which then need not be right.
        """
        return self.judge(context).plan(out=out)

    def context(self, context: Context | None = None) -> Context:
        """Return the context with the surface's version where it names none, or that of the vendor's guide."""
        return guide_context(context or Context(), self.surface.version)

    def set(self, path: str, value: Any) -> Config:
        """Return a form with one setting changed; ``path`` is like ``dump.dump_list[0].layer``."""
        return Config(self.surface, assign(self.data, path, value), path=self.path)

    def unset(self, path: str) -> Config:
        """Return a form without a setting; unchanged if it has none."""
        return Config(self.surface, delete(self.data, path), path=self.path)

    def code(self, context: Context | None = None, file: str = "") -> str:
        """Shell and Python lines that put the form to use; ``file`` is where it will lie."""
        return self.judge(context).code(file)

    def explain(self, context: Context | None = None, *, operators: int | None = None) -> str:
        """Say in words what the form will do; ``operators`` is how many match, if that is known."""
        return self.judge(context).explain(operators)

    def convert(self, surface: str, context: Context | None = None) -> Conversion:
        """Say the same on another surface; raises ConfigError if this form is refused."""
        target, judged = get(surface), self.judge(context)
        if target is self.surface:
            judged.plan()
            return Conversion(self, ())
        data, losses = convert(judged, target)
        return Conversion(Config(target, data), losses)

    def form(self, context: Context | None = None, *, graph: Any = None) -> Any:
        """Return the widget: inputs for every setting, problems beside them, preview of ``graph``."""
        return make_face("config", self, context=context, graph=graph)

    def save(self, path: str | Path) -> Path:
        """Write the form to a file; raises FormatError if it cannot be written."""
        return write_text(path, self.to_text())

    def to_text(self) -> str:
        """Return the vendor's own form; unknown and wrong settings are kept."""
        return self.surface.encode(self.data)

    def __str__(self) -> str:
        return self.to_text()


def _iterations_key(form: type[Section]) -> str:
    for name, setting in form.settings().items():
        if setting.widget == "iterations":
            return name
    for name, part in form.parts().items():
        if found := _iterations_key(part.model):
            return f"{name}.{found}"
    return ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A form on another surface and what could not be said there."""

    config: Config
    losses: tuple[Message, ...]


def new(name: str, **settings: Any) -> Config:
    """Return a form that dumps something; ``settings`` are changed by path, ``__`` for a dot.

    >>> new("acl", dump__dump_path="/tmp").data["dump"]["dump_path"]
    '/tmp'
    """
    surface = get(name)
    config = Config(surface, surface.template())
    for path, value in settings.items():
        config = config.set(path.replace("__", "."), value)
    return config


def of(name: str, data: Mapping[str, Any]) -> Config:
    """Return the form of decoded data."""
    return Config(get(name), data)


def of_example(surface: Surface, example: Example) -> Config:
    """Return the form of a rule's example."""
    form = example.form
    return read_text(surface, form) if isinstance(form, str) else Config(surface, form)


def read_text(surface: Surface, text: str, where: str = "<text>") -> Config:
    """Decode a form; raises FormatError, its first line ``where:line: …``, if it cannot be."""
    decoded = surface.decode(text, where)
    if surface.language == "json" and not isinstance(decoded.data, dict):
        raise FormatError("config/not-an-object", place=f"{where}:1", got=json_kind(decoded.data))
    if decoded.trailing and surface.strict_end:
        raise FormatError("config/text-after", place=f"{where}:{decoded.trailing}")
    return Config(surface, decoded.data, decoded, where)
