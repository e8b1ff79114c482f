"""Which columns a table of statistics has."""

import pytest

from workbench.core.plan import CATEGORIES
from workbench.dump.statistics.dialects import DIALECTS, columns


def test_every_title_stands_for_a_known_category():
    known = {*CATEGORIES, "sha1"}
    assert all(set(row.titles) <= known for row in DIALECTS.values())


@pytest.mark.parametrize(
    ("name", "asked", "got"),
    [
        ("ge", ("max",), (*CATEGORIES[:4], *CATEGORIES[6:9])),
        (
            "msprobe-l2",
            ("positive inf count", "l2norm", "max"),
            ("max", "l2norm", "positive inf count"),
        ),
        ("ge-kfc", ("max",), ("count", "max")),
        ("ge-kfc", (), ("count",)),
    ],
)
def test_columns_follow_the_writers_own_rule(name, asked, got):
    assert columns(DIALECTS[name], asked) == got
