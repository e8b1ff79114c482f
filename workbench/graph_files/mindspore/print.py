"""The small languages inside an IR line, printed: constants, attributes, types, source locations.

The counterpart of `workbench.graph_files.mindspore.values`. MindSpore prints floats with six digits; here a float
has as many as it takes to read the same number back.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES, mindspore_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Const, SourceFrame

_PLAIN = re.compile(r"[A-Za-z_][\w.]*")
_READ_AS_VALUES = frozenset(("true", "false", "None", "inf", "nan"))


def format_number(value: Any) -> str:
    """Shortest text of a number that reads back as the same number.

    >>> format_number(1.0), format_number(1e-5), format_number(True), format_number(0.1 + 0.2)
    ('1', '1e-05', '1', '0.30000000000000004')
    """
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return str(int(value))
    short = f"{float(value):.6g}"
    return short if float(short) == float(value) else repr(float(value))


def format_const(const: Const) -> str:
    """Text of a constant operand."""
    value = const.value
    if const.dtype == "monad":
        return str(value)
    if const.shape is not None and const.dtype in DTYPES:
        scalar = DTYPES[const.dtype].scalar
        if const.shape == () and scalar and not isinstance(value, str):
            return f"{scalar}({format_number(value)})"
        dims = ", ".join(str(dim) for dim in const.shape)
        text = _tensor_text(value, const.shape)
        return f"Tensor(shape=[{dims}], dtype={mindspore_word(const.dtype)}, value={text})"
    return _plain_const(value)


def _plain_const(value: Any) -> str:
    """Text of an operand without a dtype of its own, and of items of a tuple."""
    if isinstance(value, tuple | list):
        return f"({', '.join(_item(item) for item in value)})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return format_number(value)
    return format_attr(value)


def _item(value: Any) -> str:
    return _plain_const(value) if isinstance(value, tuple | list) else format_attr(value)


def _tensor_text(value: Any, shape: tuple[int, ...]) -> str:
    """Elements as MindSpore prints them: from two dimensions on behind a line break."""
    if isinstance(value, str):
        return value
    if shape == ():
        return format_number(value)
    array = np.empty(int(np.prod(shape)), object)
    array[:] = list(np.ravel(np.asarray(value, object)))
    text = _rows(array.reshape(shape), 1)
    return f"\n{text}" if len(shape) > 1 else text


def _rows(array: np.ndarray[Any, Any], indent: int) -> str:
    if array.ndim == 1:
        return f"[{' '.join(format_number(item) for item in array)}]"
    joint = "\n" * (array.ndim - 1) + " " * indent
    return f"[{joint.join(_rows(row, indent + 1) for row in array)}]"


def format_attr(value: Any) -> str:
    """Text of an attribute's value.

    >>> format_attr(3), format_attr("same"), format_attr((1, 1)), format_attr(("x", "w"))
    ('I64(3)', '"same"', '(1, 1)', '[x, w]')
    """
    if value is None:
        return "None"
    if isinstance(value, bool | np.bool_):
        return f"Bool({int(value)})"
    if isinstance(value, int | np.integer):
        return f"I64({int(value)})"
    if isinstance(value, float | np.floating):
        return f"F32({format_number(value)})"
    if isinstance(value, tuple | list):
        return _sequence(value)
    return f'"{value}"' if '"' not in str(value) else str(value)


def _sequence(values: Sequence[Any]) -> str:
    words = values and all(isinstance(item, str) for item in values)
    inner = ", ".join(_element(item) for item in values)
    return f"[{inner}]" if words else f"({inner})"


def _element(value: Any) -> str:
    """Item of a tuple inside an attribute, where numbers and words stand bare."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | np.number):
        return format_number(value)
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _READ_AS_VALUES:
        return value
    return format_attr(value)


def format_attrs(attrs: Mapping[str, Any]) -> str:
    """Text between the braces of an attribute group."""
    return ", ".join(f"{key}: {format_attr(value)}" for key, value in attrs.items())


def is_tensor(spec: TensorSpec) -> bool:
    """Whether a spec is that of a tensor, not of a monad, function or string."""
    return spec.dtype in DTYPES or spec.shape != ()


def host_type(spec: TensorSpec, *, scalar: bool = False, flags: str = "") -> str:
    """Host type of one value, ``<Tensor[Float32], (2, 3)>``; ``flags`` follow the shape."""
    kind, shape = _host_parts(spec, scalar=scalar)
    return f"<{kind}, {shape}{flags}>"


def ref_type(spec: TensorSpec, key: str) -> str:
    """Host type of a weight."""
    shape = _shape(spec.shape)
    return f"<Ref[Tensor[{mindspore_word(spec.dtype)}]], {shape}, ref_key={key}, is_parameter>"


def tuple_type(specs: Iterable[tuple[TensorSpec, bool]]) -> str:
    """Host type of a tuple; each item is a spec and whether it is a scalar."""
    parts = [_host_parts(spec, scalar=scalar) for spec, scalar in specs]
    kinds = []
    for kind, group in groupby(kind for kind, _ in parts):
        count = len(list(group))
        kinds.append(kind if count == 1 else f"{kind}*{count}")
    shapes = ", ".join(shape for _, shape in parts)
    return f"<Tuple[{','.join(kinds)}], TupleShape({shapes})>"


def _host_parts(spec: TensorSpec, *, scalar: bool) -> tuple[str, str]:
    word = mindspore_word(spec.dtype)
    if scalar or not is_tensor(spec):
        return word, "NoShape"
    return f"Tensor[{word}]", _shape(spec.shape)


def _shape(shape: tuple[int, ...] | None) -> str:
    return "(-2)" if shape is None else f"({', '.join(str(dim) for dim in shape)})"


def device_type(spec: TensorSpec) -> str:
    """Device type, ``<Float16xNC1HWC0[const vector]{2, 1, 8, 8, 16}>``."""
    form = f"x{spec.format}" if spec.format else ""
    if spec.shape is None:
        return f"<{mindspore_word(spec.dtype)}{form}>"
    dims = ", ".join(str(dim) for dim in spec.shape)
    return f"<{mindspore_word(spec.dtype)}{form}[const vector]{{{dims}}}>"


def location(frame: SourceFrame) -> str:
    """Return ``In file f.py:13~14, 4~16/code/``."""
    end = f"~{frame.line_end}" if frame.line_end else ""
    columns = f", {frame.column}~{frame.column_end}" if frame.column or frame.column_end else ""
    code = frame.code.replace("\r", "/").replace("\n", "/")
    return f"In file {frame.file}:{frame.line}{end}{columns}/" + (f"{code}/" if code else "")
