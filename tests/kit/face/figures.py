"""Empty figures of matplotlib: drawing takes most of the time of a report, and few tests look at what is drawn."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def blank_figures() -> Iterator[Callable[[], None]]:
    """Draw nothing in reports, operators' pages and panels; what is given has them drawn again."""
    figures = {
        "workbench.show.plots.operator.inline_svg": lambda draw, label, size: _blank(label),
        "workbench.show.report.divergence_svg": lambda result, **size: _blank("divergence"),
    }
    with pytest.MonkeyPatch.context() as blanks:
        for name, blank_one in figures.items():
            blanks.setattr(name, blank_one)
        yield blanks.undo


def _blank(label: str) -> str:
    return f'<svg role="img" aria-label="{label}"></svg>'
