"""Unsigned numbers as MindSpore reads them: any JSON integer of 64 bits, of which it keeps 32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError, core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler


def cut(value: Any) -> int | None:
    """Return what is kept of a number; ``None`` if it is no unsigned integer.

    >>> cut(2**32 + 1), cut(True), cut(-1)
    (1, None, None)
    """
    if type(value) is not int or not 0 <= value < 2**64:
        return None
    return value % 2**32


@dataclass(frozen=True, slots=True)
class Cut:
    """Annotation of an unsigned setting; what it annotates bounds the number that is kept."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Cut before the bounds are looked at, as MindSpore does."""
        return core_schema.no_info_before_validator_function(_kept, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the bounds of a number as it is written, before it is cut."""
        return {"minimum": 0, "maximum": 2**64 - 1} | handler(schema)


def _kept(value: Any) -> int:
    kept = cut(value)
    if kept is None:
        raise PydanticCustomError("unsigned", "no unsigned integer")
    return kept
