"""A surface: one vendor's way to ask for a dump; and `Config`, one form of it.

A surface is a row of functions and tables; everything that differs between vendors is in the row
(`workbench.config.surfaces`), everything that is the same is here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from workbench.config.context import Context
from workbench.config.json_text import Decoded, decode_json, json_kind
from workbench.config.paths import assign, delete, place_of
from workbench.config.setting import Reader, Section, shown_path
from workbench.core.errors import FormatError
from workbench.core.faces import make_face
from workbench.core.problems import Problem, require

if TYPE_CHECKING:
    from workbench.config.rule import Rule
    from workbench.core.plan import DumpPlan

Words = Callable[[Any, Context], Iterable[str]]


class Lowered(NamedTuple):
    """A form made from a plan, and what of the plan it cannot say (one sentence each)."""

    data: dict[str, Any]
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Surface:
    """One vendor's way to ask for a dump.

    Attributes
    ----------
    name, title : str
        Name of the command line (``mindspore-o2``), and a title for people.
    product, version : str
        Whose software judges, and the version that the rules were read in.
    source : str
        The code or document that the types and keys come from.
    language : {"json", "python"}
    model : type of Section
        The typed form; every setting is declared there.
    rules : tuple of Rule
    start : function
        A form that passes its check and dumps something.
    plan : function of (settings, context)
        Lowers to a DumpPlan; only called where no rule is broken.
    from_plan : function of plan
        The way back.
    notes : function of (settings, context)
        What a plan does not show and the user should know, a sentence each.
    code : function of (settings, context, path of the form)
        Lines of shell and Python that put the form to use, in the order they must run.
    recognises : function
        Whether decoded data (JSON) or text (Python) is this surface's form; where several share
        one form only the first claims it.
    decode, encode : function
        Text of a file to data and back.
    value_code : function of (key, value)
        The vendor's error code of a value that does not fit its declaration.
    path_key : str
        The setting that names the folder.
    strict_end : bool
        Whether text behind the JSON value is a syntax error.
    syntax_code : str
        The vendor's error code of a syntax error.
    examine : function of text
        Problems of the raw text.
    suffix : str
        What the name of the file must end in; empty: anything.
    order : function of (problem, data)
        Key by which problems are sorted into the order the vendor meets them; without it they stay
        as found: text, declarations, rules.
    """

    name: str
    title: str
    product: str
    version: str
    source: str
    language: Literal["json", "python"]
    model: type[Section]
    rules: tuple[Rule, ...]
    start: Callable[[], dict[str, Any]]
    plan: Callable[[Any, Context], DumpPlan]
    from_plan: Callable[[DumpPlan], Lowered]
    notes: Words
    code: Callable[[Any, Context, str], str]
    recognises: Callable[[Any], bool]
    decode: Callable[[str, str], Decoded] = decode_json
    encode: Callable[[Mapping[str, Any]], str] = lambda data: (
        json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    )
    value_code: Callable[[str, Any], str] = lambda _key, _value: ""
    path_key: str = ""
    strict_end: bool = False
    syntax_code: str = ""
    examine: Callable[[str], Iterable[Problem]] = lambda _text: ()
    suffix: str = ""
    order: Callable[[Problem, Mapping[str, Any]], Any] = lambda _problem, _data: 0


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
        return self._read(Context())[0]

    def check(self, context: Context | None = None) -> tuple[Problem, ...]:
        """Every problem of the form, in the order the vendor would meet them; nothing is raised."""
        context = self.context(context)
        settings, found = self._read(context)
        text = [*self._naming()]
        if self.decoded:
            text += [*self.surface.examine(self.decoded.text), *self._decoding()]
        unknown = ("value", "missing", "unresolved")
        wrong = {problem.path for problem in found if problem.id in unknown}
        ruled = [p for rule in self.surface.rules for p in rule.problems(settings, context)]
        kept = [problem for problem in ruled if problem.path not in wrong]
        met = map(self._with_line, (*text, *found, *kept))
        return tuple(sorted(met, key=lambda p: self.surface.order(p, self.data)))

    def accepted(self, context: Context | None = None) -> bool:
        """Whether the vendor's reader takes the form."""
        return not any(problem.severity == "error" for problem in self.check(context))

    def plan(self, context: Context | None = None, *, out: str = "") -> DumpPlan:
        """Return what a run shall write; raises ConfigError if the vendor would refuse the form.

        ``out`` replaces the form's own folder, which then need not be right.
        """
        context = self.context(context)
        own = self.surface.path_key
        require(p for p in self.check(context) if not (out and p.path == own))
        plan = self.surface.plan(self._read(context)[0], context)
        return replace(plan, path=out) if out else plan

    def context(self, context: Context | None = None) -> Context:
        """Return the context with the surface's version where it names none."""
        context = context or Context()
        return context if context.version else replace(context, version=self.surface.version)

    def set(self, path: str, value: Any) -> Config:
        """Return a form with one setting changed; ``path`` is like ``dump.dump_list[0].layer``."""
        return Config(self.surface, assign(self.data, path, value), path=self.path)

    def unset(self, path: str) -> Config:
        """Return a form without a setting; unchanged if it has none."""
        return Config(self.surface, delete(self.data, path), path=self.path)

    def to_text(self) -> str:
        """Return the vendor's own form; unknown and wrong settings are kept."""
        return self.surface.encode(self.data)

    def code(self, context: Context | None = None, file: str = "") -> str:
        """Shell and Python lines that put the form to use; ``file`` is where it will lie."""
        from workbench.config.words import run_only

        lines = self.surface.code(self.settings, self.context(context), file or self.path)
        unknown = ", ".join(run_only(self.check(context)))
        return f"# Left out, because only a run knows it: {unknown}\n{lines}" if unknown else lines

    def explain(self, context: Context | None = None, *, operators: int | None = None) -> str:
        """Say in words what the form will do; ``operators`` is how many match, if that is known."""
        from workbench.config.words import explain

        return explain(self, self.context(context), operators)

    def convert(self, surface: str, context: Context | None = None) -> Conversion:
        """Say the same on another surface; raises ConfigError if this form is refused."""
        from workbench.config.convert import convert

        return convert(self, surface, self.context(context))

    def form(self, context: Context | None = None, *, graph: Any = None) -> Any:
        """Return the widget: inputs for every setting, problems beside them, preview of ``graph``."""
        return make_face("config", self, context=context, graph=graph)

    def save(self, path: str | Path) -> Path:
        """Write the form to a file."""
        path = Path(path)
        path.write_text(self.to_text(), encoding="utf-8")
        return path

    def _read(self, context: Context) -> tuple[Any, list[Problem]]:
        surface = self.surface
        reader = Reader(self.data, surface.source, context.version, surface.value_code)
        return reader.read(surface.model, self.data), reader.problems

    def _naming(self) -> Iterable[Problem]:
        """Judge the name of the file, if the form comes from one."""
        suffix, name = self.surface.suffix, self.path.rpartition("/")[2]
        if name and not self.path.startswith("<") and not name.endswith(suffix):
            message = f"name of the file must end in {suffix!r}, got {name!r}"
            fix = "rename it; it is refused unread"
            yield Problem("suffix", "error", "", message, fix, source=self.surface.source)

    def _decoding(self) -> Iterable[Problem]:
        decoded, source = self.decoded, self.surface.source
        if decoded is None:
            return
        for path, line in decoded.duplicates:
            message = f"{shown_path(path)} must appear once, got it again on line {line}"
            fix = "the last one counts; remove the others"
            yield Problem("duplicate-key", "warning", path, message, fix, line, source=source)
        if decoded.trailing:
            message = f"text must end behind the form, got more on line {decoded.trailing}"
            fix = "it is not read; remove it"
            line = decoded.trailing
            yield Problem("trailing-text", "warning", "", message, fix, line, source=source)

    def _with_line(self, problem: Problem) -> Problem:
        if problem.line or self.decoded is None:
            return problem
        return replace(problem, line=place_of(self.decoded.lines, problem.path))

    def __str__(self) -> str:
        return self.to_text()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A form on another surface and what could not be said there, a sentence each."""

    config: Config
    losses: tuple[str, ...]


def read_text(surface: Surface, text: str, where: str = "<text>") -> Config:
    """Decode a form; raises FormatError, its first line ``where:line: …``, if it cannot be."""
    decoded = surface.decode(text, where)
    if surface.language == "json" and not isinstance(decoded.data, dict):
        message = f"{where}:1: text must be a JSON object, got {json_kind(decoded.data)}"
        raise FormatError(message)
    if decoded.trailing and surface.strict_end:
        message = f"{where}:{decoded.trailing}: text must end behind the form, got more"
        raise FormatError(message)
    return Config(surface, decoded.data, decoded, where)
