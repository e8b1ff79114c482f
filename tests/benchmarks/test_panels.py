"""The benchmark of the panels at small size: everything is done, nothing ends in an error, and messages stay small."""

import pytest
from looking import headless
from looking.network import OPERATORS, network, trees
from panels import missed, table

import workbench as wb
from workbench.ui.shell import PARTS


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A comparison of 90 operators, some of which fail."""
    target, golden = trees(90, tmp_path_factory.mktemp("trees"))
    made = wb.Workbench(target=target, golden=golden)
    assert made.compare().verdict == "fail"
    return made


def test_a_network_has_the_operators_that_were_asked_for():
    assert len(network(30).ops) == 2 * OPERATORS


def test_everything_is_done_in_every_panel_with_small_messages(bench, tmp_path):
    found = list(headless.measure(bench, tmp_path))
    assert {one.panel for one in found} == {"all", *PARTS}
    assert len({(one.panel, one.action) for one in found}) >= 30
    assert {path.name for path in tmp_path.iterdir()} == {
        "report.html",
        "report.csv",
        "report.json",
        "bench.session.json",
    }
    acted = [one for one in found if not one.action.startswith(("open", "another"))]
    assert max(one.sent for one in acted) < 400_000
    assert sum(one.sent for one in acted) > 0


def test_an_error_in_a_panel_ends_the_benchmark(bench):
    shell = bench.form()
    shell.parts["report"].alert.show(ValueError("so"))
    with pytest.raises(RuntimeError, match="report: so"):
        headless.check(shell, "report: so")
    shell.close()


def test_a_missed_goal_stands_in_the_table():
    slow = headless.Took("align", "open", 2.5, 1000)
    quick = headless.Took("align", "filter", 0.5, 2000)
    assert "2.50 (goal 2)" in table([slow], [(slow, 0.1)])
    assert missed(quick) == ""
    assert "| align | filter | 0.50 | 2 |  |  |" in table([quick], [])
