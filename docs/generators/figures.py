"""Metrics, columns and profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.markdown import code, page, prose, table
from workbench.comparison.measure.metrics import METRICS, ON_DEMAND
from workbench.comparison.measure.profiles import DERIVED, PROFILES
from workbench.core.words.render import template
from workbench.show.columns import CONTEXT, FILES, IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable

METRICS_INTRODUCTION = """\
All metrics come from one pass over the two tensors. Sums are in float64. *t* is the target, *g* the golden,
*d* = *t* − *g*.

* NaN and Inf enter no metric but the counts. NaN equals nothing; Inf equals Inf of the same sign.
* The relative error of one element is |d|/|g|. If |g| ≤ 2⁻⁵² it is |d| / max|g|.
* A complex number counts as two numbers, bool as 0 and 1.

The JSON has these names under `operators[].metrics`; data frame and CSV have one column for each."""

COLUMNS_INTRODUCTION = """\
Data frame and CSV use the column name; tables on screen use the heading. [Glossary](glossary.md) explains the
errors."""

PROFILES_INTRODUCTION = """\
A profile decides which tensors pass: `--profile NAME` or `wb.compare(..., profile=NAME)`.

* `noise-floor` is the default. Its limit is the
  [expected rounding error](../concepts/root-cause.md#expected-rounding-error).
* The others are fixed thresholds of other tools. A tensor passes if it is within all of them.
* NaN or Inf on one side only fails under every profile.
* If a dump does not have a figure (a dump of statistics), the tensor is `uncomparable`."""

LEFT_OUT = """\
Not available as profiles, because the metrics of one pair are not enough: tolerances for single elements
(`allclose`), rules over inputs and outputs together (colors of msprobe), and rules that need a second run
(benchmark standard of msprobe)."""


def metrics() -> str:
    """Return the page of metrics and columns."""
    heads = ("Metric", "Definition", "Better")
    named = [(code(name), prose(one.formula), one.better) for name, one in METRICS.items()]
    later = [(code(name), prose(one.formula), one.better) for name, one in ON_DEMAND.items()]
    derived = [(code(name), prose(one.formula)) for name, one in DERIVED.items()]
    columns = [
        (code(one.title), prose(template(one.heading)), one.kind) for one in (*IDENTITY, *CONTEXT, *FILES)
    ]  # fmt: skip
    return page(
        "Metrics and columns",
        METRICS_INTRODUCTION,
        table(heads, named),
        "## With a second pass",
        table(heads, later),
        "## In profiles only",
        table(heads[:2], derived),
        "## Columns",
        COLUMNS_INTRODUCTION,
        table(("Column", "Heading", "Kind"), columns),
    )


def profiles() -> str:
    """Return the page of profiles."""
    rows = [
        (
            code(one.name),
            ", ".join(map(str, one.limits)) or "error ≤ expected rounding error",
            prose(one.source),
            prose(one.apart),
        )
        for one in PROFILES.values()
    ]
    figures = [
        (code(title), prose((DERIVED.get(title) or METRICS[title]).formula))
        for title in dict.fromkeys(_titles())
    ]
    return page(
        "Profiles",
        PROFILES_INTRODUCTION,
        table(("Profile", "A tensor passes if", "Source", "Difference from the source"), rows),
        "## Figures",
        table(("Figure", "Definition"), figures),
        LEFT_OUT,
    )


def _titles() -> Iterable[str]:
    for one in PROFILES.values():
        for limit in one.limits:
            yield from limit.titles
