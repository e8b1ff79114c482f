"""A result as parquet, and back: the rows as columns, everything else as JSON in the file's metadata.

A row of the file is a row of the result; a tensor alone is one too. What a column holds, and its unit, stand in its
metadata. The rest of the result is the text of `workbench.show.json_result` without its operators, under METADATA.

pyarrow can crash on a damaged file. So a file states its own SHA-256, and pyarrow sees no other.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from workbench._values import NamedTuple
from workbench.comparison.columns import MAYBE, TEXT
from workbench.comparison.measure.metrics import METRICS, ON_DEMAND
from workbench.comparison.result import Row, Status
from workbench.comparison.rows import ROWS, Rows
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import file_content
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import SourceFrame
from workbench.show.columns import shown_statuses
from workbench.show.json_result import from_json, without_operators
from workbench.show.words import UNMATCHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from workbench.comparison.result import Result

METADATA = b"workbench.comparison"
"""Key of the file's metadata under which everything but the rows stands."""

_DIGEST = b"workbench.sha256"
_UNSIGNED = b"0" * 64
_STATED = _DIGEST + b"\x18\x40"
"""What stands before the digest in the file's footer: its key, and type and length of its value."""

MAX_BYTES = 1 << 30
"""Most bytes that a file and its columns when unpacked may take, and most values that these may have."""

MAX_ROWS = 10_000_000
"""Most rows that are read."""


class FileColumn(NamedTuple):
    """A column of the file: the attribute of rows that it holds, or a ``field`` of it, as what, and what that means."""

    name: str
    attribute: str
    field: str
    kind: Literal["text", "int64", "float64", "shape"]
    title: str
    unit: str
    meaning: str


_KINDS: dict[str, Literal["text", "int64", "float64"]] = {
    TEXT: "text", MAYBE: "float64", "i8": "int64", "f8": "float64",
}  # fmt: skip
"""Format of a column of rows → kind of the file's column."""

_PARTS: dict[str, tuple[FileColumn, ...]] = {
    "source": (
        FileColumn("source_file", "source", "file", "text", "SourceFile", "",
                   "file of the network's source; null: unknown"),
        FileColumn("source_line", "source", "line", "int64", "SourceLine", "", "line in it, from 1 on"),
        FileColumn("source_code", "source", "code", "text", "SourceCode", "", "text of that line"),
    ),
    **{
        f"{side}_spec": (
            FileColumn(f"{side}_dtype", f"{side}_spec", "dtype", "text", f"{title}DataType", "",
                       f"dtype of the {side}'s tensor; null: it has none"),
            FileColumn(f"{side}_shape", f"{side}_spec", "shape", "shape", f"{title}Shape", "",
                       f"shape of the {side}'s tensor; null: unknown"),
            FileColumn(f"{side}_format", f"{side}_spec", "format", "text", f"{title}Format", "",
                       f"format of the {side}'s tensor"),
        )
        for side, title in (("target", ""), ("golden", "GroundTruth"))
    },
}  # fmt: skip
"""Attribute of rows → the columns of the file that say it together."""

_MADE: dict[str, Callable[..., object]] = {
    "source": SourceFrame,
    "target_spec": TensorSpec,
    "golden_spec": TensorSpec,
}

_KEPT = tuple(one for one in ROWS.columns if one.name not in ("titles", "first"))

COLUMNS: tuple[FileColumn, ...] = tuple(
    part
    for one in _KEPT
    for part in _PARTS.get(one.name)
    or (FileColumn(one.name, one.name, "", _KINDS[one.format], one.title, one.unit, one.meaning),)
)
"""Columns of the file before those of metrics."""

_METRIC = "metric."
"""What names of metrics begin with, so that no figure has the name of another column."""


