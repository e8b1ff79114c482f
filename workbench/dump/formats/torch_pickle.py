"""The pickle inside a file of ``torch.save``: which tensors it describes, found without running anything.

`read_pickle` is the standard library's unpickler with the opcodes that tensors are made of, and no others, and makes
descriptions of them. No name is imported: `_NAMES` and `_CALLS` are all that a pickle can mean here, and whatever
else it holds is refused with its byte. It is the unpickler in Python: nine bytes make that in C take 256 MiB.
Sources: torch ``_utils.py``, ``serialization.py`` and ``pickler.cpp`` (what ``torch_npu.save_npugraph_tensor``
writes), torch_npu ``storage.py``.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.dtypes import names_by
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PICKLE = 1 << 17
"""Bytes of a pickle that is read: a thousand tensors, and a tenth of a second whatever they are."""

_MAX_DIMS = 32
_LARGEST = 1 << 62


class Saved(NamedTuple):
    """A tensor: its number format, the entry of its storage, and which elements of it are its own.

    ``offset`` and ``strides`` count elements.
    """

    dtype: str
    key: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Storage(NamedTuple):
    dtype: str
    key: str


class _Name(NamedTuple):
    """A class or function of torch; ``value`` is the number format that it stands for."""

    text: str
    value: str = ""


class PickleError(FormatError):
    """Why a pickle is not read, and the byte of it."""

    byte = 0


_NAMES: dict[str, _Name] = {
    **{
        f"torch {word}": _Name("storage" if word.endswith("Storage") else "dtype", name)
        for word, name in names_by("torch").items()
    },
    "torch UntypedStorage": _Name("storage"),
    "torch.storage UntypedStorage": _Name("storage"),
    "collections OrderedDict": _Name("empty"),
    "torch Size": _Name("size"),
    "torch._utils _rebuild_tensor_v2": _Name("tensor"),
    "torch._utils _rebuild_tensor_v3": _Name("typed tensor"),
    "torch._utils _rebuild_parameter": _Name("parameter"),
    "torch.jit._pickle build_tensorlist": _Name("list"),
    "torch_npu.utils.storage _rebuild_npu_tensor": _Name("npu tensor"),
    "torch_npu.npu._format Format": _Name("npu format"),
}
"""Every name that a pickle may say, as ``module name``; the number format of an untyped storage stands beside it."""


@lru_cache(maxsize=1024)
def read_pickle(data: bytes) -> tuple[Saved, ...]:
    """Return the tensor or the tensors of a list that a pickle describes.

    Raises PickleError for everything else. Files of tensors of one type and shape hold the
    same pickle, so that it is read once for all of them.
    """
    if len(data) > MAX_PICKLE:
        raise PickleError("core/too-large", subject="pickle", got=len(data), limit=MAX_PICKLE)
    file = io.BytesIO(data)
    try:
        return _tensors(_Unpickler(file).load())
    except PickleError as error:
        error.byte = _place(data, file.tell())
        raise
    except _BROKEN as error:
        wrong = PickleError("dump/pickle", why=str(error))
        wrong.byte = _place(data, file.tell())
        raise wrong from error


def _place(data: bytes, read: int) -> int:
    """Byte of the last opcode that begins in the first ``read`` bytes, as far as opcodes can be told there."""
    at = 0
    with suppress(ValueError):  # an argument that is none
        for _, _, place in pickletools.genops(data):
            if place is None or place >= read:
                break
            at = place
    return at


def _tensors(result: Any) -> tuple[Saved, ...]:
    if isinstance(result, Saved):
        return (result,)
    if isinstance(result, list | tuple) and all(isinstance(one, Saved) for one in result):
        return tuple(result)
    if isinstance(result, dict):
        raise PickleError("dump/pickle-dictionary")
    raise PickleError(
        "dump/pickle-others" if isinstance(result, list | tuple) else "dump/pickle-no-tensor"
    )


def _tensor(arguments: tuple[Any, ...], dtype: str = "") -> Saved:
    """A tensor of ``(storage, offset, size, stride, requires_grad, hooks[, metadata])``."""
    storage, offset, shape, strides, _, _, *more = arguments
    if len(more) > 1 or (more and more[0]):
        raise PickleError("dump/pickle-lazy")
    if not isinstance(storage, _Storage) or not (dtype or storage.dtype):
        raise PickleError("dump/pickle-dtype")
    numbers = (offset, *shape, *strides)
    sound = all(type(number) is int and 0 <= number < _LARGEST for number in numbers)
    if not sound or len(shape) != len(strides) or len(shape) > _MAX_DIMS:
        raise PickleError("dump/pickle-strides", limit=_MAX_DIMS)
    return Saved(dtype or storage.dtype, storage.key, offset, tuple(shape), tuple(strides))


def _typed_tensor(arguments: tuple[Any, ...]) -> Saved:
    """A tensor that states its type behind the hooks."""
    *first, kind = arguments[:7]
    if not isinstance(kind, _Name) or kind.text != "dtype":
        raise PickleError("dump/pickle-dtype")
    return _tensor((*first, *arguments[7:]), kind.value)


def _parameter(arguments: tuple[Any, ...]) -> Saved:
    if not arguments or not isinstance(arguments[0], Saved):
        raise PickleError("dump/pickle-parameter")
    return arguments[0]


def _only(arguments: tuple[Any, ...]) -> Any:
    (value,) = arguments
    return value


_CALLS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "empty": lambda _: {},
    "size": _only,
    "list": _only,
    "tensor": _tensor,
    "typed tensor": _typed_tensor,
    "npu tensor": lambda arguments: _tensor(arguments[:6]),
    "npu format": _only,
    "parameter": _parameter,
}
"""What a name makes of its arguments."""

_OPCODES = (
    "PROTO", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BININT", "BININT1", "BININT2", "LONG1", "NEWTRUE",
    "NEWFALSE", "NONE", "MARK", "EMPTY_TUPLE", "EMPTY_LIST", "EMPTY_DICT", "GLOBAL", "STACK_GLOBAL", "BINGET",
    "LONG_BINGET", "BINPUT", "LONG_BINPUT", "MEMOIZE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "APPEND", "APPENDS",
    "BINPERSID",
)  # fmt: skip
"""Opcodes that are followed as the standard library follows them."""

_BROKEN = (
    pickle.UnpicklingError, struct.error, ValueError, LookupError, TypeError, AttributeError, EOFError,
)  # fmt: skip
"""What the standard library raises at a pickle that is none."""


class _Opcodes(dict[int, Any]):
    """Opcodes that may be followed."""

    def __missing__(self, code: int) -> Any:
        names = {ord(one.code): one.name for one in pickletools.opcodes}
        raise PickleError("dump/pickle-opcode", got=names.get(code, f"{code:#04x}"))


class _Unpickler(pickle._Unpickler):
    """The standard library's unpickler; it imports nothing, and calls functions of `_CALLS` alone."""

    stack: list[Any]
    metastack: list[list[Any]]
    read: Callable[[int], bytes]
    pop_mark: Callable[[], list[Any]]
    load_stop: Callable[[], None]
    dispatch = _Opcodes(
        {
            code: pickle._Unpickler.dispatch[code]
            for (code,) in (getattr(pickle, name) for name in _OPCODES)
        }
    )

    def find_class(self, module: str, name: str) -> _Name:
        text = f"{module} {name}"
        if text not in _NAMES:
            raise PickleError("dump/pickle-name", got=text[:80])
        return _NAMES[text]

    def persistent_load(self, found: Any) -> _Storage:
        if type(found) is not tuple or len(found) != 5 or found[0] != "storage":
            raise PickleError("dump/pickle-persistent")
        _, kind, key, _, _ = found
        if not isinstance(kind, _Name) or kind.text != "storage" or not isinstance(key, str):
            raise PickleError("dump/pickle-storage")
        return _Storage(kind.value, key)

    def _frame(self) -> None:
        """Read on: what a frame holds follows it."""
        self.read(8)

    def _set_item(self) -> None:
        del self.stack[-2:]
        self._fill()

    def _set_items(self) -> None:
        self.pop_mark()
        self._fill()

    def _fill(self) -> None:
        """Remember that a dictionary is not empty; what is in it means nothing here, and no key is hashed."""
        if type(self.stack[-1]) is not dict:
            raise PickleError("dump/pickle-items")
        self.stack[-1][0] = None

    def _reduce(self) -> None:
        arguments, name = self.stack.pop(), self.stack.pop()
        act = _CALLS.get(name.text) if isinstance(name, _Name) else None
        if act is None or type(arguments) is not tuple:
            raise PickleError("dump/pickle-call")
        self.stack.append(act(arguments))

    def _stop(self) -> None:
        if len(self.stack) != 1 or self.metastack:
            raise PickleError("dump/pickle-no-tensor")
        self.load_stop()

    dispatch.update(
        {
            pickle.FRAME[0]: _frame,
            pickle.SETITEM[0]: _set_item,
            pickle.SETITEMS[0]: _set_items,
            pickle.REDUCE[0]: _reduce,
            pickle.STOP[0]: _stop,
        }
    )
