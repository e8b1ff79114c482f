"""A form, judged once: what a release makes of it and every problem; plan, words and code come from that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.config.explain import explain, runtime_settings
from workbench.config.form.paths import place_of
from workbench.config.form.reader import Reader, shown_path
from workbench.core.problems import Problem, require
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.config import Config
    from workbench.config.context import Context
    from workbench.config.form.rules import Reading
    from workbench.config.surface import Surface
    from workbench.core.plan import DumpPlan

UNKNOWN = ("value", "missing", "unresolved")
"""Problems of a value, where no rule says more of it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A form in a context.

    ``settings`` is the typed form (what does not fit its declaration is at its default), ``reading`` what the
    release makes of it; ``problems`` stand in the order in which the vendor would meet them.
    """

    config: Config
    context: Context
    settings: Any
    reading: Reading
    problems: tuple[Problem, ...]

    @property
    def surface(self) -> Surface:
        """The surface of the form."""
        return self.config.surface

    @property
    def accepted(self) -> bool:
        """Whether the vendor's reader takes the form."""
        return not any(problem.severity == "error" for problem in self.problems)

    def plan(self, *, out: str = "") -> DumpPlan:
        """Return what a run shall write; raises ConfigError if the vendor would refuse the form.

        ``out`` replaces the form's own folder, which then need not be right.
        """
        own = self.surface.path_key
        require(p for p in self.problems if not (out and p.path == own))
        plan = self.surface.plan(self.reading)
        return replace(plan, path=out) if out else plan

    def notes(self) -> tuple[Message, ...]:
        """Return what a plan does not show and the user should know."""
        return tuple(self.surface.notes(self.reading))

    def explain(self, operators: int | None = None) -> str:
        """Say in words what the form will do; ``operators`` is how many match, if that is known."""
        return explain(self, operators)

    def code(self, file: str = "") -> str:
        """Shell and Python lines that put the form to use; ``file`` is where it will lie."""
        lines = self.surface.code(self.reading, file or self.config.path)
        unknown = ", ".join(runtime_settings(self.problems))
        return f"# Left out, because only a run knows it: {unknown}\n{lines}" if unknown else lines


def judge(config: Config, context: Context) -> Judged:
    """Read a form and look at it by every rule; nothing is raised. ``context`` names a version."""
    surface = config.surface
    reader = Reader(config.data, surface.source, context.version, surface.value_code)
    settings = reader.read(surface.model, config.data)
    reading = surface.reading(settings, context)
    wrong = {problem.path for problem in reader.problems if problem.id in UNKNOWN}
    ruled = [problem for rule in surface.rules for problem in rule.problems(reading)]
    kept = [problem for problem in ruled if problem.path not in wrong]
    met = [_with_line(config, one) for one in (*_of_text(config), *reader.problems, *kept)]
    met.sort(key=lambda problem: surface.order(problem, config.data))
    return Judged(config, context, settings, reading, tuple(met))


def _of_text(config: Config) -> Iterator[Problem]:
    """Yield the problems of a form's file: its name, its text, and what decoding found."""
    yield from _naming(config)
    if config.decoded is not None:
        yield from config.decoded.problems
        yield from _decoding(config)


def _naming(config: Config) -> Iterator[Problem]:
    suffix, name = config.surface.suffix, config.path.rpartition("/")[2]
    if name and not config.path.startswith("<") and not name.endswith(suffix):
        said = Message("config/suffix", suffix=suffix, got=name)
        advice = Message("config/suffix-advice")
        yield Problem("suffix", "error", "", said, advice, source=config.surface.source)


def _decoding(config: Config) -> Iterator[Problem]:
    decoded, source = config.decoded, config.surface.source
    if decoded is None:
        return
    for path, line in decoded.duplicates:
        said = Message("config/duplicate-key", path=shown_path(path), line=line)
        advice = Message("config/duplicate-key-advice")
        yield Problem("duplicate-key", "warning", path, said, advice, line, source=source)
    if line := decoded.trailing:
        said = Message("config/more-text", line=line)
        advice = Message("config/more-text-advice")
        yield Problem("trailing-text", "warning", "", said, advice, line, source=source)


def _with_line(config: Config, problem: Problem) -> Problem:
    if problem.line or config.decoded is None:
        return problem
    return replace(problem, line=place_of(config.decoded.lines, problem.path))
