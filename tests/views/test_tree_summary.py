"""What the names of a tree tell, held against the reader of the whole tree."""

from pathlib import Path

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.views.dump import summarize_tree

REAL = Path(__file__).parents[2] / "sample_dumps" / "real_pair"


@pytest.mark.parametrize("surface", ["mindspore-o0o1", "mindspore-ge", "torchair", "acl"])
def test_a_summary_says_what_the_reader_finds(tmp_path, surface):
    config = wb.config.new(surface)
    tree = wb.simulate(wb.models.load_graph("mlp"), None, config, tmp_path / "t", device="a2")
    seen, dump = summarize_tree(tree), wb.load(tree)
    assert seen.layout == dump.layout
    assert set(seen.ranks) == {r.key.rank for r in dump.records}
    assert {r.key.iteration for r in dump.records if r.key.iteration >= 0} <= set(seen.iterations)
    assert str(seen).startswith(f"{dump.layout}: {seen.files:,} files")


def test_a_real_tree_is_told():
    assert "iteration 0" in str(summarize_tree(REAL / "dump_a"))


def test_what_is_no_dump_is_refused(tmp_path):
    with pytest.raises(FormatError):
        summarize_tree(tmp_path / "gone")
