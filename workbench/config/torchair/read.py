"""Read the dump settings of a ``CompilerConfig`` out of a script, without running it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from workbench.config.form.json_text import Decoded
from workbench.config.form.reader import Reader
from workbench.config.form.rules import TEXT, Example, Rule
from workbench.config.form.settings import Unresolved
from workbench.config.python_text import bound_literals, dotted, literal, parse_python
from workbench.config.torchair.branches import Branches, apart, branches_of
from workbench.config.torchair.settings import (
    OTHER_OPTIONS,
    SOURCE,
    DumpConfig,
    Environment,
    Torchair,
    value_code,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.form.rules import At
    from workbench.core.problems import Problem

USERS = ("get_npu_backend", "get_compiler", "dynamo_export", "cache_compile")
"""Functions of torchair that take a ``CompilerConfig``."""


@dataclass(slots=True)
class Found:
    """What a script does to one ``CompilerConfig``: path, value and line, in order."""

    name: str
    line: int
    settings: list[tuple[str, Any, int]] = field(default_factory=list)
    used: bool = False

    def dumps(self) -> bool:
        """Whether it sets anything about dumping."""
        return any(path.startswith("dump_config") for path, _, _ in self.settings)


def recognises(text: Any) -> bool:
    """Whether a text is a script that sets torchair's dump options."""
    named = isinstance(text, str) and ("torchair" in text or "CompilerConfig" in text)
    return named and "dump_config" in text


def decode(text: str, where: str = "<text>") -> Decoded:
    """Return the form of a script; of several configurations the one that `chosen` names.

    Raises FormatError ``where:line:`` if the text is not Python.
    """
    tree = parse_python(text, where)
    scan = _Scan(bound_literals(tree), branches_of(tree))
    scan.run(tree)
    config, form = chosen(scan.configs), _Form(scan.branches)
    for path, value, line in [*scan.environment, *(config.settings if config else ())]:
        form.put(path, value, line)
    problems = tuple(_problems(scan))
    return Decoded(form.data, text, form.lines, tuple(form.duplicates), problems=problems)


def chosen(configs: list[Found]) -> Found | None:
    """Return the last configuration that is compiled with and sets dump options, else the last."""
    ranked = sorted(configs, key=lambda found: (found.used and found.dumps(), found.dumps()))
    return ranked[-1] if ranked else None


def _dumping(scan: _Scan) -> list[Found]:
    return [found for found in scan.configs if found.dumps()]


def _has_several(scan: _Scan, _at: At) -> Any:
    kept, lines = chosen(scan.configs), [found.line for found in _dumping(scan)]
    if kept is None or len(lines) < 2:
        return False
    return {"count": len(lines), "lines": lines, "name": kept.name, "line": kept.line}


def _in_other_branches(scan: _Scan, _at: At) -> Iterator[dict[str, Any]]:
    kept = chosen(scan.configs)
    settings = kept.settings if kept else []
    last = {path: line for path, _, line in settings}
    for path, value, line in settings:
        if apart(scan.branches, line, last[path]):
            yield {"below": path, "got": value, "line": line, "counting": last[path]}


_ONE = "config.dump_config.enable_dump = True\n"
_OTHER = _ONE.replace("config.", "other.", 1)

