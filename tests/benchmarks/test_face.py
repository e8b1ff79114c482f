"""What the benchmark of the face makes of its figures; that it measures at all is in the browser's tests."""

import re
from pathlib import Path

from face import DOCUMENT, Line, best, table

KEPT = Line(10, "a click", 0.5, 0.25)
MISSED = Line(22, "a report", 400.0, 401.5, "kB")


def test_a_table_says_budget_figure_and_whether_it_is_kept():
    assert table([KEPT, MISSED]).splitlines()[2:] == [
        "| 10 | a click | 0.5 s | 0.25 s | yes |",
        "| 22 | a report | 400 kB | 401.5 kB | no |",
    ]


def test_of_several_rounds_the_best_figure_of_each_line_counts():
    rounds = iter(([KEPT, MISSED], [KEPT._replace(measured=0.3), MISSED._replace(measured=399.0)]))
    assert best(2, lambda: next(rounds)) == [KEPT, MISSED._replace(measured=399.0)]


def test_the_document_takes_all_that_is_said():
    text = DOCUMENT.format(cores=2, load=0.5, rounds=3, table=table([KEPT]), command="python x.py")
    assert text.startswith("# UI response times\n")
    assert "{" not in text


def test_the_page_has_the_words_of_the_benchmark():
    page = Path(__file__).parents[2] / "docs/evidence/ui-speed.md"
    pattern = re.sub(r"\\\{[^{}]*\\\}", "(?s:.*?)", re.escape(DOCUMENT))
    assert re.fullmatch(pattern, page.read_text(encoding="utf-8"))
