"""Reads a form by its declarations.

Nothing is raised: what does not fit becomes a Problem and the setting keeps its default, so every other rule can
still look.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.config.context import is_before, version_numbers
from workbench.config.form.kinds import Misfit
from workbench.config.form.settings import Part, RuntimeValue, Section, Setting
from workbench.core.problems import Problem
from workbench.core.words import Message
from workbench.core.words.render import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.config.form.settings import Form

MANY = 100
"""Problems of one kind in one place that are told one by one."""

_LONGEST_KEY = 100
_LONGEST_PATH = 200

S = TypeVar("S", bound=Section)


@dataclass
class Reader:
    """Reads the sections of one form and collects what does not fit.

    ``code`` gives the vendor's error code of a value that does not fit, by key and value;
    ``version`` is the vendor's.
    """

    form: Form
    source: str
    version: str = ""
    code: Callable[[str, Any], str] = lambda _key, _value: ""
    problems: list[Problem] = field(default_factory=list)

    def read(self, model: type[S], value: Form, path: str = "") -> S:
        """Return the section; problems are added to ``problems``."""
        prefix = f"{path}." if path else ""
        self.problems += self._missing(model, value, prefix)
        good: dict[str, Any] = {}
        assumed: dict[str, Any] = {}
        strange = 0
        for key, item in value.items():
            place = prefix + key
            match model.fields.get(key):
                case Part() as part:
                    self._section(good, part, key, item, place)
                case Setting() as setting:
                    self._dated(model, setting, key, place)
                    if not isinstance(item, RuntimeValue):
                        self._value(good, setting, key, item, place)
                        continue
                    self.problems.append(self._unresolved(place, item, setting.run_default))
                    if setting.run_default is not None:
                        assumed[key] = setting.run_default
                case None:
                    good[key] = item
                    strange += key not in model.other_keys
                    if key not in model.other_keys and strange <= MANY:
                        self.problems.append(self._unknown(model, key, prefix))
        if strange > MANY:
            self._more(strange - MANY, path)
        return model(good, assumed)

    def _section(self, good: dict[str, Any], part: Part, key: str, item: Any, path: str) -> None:
        model, many = part.model, part.many
        if many and isinstance(item, list | tuple):
            good[key] = tuple(self._entries(model, key, item, path))
        elif not many and isinstance(item, Mapping):
            good[key] = self.read(model, item, path)
        elif isinstance(item, RuntimeValue):
            self.problems.append(self._unresolved(path, item))
        elif not part.read_when(self.form):
            said = Message("config/value-unread", path=path, expected=model.called, got=item)
            self.problems.append(Problem("value-unread", "hint", path, said, source=self.source))
        elif model.coerced and not many:
            said = Message("config/no-object", path=path, got=item)
            advice = Message("config/no-object-advice")
            self.problems.append(
                Problem("section", "warning", path, said, advice, source=self.source)
            )
            good[key] = self.read(model, {}, path)
        elif many:
            self._refuse(Message("config/objects", path=path, got=item), key)
        else:
            self._refuse(Message("config/value", path=path, expected=model.called, got=item), key)

    def _entries(self, model: type[S], key: str, entries: Sequence[Any], path: str) -> Iterator[S]:
        """Yield the sections of a list; what is none is left out."""
        wrong = 0
        for index, entry in enumerate(entries):
            place = f"{path}[{index}]"
            if isinstance(entry, Mapping):
                yield self.read(model, entry, place)
                continue
            wrong += 1
            if wrong <= MANY:
                self._refuse(Message("config/object", path=place, got=entry), key)
        if wrong > MANY:
            self._more(wrong - MANY, path)

    def _refuse(self, said: Message, key: str) -> None:
        path, code = said.values["path"], self.code(key, said.values["got"])
        self.problems.append(Problem("value", "error", path, said, code=code, source=self.source))

    def _value(
        self, good: dict[str, Any], setting: Setting, key: str, item: Any, path: str
    ) -> None:
        try:
            good[key] = setting.kind.read(item)
        except Misfit as misfit:
            if setting.read_when(self.form):
                self._misfit(setting, key, item, path, misfit)
                return
            expected, source = setting.expected, setting.source or self.source
            said = Message("config/value-unread", path=path, expected=expected, got=item)
            self.problems.append(Problem("value-unread", "hint", path, said, source=source))

    def _misfit(self, setting: Setting, key: str, item: Any, path: str, misfit: Misfit) -> None:
        """Name the element that is wrong where a list does not fit."""
        got, word = item, ""
        if misfit.index is not None:
            got, path = item[misfit.index], f"{path}[{misfit.index}]"
            word = f"-{misfit.word}"
        said = Message(f"config/value{word}", path=path, expected=setting.expected, got=got)
        code = setting.code or self.code(key, got)
        source = setting.source or self.source
        self.problems.append(Problem("value", "error", path, said, code=code, source=source))

    def _unresolved(self, path: str, item: RuntimeValue, assumed: Any = None) -> Problem:
        said = Message("config/unresolved", path=path, expression=str(item))
        advice = Message("config/unresolved-unset")
        if assumed is not None:
            advice = Message("config/unresolved-assumed", assumed=assumed)
        return Problem("unresolved", "hint", path, said, advice, source=self.source)

    def _dated(self, model: type[Section], setting: Setting, key: str, path: str) -> None:
        """Name a key that this version does not know: it is treated like any unknown one."""
        if is_before(version_numbers(self.version), setting.since):
            said = Message("config/version", path=path, version=self.version)
            advice = Message("config/version-advice", since=setting.since)
            severity = model.unknown_in(self.form)
            code = self.code(key, None) if severity == "error" else ""
            source = setting.source or self.source
            self.problems.append(
                Problem("version", severity, path, said, advice, code=code, source=source)
            )

    def _missing(self, model: type[Section], value: Form, prefix: str) -> Iterator[Problem]:
        for key, setting in model.settings().items():
            if key not in value and setting.required(self.form):
                path = prefix + key
                yield Problem(
                    "missing",
                    "error",
                    path,
                    Message("config/missing", path=path),
                    Message("config/missing-advice", key=key, expected=setting.expected),
                    code=self.code(key, None),
                    source=setting.source or self.source,
                )

    def _more(self, count: int, path: str) -> None:
        """Tell how many there are of the last problem that are not told one by one."""
        said = Message("config/more", count=count)
        if path:
            said = Message("config/more-in", path=shown_path(path), count=count)
        self.problems.append(replace(self.problems[-1], path=path, message=said, fix=""))

    def _unknown(self, model: type[Section], key: str, prefix: str) -> Problem:
        known = [*model.settings(), *model.parts()]
        near = difflib.get_close_matches(key[:_LONGEST_KEY], known, 1)
        advice = Message("config/known-keys", known=known)
        if near:
            advice = Message("config/near-key", near=near[0])
        path = prefix + key
        severity = model.unknown_in(self.form)
        said = Message("config/unknown-key", path=shown_path(path))
        if severity == "warning":
            said = Message("config/ignored-key", path=shown_path(path))
        code = self.code(key, None) if severity == "error" else ""
        return Problem("unknown-key", severity, path, said, advice, code=code, source=self.source)


def shown_path(path: str) -> str:
    """Return a path for a message: quoted where it is empty, long or would break the line."""
    plain = path and path.isprintable() and len(path) <= _LONGEST_PATH
    return path if plain else quoted(path)
