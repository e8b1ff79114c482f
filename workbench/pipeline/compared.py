"""What a close look at a comparison needs of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.compare.result import Finding, Row
    from workbench.pipeline.extract import Extracted
    from workbench.pipeline.places import Places


class Compared(Protocol):
    """Rows, findings, where they lie in dumps and graphs, what is selected, and the minimal case."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every pair, then every tensor without a partner."""

    @property
    def measured(self) -> tuple[Row, ...]:
        """The same rows before anybody re-graded them."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Causes, best first."""

    @property
    def places(self) -> Places:
        """Where rows stand in graphs and dumps."""

    @property
    def selected(self) -> Row | None:
        """The row that is looked at."""

    def extract(self, folder: str | Path, finding: Finding | None = None) -> Extracted:
        """Write an operator alone."""
