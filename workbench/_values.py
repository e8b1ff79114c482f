"""Frozen dataclasses and named tuples, made in a part of the time.

`dataclass` is that of the standard library to whoever reads or checks types. Of a frozen class the standard library
writes and compiles six methods, which takes longer than all else of importing its module; here one is compiled,
``__init__``, and the others are closures over the names of the fields. Whatever is not plainly frozen goes to the
standard library.

`NamedTuple` is that of `typing` to whoever checks types. `typing` compiles the annotation of every field, which nobody
reads; here they stay text. A class of it is what `collections.namedtuple` makes, with the methods written in it.
"""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from dataclasses import MISSING, FrozenInstanceError
from enum import Enum
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import dataclass as dataclass
    from typing import NamedTuple as NamedTuple
else:

    class _Named(type):
        """Makes a named tuple of what is written as a class of it."""

        def __new__(cls, name: str, _bases: tuple[type, ...], body: dict[str, Any]) -> Any:
            kinds = body.get("__annotations__", {})
            defaults = [body[one] for one in kinds if one in body]
            made = namedtuple(name, kinds, defaults=defaults, module=body["__module__"])
            made.__annotations__ = made.__new__.__annotations__ = kinds
            for key in body.keys() - kinds.keys() - {"__module__", "__annotations__"}:
                setattr(made, key, body[key])
            return made

    class _NamedTuple:
        """Stands among the bases of a class for `_Named`."""

        def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[type, ...]:
            return (_NAMED,)

    _NAMED = type.__new__(_Named, "NamedTuple", (), {})
    NamedTuple = _NamedTuple()

    def dataclass(
        kind: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
        kw_only: bool = False,
        **more: Any,
    ) -> Any:
        """Make a class a dataclass; the same parameters as the standard library's."""

        def make(kind: type) -> type:
            if frozen and not more and _is_plain(kind):
                return _make_frozen(kind, slots=slots, eq=eq, kw_only=kw_only)
            more.update(frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)
            return dataclasses.dataclass(kind, **more)

        return make if kind is None else make(kind)


class _Absent(Enum):
    """What stands for a default that is made anew for every object."""

    FACTORY = "<factory>"

    def __repr__(self) -> str:
        return self.value


def _is_plain(kind: type) -> bool:
    """Whether a class inherits from no dataclass and has fields of the usual kind alone."""
    written = kind.__dict__
    annotated = written.get("__annotations__", {}).values()
    return (
        not any(hasattr(base, "__dataclass_fields__") for base in kind.__mro__[1:])
        and not written.keys() & {"__init__", "__setattr__", "__delattr__"}
        and not any("InitVar" in str(one) for one in annotated)
    )


def _make_frozen(kind: type, *, slots: bool, eq: bool, kw_only: bool) -> type:
    """What the standard library makes of a frozen dataclass, with one method compiled instead of six."""
    own = kind.__dict__
    if own.get("__doc__") is None:
        kind.__doc__ = kind.__name__  # the standard library would look for a signature
    bare = {"init": False, "repr": False, "eq": False, "slots": slots, "kw_only": kw_only}
    made: Any = dataclasses.dataclass(kind, **bare)
    fields = dataclasses.fields(made)
    params = made.__dataclass_params__
    params.frozen, params.init, params.repr, params.eq = True, True, True, eq
    made.__init__ = _constructor(made, fields, slots=slots)
    made.__setattr__, made.__delattr__ = _refuse_value, _refuse_end
    if "__repr__" not in own:
        made.__repr__ = _shown
    if eq:
        key = _key([one.name for one in fields if one.compare])
        hashed = [one.name for one in fields if (one.compare if one.hash is None else one.hash)]
        if "__eq__" not in own:
            made.__eq__ = _equality(key)
        if own.get("__hash__") is None:
            made.__hash__ = _hash(_key(hashed))
    if slots and "__getstate__" not in own:
        made.__getstate__, made.__setstate__ = _state, _set_state
    return made  # type: ignore[no-any-return]


def _constructor(
    made: Any, fields: Sequence[dataclasses.Field[Any]], *, slots: bool
) -> Callable[..., None]:
    """``__init__`` of a class: sets every field, then calls ``__post_init__`` if there is one."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_made": _Absent.FACTORY}
    parameters, keywords, body = ["self"], ["*"], list[str]()
    for one in fields:
        name, default, factory = one.name, f"_default_{one.name}", f"_make_{one.name}"
        names[default], names[factory] = one.default, one.default_factory
        value, taken = name, keywords if one.kw_only else parameters
        if one.default_factory is not MISSING:
            value = f"{factory}() if {name} is _made else {name}" if one.init else f"{factory}()"
            taken += [f"{name}=_made"] if one.init else []
        elif one.init:
            taken.append(name if one.default is MISSING else f"{name}={default}")
        elif slots and one.default is not MISSING:
            value = default
        else:
            continue  # nothing to set: the class has the default, or the class sets it itself
        body.append(_setting(made, name, value, names))
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    parameters += keywords if len(keywords) > 1 else []
    code = f"def __init__({', '.join(parameters)}):\n    " + "\n    ".join(body or ["pass"])
    exec(code, names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__, init.__module__ = f"{made.__qualname__}.__init__", made.__module__
    init.__annotations__ = {one.name: one.type for one in fields if one.init} | {"return": None}
    return init


def _setting(made: Any, name: str, value: str, names: dict[str, Any]) -> str:
    """Return the line that sets a field; the setter of a slot takes half as long as looking for it each time."""
    slot = getattr(made, name, None)
    if type(slot) is not MemberDescriptorType:
        return f"_set(self, {name!r}, {value})"
    names[f"_set_{name}"] = slot.__set__
    return f"_set_{name}(self, {value})"


def _key(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the fields of an object as a tuple."""
    if not names:
        return lambda _: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda one: (get(one),)


def _equality(key: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: Any) -> bool:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(key: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(key(self))

    return __hash__


def _is_field(self: Any, name: str) -> bool:
    """Whether a name may not be set: a subclass that is no dataclass has its own attributes."""
    kind = type(self)
    return "__dataclass_fields__" in kind.__dict__ or name in kind.__dataclass_fields__


def _refuse_value(self: Any, name: str, value: Any) -> None:
    if _is_field(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_end(self: Any, name: str) -> None:
    if _is_field(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


@recursive_repr()
def _shown(self: Any) -> str:
    shown = [one.name for one in dataclasses.fields(self) if one.repr]
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{self.__class__.__qualname__}({values})"


@cache
def _held(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Names of the fields of a class, and what takes them of an object."""
    names = tuple(one.name for one in dataclasses.fields(kind))
    return names, _key(names)


def _state(self: Any) -> list[Any]:
    kind: Any = type(self)
    return [*_held(kind)[1](self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    kind: Any = type(self)
    for name, value in zip(_held(kind)[0], state, strict=True):
        object.__setattr__(self, name, value)
