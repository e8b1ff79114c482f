"""One declaration per setting: what it must be, what it means, when the vendor reads it.

A surface's form is a tree of sections, classes with one line a setting. Types, bounds, messages, help, inputs and
JSON Schema all come from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

from workbench.config.form.kinds import (
    SWITCH,
    Element,
    Kind,
    choice_of,
    integer_from,
    list_of,
    text_like,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.core.problems import Severity

Form = Mapping[str, Any]
"""A decoded configuration: an object of settings and sections."""

Options = str | Sequence[str]
"""Texts to choose from; in one text blanks part them."""

Condition = Callable[[Form], bool]
"""What is asked of a whole form."""


def always(_form: Form) -> bool:
    """Condition that holds for every form."""
    return True


def never(_form: Form) -> bool:
    """Condition that holds for no form."""
    return False


class RuntimeValue(str):
    """A setting of a script whose value only a run knows; the text is the expression."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """What a setting must be and what it means.

    Attributes
    ----------
    kind : Kind
    default : object
        What stands in for an absent setting.
    help : str
        What it does, in one line: sentences of a person's screen.
    expected : str
        What its value may be (``'on' or 'off'``).
    misfit : object
        A value that breaks the declaration, for tests and help.
    required, read_when : condition on the whole form
        A setting that is not read may hold anything: the vendor does not look at it.
    since : str
        First version that reads the key; empty: always.
    source : str
        The document or code that says so, if it is not the surface's own.
    code : str
        The vendor's error code of a value that does not fit; empty: the surface's for all settings of its name.
    run_default : object
        What stands in for a value that only a run knows; None: the default.
    widget : str
        How a form shows it (``path``, ``names``, ``iterations`` …); empty: by its kind.
    """

    kind: Kind
    default: Any
    help: str
    expected: str
    misfit: Any
    required: Condition = never
    read_when: Condition = always
    since: str = ""
    source: str = ""
    code: str = ""
    run_default: Any = None
    widget: str = ""


class Said(TypedDict, total=False):
    """What a declaration may say beside kind, default and help; words and misfit are the kind's otherwise."""

    expected: str
    misfit: Any
    required: Condition
    read_when: Condition
    since: str
    source: str
    code: str
    run_default: Any
    widget: str


def setting(kind: Kind, default: Any, help: str, **said: Unpack[Said]) -> Any:
    """Declare a setting."""
    words: Said = {"expected": kind.expected, "misfit": kind.misfit}
    return Setting(kind, default, help, **words | said)


def one_of(options: Options) -> Kind:
    """Return the kind of one text out of several."""
    return choice_of(*(options.split() if isinstance(options, str) else options))


def choice(default: Any, options: Options, help: str, **said: Unpack[Said]) -> Any:
    """Declare a setting of one text out of several."""
    return setting(one_of(options), default, help, **said)


def text(default: str, help: str, *, pattern: str = "", **said: Unpack[Said]) -> Any:
    """Declare a setting of text, in which a pattern is found."""
    return setting(text_like(pattern), default, help, **said)


def switch(default: bool, help: str, **said: Unpack[Said]) -> Any:
    """Declare a setting that is true or false."""
    return setting(SWITCH, default, help, **said)


def integer(default: int, help: str, *, least: int | None = None, **said: Unpack[Said]) -> Any:
    """Declare a setting of a whole number, at least ``least``."""
    return setting(integer_from(least), default, help, **said)


def items(element: Element, help: str, default: Any = (), **said: Unpack[Said]) -> Any:
    """Declare a setting of a list."""
    return setting(list_of(element), default, help, **said)


def altered(model: type[Section], key: str, **said: Any) -> Any:
    """Declare a setting as another section does, but for what is said of it."""
    return replace(model.settings()[key], **said)


@dataclass(frozen=True, slots=True)
class Part:
    """A section inside of another one, or a list of such; one that is not read may be anything."""

    model: type[Section]
    default: Any
    many: bool
    read_when: Condition = always


def section(model: type[Section], *, optional: bool = False, read_when: Condition = always) -> Any:
    """Declare a section: an empty one, or none, where it is absent."""
    if read_when is not always:
        model = read_only(model, read_when)
    return Part(model, None if optional else model(), many=False, read_when=read_when)


def read_only(model: type[Section], when: Condition) -> type[Section]:
    """Return a section of which nothing is read but where a condition holds."""

    def both(condition: Condition) -> Condition:
        return lambda form: when(form) and condition(form)

    conditional = {
        key: replace(one, required=both(one.required), read_when=both(one.read_when))
        for key, one in model.settings().items()
    }
    return type(model.__name__, (model,), conditional)


def sections(model: type[Section]) -> Any:
    """Declare a list of sections."""
    return Part(model, (), many=True)


class Section:
    """A JSON object of settings; unknown keys are kept, types are exact (``true`` is no number).

    ``given`` are the keys that the form sets, ``extra`` those of them that are unknown. A section never changes.
    """

    unknown: ClassVar[Severity] = "warning"
    """What an unknown key is: a warning where the vendor ignores it, an error where it refuses."""

    other_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys that another part of the vendor's software reads; they are no problem."""

    called: ClassVar[str] = "an object"
    """What stands for the section in the vendor's form."""

    coerced: ClassVar[bool] = False
    """Whether the vendor takes anything that is no object for an empty one."""

    fields: ClassVar[Mapping[str, Setting | Part]] = {}
    """Settings and sections by key, in the order of the form."""

    given: frozenset[str]
    extra: Mapping[str, Any]

    def __init_subclass__(cls) -> None:
        own = {key: one for key, one in vars(cls).items() if isinstance(one, Setting | Part)}
        cls.fields = {**cls.fields, **own}
        for key, one in own.items():
            setattr(cls, key, one.default)

    def __init__(self, values: Form | None = None, assumed: Form | None = None) -> None:
        values = values or {}
        known = {key: value for key, value in values.items() if key in self.fields}
        extra = {key: value for key, value in values.items() if key not in self.fields}
        self.__dict__.update(assumed or {}, **known, given=frozenset(values), extra=extra)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.values()})"

    def values(self) -> dict[str, Any]:
        """Return what the form sets, in the order of the form; then what is unknown."""
        return {k: getattr(self, k) for k in self.fields if k in self.given} | dict(self.extra)

    def data(self) -> dict[str, Any]:
        """Return what the form sets, as decoded."""
        return {
            key: value.data() if isinstance(value, Section) else value
            for key, value in self.values().items()
        }

    @classmethod
    def unknown_in(cls, _form: Form) -> Severity:
        """Return what an unknown key is in a whole form."""
        return cls.unknown

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """Return the declarations of settings by key."""
        return {key: one for key, one in cls.fields.items() if isinstance(one, Setting)}

    @classmethod
    def parts(cls) -> dict[str, Part]:
        """Return the declarations of sections by key."""
        return {key: one for key, one in cls.fields.items() if isinstance(one, Part)}


def declared(model: type[Section], path: str = "") -> Iterator[tuple[str, Setting]]:
    """Yield path and declaration of every setting; a list of sections adds ``[]``."""
    prefix = f"{path}." if path else ""
    for key, one in model.fields.items():
        if isinstance(one, Setting):
            yield prefix + key, one
        else:
            yield from declared(one.model, prefix + key + ("[]" if one.many else ""))
