"""Elements that the network computes and never takes: left out where both sides take the other branch, nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build.small_dumps import Net, Shot, file_name, in_memory

X = np.linspace(-2, 2, 48, dtype=np.float32).reshape(6, 8)
BELOW = int((X <= 0).sum())
WAYS = {
    "Select takes it": {},
    "Select is behind another operator": {"between": "Square"},
    "Select is behind one that copies": {"between": "Identity"},
    "its mask fills it": {"filled": True},
}
READ = {
    "a product reads it, too": {"reader": "MatMul"},
    "the network gives it": {"returned": True},
    "a sum over rows is between": {"between": "Softmax"},
}


def root(x):
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


class Guarded:
    """``Where(x > 0, Sqrt(x), 0)``, perhaps with an operator between, and somebody else who reads the root."""

    def __init__(self, x=X, *, roots=None, taken=None, filled=False, **others):
        net = Net()
        fed, zeros = net.feed("x", x.shape), net.feed("zeros", x.shape)
        condition = net.op("Greater", fed, zeros, shape=x.shape)
        branch = rooted = net.op("Sqrt", fed, shape=x.shape)
        given = root(x) if roots is None else roots
        chosen = (x > 0 if taken is None else taken) != filled
        shots = [("Greater", "output", 0, chosen), ("Sqrt", "input", 0, x), ("Sqrt", "output", 0, given)]  # fmt: skip
        if between := others.get("between"):
            branch = net.op(between, rooted, shape=x.shape)
            given = np.square(given) if between == "Square" else given
            shots.append((between, "output", 0, given))
        if filled:
            chooser = net.op("MaskedFill", branch, condition, zeros, shape=x.shape)
            made = np.where(chosen, 0, given)
            shots += [("MaskedFill", "input", 0, given), ("MaskedFill", "output", 0, made)]
        else:
            chooser = net.op("Select", condition, branch, zeros, shape=x.shape)
            made = np.where(chosen, given, 0)
            shots += [("Select", "input", 1, given), ("Select", "output", 0, made)]
        names = {op.name.split("/")[-1].split("-")[0]: file_name(op.name) for op in net.ops}
        self.shots = [Shot(kind, names[kind], io, slot, data) for kind, io, slot, data in shots]
        results = [chooser, *([rooted] if others.get("returned") else [])]
        if reader := others.get("reader"):
            results.append(net.op(reader, rooted, net.weight("w", (8, 8)), shape=x.shape))
        self.graph = net.graph(*results)

    def dump(self, *, graph=True):
        return in_memory(self.shots, *([self.graph] if graph else []))


def compared(target, golden, *, graph=True):
    found = wb.compare(target.dump(graph=graph), golden.dump(graph=graph))
    return found, [(one.kind, one.op_type) for one in found.findings if one.defect]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_nan_that_nobody_takes_is_no_fault(way):
    found, blamed = compared(Guarded(**way), Guarded(**way))
    assert blamed == []
    tensors = 3 if "between" in way else 2  # what gives it, what hands it on, what chooses
    assert found.coverage.dont_care == {"unchosen": tensors * BELOW}


@pytest.mark.parametrize("way", READ.values(), ids=READ)
def test_nan_that_somebody_else_reads_is_told(way):
    _, blamed = compared(Guarded(**way), Guarded(**way))
    assert ("non-finite", "Sqrt") in blamed


def test_without_a_graph_nobody_knows_who_takes_it():
    found, _ = compared(Guarded(), Guarded(), graph=False)
    assert found.coverage.dont_care == {}
    roots = [row.status for row in found.rows if (row.op_type, row.io) == ("Sqrt", "output")]
    assert roots == ["fail"]


def test_nan_that_one_side_takes_counts():
    """The condition of the target is true at one place where the golden's is not."""
    taken = X > 0
    taken[0, 0] = True
    found, blamed = compared(Guarded(taken=taken), Guarded())
    assert blamed[0][1] in ("Greater", "Sqrt", "Select")
    assert found.coverage.dont_care == {"unchosen": 2 * (BELOW - 1)}


def test_a_fault_in_what_is_taken_is_found_beside_it():
    found, blamed = compared(Guarded(roots=root(X) * np.float32(1.05)), Guarded())
    assert found.verdict == "fail"
    assert {op_type for _, op_type in blamed} == {"Sqrt"}
    assert found.coverage.dont_care == {"unchosen": 2 * BELOW}


def test_nan_in_what_is_taken_is_found_beside_it():
    roots = root(X)
    roots[-1, -1] = np.nan
    found, blamed = compared(Guarded(roots=roots), Guarded())
    assert found.verdict == "fail"
    assert blamed[0] == ("non-finite", "Sqrt")
