"""The pickle inside a file of ``torch.save``: which tensors it describes, found without running anything.

`read_pickle` follows the opcodes that tensors are made of, with the standard library's own decoder, and makes
descriptions of them. No name is imported and nothing is called: `_CALLS` and `_NAMES` are all that a pickle can
mean here, and whatever else it holds is refused with its byte. Sources: torch ``_utils.py``, ``serialization.py``
and ``pickler.cpp`` (what ``torch_npu.save_npugraph_tensor`` writes), torch_npu ``storage.py``.
"""

from __future__ import annotations

import pickletools
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

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


_MARK = object()

_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "",
}
"""Class of a storage → its number format; that of an untyped one stands beside it."""

_DTYPES = {
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "float8_e8m0fnu": "float8_e8m0",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "complex32": "complex32",
}
"""Number formats without a storage class of their own."""

_NAMES: dict[str, _Name] = {
    **{f"torch {name}": _Name("storage", dtype) for name, dtype in _STORAGES.items()},
    "torch.storage UntypedStorage": _Name("storage"),
    **{f"torch {name}": _Name("dtype", dtype) for name, dtype in _DTYPES.items()},
    "collections OrderedDict": _Name("empty"),
    "torch Size": _Name("size"),
    "torch._utils _rebuild_tensor_v2": _Name("tensor"),
    "torch._utils _rebuild_tensor_v3": _Name("typed tensor"),
    "torch._utils _rebuild_parameter": _Name("parameter"),
    "torch.jit._pickle build_tensorlist": _Name("list"),
    "torch_npu.utils.storage _rebuild_npu_tensor": _Name("npu tensor"),
    "torch_npu.npu._format Format": _Name("npu format"),
}
"""Every name that a pickle may say, as ``module name``."""


@lru_cache(maxsize=1024)
def read_pickle(data: bytes) -> tuple[Saved, ...]:
    """Return the tensor or the tensors of a list that a pickle describes.

    Raises PickleError for everything else. Files of tensors of one type and shape hold the
    same pickle, so that it is read once for all of them.
    """
    machine, at = _Machine(), 0
    if len(data) > MAX_PICKLE:
        raise PickleError("core/too-large", subject="pickle", got=len(data), limit=MAX_PICKLE)
    try:
        for opcode, argument, place in pickletools.genops(data):
            at = place or 0
            machine.step(opcode.name, argument)
        return _tensors(machine.stack)
    except PickleError as error:
        error.byte = at
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        wrong = PickleError("dump/pickle", why=str(error))
        wrong.byte = at
        raise wrong from error


def _tensors(stack: list[Any]) -> tuple[Saved, ...]:
    result = stack[-1] if len(stack) == 1 else None
    if isinstance(result, Saved):
        return (result,)
    if isinstance(result, list | tuple) and all(isinstance(one, Saved) for one in result):
        return tuple(result)
    if isinstance(result, dict):
        raise PickleError("dump/pickle-dictionary")
    raise PickleError(
        "dump/pickle-others" if isinstance(result, list | tuple) else "dump/pickle-no-tensor"
    )


class _Machine:
    """Stack and memory of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        """Follow one opcode."""
        if name in _PUSHES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _ACTS:
            _ACTS[name](self, argument)
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise PickleError("dump/pickle-opcode", got=name)

    def marked(self) -> list[Any]:
        """Take everything above the last mark."""
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise PickleError("dump/pickle-mark")
        taken = self.stack[at + 1 :]
        del self.stack[at:]
        return taken

    def named(self, text: str) -> None:
        if text not in _NAMES:
            raise PickleError("dump/pickle-name", got=text[:80])
        self.stack.append(_NAMES[text])

    def stack_named(self, _: object) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.named(f"{module} {name}")

    def get(self, number: int) -> None:
        self.stack.append(self.memory[number])

    def put(self, number: int | None) -> None:
        self.memory[len(self.memory) if number is None else number] = self.stack[-1]

    def tuple_of(self, count: int) -> None:
        taken = tuple(self.stack[-count:])
        if len(taken) < count:
            raise PickleError("dump/pickle-tuple", needed=count, held=len(taken))
        self.stack[-count:] = [taken]

    def appends(self, values: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise PickleError("dump/pickle-append")
        self.stack[-1].extend(values)

    def set_items(self, values: list[Any]) -> None:
        """Remember that a dictionary is not empty; what is in it means nothing here."""
        if type(self.stack[-1]) is not dict:
            raise PickleError("dump/pickle-items")
        self.stack[-1][len(self.stack[-1])] = len(values)

    def persistent(self, _: object) -> None:
        found = self.stack.pop()
        if type(found) is not tuple or len(found) != 5 or found[0] != "storage":
            raise PickleError("dump/pickle-persistent")
        _, kind, key, _, _ = found
        if not isinstance(kind, _Name) or kind.text != "storage" or not isinstance(key, str):
            raise PickleError("dump/pickle-storage")
        self.stack.append(_Storage(kind.value, key))

    def reduce(self, _: object) -> None:
        arguments, name = self.stack.pop(), self.stack.pop()
        act = _CALLS.get(name.text) if isinstance(name, _Name) else None
        if act is None or type(arguments) is not tuple:
            raise PickleError("dump/pickle-call")
        self.stack.append(act(arguments))


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

_PUSHES = frozenset(
    ["BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BININT", "BININT1", "BININT2", "LONG1"]
)
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "NONE": lambda: None,
    "MARK": lambda: _MARK,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}
_ACTS: dict[str, Callable[[_Machine, Any], None]] = {
    "GLOBAL": _Machine.named,
    "STACK_GLOBAL": _Machine.stack_named,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": lambda machine, _: machine.put(None),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.marked())),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "APPEND": lambda machine, _: machine.appends([machine.stack.pop()]),
    "APPENDS": lambda machine, _: machine.appends(machine.marked()),
    "SETITEM": lambda machine, _: machine.set_items([machine.stack.pop(), machine.stack.pop()]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.marked()),
    "BINPERSID": _Machine.persistent,
    "REDUCE": _Machine.reduce,
}
"""Opcodes that do more than push a value."""
