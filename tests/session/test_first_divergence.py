"""The operator that a report names first is that of ``first_divergence``, whatever went wrong."""

from itertools import product
from pathlib import Path

import bs4
import pytest

import workbench as wb
from kit.cases import nightly
from kit.face.figures import blank_figures
from workbench.core.words import Message

SAMPLE = Path(__file__).parents[2] / "sample_dumps"
PRODUCT = "Default/body-SequentialCell/1-Dense/MatMul-op0"
FAULTS = (  # in rounding alone, in all elements, in one, in the weight, and none
    "half-accumulation",
    "missing-cast",
    "dropped-k-tail",
    "wrong-weight-element",
    "nan-output",
    "overwritten-element",
    "",
)

REAL = [*product(("alexnet_padmode", "transformer_ln_eps", "optimizer_lr", "kernels_partial", "identical_rerun"),
                 (False, True))]  # fmt: skip
DAILY = [case for number, case in enumerate(REAL) if number % 4 in (0, 3)]
"""Every pair one way around, by turns."""


@pytest.fixture(autouse=True)
def no_figures():
    """Headings are read, and no figure."""
    with blank_figures():
        yield


def assert_the_report_names_it(comparison, folder):
    """The heading has its name; where there is none, nothing fails."""
    page = bs4.BeautifulSoup(
        comparison.to_html(folder / "report.html").read_text(encoding="utf-8"), "html.parser"
    )
    heading = page.find("h1").text
    row = comparison.first_divergence
    assert (row is None) == (comparison.verdict != "fail")
    if row is None:
        assert heading.startswith(str(Message("compare/agreement", counts=())))
    else:
        assert f" {row.op_name} " in heading
        assert comparison.selected is row


@pytest.mark.criterion(25)
@pytest.mark.parametrize("fault", FAULTS)
def test_in_a_rehearsal_of_any_fault(fault, tmp_path):
    faults = [f"{fault}:{PRODUCT}"] if fault else []
    comparison = wb.Workbench(graph="mlp", faults=faults).run()
    assert_the_report_names_it(comparison, tmp_path)
    assert [comparison.first_divergence.op_name if fault else ""] == [PRODUCT if fault else ""]


@pytest.mark.criterion(25)
@pytest.mark.parametrize(("name", "swapped"), nightly(REAL, DAILY))
def test_in_real_dumps_whichever_is_the_target(real_pairs, name, swapped, tmp_path):
    pair = real_pairs[name]
    sides = (pair.golden, pair.target) if swapped else (pair.target, pair.golden)
    assert_the_report_names_it(wb.compare(*sides), tmp_path)


@pytest.mark.criterion(25)
def test_of_several_failing_operators_it_is_the_one_to_blame(tmp_path):
    comparison = wb.compare(SAMPLE / "real_pair/dump_b", SAMPLE / "real_pair/dump_a")
    failing = {row.op_name for row in comparison.rows if row.status == "fail"}
    assert len(failing) > 5
    assert_the_report_names_it(comparison, tmp_path)
