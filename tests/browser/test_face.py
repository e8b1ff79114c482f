"""The benchmark of the face, once and small: every promise with a budget is measured. How long it took is no matter."""

import math
import re
from pathlib import Path

import pytest

face = pytest.importorskip("face")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PROMISES = Path(__file__).parents[2] / "docs/promises.md"


@pytest.mark.parametrize(
    ("measure", "promises"),
    [
        (lambda chromium, lab, folder: face.dashboard(chromium, lab), {1, 20}),
        (lambda chromium, lab, folder: face.bench(chromium, lab), {3, 5, 6}),
        (lambda chromium, lab, folder: face.explored(chromium, lab, 2_000), {9, 10}),
        (lambda chromium, lab, folder: face.reported(chromium, folder, 2_000, 1), {22, 24}),
    ],
)
def test_it_measures(chromium, lab, tmp_path, measure, promises):
    lines = measure(chromium, lab, tmp_path)
    assert {line.promise for line in lines} == promises
    assert all(0 < line.measured < math.inf for line in lines)
    text = PROMISES.read_text(encoding="utf-8")
    for number in promises:
        budgets = re.search(rf"^\| {number} \|[^|]*\|([^|]*)\|", text, re.MULTILINE)[1]
        for line in lines:
            in_seconds = line.budget / 1000 if line.unit == "ms" else line.budget
            if line.promise == number and line.unit != "kB":
                assert f"{in_seconds:g}" in re.findall(r"[\d.]+", budgets)


def test_no_budget_is_forgotten():
    text = PROMISES.read_text(encoding="utf-8")
    promised = re.findall(r"^\| (\d+) \|[^|]*\| [^|]*\d[^|]*\|", text, re.MULTILINE)
    assert {int(number) for number in promised} == {1, 3, 5, 6, 9, 10, 20, 22, 24}
