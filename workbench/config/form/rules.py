"""Rules: what else must hold in a form, beyond the type of each setting. One table a surface.

A rule is one row: where it looks, when it is broken, how grave that is, what to say and to do, where it is
written, and a form that breaks and one that keeps it; help and tests show the same two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.config.context import Context
from workbench.config.form.reader import MANY, shown_path
from workbench.config.form.settings import Section
from workbench.core.problems import Problem
from workbench.core.words import Message, RowMessage

if TYPE_CHECKING:
    from workbench.core.problems import Severity


@dataclass(frozen=True, slots=True)
class Reading:
    """What a release makes of a form: its settings, those at default that it does not know, in a context."""

    form: Any
    context: Context


class At(NamedTuple):
    """A place in a form.

    ``given`` is whether the form sets it, ``entries`` are the elements of lists on the way to it.
    """

    path: str
    value: Any
    given: bool
    entries: tuple[Any, ...] = ()

    @property
    def got(self) -> Any:
        """What a sentence says was found."""
        return list(self.value) if isinstance(self.value, tuple) else self.value


When = Callable[[Any, At], Any]
"""Whether a rule is broken at a place, from the reading of a form.

The answer is true, or a mapping of the values that the sentences name: ``got`` stands for the place's own value,
``code`` for the rule's, ``below`` is added to the path, ``line`` is where it stands. Several mappings, as a list or
one after the other, are as many breaches.
"""

Step = tuple[tuple[str, ...], bool]
"""Keys that a step of a path may have, and whether every entry of a list is meant."""

_ABSENT = object()

TEXT = "$text"
"""Where rules on a form's text look: at what was read of it, before there is a form."""


@dataclass(frozen=True, slots=True)
class Example:
    """A form, as decoded, or the text of a script, and the context it is judged in."""

    form: Any
    context: Context = field(default_factory=Context)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a surface.

    Attributes
    ----------
    id : str
        Stable name (``iteration-void``).
    severity : {"error", "warning", "hint"}
        error: the vendor's reader of this form refuses; warning: ignored, changed, or refused by a
        later component; hint: it will hurt.
    at : str
        Paths of the places where it looks, joined by blanks: ``[]`` is every element of a list, ``a|b`` either
        key, ``*`` every key of an object. ``$NAME`` is a variable of the environment, ``$version`` the release,
        `TEXT` all of a form's text.
    when : function of (reading, place)
        Whether it is broken there.
    says, fix : str
        What is wrong, and what to do: sentences in the language of `workbench.core.words.render`. They name
        ``{path}``, its last part ``{key}``, ``{got}`` and the values that ``when`` gives.
    source : str
        Document or code.
    breaks, keeps : Example
    code : str
        The vendor's own error code.
    about : str
        Paths of settings that a rule on the text says something of, which it finds there by itself.
    """

    id: str
    severity: Severity
    at: str
    when: When
    says: str
    fix: str
    source: str
    breaks: Example
    keeps: Example
    code: str = ""
    about: str = ""

    def problems(self, reading: Any) -> Iterator[Problem]:
        """Yield a Problem for every breach, for the first `MANY`, and one that counts the others."""
        breaches = self.breaches(reading)
        last = None
        for path, values in islice(breaches, MANY):
            last = self._problem(path, values)
            yield last
        if last is not None and (others := sum(1 for _ in breaches)):
            yield replace(last, message=Message("config/more", count=others), fix="")

    def looks_at(self) -> Iterator[str]:
        """Yield the path of every setting, section or variable that the rule looks at or is about."""
        for path in (*self.at.split(), *self.about.split()):
            for place in spread(path):
                yield place.removeprefix("$").removesuffix(".*")

    def breaches(self, reading: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the path of every breach, and the values that its sentences name."""
        for path in self.at.split():
            for at in _looked_at(reading, path):
                found = self.when(reading, at)
                several = isinstance(found, list | Iterator)
                for one in found if several else [found] if found else ():
                    values = {"got": at.got, **one} if isinstance(one, Mapping) else {"got": at.got}
                    yield at.path + values.pop("below", ""), values

    def sentences(
        self, path: str, values: Mapping[str, Any]
    ) -> tuple[RowMessage, RowMessage | str]:
        """Return what the rule says of a breach, and its advice; empty where it has none."""
        shown = shown_path(path)
        named = {"path": shown, "key": shown.rpartition(".")[2], **values}
        advice = RowMessage(self.id, self.fix, **named) if self.fix else ""
        return RowMessage(self.id, self.says, **named), advice

    def _problem(self, path: str, values: dict[str, Any]) -> Problem:
        code = str(values.get("code", self.code))
        said, advice = self.sentences(path, values)
        line = values.get("line", 0)
        return Problem(self.id, self.severity, path, said, advice, line, code, self.source)


