"""What was done to join a tensor, and what was noticed: values, which words are made of at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the ledger: what was done, by code (a row ``step-…`` of the words of layouts) and values."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> Message:
        """What it says."""
        return Message(f"layouts/step-{self.code}", **self.values)

    def __str__(self) -> str:
        return str(self.message)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the ranks of a tensor, or with its layout: a code (``found-…``), ranks and values."""

    code: str
    ranks: tuple[int, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> Message:
        """What it says."""
        return Message(f"layouts/found-{self.code}", ranks=[*self.ranks], **self.values)

    def __str__(self) -> str:
        return str(self.message)


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A tensor of a job as one array.

    Attributes
    ----------
    array : ndarray or None
        The whole tensor; `None` where it could not be joined, which the last step explains.
    steps : tuple of Step
        What was done, in order.
    findings : tuple of Finding
        What was noticed.
    tolerance : float
        How far an element may be off because partial sums were added in another order than on the device:
        (n - 1) · u · max Σ|xᵢ| over n ranks, u the unit roundoff of the type that they are added in (Higham,
        Accuracy and Stability of Numerical Algorithms, 2002, (4.4)). 0 where nothing was added.
    """

    array: Array | None
    steps: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()
    tolerance: float = 0.0


def ranks_text(ranks: Sequence[int]) -> str:
    """Write ranks in ascending order, runs of them short.

    >>> ranks_text([0, 1, 2, 5]), ranks_text([3, 4])
    ('0-2, 5', '3, 4')
    """
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    said = (
        [f"{first}-{last}"] if last - first > 1 else [str(one) for one in range(first, last + 1)]
        for first, last in runs
    )
    return ", ".join(text for one in said for text in one)
