"""Two dump trees, how they are to be read, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Number = int | tuple[int, int] | None

_LACKING = {
    (False, False): "ui/select-both",
    (False, True): "ui/select-target",
    (True, False): "ui/select-golden",
}
"""Whether target and golden are given → what is asked for."""


def _is_number(value: object) -> bool:
    given = value if isinstance(value, tuple) and len(value) == 2 else (value,)
    return value is None or all(type(number) is int and number >= 0 for number in given)


def _is_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, str) and one for one in value)


@dataclass(frozen=True, slots=True)
class Trees:
    """Arguments of `workbench.session.comparison.compare`; empty texts and ``None`` leave them out.

    ``repeats`` are folders of other runs of the target.
    """

    target: str = ""
    golden: str = ""
    target_graph: str = ""
    golden_graph: str = ""
    target_model: str = ""
    golden_model: str = ""
    rank: Number = None
    iteration: Number = None
    repeats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no comparison could read; raises WorkbenchError."""
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("rank", "iteration"):
                fits, code = _is_number(value), "ui/expected-side-number"
            elif one.name == "repeats":
                fits, code = _is_texts(value), "ui/expected-folders"
            else:
                fits, code = isinstance(value, str), "show/expected-text"
            if not fits:
                expected = Message(code)
                raise WorkbenchError("show/setting", name=one.name, expected=expected, got=value)

    @property
    def options(self) -> dict[str, object]:
        """What is given beside the trees themselves."""
        names = (one.name for one in fields(self)[2:])
        return {
            name: getattr(self, name) for name in names if getattr(self, name) not in ("", None, ())
        }

    @property
    def repeat(self) -> str:
        """The first of the other runs of the target; empty without one."""
        return self.repeats[0] if self.repeats else ""

    def with_repeat(self, path: str) -> Trees:
        """Return these trees with another run of the target in place of the first; empty: without it."""
        return replace(self, repeats=(*filter(None, (path,)), *self.repeats[1:]))

    @property
    def lacking(self) -> Message | None:
        """Why nothing can be compared yet; ``None`` if it can."""
        code = _LACKING.get((bool(self.target), bool(self.golden)))
        return Message(code) if code else None


@dataclass(frozen=True, slots=True)
class TreePair:
    """Two trees to compare, as they were given or rehearsed: settings of the workbench may have changed since.

    ``arguments`` is the code of the workbench that has them, ``form`` the one that they were dumped by, under its
    heading; ``remove`` removes trees that nobody else has.
    """

    target: str | Path
    golden: str | Path
    arguments: list[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    remove: Callable[[], object] | None = None

    def forget(self) -> None:
        """Remove the trees, if nobody else has them."""
        if self.remove is not None:
            self.remove()
