"""How often forms are loaded, read and judged while something runs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import workbench.config as face
from workbench.config import config, files
from workbench.config.form.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def count_forms(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count ``reads`` of forms, typed sections and all, ``judgements``, and ``loads`` of files, from now on."""
    counts = Counter[str]()

    def count(
        home: Any, name: str, what: str, whole: Callable[..., bool] = lambda *_: True
    ) -> None:
        inner = getattr(home, name)

        def outer(*arguments: Any, **named: Any) -> Any:
            counts[what] += whole(*arguments)
            return inner(*arguments, **named)

        monkeypatch.setattr(home, name, outer)

    count(Reader, "read", "reads", lambda _self, _model, _value, path="": not path)
    count(config, "judge", "judgements")
    for home in (face, files):  # the face first: what it has found once stays there
        count(home, "load", "loads")
    return counts
