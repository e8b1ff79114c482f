"""One input for one setting, made from its declaration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.config.form.json_text import decode_json
from workbench.config.form.kinds import Misfit
from workbench.config.form.settings import Part, Setting
from workbench.core.errors import FormatError
from workbench.core.text import escape, shorten, visible
from workbench.core.words.translate import ENGLISH, Say
from workbench.ui.widgets.alerts import MOST, Alert, alert_html
from workbench.ui.widgets.boxes import row, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.config.form.kinds import Kind
    from workbench.config.form.settings import Section
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
    the setting's type, or the text itself if it is none. A list of sections is one input, too.
    """

    def __init__(self, path: str, declared: Setting | Part, say: Say = ENGLISH) -> None:
        self.path, self._say = path, say
        label = path.rpartition(".")[2]
        self._setting = declared if isinstance(declared, Setting) else None
        self._hint = _hint(declared, say)
        self.input = _input(label, self._setting, self._hint, say)
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
        return _parse(raw, self._setting)

    def show(self, value: Any) -> None:
        """Put a value of the form into the input."""
        if isinstance(self.input, W.Dropdown):
            known = [item for _, item in self.input.options]
            if not any(_same(value, item) for item in known):
                self.input.options = (*self.input.options, (_text(value, self._say), value))
            self.input.value = value
        else:
            self.input.value = "" if value is UNSET else _text_of(value, self._setting)

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
    for key, declared in model.fields.items():
        if isinstance(declared, Part) and not declared.many:
            found += fields_of(declared.model, prefix + key, say)
        else:
            found.append(Field(prefix + key, declared, say))
    return found


def _hint(declared: Setting | Part, say: Say) -> str:
    if isinstance(declared, Setting):
        return declared.help
    return say("ui/list-of-objects", keys=list(declared.model.fields))


def _input(label: str, setting: Setting | None, hint: str, say: Say) -> W.Widget:
    shared: dict[str, Any] = {"description": label, "tooltip": hint}
    if setting is None:
        return W.Textarea(placeholder="[]", rows=3, continuous_update=False, **shared)
    empty, kind = say("ui/default", value=_text(setting.default, say)), setting.kind
    if kind.input == "choice":
        options = [(empty, UNSET), *((_text(c, say), c) for c in kind.options)]
        return W.Dropdown(options=options, value=UNSET, **shared)
    if setting.widget == "names" or kind.input == "list":
        return W.Textarea(placeholder=empty, rows=3, continuous_update=False, **shared)
    return W.Text(placeholder=empty, continuous_update=False, **shared)


def _parse(raw: str, setting: Setting | None) -> Any:
    """Value of a text; lists may be JSON or one item a line, what is no JSON is text."""
    if setting is not None and setting.kind.input == "text":
        return raw
    value = _json_or_text(raw)
    if setting is None or setting.kind.input != "list" or isinstance(value, list):
        return value
    lines = (line.strip() for line in raw.replace(",", "\n").splitlines())
    return [_element(setting.kind, line) for line in lines if line]


def _element(kind: Kind, line: str) -> Any:
    """Element of a list: text where that fits, else what it says as JSON."""
    try:
        kind.read([line])
    except Misfit:
        return _json_or_text(line)
    return line


def _json_or_text(raw: str) -> Any:
    try:
        found = decode_json(raw)
    except FormatError:
        return raw
    return raw if found.trailing else found.data


def _text_of(value: Any, setting: Setting | None) -> str:
    if isinstance(value, str):
        return value
    if setting is not None and setting.kind.input == "list" and isinstance(value, list | tuple):
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