Change = Mapping[str, Any] | Example
"""What an example changes in the form that a surface starts with, by key, and the context if it matters."""


@dataclass(frozen=True, slots=True)
class Row:
    """A rule of several surfaces; its examples are changes of the form that each of them starts with.

    ``on`` names the surfaces, joined by blanks; without it, and without ``source``, the rule is everywhere and of
    the source that all have.
    """

    id: str
    severity: Severity
    at: str
    when: When
    says: str
    fix: str
    breaks: Change
    keeps: Change
    source: str = ""
    on: str = ""
    code: str = ""


def rules_of(
    rows: Iterable[Row],
    on: str,
    changed: Callable[[Mapping[str, Any]], Any],
    source: str = "",
    *,
    model: type[Section] | None = None,
    below: str = "",
) -> Iterator[Rule]:
    """Yield the rules of one surface in the order of the table; ``changed`` makes a form of changes.

    ``below`` is the section that holds the rows' settings; of a ``model`` they look at the places that it has.
    """

    def fitted(change: Change) -> Example:
        example = change if isinstance(change, Example) else Example(change)
        return replace(example, form=changed(example.form))

    for row in rows:
        if not row.on or on in row.on.split():
            examples = (fitted(row.breaks), fitted(row.keeps))
            at = " ".join(_places_of(row.at, below, model))
            words = (row.says, row.fix, row.source or source)
            yield Rule(row.id, row.severity, at, row.when, *words, *examples, row.code)


def _places_of(paths: str, below: str, model: type[Section] | None) -> Iterator[str]:
    for path in paths.split():
        whole = f"{below}.{path}" if below else path
        if model is None:
            yield whole
        else:
            yield from (one for one in spread(whole) if has_place(model, one))


def has_place(model: type[Section], path: str) -> bool:
    """Whether a form has a setting or section of a plain path."""
    key, _, rest = path.partition(".")
    part = model.parts().get(key)
    return has_place(part.model, rest) if part and rest else key in model.fields


def _looked_at(reading: Any, path: str) -> Iterator[At]:
    """Yield the places that a path means in a form, in what it is judged by, or in a text that is no form yet."""
    if path == TEXT:
        if not isinstance(reading, Reading):
            yield At("", "", True)
        return
    context, name = reading.context, path.removeprefix("$")
    if path == "$version":
        yield At(name, context.version, True)
    elif path.startswith("$"):
        yield At(name, context.variable(name), name in context.env)
    else:
        yield from places(reading.form, _steps(path))


@cache
def _steps(path: str) -> tuple[Step, ...]:
    """Return the steps of a path of the tables: the keys that each may have, and whether it has entries."""
    steps = path.split(".")
    return tuple((tuple(s.removesuffix("[]").split("|")), s.endswith("[]")) for s in steps)


def places(
    holder: Any, steps: tuple[Step, ...], path: str = "", entries: tuple[Any, ...] = ()
) -> list[At]:
    """Return every place that a path means, entry by entry; nothing inside of what is absent."""
    found: list[At] = []
    (keys, many), rest = steps[0], steps[1:]
    for key, value, given in _members(holder, keys):
        place = f"{path}.{key}" if path else key
        if not many and not rest:
            found.append(At(place, value, given, entries))
        elif not many:
            found += places(value, rest, place, entries)
        else:
            for index, one in enumerate(value or ()):
                at = At(f"{place}[{index}]", one, True, (*entries, one))
                found += places(one, rest, at.path, at.entries) if rest else (at,)
    return found


def _members(holder: Any, keys: tuple[str, ...]) -> list[tuple[str, Any, bool]]:
    """Return key and value of each member that a step names, and whether the form sets it."""
    if keys == ("*",):
        return [(key, value, True) for key, value in (holder or {}).items()]
    given = holder.given if isinstance(holder, Section) else keys
    members = ((key, getattr(holder, key, _ABSENT)) for key in keys)
    return [(key, value, key in given) for key, value in members if value is not _ABSENT]


def spread(path: str) -> list[str]:
    """Return the paths that a path with alternatives means.

    >>> spread("dump.list[].a|b")
    ['dump.list[].a', 'dump.list[].b']
    """
    found = [""]
    for step in path.split("."):
        many = "[]" if step.endswith("[]") else ""
        keys = step.removesuffix("[]").split("|")
        found = [f"{one}.{key}{many}".lstrip(".") for one in found for key in keys]
    return found
