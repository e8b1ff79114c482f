"""Our frozen dataclasses beside those of the standard library: the same values, texts, errors and signatures."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import typing
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from typing import ClassVar, get_type_hints

import pytest

from workbench._values import NamedTuple, dataclass

MAKERS = (dataclass, dataclasses.dataclass)


def plain(make):
    @make(frozen=True)
    class Value:
        """A value."""

        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list)
        d: float = field(default=1.0, compare=False, repr=False)
        e: int = field(default=7, init=False)
        kind: ClassVar[str] = "k"

        @cached_property
        def double(self):
            return 2 * self.a

    return Value


def slotted(make):
    @make(frozen=True, slots=True)
    class Value:
        """A value."""

        a: int
        b: str = "b"
        e: tuple = field(init=False, default_factory=tuple)

    return Value


def checked(make):
    @make(frozen=True)
    class Value:
        """A value that looks at itself, and has an equality and a text of its own."""

        a: int

        def __post_init__(self):
            if self.a == 9:
                raise ValueError("nine")

        def __eq__(self, other):
            return self.a % 10 == other.a % 10

        def __repr__(self):
            return f"<{self.a}>"

    return Value


def by_identity(make):
    @make(frozen=True, eq=False)
    class Value:
        """A value that equals itself alone."""

        a: int

    return Value


def by_keyword(make):
    @make(frozen=True, kw_only=True)
    class Value:
        """A value whose fields are given by name."""

        c: list[int] = field(default_factory=list)
        a: int

    return Value


def partly_by_keyword(make):
    @make(frozen=True)
    class Value:
        """A value of which one field is given by name."""

        b: int = field(kw_only=True, default=3)
        a: int

    return Value


KINDS = (by_keyword, partly_by_keyword, plain, slotted, checked, by_identity)


def said(call):
    """What a call gives, or the error that it raises."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


QUESTIONS = {
    "text": lambda kind: repr(kind(1)),
    "equal": lambda kind: kind(1) == kind(1),
    "unequal": lambda kind: kind(1) == kind(2),
    "alike": lambda kind: kind(1) == kind(11),
    "another type": lambda kind: kind.__eq__(kind(1), 1) if kind is not None else None,
    "as a key": lambda kind: len({kind(1), kind(1), kind(2)}),
    "unhashable": lambda kind: bool(hash(kind([]))),
    "signature": lambda kind: str(inspect.signature(kind)),
    "match": lambda kind: kind.__match_args__,
    "replaced": lambda kind: repr(dataclasses.replace(kind(1), a=3)),
    "a dict": lambda kind: dataclasses.asdict(kind(1)),
    "set": lambda kind: setattr(kind(1), "a", 2),
    "set anew": lambda kind: setattr(kind(1), "z", 2),
    "deleted": lambda kind: delattr(kind(1), "a"),
    "copied": lambda kind: repr(copy.copy(kind(1))),
    "too few": lambda kind: kind(),
    "too many": lambda kind: kind(1, 2, 3, 4, 5, 6),
    "refused": lambda kind: repr(kind(9)),
    "by name": lambda kind: repr(kind(a=4)),
    "documented": lambda kind: kind.__doc__,
    "frozen": lambda kind: kind.__dataclass_params__.frozen,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_as_the_standard_librarys(kind, question):
    if kind is checked and question == "another type":
        pytest.skip("its own equality asks for a number")
    if kind is slotted and question == "set anew":
        pytest.skip("the standard library's refusal fails itself, with a TypeError")
    ours, theirs = (said(lambda make=make: QUESTIONS[question](kind(make))) for make in MAKERS)
    assert ours == theirs


def test_defaults_that_are_made_are_each_objects_own():
    kind = plain(dataclass)
    assert kind(1).c is not kind(1).c
    assert kind(1, c=[5]).c == [5]


def test_what_is_kept_beside_the_fields_is_kept_once():
    value = plain(dataclass)(4)
    assert (value.double, value.__dict__["double"]) == (8, 8)


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that a file may hold."""

    a: int
    b: tuple = ()


@dataclass(frozen=True)
class Base:
    """A value with heirs."""

    a: int


@dataclass(frozen=True)
class Heir(Base):
    """One more field."""

    b: int = 2


class Free(Base):
    """No dataclass: its own attributes may be set."""


@pytest.mark.parametrize("value", [Kept(1, (2,)), Base(1), Heir(1, 3)])
def test_a_value_survives_pickling(value):
    assert pickle.loads(pickle.dumps(value)) == value


def test_heirs_have_the_fields_of_both_and_are_frozen():
    assert repr(Heir(1)) == "Heir(a=1, b=2)"
    assert Heir(1) != Base(1)
    with pytest.raises(FrozenInstanceError):
        Heir(1).a = 2


def test_a_subclass_that_is_no_dataclass_keeps_its_fields_alone_frozen():
    free = Free(1)
    free.b = 3
    with pytest.raises(FrozenInstanceError, match="'a'"):
        free.a = 2
    with pytest.raises(FrozenInstanceError, match="'a'"):
        del free.a
    del free.b


def test_what_is_not_frozen_may_be_changed():
    @dataclass
    class Loose:
        a: int = 1

    @dataclass(frozen=True, order=True)
    class Ordered:
        a: int = 1

    loose = Loose()
    loose.a = 2
    assert loose == Loose(2)
    assert Ordered(1) < Ordered(2)


def test_a_value_that_holds_itself_has_a_text():
    value = plain(dataclass)(1)
    value.c.append(value)
    assert "..." in repr(value)


class OurRow(NamedTuple):
    """A row."""

    name: str
    size: int = 3
    parts: tuple[int, ...] = ()

    @property
    def double(self) -> int:
        return 2 * self.size

    @classmethod
    def of(cls, text: str) -> OurRow:
        return cls(text)


class TypingRow(typing.NamedTuple):
    """A row."""

    name: str
    size: int = 3
    parts: tuple[int, ...] = ()

    @property
    def double(self) -> int:
        return 2 * self.size

    @classmethod
    def of(cls, text: str) -> TypingRow:
        return cls(text)


def facts_of_row(kind):
    one = kind("a", parts=(1,))
    return (
        repr(one).removeprefix(kind.__name__),
        tuple(one),
        one == ("a", 3, (1,)),
        hash(one),
        one._replace(size=4).double,
        kind.of("b")._asdict(),
        kind._fields,
        kind._field_defaults,
        kind.__doc__,
        kind.__module__,
        kind.__mro__[1:],
        kind.__match_args__,
        get_type_hints(kind),
        [(one.name, one.default) for one in inspect.signature(kind).parameters.values()],
        pickle.loads(pickle.dumps(one)) == one,
        copy.deepcopy(one) == one,
    )


def test_named_tuples_are_those_of_typing():
    assert facts_of_row(OurRow) == facts_of_row(TypingRow)
    with pytest.raises(AttributeError):
        OurRow("a").name = "b"
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        OurRow()