def load_pyarrow() -> Any:
    """Return pyarrow with its parquet module; raises WorkbenchError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise WorkbenchError("session/pyarrow") from None
    return pyarrow


# --- writing -----------------------------------------------------------------------------------


def to_parquet(result: Result, more: Mapping[bytes, bytes] | None = None) -> bytes:
    """Return a result as a file of parquet; raises WorkbenchError without pyarrow.

    ``more`` stands in its metadata, too (`read_about`).
    """
    pa = load_pyarrow()
    rows = result.columns
    columns = [*_columns(pa, rows), *_metrics(pa, rows)]
    rest = json.dumps(without_operators(result), allow_nan=False)
    about = {METADATA: rest.encode(), **(more or {}), _DIGEST: _UNSIGNED}
    schema = pa.schema([field for field, _ in columns], about)
    table = pa.Table.from_arrays([array for _, array in columns], schema=schema)
    out = pa.BufferOutputStream()
    pa.parquet.write_table(table, out, compression="zstd", write_page_checksum=True)
    return signed(out.getvalue().to_pybytes())


def signed(content: bytes) -> bytes:
    """Return a file of parquet with its digest in its metadata, where it says none yet or another."""
    start = content.rfind(_STATED) + len(_STATED)
    before, behind = content[:start], content[start + len(_UNSIGNED) :]
    digest = hashlib.sha256(before + _UNSIGNED + behind).hexdigest()
    return before + digest.encode() + behind


def _columns(pa: Any, rows: Rows) -> Iterator[tuple[Any, Any]]:
    for one in COLUMNS:
        if one.name == "status":
            yield _column(pa, one, shown_statuses(rows))
            continue
        make = str if one.name == "reason" else _reader(one.field) if one.field else None
        yield _column(pa, one, rows.column(one.attribute, make))


def _reader(field: str) -> Callable[[object], object]:
    return lambda held: getattr(held, field, None)


def _metrics(pa: Any, rows: Rows) -> Iterator[tuple[Any, Any]]:
    """Every metric; what was not measured is null, and NaN is NaN."""
    kinds = {id(titles): titles for titles in rows.column("titles")}.values()
    for title in rows.titles:
        known = METRICS.get(title) or ON_DEMAND.get(title)
        unit, meaning = (known.unit, str(known.formula)) if known is not None else ("", "")
        whole = all(one.is_whole(title) for one in kinds)
        name = f"{_METRIC}{title}"
        said = FileColumn(name, "", "", "int64" if whole else "float64", title, unit, meaning)
        yield _column(pa, said, rows.metric(title))


def _column(pa: Any, said: FileColumn, values: list[Any]) -> tuple[Any, Any]:
    told = {"title": said.title, "unit": said.unit, "meaning": said.meaning}
    if said.kind == "text":  # what is not valid Unicode stands there escaped, as in files of JSON
        values = [None if one is None else plain_text(one) for one in values]
    type_ = _types(pa)[said.kind]
    return pa.field(plain_text(said.name), type_, metadata=told), pa.array(values, type_)


def plain_text(text: str) -> str:
    """Return a text with what is no Unicode escaped, as it stands in files of JSON."""
    return text.encode("utf-8", "backslashreplace").decode()


def _types(pa: Any) -> dict[str, Any]:
    return {
        "text": pa.string(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "shape": pa.list_(pa.int64()),
    }


# --- reading -----------------------------------------------------------------------------------


def from_parquet(content: bytes) -> Result:
    """Read what `to_parquet` wrote; what the JSON of a result does not hold beside its rows is unknown.

    Raises FormatError if it is no such file, or damaged, and WorkbenchError without pyarrow.
    """
    pa = load_pyarrow()
    if _STATED not in content:
        raise FormatError("session/parquet-foreign")
    if signed(content) != content:
        raise FormatError("session/parquet-damaged")
    try:
        table, rest = _opened(pa, content)
        return replace(from_json(rest), rows=_rows(pa, table))
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise FormatError("session/parquet", why=str(error)[:200]) from error


def read_about(path: str | Path) -> Mapping[bytes, bytes]:
    """Read the metadata of a file that `to_parquet` wrote, without its rows.

    Raises FormatError if it is no such file, or damaged, and WorkbenchError without pyarrow.
    """
    pa, content = load_pyarrow(), file_content(path, MAX_BYTES, "result")
    if _STATED not in content:
        raise FormatError("session/parquet-foreign")
    if signed(content) != content:
        raise FormatError("session/parquet-damaged")
    try:
        schema = pa.parquet.read_schema(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise FormatError("session/parquet", why=str(error)[:200]) from error
    return dict(schema.metadata or {})


def _opened(pa: Any, content: bytes) -> tuple[Any, Any]:
    """Return the table of a file and what its metadata say; every page is checked before it is unpacked."""
    with pa.parquet.ParquetFile(
        pa.BufferReader(content),
        page_checksum_verification=True,
        read_dictionary=_TEXTS,
        thrift_string_size_limit=MAX_BYTES,
        thrift_container_size_limit=MAX_ROWS,
    ) as file:
        rest = (file.schema_arrow.metadata or {}).get(METADATA)
        if rest is None:
            raise FormatError("session/parquet-foreign")
        about = file.metadata
        chunks = [
            about.row_group(group).column(number)
            for group in range(about.num_row_groups)
            for number in range(about.num_columns)
        ]
        _within("rows", [about.num_rows], MAX_ROWS)
        _within("bytes", [one.total_uncompressed_size for one in chunks], MAX_BYTES)
        _within("values", [one.num_values for one in chunks], MAX_BYTES)
        return file.read(use_threads=False), json.loads(rest)


_TEXTS = [one.name for one in COLUMNS if one.kind == "text"]
"""Columns of texts: read as numbers of texts, so that one that repeats itself is unpacked once."""


def _within(what: str, sizes: list[int], limit: int) -> None:
    if min(sizes, default=0) < 0 or sum(sizes) > limit:
        raise FormatError("session/parquet-size", what=what, got=sum(sizes), limit=limit)


def _rows(pa: Any, table: Any) -> Rows:
    values: dict[str, list[Any]] = {}
    for one in _KEPT:
        if one.name in _LATER and one.name not in table.schema.names:
            values[one.name] = [_LATER[one.name]] * len(table)
            continue
        if (parts := _PARTS.get(one.name)) is None:
            kind, empty = _KINDS[one.format], one.format == MAYBE
            values[one.name] = _read(pa, table, one.name, kind, empty=empty)
            continue
        read = [_read(pa, table, part.name, part.kind, empty=True) for part in parts]
        values[one.name] = [*map(_joined(_MADE[one.name]), *read)]
    values["status"] = ["uncomparable" if one == UNMATCHED else one for one in values["status"]]
    for status in {*values["status"]} - {*get_args(Status)}:
        known = sorted(get_args(Status))
        raise FormatError("show/json-choice", place="status", key="status", known=known, got=status)
    values["metrics"] = _figures(pa, table)
    names = [*values]
    return Rows.of(
        Row(**dict(zip(names, row, strict=True))) for row in zip(*values.values(), strict=True)
    )


_LATER: dict[str, int | None] = {
    "envelope": None,
    "envelope_slice": None,
    "between_runs": None,
    "dont_care": 0,
}
"""Columns that earlier releases did not write, and what they hold then."""


def _joined(make: Callable[..., object]) -> Callable[..., object]:
    known: dict[tuple[object, ...], object] = {}

    def joined(first: object, second: Any, third: object) -> object:
        if first is None:
            return None
        key = (first, tuple(second) if isinstance(second, list) else second, third)
        if key not in known:
            known[key] = make(*key)
        return known[key]

    return joined


def _read(pa: Any, table: Any, name: str, kind: str, *, empty: bool) -> list[Any]:
    """Return a column; raises FormatError if it is not there, of another type, or has gaps that it may not have."""
    places = [n for n, one in enumerate(table.schema.names) if one == name]
    if len(places) != 1:
        raise FormatError("session/parquet-column", name=name, expected=kind, got=len(places))
    column, expected = table.column(places[0]), _types(pa)[kind]
    held = column.type.value_type if kind == "text" and _is_shared(pa, column) else column.type
    if held != expected:
        raise FormatError("session/parquet-column", name=name, expected=kind, got=str(column.type))
    if column.null_count and not empty:
        raise FormatError("session/parquet-column", name=name, expected=kind, got="null")
    found: list[Any] = []
    for chunk in column.chunks:
        if _is_shared(pa, column):
            texts: dict[int | None, Any] = dict(enumerate(chunk.dictionary.to_pylist()))
            found += [texts.get(number) for number in chunk.indices.to_pylist()]
        else:
            found += chunk.to_pylist()
    return found


def _is_shared(pa: Any, column: Any) -> bool:
    return bool(pa.types.is_dictionary(column.type))


def _figures(pa: Any, table: Any) -> list[Mapping[str, float]]:
    """Return the metrics of every row."""
    read = {}
    for one in table.schema:
        if one.name.startswith(_METRIC):
            kind = "int64" if one.type == pa.int64() else "float64"
            read[one.name.removeprefix(_METRIC)] = _read(pa, table, one.name, kind, empty=True)
    lines = zip(*read.values(), strict=True) if read else ((),) * len(table)
    return [
        {title: value for title, value in zip(read, line, strict=True) if value is not None}
        for line in lines
    ]
