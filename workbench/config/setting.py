"""One declaration per setting: what it must be, what it means, when the vendor reads it.

A surface's form is made of pydantic sections whose fields carry a `Setting`; types, bounds,
messages and help all come from there. `read_section` never raises: what does not fit becomes a
Problem and the field keeps its default, so every other rule can still look at the form.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.core.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

Form = Mapping[str, Any]
"""A decoded configuration file."""


def always(_form: Form) -> bool:
    """Condition that holds for every form."""
    return True


def never(_form: Form) -> bool:
    """Condition that holds for no form."""
    return False


@dataclass(frozen=True, slots=True)
class Setting:
    """What a setting must be and what it means.

    ``expected`` completes "must be …"; ``required`` and ``read`` are conditions on the whole form.
    A setting that is not ``read`` may hold anything: the vendor does not look at it.
    """

    expected: str
    help: str
    required: Callable[[Form], bool] = never
    read: Callable[[Form], bool] = always


class Section(BaseModel):
    """A JSON object of settings; unknown keys are kept, types are exact (``true`` is no number)."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """Return the declarations by key, in the order of the form."""
        return {
            name: item
            for name, info in cls.model_fields.items()
            for item in info.metadata
            if isinstance(item, Setting)
        }

    def to_form(self, form: Form) -> dict[str, Any]:
        """Keys that were set, those the vendor requires, and unknown ones."""
        values = self.model_dump(mode="json")
        known = self.settings()
        return {
            key: value
            for key, value in values.items()
            if key not in known or key in self.model_fields_set or known[key].required(form)
        }


S = TypeVar("S", bound=Section)


def read_section(
    model: type[S], name: str, value: Form, form: Form, source: str
) -> tuple[S, list[Problem]]:
    """Read one section of ``form``; ``name`` is its key and ``source`` what the rules come from."""
    problems = [*_missing(model, name, value, form, source), *_unknown(model, name, value, source)]
    try:
        return model.model_validate(dict(value)), problems
    except ValidationError as error:
        bad = {str(item["loc"][0]) for item in error.errors(include_url=False)}
    problems += [_misfit(model, name, key, value[key], form, source) for key in sorted(bad)]
    good = {key: item for key, item in value.items() if key not in bad}
    return model.model_validate(good), problems


def _misfit(
    model: type[Section], name: str, key: str, value: Any, form: Form, source: str
) -> Problem:
    setting, path = model.settings()[key], f"{name}.{key}"
    message = f"{path} must be {setting.expected}, got {value!r}"
    if setting.read(form):
        return Problem("value", "error", path, message, source=source)
    fix = "it is not read with these settings"
    return Problem("value-unread", "hint", path, message, fix, source=source)


def _missing(
    model: type[Section], name: str, value: Form, form: Form, source: str
) -> Iterator[Problem]:
    for key, setting in model.settings().items():
        if key not in value and setting.required(form):
            path = f"{name}.{key}"
            message = f"{path} must be {setting.expected}, got nothing"
            yield Problem("missing", "error", path, message, "add the key", source=source)


def _unknown(model: type[Section], name: str, value: Form, source: str) -> Iterator[Problem]:
    known = list(model.settings())
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            fix = f"did you mean {near[0]!r}?" if near else f"known: {known}"
            path = f"{name}.{key}"
            message = f"{path} must be a known key, got {key!r}, which is ignored"
            yield Problem("unknown-key", "warning", path, message, fix, source=source)
