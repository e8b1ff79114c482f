"""NaN of an operator that chooses elements, without any graph: excused where it was read, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build.kernel_files import Call, save_calls, save_golden

RNG = np.random.default_rng(50)
X = RNG.standard_normal((4, 6)).astype(np.float32)
FIRST, SECOND = X * 2, X + 3
CHOSEN = np.where(X > 0, FIRST, SECOND)
ROUNDED = FIRST.astype(np.float16)
"""As the target has it: rounding may move an element over the edge of a condition."""


def with_nan(array, *place):
    found = array.copy()
    found[place] = np.nan
    return found


def run(first, chosen):
    """Two branches in float16, what was chosen of them, and a reader of it."""
    x, second = X.astype(np.float16), SECOND.astype(np.float16)
    branches = Call("first", (x,), first, "Mul"), Call("second", (x,), second, "Add")
    select = Call("choose", (X > 0, first, second), chosen, "Select")
    return [*branches, select, Call("behind", (chosen,), np.abs(chosen), "Abs")]


USED = tuple(int(one) for one in np.argwhere(X > 0)[0])
UNUSED = tuple(int(one) for one in np.argwhere(X <= 0)[0])
CASES = {
    "made by the choice": (ROUNDED, USED, ["choose"]),
    "made by the choice, with NaN in the branch not taken": (
        with_nan(ROUNDED, *UNUSED), USED, ["first"],
    ),
    "taken from the branch": (with_nan(ROUNDED, *USED), USED, ["first"]),
}  # fmt: skip


@pytest.mark.parametrize(("first", "place", "named"), CASES.values(), ids=CASES)
def test_who_made_it_is_named(tmp_path, first, place, named):
    calls = run(first, with_nan(CHOSEN.astype(np.float16), *place))
    golden = {"first": FIRST, "second": SECOND, "choose": CHOSEN, "behind": np.abs(CHOSEN)}
    save_calls(tmp_path / "t", calls)
    save_golden(tmp_path / "g", golden)
    found = wb.compare(tmp_path / "t", tmp_path / "g")
    accused = [one.op_name for one in found.findings if one.defect]
    assert (found.verdict, accused[:1]) == ("fail", named)
