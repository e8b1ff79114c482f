"""MindSpore's own words for number formats: one row each.

``Tensor[Float32]`` in IR files and ``.Float32.npy`` in file names written by a CPU use the word;
Ascend and GPU write it in lower case. `workbench.core.dtypes.dtype_name` reads every spelling.
"""

from __future__ import annotations

TYPE_WORDS: dict[str, str] = {
    "bool": "Bool",
    "int4": "Int4",
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "uint8": "UInt8",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float16": "Float16",
    "float32": "Float32",
    "float64": "Float64",
    "bfloat16": "BFloat16",
    "complex64": "Complex64",
    "complex128": "Complex128",
    "float8_e5m2": "Float8E5M2",
    "float8_e4m3fn": "Float8E4M3FN",
}
"""Canonical name → MindSpore's word."""


def type_word(dtype: str) -> str:
    """MindSpore's word for a dtype; a word that is no known format stays as it is.

    >>> type_word("bfloat16"), type_word("String")
    ('BFloat16', 'String')
    """
    return TYPE_WORDS.get(dtype, dtype)
