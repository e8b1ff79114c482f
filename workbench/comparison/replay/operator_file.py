"""One operator alone, as a folder: its tensors as npy files, what it computes as JSON.

``operator.json`` (schema ``workbench.operator/1``) holds the kernels: ``own`` as the target's graph has it, and
``golden`` where the golden's settings differ. A kernel is a list of operators of the table; their operands are
an input of the case, an output of an operator before, or a constant. Formats that npy files do not know lie
in them as float32, which holds all of their values; ``dtypes`` names them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.replay.kernel import Computation, cast_like
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import FormatError, GraphError
from workbench.core.files import file_content
from workbench.core.text import NOT_FINITE, json_number
from workbench.graph.graph import Bundle, Const, Kernel, Op, Param, Value
from workbench.ops import written

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.graph.graph import Operand

    Array = NDArray[Any]

SCHEMA = "workbench.operator/1"
MAX_BYTES = 1 << 24
"""Largest ``operator.json`` that is read."""

MAX_TEXT = 4096
_DEEPEST = 8


@dataclass(frozen=True)
class OperatorFile:
    """An operator with what it read and gave.

    ``kernels`` are by whose settings they have, ``inputs`` the flat inputs by number, ``given`` the outputs
    by name: ``output.N``, or ``input.N.after`` for an input that the operator overwrites.
    """

    kernels: Mapping[str, Kernel]
    inputs: Mapping[int, Array]
    given: Mapping[str, Array]
    about: Mapping[str, Any] = field(default_factory=dict)

    def reference(self, settings: str = "own") -> dict[str, Array]:
        """Return what it should have given: computed in float64, rounded once to the dtype of what it gave."""
        one = Computation(self.kernels[settings], self.inputs)
        slots = [*range(len(one.kernel.results))]
        if len(one.kernel.ops) == 1 and any(name.endswith(".after") for name in self.given):
            slots += [-1 - slot for slot in written(one.kernel.ops[0])]
        found = {given_name(slot): array for slot, array in one.computed(slots).items()}
        return {
            name: cast_like(found[name], given)
            for name, given in self.given.items()
            if name in found
        }


def given_name(slot: int) -> str:
    """Name of a slot of `workbench.comparison.replay.attempt.Attempt`."""
    return f"output.{slot}" if slot >= 0 else f"input.{-1 - slot}.after"


def kernel_data(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as JSON values; raises GraphError for an operand that has none."""
    ops = [
        {
            "op_type": op.op_type,
            "attributes": {k: _plain(v) for k, v in _attributes(op).items() if _is_plain(v)},
            "inputs": [_operand(operand) for operand in op.inputs],
        }
        for op in kernel.ops
    ]
    return {"ops": ops, "results": [[value.op, value.slot] for value in kernel.results]}


def _attributes(op: Op) -> Mapping[str, Any]:
    """Attributes without what GE notes beside them and without its private ones."""
    fields = getattr(op.attrs, "fields", None)
    found = fields.get("attr", {}) if isinstance(fields, Mapping) else op.attrs
    return {str(name): value for name, value in found.items() if not str(name).startswith("_")}


def _is_plain(value: object, depth: int = 0) -> bool:
    if isinstance(value, list | tuple):
        return depth < _DEEPEST and all(_is_plain(item, depth + 1) for item in value)
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    return value is None or isinstance(value, bool | int | float | np.bool_ | np.number)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": json_number(value)}
    return value


def _operand(operand: Operand) -> dict[str, Any]:
    if isinstance(operand, Param):
        return {"input": operand.index}
    if isinstance(operand, Value):
        return {"result": [operand.op, operand.slot]}
    if isinstance(operand, Bundle):
        return {"tuple": [_operand(item) for item in operand.items], "unfold": operand.flatten}
    if isinstance(operand, Const) and _is_plain(operand.value):
        shape = None if operand.shape is None else list(operand.shape)
        return {"constant": _plain(operand.value), "dtype": operand.dtype, "shape": shape}
    raise GraphError("compare/operand", got=type(operand).__name__)


def npy_array(array: Array) -> tuple[Array, str]:
    """Return an array as an npy file can hold it, and the name of its format."""
    name = array.dtype.name
    if array.dtype.kind in "biufc" and array.dtype.isbuiltin == 1:
        return np.ascontiguousarray(array).reshape(array.shape), name
    return array.astype(np.float32), name


def read_case(folder: str | Path) -> OperatorFile:
    """Read a folder that `workbench.views.extract.extract_operator` wrote, or one changed by hand.

    Raises FormatError with file and key for what is no case.
    """
    root = Path(folder)
    path = root / "operator.json"
    text = file_content(path, MAX_BYTES, "operator")
    try:
        data = json.loads(text)
        _check_schema(data["schema"])
        kernels = {name: _read_kernel(data["kernels"][name]) for name in data["kernels"]}
        dtypes = {str(name): str(word) for name, word in data["dtypes"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, KeyError):
            raise FormatError("compare/operator-key", place=str(path), key=error) from error
        raise FormatError("compare/operator-json", place=str(path), why=error) from error
    except FormatError as error:
        raise error.at(str(path)) from error
    arrays = {name: _load(root, name, word) for name, word in dtypes.items()}
    inputs = {
        int(name.removeprefix("input.")): array
        for name, array in arrays.items()
        if name.removeprefix("input.").isdecimal()
    }
    given = {
        name: array
        for name, array in arrays.items()
        if name.startswith("output.") or name.endswith(".after")
    }
    return OperatorFile(kernels, inputs, given, data)


def _check_schema(found: object) -> None:
    if found != SCHEMA:
        raise FormatError("core/choice", subject="schema", got=found, known=[SCHEMA])


def _load(root: Path, name: str, word: str) -> Array:
    if not all(part.isalnum() for part in name.split(".")):
        raise FormatError("compare/operator-dtypes", place=f"{root}/operator.json", got=name)
    path = root / f"{name}.npy"
    try:
        array: Array = np.load(path, allow_pickle=False)
        return array.astype(dtype_row(word).storage, copy=False)
    except (OSError, ValueError, EOFError) as error:
        raise FormatError("compare/operator-npy", place=str(path), why=error) from error


def _read_kernel(data: Any) -> Kernel:
    ops = tuple(
        Op(
            str(one["op_type"]),
            str(one["op_type"]),
            tuple(_read_operand(operand) for operand in one["inputs"]),
            {str(k): _value(v) for k, v in one["attributes"].items()},
        )
        for one in data["ops"]
    )
    results = tuple(Value(int(op), int(slot)) for op, slot in data["results"])
    if not all(0 <= value.op < len(ops) for value in results):
        raise FormatError("compare/operator-results", got=data["results"], ops=len(ops))
    return Kernel(ops, results)


def _read_operand(data: Any) -> Operand:
    if "input" in data:
        return Param(int(data["input"]))
    if "result" in data:
        op, slot = data["result"]
        return Value(int(op), int(slot))
    if "tuple" in data:
        return Bundle(tuple(_read_operand(item) for item in data["tuple"]), bool(data["unfold"]))
    shape = None if data["shape"] is None else tuple(map(int, data["shape"]))
    return Const(_value(data["constant"]), str(data["dtype"]), shape)


def _value(data: Any) -> Any:
    """Return a value as graphs hold it: sequences are tuples."""
    if isinstance(data, list):
        return tuple(_value(item) for item in data)
    return NOT_FINITE[data["number"]] if isinstance(data, dict) else data
