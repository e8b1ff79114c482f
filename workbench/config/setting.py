"""One declaration per setting: what it must be, what it means, when the vendor reads it.

A surface's form is a tree of pydantic sections whose fields carry a `Setting`; types, bounds,
messages, help, widgets and JSON Schema all come from there. `read_settings` never raises: what does
not fit becomes a Problem and the field keeps its default, so every other rule can still look.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from workbench.config.context import is_before, version_numbers
from workbench.core.problems import Problem
from workbench.core.words import Message
from workbench.core.words.render import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.core.problems import Severity

MANY = 100
"""Problems of one kind in one place that are told one by one."""

Form = Mapping[str, Any]
"""A decoded configuration: an object of settings and sections."""

Condition = Callable[[Form], bool]
"""What is asked of a whole form."""


def always(_form: Form) -> bool:
    """Condition that holds for every form."""
    return True


def never(_form: Form) -> bool:
    """Condition that holds for no form."""
    return False


@dataclass(frozen=True, slots=True)
class Setting:
    """What a setting must be and what it means.

    Attributes
    ----------
    expected : str
        What its value may be (``'on' or 'off'``).
    help : str
        What it does, in one line: sentences of a person's screen.
    bad : object
        A value that breaks the declaration, for tests and help.
    required, read : condition on the whole form
        A setting that is not ``read`` may hold anything: the vendor does not look at it.
    since : str
        First version that reads the key; empty: always.
    source : str
        The document or code that says so, if it is not the surface's own.
    assumed : object
        What stands in for a value that only a run knows; None: the default.
    widget : str
        How a form shows it (``path``, ``names``, ``iterations`` …); empty: by its type.
    """

    expected: str
    help: str
    bad: Any = None
    required: Condition = never
    read: Condition = always
    since: str = ""
    source: str = ""
    assumed: Any = None
    widget: str = ""


class Unresolved(str):
    """A setting of a script whose value only a run knows; the text is the expression."""

    __slots__ = ()


class Section(BaseModel):
    """A JSON object of settings; unknown keys are kept, types are exact (``true`` is no number)."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    unknown: ClassVar[Severity] = "warning"
    """What an unknown key is: a warning where the vendor ignores it, an error where it refuses."""

    foreign: ClassVar[frozenset[str]] = frozenset()
    """Keys that another part of the vendor's software reads; they are no problem."""

    called: ClassVar[str] = "an object"
    """What stands for the section in the vendor's form."""

    lenient: ClassVar[bool] = False
    """Whether the vendor takes anything that is no object for an empty one."""

    @classmethod
    def unknown_in(cls, _form: Form) -> Severity:
        """Return what an unknown key is in a whole form."""
        return cls.unknown

    @classmethod
    @cache
    def settings(cls) -> dict[str, Setting]:
        """Return the declarations by key, in the order of the form."""
        return {
            name: item
            for name, info in cls.model_fields.items()
            for item in info.metadata
            if isinstance(item, Setting)
        }

    @classmethod
    @cache
    def sections(cls) -> dict[str, tuple[type[Section], bool]]:
        """Return the sections by key, and whether the key holds a list of them."""
        found = {}
        for name, info in cls.model_fields.items():
            inner = _section_of(info.annotation)
            if inner is not None:
                found[name] = inner
        return found


