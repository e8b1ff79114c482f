"""Read the dump settings of a ``CompilerConfig`` out of a script, without running it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.config.form.json_text import Decoded
from workbench.config.form.reader import Reader
from workbench.config.form.rules import TEXT, Example, Rule
from workbench.config.script.bindings import (
    Variable,
    assignments,
    attribute_set,
    variable_assigned,
    variables_set,
)
from workbench.config.script.literals import (
    bound_literals,
    dotted,
    literal,
    parse_python,
    runtime_value,
)
from workbench.config.script.statements import Guard, apart, called, calls_in, statements
from workbench.config.torchair.settings import (
    OTHER_OPTIONS,
    SOURCE,
    DumpConfig,
    Environment,
    Torchair,
    value_code,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.config.form.rules import At
    from workbench.core.problems import Problem

USERS = ("get_npu_backend", "get_compiler", "dynamo_export", "cache_compile")
"""Functions of torchair that take a ``CompilerConfig``."""


class Assigned(NamedTuple):
    """One setting: its path, value and line, and the branches that it stands in."""

    path: str
    value: Any
    line: int
    guard: Guard | None


@dataclass(slots=True)
class ConfigObject:
    """What a script does to one ``CompilerConfig``, in order."""

    name: str
    line: int
    settings: list[Assigned] = field(default_factory=list)
    used: bool = False

    def dumps(self) -> bool:
        """Whether it sets anything about dumping."""
        return any(one.path.startswith("dump_config") for one in self.settings)


def recognises(text: Any) -> bool:
    """Whether a text is a script that sets torchair's dump options."""
    named = isinstance(text, str) and ("torchair" in text or "CompilerConfig" in text)
    return named and "dump_config" in text


def decode(text: str, where: str = "<text>") -> Decoded:
    """Return the form of a script; of several configurations the one that `chosen` names.

    Raises FormatError ``where:line:`` if the text is not Python.
    """
    tree = parse_python(text, where)
    scan = _Scan(bound_literals(tree))
    scan.run(tree)
    kept = chosen(scan.configs)
    found = _form([*scan.environment, *(kept.settings if kept else ())])
    return replace(found, text=text, problems=tuple(_problems(scan)))


def chosen(configs: list[ConfigObject]) -> ConfigObject | None:
    """Return the last configuration that is compiled with and sets dump options, else the last."""
    ranked = sorted(configs, key=lambda found: (found.used and found.dumps(), found.dumps()))
    return ranked[-1] if ranked else None


def _last(config: ConfigObject | None) -> dict[str, Assigned]:
    """Return the assignment of each setting that counts."""
    return {one.path: one for one in config.settings} if config else {}


def _has_several(scan: _Scan, _at: At) -> Any:
    kept = chosen(scan.configs)
    lines = [found.line for found in scan.configs if found.dumps()]
    if kept is None or len(lines) < 2:
        return False
    return {"count": len(lines), "lines": lines, "name": kept.name, "line": kept.line}


def _in_other_branches(scan: _Scan, _at: At) -> Iterator[dict[str, Any]]:
    kept = chosen(scan.configs)
    last = _last(kept)
    for path, value, line, guard in kept.settings if kept else ():
        if apart(guard, last[path].guard):
            yield {"below": path, "got": value, "line": line, "counting": last[path].line}


_ONE = "config.dump_config.enable_dump = True\n"
_OTHER = _ONE.replace("config.", "other.", 1)

TEXT_RULES = (
    Rule(
        id="several-configs",
        severity="hint",
        at=TEXT,
        when=_has_several,
        says="{count} CompilerConfigs have dump options (lines {lines:and})",
        fix="The check uses {name} (line {line}).",
        source=SOURCE,
        breaks=Example(_ONE + _OTHER),
        keeps=Example(_ONE),
        about="dump_config",
    ),
    Rule(
        id="branches",
        severity="hint",
        at=TEXT,
        when=_in_other_branches,
        says="{path} is {got!r} in another branch",
        fix="The check uses line {counting}.",
        source=SOURCE,
        breaks=Example(f"if fast:\n    {_ONE}else:\n    {_ONE.replace('True', 'False')}"),
        keeps=Example(f"if fast:\n    {_ONE}"),
        about="mode " + " ".join(f"dump_config.{key}" for key in DumpConfig.fields),
    ),
)
"""Rules on the text of a script: which configuration is meant where several dump, and what stands in other branches."""


def _problems(scan: _Scan) -> Iterator[Problem]:
    """Yield what is wrong with what a script sets and the form does not hold.

    An assignment that raises stops the script, even if a later one would replace its value.
    """
    yield from (problem for rule in TEXT_RULES for problem in rule.problems(scan))
    held = {id(one) for one in _last(chosen(scan.configs)).values()}
    for found in scan.configs:
        for one in found.settings:
            if id(one) not in held:
                yield from _refusals(one.path, one.value, one.line)


