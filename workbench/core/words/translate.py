"""The same sentences in the language of the reader: English from the tables, Chinese from ``zh.json``, by code."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

from workbench.core.errors import WorkbenchError
from workbench.core.text import readable
from workbench.core.words.message import Message
from workbench.core.words.render import fill, template

Language = Literal["en", "zh"]

LANGUAGES: dict[Language, str] = {"en": "English", "zh": "中文"}
"""Language → its name in itself."""


@cache
def chinese() -> dict[str, str]:
    """Return the Chinese sentences by code."""
    text = (Path(__file__).parent / "zh.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


class Say:
    """Words of the screen in one language; a code without Chinese words is said in English.

    >>> Say("zh")("ui/run"), Say("en")("show/of", n=3, total=20000)
    ('运行', '3 of 20,000')
    """

    def __init__(self, language: Language = "en") -> None:
        self.language = language

    def __call__(self, code: str, /, **values: Any) -> str:
        return readable(fill(self.words(code), {k: self._value(v) for k, v in values.items()}))

    def words(self, code: str) -> str:
        """Return the words of a code, values still in braces."""
        return (chinese().get(code) if self.language == "zh" else None) or template(code)

    def told(self, said: object) -> str:
        """Return a message or an error in this language; anything else is a name or a text of others and stays."""
        if isinstance(said, Message):
            return self(said.code, **said.values)
        if isinstance(said, WorkbenchError):
            return self._error(said)
        return str(said)

    def _error(self, error: WorkbenchError) -> str:
        if self.language == "en" or error.code not in chinese():
            return str(error)
        text = self(error.code, **error.values)
        return readable(f"{error.place}: {text}" if error.place else text)

    def _value(self, value: Any) -> Any:
        if isinstance(value, Message | WorkbenchError):
            return self.told(value)
        if isinstance(value, list | tuple) and any(
            isinstance(x, Message | WorkbenchError) for x in value
        ):
            return [self._value(one) for one in value]
        return value


ENGLISH = Say()
"""What is said where nobody chose a language."""
