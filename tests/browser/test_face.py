"""The benchmark of the face, once a night and small: every promise with a budget is measured, however long it took."""

import math
import tomllib
from pathlib import Path

import pytest

face = pytest.importorskip("face")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PROMISES = Path(__file__).parents[1] / "promises.toml"
LIMITS = {
    one["number"]: set(one["seconds"].values())
    for one in tomllib.loads(PROMISES.read_text(encoding="utf-8"))["requirement"]
    if "seconds" in one
}


@pytest.mark.parametrize(
    ("measure", "promises"),
    [
        pytest.param(
            lambda chromium, lab, folder: face.dashboard(chromium, lab),
            {1, 20},
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            lambda chromium, lab, folder: face.bench(chromium, lab),
            {3, 5, 6},
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            lambda chromium, lab, folder: face.explored(chromium, lab, 2_000),
            {9, 10},
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            lambda chromium, lab, folder: face.reported(chromium, folder, 2_000, 1),
            {22, 24},
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_it_measures(chromium, lab, tmp_path, measure, promises):
    lines = measure(chromium, lab, tmp_path)
    assert {line.promise for line in lines} == promises
    assert all(0 < line.measured < math.inf for line in lines)
    for line in lines:
        in_seconds = line.budget / 1000 if line.unit == "ms" else line.budget
        if line.unit != "kB":
            assert in_seconds in LIMITS[line.promise]


def test_no_time_limit_is_forgotten():
    assert LIMITS.keys() == {1, 3, 5, 6, 9, 10, 20, 22, 24}