def _refusals(path: str, value: Any, line: int) -> Iterator[Problem]:
    """Yield the exceptions that one assignment raises."""
    section, _, key = path.partition(".")
    if section in ("options", "environment"):
        return
    form = {section: {key: value} if key else value}
    reader = Reader(form, SOURCE, code=value_code)
    reader.read(Torchair, form)
    yield from (replace(p, line=line) for p in reader.problems if p.severity == "error")


def _form(settings: Iterable[Assigned]) -> Decoded:
    """Return the form that assignments make; a later one wins and is noted unless it is of another branch."""
    data: dict[str, Any] = {}
    lines: dict[str, int] = {}
    guards: dict[str, Guard | None] = {}
    duplicates: list[tuple[str, int]] = []
    for path, value, line, guard in settings:
        head, _, rest = path.partition(".")
        holder, key = data, head
        if rest and head in ("dump_config", "options", "environment"):
            inner = holder.setdefault(head, {})
            lines.setdefault(head, line)
            if not isinstance(inner, dict):  # the section itself was replaced by an expression
                continue
            holder, key = inner, rest
        if key in holder and not apart(guards.get(path), guard):
            duplicates.append((path, line))
        holder[key], lines[path], guards[path] = value, line, guard
    return Decoded(data, "", lines, tuple(duplicates))


class _Scan:
    """One pass over a script's statements in their order."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._owners: dict[str, ConfigObject] = {}
        self._aliases: dict[str, str] = {}
        self.configs: list[ConfigObject] = []
        self.environment: list[Assigned] = []

    def run(self, tree: ast.Module) -> None:
        for place in statements(tree):
            for target, value in assignments(place.node):
                self._assign(target, value, place.guard)
            for call in calls_in(place.node):
                self._call(call, place.guard)

    def _assign(self, target: ast.expr, value: ast.expr, guard: Guard | None) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:  # what each of them gets, only a run knows
                if name := dotted(one):
                    self._set(self._whole(name), runtime_value(value), target.lineno, guard)
            return
        self._environment(variable_assigned(target, value, self._names), guard)
        if name := dotted(target):
            name = self._whole(name) if "." in name else name
            if isinstance(value, ast.Call) and dotted(value.func).endswith("CompilerConfig"):
                self._forget(name)
                self._owners[name] = ConfigObject(name, target.lineno)
                self.configs.append(self._owners[name])
            elif source := self._alias(value):
                self._forget(name)
                self._aliases[name] = source
            elif "." in name:
                self._set(name, literal(value, self._names), target.lineno, guard)
            else:
                self._forget(name)

    def _forget(self, name: str) -> None:
        """Drop what a name stood for: it is bound anew."""
        self._aliases.pop(name, None)
        self._owners.pop(name, None)

    def _alias(self, value: ast.expr) -> str:
        """Full name behind ``value`` if it is a configuration or a part of one that is no option."""
        name = self._whole(dotted(value))
        owner, path = self._split(name)
        section = path.partition(".")[0] in ("", "dump_config", *OTHER_OPTIONS)
        return name if (owner and section) or name.endswith(".dump_config") else ""

    def _call(self, call: ast.Call, guard: Guard | None) -> None:
        if called(call) in USERS:
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
                if owner := self._owners.get(self._whole(dotted(argument))):
                    owner.used = True
        elif given := attribute_set(call, self._names):
            holder, name, value = given
            path = f"{self._whole(dotted(holder))}.{name}"
            self._set(path, literal(value, self._names), call.lineno, guard)
        self._environment(variables_set(call, self._names), guard)

    def _environment(self, variables: Iterable[Variable], guard: Guard | None) -> None:
        for name, value, line in variables:
            if name in Environment.fields:
                path, known = f"environment.{name}", literal(value, self._names)
                self.environment.append(Assigned(path, known, line, guard))

    def _whole(self, name: str) -> str:
        """Name with the alias at its head replaced by what it stands for."""
        head, dot, rest = name.partition(".")
        return self._aliases.get(name) or self._aliases.get(head, head) + dot + rest

    def _split(self, name: str) -> tuple[ConfigObject | None, str]:
        """Configuration that a dotted name belongs to, and the path inside it."""
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            if owner := self._owners.get(".".join(parts[:end])):
                return owner, ".".join(parts[end:])
        return None, ""

    def _set(self, name: str, value: Any, line: int, guard: Guard | None) -> None:
        owner, path = self._split(name)
        before, dump, _ = name.partition(".dump_config.")
        if owner is None and dump:  # made elsewhere: a parameter, another module
            owner, path = ConfigObject(before, line), name[len(before) + 1 :]
            self._owners[before] = owner
            self.configs.append(owner)
        if owner is None or not path:
            return
        head, _, rest = path.partition(".")
        if head != "dump_config" and (rest or head in OTHER_OPTIONS):
            path = f"options.{path}"
        owner.settings.append(Assigned(path, value, line, guard))