def _section_of(annotation: Any) -> tuple[type[Section], bool] | None:
    """Section type in an annotation: ``S``, ``S | None`` or ``tuple[S, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, False
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return next((found for item in inner if (found := _section_of(item))), None)
    if origin is tuple and inner and (found := _section_of(inner[0])):
        return found[0], True
    return None


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
        sections, known = model.sections(), model.settings()
        strange = 0
        for key, item in value.items():
            if key in sections:
                self._section(good, key, item, sections[key], prefix + key)
            elif key in known:
                self._value(good, model, key, item, prefix + key)
            else:
                good[key] = item
                strange += key not in model.foreign
                if key not in model.foreign and strange <= MANY:
                    self.problems.append(self._unknown(model, key, prefix))
        if strange > MANY:
            self._more(strange - MANY, path)
        assumed = {
            key: known[key].assumed
            for key, item in value.items()
            if isinstance(item, Unresolved) and key in known and known[key].assumed is not None
        }
        return model.model_construct(_fields_set=set(good), **good, **assumed)

    def _section(
        self, good: dict[str, Any], key: str, item: Any, kind: tuple[type[Section], bool], path: str
    ) -> None:
        model, many = kind
        if many and isinstance(item, list | tuple):
            found, wrong = [], 0
            for index, part in enumerate(item):
                if isinstance(part, Mapping):
                    found.append(self.read(model, part, f"{path}[{index}]"))
                else:
                    wrong += 1
                    if wrong <= MANY:
                        place = f"{path}[{index}]"
                        self._refuse(Message("config/object", path=place, got=part), key)
            if wrong > MANY:
                self._more(wrong - MANY, path)
            good[key] = tuple(found)
        elif not many and isinstance(item, Mapping):
            good[key] = self.read(model, item, path)
        elif isinstance(item, Unresolved):
            self.problems.append(self._unresolved(path, item))
        elif model.lenient and not many:
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

    def _refuse(self, said: Message, key: str) -> None:
        path, code = said.values["path"], self.code(key, said.values["got"])
        self.problems.append(Problem("value", "error", path, said, code=code, source=self.source))

    def _value(
        self, good: dict[str, Any], model: type[Section], key: str, item: Any, path: str
    ) -> None:
        setting = model.settings()[key]
        self._dated(model, key, path)
        if isinstance(item, Unresolved):
            self.problems.append(self._unresolved(path, item, setting.assumed))
            return
        try:
            value = tuple(item) if isinstance(item, list) else item
            good[key] = adapter(model, key).validate_python(value, strict=True)
        except (ValidationError, UnicodeEncodeError) as error:  # the latter: half a character
            if not setting.read(self.form):
                expected, source = setting.expected, setting.source or self.source
                said = Message("config/value-unread", path=path, expected=expected, got=item)
                self.problems.append(Problem("value-unread", "hint", path, said, source=source))
                return
            self._misfit(setting, key, item, path, error)

    def _misfit(self, setting: Setting, key: str, item: Any, path: str, error: ValueError) -> None:
        """Name the element that is wrong where a list does not fit."""
        first: Any = {"loc": (), "type": ""}
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
        place, expected, got = first["loc"], setting.expected, item
        if isinstance(item, list | tuple) and place and isinstance(place[0], int):
            got, path = item[place[0]], f"{path}[{place[0]}]"
            only = len(place) == 1  # more: one of several types
            word = _ELEMENTS.get(first["type"], "element") if only else "element"
            said = Message(f"config/value-{word}", path=path, expected=expected, got=got)
        else:
            said = Message("config/value", path=path, expected=expected, got=got)
        code, source = self.code(key, got), setting.source or self.source
        self.problems.append(Problem("value", "error", path, said, code=code, source=source))

    def _unresolved(self, path: str, item: Unresolved, assumed: Any = None) -> Problem:
        said = Message("config/unresolved", path=path, expression=str(item))
        advice = Message("config/unresolved-unset")
        if assumed is not None:
            advice = Message("config/unresolved-assumed", assumed=assumed)
        return Problem("unresolved", "hint", path, said, advice, source=self.source)

    def _dated(self, model: type[Section], key: str, path: str) -> None:
        """Name a key that this version does not know: it is treated like any unknown one."""
        setting = model.settings()[key]
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
        known = [*model.settings(), *model.sections()]
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


@cache
def adapter(model: type[Section], key: str) -> TypeAdapter[Any]:
    """Validator of one field, with its bounds."""
    from typing import Annotated

    info = model.model_fields[key]
    kind: Any = info.annotation
    for extra in info.metadata:
        kind = Annotated[kind, extra]
    return TypeAdapter(kind)


_ELEMENTS = {"string_type": "text", "int_type": "integer"}
"""What an element of a list must be, by the kind of error that another one makes."""

_LONGEST_KEY = 100
_LONGEST_PATH = 200


def shown_path(path: str) -> str:
    """Return a path for a message: quoted where it is empty, long or would break the line."""
    plain = path and path.isprintable() and len(path) <= _LONGEST_PATH
    return path if plain else quoted(path)
