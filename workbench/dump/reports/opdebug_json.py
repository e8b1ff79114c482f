"""Overflow records as the JSON files of MindSpore, msprobe and msaccucmp, and read from them.

Spellings: MindSpore ``ascend_dump.cc``, msprobe ``AclDumpDataProcessor.cpp``, msaccucmp
``dump_data_parser.py``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.dump.reports.opdebug import (
    ACCELERATORS,
    CLASSIC,
    CORE,
    MAGIC,
    WHO,
    Accelerator,
    OverflowRecord,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

Form = Literal["mindspore", "msprobe", "msaccucmp"]

_HEX = frozenset(("pc_start", "para_base", "kernel_code", "src_addr", "dst_addr"))
_MAX_JSON = 1 << 20


class Spelling(NamedTuple):
    """How one program spells a record as JSON."""

    indent: int | None
    sort: bool
    upper: bool


FORMS: dict[str, Spelling] = {
    "mindspore": Spelling(None, sort=True, upper=False),
    "msprobe": Spelling(None, sort=True, upper=True),
    "msaccucmp": Spelling(4, sort=False, upper=False),
}
"""Program → its spelling; the first two know the classic layout alone."""


def record_json(record: OverflowRecord, form: Form) -> str:
    """Return a record as a program spells it; only msaccucmp knows the layout with a magic number.

    msaccucmp knows one accelerator of it: the first.
    """
    indent, sort, upper = FORMS[form]
    if record.version is None:
        tree: dict[str, Any] = {one.title: _spelt(one, upper) for one in record.accelerators}
    elif form == "msaccucmp":
        one = record.accelerators[0]
        tree = {
            "magic": hex(MAGIC),
            "version": record.version,
            "acc_list": {
                "valid": one.valid, "acc_type": one.title, "rsv": one.rsv, "data_len": one.stated_length,
                "data": _spelt(one, upper),
            },
        }  # fmt: skip
    else:
        raise FormatError("dump/overflow-form", got=form)
    separators = None if indent else (",", ":")
    return json.dumps(tree, indent=indent, sort_keys=sort, separators=separators)


def _spelt(one: Accelerator, upper: bool) -> dict[str, Any]:
    digits = "X" if upper else "x"
    return {
        name: f"0x{value:{digits}}"
        if name in _HEX and isinstance(value, int)
        else list(value)
        if isinstance(value, tuple)
        else value
        for name, value in one.fields.items()
    }


def parse_json(text: str, where: str = "<json>") -> OverflowRecord:
    """Read a record from any of the three spellings; raises FormatError if it is none.

    ``block_id`` is taken for ``block_idx`` as msaccucmp's manual has it.
    """
    if len(text) > _MAX_JSON:
        raise FormatError(
            "core/too-large",
            place=where,
            subject="overflow record",
            got=len(text),
            limit=_MAX_JSON,
        )
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError("dump/json", place=where, why=str(error)) from error
    if not isinstance(tree, dict):
        raise FormatError("dump/json-object", place=where, subject="overflow record", got=text[:40])
    if "magic" in tree:
        return _magic_tree(tree, where)
    found = []
    for title, place in CLASSIC.items():
        fields = _member(tree, title, dict, where)
        if "block_id" in fields:
            fields = {"block_idx": fields["block_id"]} | fields
        names = (*WHO, *place.last)
        found.append(Accelerator(title, {name: _number(fields, name, where) for name in names}))
    return OverflowRecord(tuple(found))


def _magic_tree(tree: dict[str, Any], where: str) -> OverflowRecord:
    if tree["magic"] != hex(MAGIC):
        raise FormatError(
            "dump/overflow-magic", place=where, got=_brief(tree["magic"]), expected=hex(MAGIC)
        )
    version = _number(tree, "version", where, 32)
    one = _member(tree, "acc_list", dict, where)
    title = one.get("acc_type")
    names = next((names for word, names in ACCELERATORS.values() if word == title), None)
    if names is None:
        known = sorted(word for word, _ in ACCELERATORS.values())
        raise FormatError("core/choice", place=where, subject="acc_type", got=title, known=known)
    data = _member(one, "data", dict, where)
    fields: dict[str, int | tuple[int, ...]] = {
        name: _number(data, name, where) for name in names[:-1]
    }
    status = data.get("status")
    if version == 1 and names is CORE:
        four = dict(enumerate(status)) if isinstance(status, list) else {}
        if len(four) != 4:
            raise FormatError("dump/overflow-status", place=where, got=_brief(status))
        fields["status"] = tuple(_number(four, at, where) for at in range(4))
    else:
        fields["status"] = _number(data, "status", where)
    head = (_number(one, name, where, 32) for name in ("valid", "rsv", "data_len"))
    return OverflowRecord((Accelerator(str(title), fields, *head),), version)


def _brief(value: Any) -> Any:
    """What stood in the place of something else: a number or nothing as it is, the beginning of all others."""
    return value if value is None or isinstance(value, int | float) else str(value)[:60]


def _member(tree: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    found = tree.get(name)
    if not isinstance(found, kind):
        raise FormatError("dump/json-object", place=where, subject=name, got=_brief(found))
    return found


def _number(tree: Mapping[Any, Any], name: Any, where: str, bits: int = 64) -> int:
    """Return an unsigned number of so many bits, written as such or as hexadecimal text."""
    found = tree.get(name)
    if isinstance(found, str) and name in _HEX and len(found) <= 18:
        try:
            found = int(found, 16)
        except ValueError:
            found = None
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 1 << bits:
        got = _brief(tree.get(name))
        raise FormatError("dump/overflow-number", place=where, name=name, got=got, bits=bits)
    return found