TEXT_RULES = (
    Rule(
        id="several-configs",
        severity="hint",
        at=TEXT,
        when=_has_several,
        says="{count} CompilerConfigs have dump options (lines {lines:and})",
        fix="The check takes {name} of line {line}.",
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
        fix="Line {counting} counts here.",
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
    kept = chosen(scan.configs)
    last = {path: line for path, _, line in kept.settings} if kept else {}
    for found in scan.configs:
        for path, value, line in found.settings:
            if found is not kept or last[path] != line:
                yield from _refusals(path, value, line)


def _refusals(path: str, value: Any, line: int) -> Iterator[Problem]:
    """Yield the exceptions that one assignment raises."""
    section, _, key = path.partition(".")
    if section in ("options", "environment"):
        return
    form = {section: {key: value} if key else value}
    reader = Reader(form, SOURCE, code=value_code)
    reader.read(Torchair, form)
    yield from (replace(p, line=line) for p in reader.problems if p.severity == "error")


class _Form:
    """The form that a script's assignments make, with their lines."""

    def __init__(self, branches: Branches) -> None:
        self.data: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self.duplicates: list[tuple[str, int]] = []
        self._branches = branches

    def put(self, path: str, value: Any, line: int) -> None:
        """Store a setting; a later assignment wins and is noted unless it is of another branch."""
        head, _, rest = path.partition(".")
        holder, key = self.data, head
        if rest and head in ("dump_config", "options", "environment"):
            inner = holder.setdefault(head, {})
            self.lines.setdefault(head, line)
            if not isinstance(inner, dict):  # the section itself was replaced by an expression
                return
            holder, key = inner, rest
        if key in holder and not apart(self._branches, self.lines[path], line):
            self.duplicates.append((path, line))
        holder[key] = value
        self.lines[path] = line


class _Scan:
    """One pass over a script's statements in their order."""

    def __init__(self, names: dict[str, Any], branches: Branches) -> None:
        self._names = names
        self.branches = branches
        self._owners: dict[str, Found] = {}
        self._aliases: dict[str, str] = {}
        self.configs: list[Found] = []
        self.environment: list[tuple[str, Any, int]] = []

    def run(self, tree: ast.Module) -> None:
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.stmt | ast.Call)]
        for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._assign(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assign(target, value)
                case ast.AugAssign(target=ast.Attribute() as target, op=op, value=value):
                    changed = ast.BinOp(left=target, op=op, right=value)
                    self._set(self._whole(dotted(target)), _unknown(changed), node.lineno)
                case ast.Call():
                    self._call(node)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Subscript):
            self._variable(dotted(target.value), target.slice, value)
        elif name := dotted(target):
            name = self._whole(name) if "." in name else name
            if isinstance(value, ast.Call) and dotted(value.func).endswith("CompilerConfig"):
                self._forget(name)
                self._owners[name] = Found(name, target.lineno)
                self.configs.append(self._owners[name])
            elif source := self._alias(value):
                self._forget(name)
                self._aliases[name] = source
            elif "." in name:
                self._set(name, literal(value, self._names), target.lineno)
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

    def _unpack(self, targets: list[ast.expr], value: ast.expr) -> None:
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        for index, target in enumerate(targets):
            if len(values) == len(targets):
                self._assign(target, values[index])
            elif name := self._whole(dotted(target)):
                self._set(name, _unknown(value), target.lineno)

    def _call(self, call: ast.Call) -> None:
        name = dotted(call.func)
        if name.rpartition(".")[2] in USERS:
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
                if owner := self._owners.get(self._whole(dotted(argument))):
                    owner.used = True
        elif name == "setattr" and len(call.args) == 3:
            holder, key, value = call.args
            attribute = literal(key, self._names)
            if isinstance(attribute, str) and not isinstance(attribute, Unresolved):
                path = f"{self._whole(dotted(holder))}.{attribute}"
                self._set(path, literal(value, self._names), call.lineno)
        elif name in ("os.environ.setdefault", "os.putenv") and len(call.args) == 2:
            self._variable("os.environ", call.args[0], call.args[1])

    def _variable(self, holder: str, key: ast.expr, value: ast.expr) -> None:
        name = literal(key, self._names)
        if holder in ("os.environ", "environ") and name in Environment.fields:
            setting = (f"environment.{name}", literal(value, self._names), value.lineno)
            self.environment.append(setting)

    def _whole(self, name: str) -> str:
        """Name with the alias at its head replaced by what it stands for."""
        head, dot, rest = name.partition(".")
        return self._aliases.get(name) or self._aliases.get(head, head) + dot + rest

    def _split(self, name: str) -> tuple[Found | None, str]:
        """Configuration that a dotted name belongs to, and the path inside it."""
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            if owner := self._owners.get(".".join(parts[:end])):
                return owner, ".".join(parts[end:])
        return None, ""

    def _set(self, name: str, value: Any, line: int) -> None:
        owner, path = self._split(name)
        before, dump, _ = name.partition(".dump_config.")
        if owner is None and dump:  # made elsewhere: a parameter, another module
            owner, path = Found(before, line), name[len(before) + 1 :]
            self._owners[before] = owner
            self.configs.append(owner)
        if owner is None or not path:
            return
        head, _, rest = path.partition(".")
        if head != "dump_config" and (rest or head in OTHER_OPTIONS):
            path = f"options.{path}"
        owner.settings.append((path, value, line))


def _unknown(node: ast.expr) -> Unresolved:
    """Expression that only a run can value."""
    try:
        return Unresolved(ast.unparse(node))
    except RecursionError:
        return Unresolved("an expression")
