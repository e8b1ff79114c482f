"""One input for one setting, made from its declaration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import ipywidgets as W

from workbench.config.json_text import decode_json
from workbench.core.errors import FormatError
from workbench.core.text import escape, shorten, visible
from workbench.core.words.translate import ENGLISH, Say
from workbench.ui.alerts import MOST, Alert, alert_html
from workbench.ui.boxes import row, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workbench.config.setting import Section, Setting
    from workbench.core.problems import Problem

UNSET = "\0unset"
"""Value of an input whose setting is left out of the form."""

_QUIET = "color:var(--jp-ui-font-color2,#5a6472)"
_SEVERITIES = {
    "error": "ui/problem-error",
    "warning": "ui/problem-warning",
    "hint": "ui/problem-hint",
}


class Field:
    """The input of one setting and the place for its problems.

    ``path`` is the setting's path in the form. `value` is what the form holds: `UNSET`, a value of
    the setting's type, or the text itself if it is none. Without ``setting`` it is a list of
    sections, whose ``keys`` are named. ``empty`` is what the input says that holds nothing.
    """

    def __init__(
        self,
        path: str,
        setting: Setting | None,
        kind: Any,
        empty: str = "[]",
        *,
        keys: Iterable[str] = (),
        say: Say = ENGLISH,
    ) -> None:
        self.path, self._setting, self._kind = path, setting, kind
        label = path.rpartition(".")[2]
        self._say = say
        self._hint = setting.help if setting else say("ui/list-of-objects", keys=list(keys))
        self.input = _input(label, setting, kind, empty, self._hint, say)
        styled(self.input, "field")
        self.note, self.alert = styled(W.HTML(), "beside"), Alert(say)
        self.widget = row([self.input, self.note, styled(self.alert.widget, "beside")])

    @property
    def value(self) -> Any:
        """What the input says."""
        raw = self.input.value
        if isinstance(self.input, W.Dropdown):
            return raw
        if raw == "":
            return UNSET
        return _parse(raw, self._setting, self._kind)

    def show(self, value: Any) -> None:
        """Put a value of the form into the input."""
        if isinstance(self.input, W.Dropdown):
            known = [item for _, item in self.input.options]
            if not any(_same(value, item) for item in known):
                self.input.options = (*self.input.options, (_text(value, self._say), value))
            self.input.value = value
        else:
            self.input.value = "" if value is UNSET else _text_of(value, self._setting, self._kind)

    def mark(self, problems: list[Problem]) -> None:
        """Show the problems of this setting beside it; without any, what it means."""
        quiet = f'<span style="{_QUIET}">{escape(self._hint)}</span>'
        self.note.value = problems_html(problems, self._say) or quiet

    def observe(self, handler: Callable[..., None]) -> None:
        """Call the handler after every change; its errors are shown beside the input."""
        self.input.observe(self.alert.guard(handler), "value")


def problems_html(problems: Sequence[Problem], say: Say = ENGLISH) -> str:
    """Problems as text, one of each severity in full; the first error is an alert."""
    found = []
    for severity, code in _SEVERITIES.items():
        same = [problem for problem in problems if problem.severity == severity]
        if same:
            told = shorten(visible(str(same[0])), MOST)
            if len(same) > 1:
                told = say("ui/more-problems", problem=told, n=len(same) - 1)
            text, rule = say(code, problem=told), escape(same[0].id)
            plain = f'<div data-code="{rule}">{escape(text)}</div>'
            found.append(alert_html(text, same[0].id) if severity == "error" else plain)
    return "".join(found)


def fields_of(model: type[Section], path: str = "", say: Say = ENGLISH) -> list[Field]:
    """Return the inputs of a section and of the sections in it; a list of sections is one input."""
    found: list[Field] = []
    prefix = f"{path}." if path else ""
    settings, sections = model.settings(), model.sections()
    for key, info in model.model_fields.items():
        place = prefix + key
        if key in sections:
            inner, many = sections[key]
            some = [Field(place, None, list, keys=inner.model_fields, say=say)] if many else None
            found += some or fields_of(inner, place, say)
        elif key in settings:
            empty = say("ui/default", value=_text(info.default, say))
            found.append(Field(place, settings[key], info.annotation, empty, say=say))
    return found


def _input(
    label: str, setting: Setting | None, kind: Any, empty: str, hint: str, say: Say
) -> W.Widget:
    shared: dict[str, Any] = {"description": label, "tooltip": hint}
    choices = [True, False] if kind is bool else list(_choices(kind))
    if choices:
        options = [(empty, UNSET), *((_text(c, say), c) for c in choices)]
        return W.Dropdown(options=options, value=UNSET, **shared)
    many = setting is None or setting.widget in ("names", "list") or _is_list(kind)
    if many:
        return W.Textarea(placeholder=empty, rows=3, continuous_update=False, **shared)
    return W.Text(placeholder=empty, continuous_update=False, **shared)


def _choices(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next((found for item in get_args(kind) if (found := _choices(item))), ())


def _is_list(kind: Any) -> bool:
    return kind is list or get_origin(kind) in (tuple, list)


def _parse(raw: str, setting: Setting | None, kind: Any) -> Any:
    """Value of a text; lists may be JSON or one item a line, numbers fall back to their text."""
    if setting is None:
        return _json_or_text(raw)
    if _is_list(kind):
        value = _json_or_text(raw)
        if isinstance(value, list):
            return value
        lines = (line.strip() for line in raw.replace(",", "\n").splitlines())
        return [_json_or_text(line) if _holds_numbers(kind) else line for line in lines if line]
    if kind is str or str in get_args(kind):
        return raw
    return _json_or_text(raw)


def _json_or_text(raw: str) -> Any:
    try:
        found = decode_json(raw)
    except FormatError:
        return raw
    return raw if found.trailing else found.data


def _holds_numbers(kind: Any) -> bool:
    names = str(kind)
    return "int" in names or "float" in names


def _text_of(value: Any, setting: Setting | None, kind: Any) -> str:
    if isinstance(value, str):
        return value
    if setting is not None and _is_list(kind) and isinstance(value, list | tuple):
        plain = all(isinstance(item, str) and "," not in item for item in value)
        return "\n".join(value) if plain and value else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def _text(value: Any, say: Say) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(_text(one, say) for one in value) or say("ui/no-value")
    return say("ui/no-value") if value is None or value == "" else str(value)


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)
