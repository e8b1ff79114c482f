"""The columns of a comparison as parquet."""

from __future__ import annotations

from generators.markdown import code, page, prose, table
from workbench.session.parquet import COLUMNS

INTRODUCTION = """\
`comparison.to_parquet(path)` writes one row for each compared pair of tensors and each unmatched tensor
([how to use it](../guide/compare.md#keep-results-as-parquet)). The [metrics](metrics.md) follow as
`metric.CosineSimilarity` and so on. Everything else is the [JSON](comparison-json.md) without its operators, in the
metadata of the file under `workbench.comparison`."""


def parquet() -> str:
    """Return the page."""
    rows = [(code(one.name), one.kind, one.title, one.unit, prose(one.meaning)) for one in COLUMNS]
    heads = ("Column", "Type", "Title", "Unit", "Meaning")
    return page("Comparison parquet", INTRODUCTION, table(heads, rows))
