"""The error of each pair of tensors.

In: a pairing and the errors against a forecast. Out: `Measures`: every pair with its divergence, the metrics of all in
one array, and the pairing with its records as they were measured; what cannot be measured becomes a reason, never an
exception. A new figure is a row of `METRICS` and a value of `finish` (metrics.py).
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.comparison.measure.statistics import measure_statistics, with_padding

__all__ = [
    "measure_statistics",
    "with_padding",
]

PLACES = {
    "measure_statistics": "workbench.comparison.measure.statistics:measure_statistics",
    "with_padding": "workbench.comparison.measure.statistics:with_padding",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
