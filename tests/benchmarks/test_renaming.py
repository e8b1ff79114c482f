"""Nothing is found by a name, a source line, or anything that whoever planted a fault has left.

Whole cases of the benchmark run on trees whose operators are called by meaningless words, and whose source lines are
gone; the answers are those of the unchanged trees, and no byte of the renamed trees says an old name.
"""

import re

import pytest
from diagnosing.cases import Setting
from diagnosing.measuring import measure_seed
from diagnosing.renaming import renamed, word
from diagnosing.runs import WAYS, device_run, network, reference_run, write_tree
from diagnosing.tables import alarm, hit, seen

from kit.trees import contents
from workbench.npu.faults import FAULTS, Fault

pytestmark = pytest.mark.exhaustive  # three seeds of the benchmark, each of them twice

SEEDS = {22: ("lenet", "mlp"), 29: ("mlp",), 33: ("mlp",)}
"""Seeds, and small models that they deal: on surfaces of MindSpore, of AscendCL and of torchair."""

PLACES = {
    "mindspore-o0o1": "npy",
    "mindspore-o2": "bin",
    "mindspore-ge": "bin",
    "tensorflow": "bin",
    "torchair": "bin",
    "acl": "bin",
}
LINES = (
    b"networks.py",
    b"functional.py",
    b"trainings.py",
    b"layers.py",
    b"self.fc1",
    b"self.conv1",
)


@pytest.fixture(scope="module")
def records():
    """Every record of the seeds, of unchanged trees and of renamed ones."""
    return [
        [
            one
            for seed, small in SEEDS.items()
            for one in measure_seed(seed, meaningless=meaningless, only=small)
        ]
        for meaningless in (False, True)
    ]


def test_the_same_cases_run_under_either_names(records):
    plain, meaningless = records
    for key in ("seed", "model", "surface", "kind", "operator", "settings", "visible", "effect"):
        assert [one.get(key) for one in plain] == [one.get(key) for one in meaningless]
    assert {one["surface"] for one in plain} >= {
        "mindspore-o0o1",
        "mindspore-o2",
        "acl",
        "torchair",
    }
    assert len(seen(plain)) >= 12
    assert sum(not one["kind"] for one in plain) >= 4


def test_renamed_operators_are_blamed_as_often(records):
    for way in WAYS:
        plain, meaningless = ([hit(one, way, 1) for one in seen(some)] for some in records)
        assert sum(meaningless) >= sum(plain) - 1, way
    full = [hit(one, "full", 1) for one in seen(records[1]) if one["kind"] != "overrun"]
    assert sum(full) >= 0.9 * len(full)


def test_renamed_operators_are_the_same_answers_of_the_same_kinds(records):
    plain, meaningless = (
        [one[way] for one in some if "full" in one for way in WAYS] for some in records
    )
    same = [
        ours["answers"] == [word(name) for name in theirs["answers"]]
        and ours["verdict"] == theirs["verdict"]
        and ours["fault"] == theirs["fault"]
        for ours, theirs in zip(meaningless, plain, strict=True)
    ]
    assert sum(same) >= 0.97 * len(same)


def test_clean_runs_stay_clean_under_other_names(records):
    plain, meaningless = (
        [alarm(one, way) for one in some if not one["kind"] for way in WAYS] for some in records
    )
    assert sum(meaningless) <= sum(plain)


def old_words(graph):
    """What names of operators consist of, but for what stays: the part of a step, and plain types."""
    for op in graph.ops:
        yield op.name
        yield op.name.replace("/", "_")
        for part in op.name.split("/"):
            if re.search(r"-op\d+$|-[A-Z]", part) or part.startswith("Grad_"):
                yield part


def tree(run, way, out, surface):
    return contents(write_tree(run, way, out, surface, PLACES[surface], "a2"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("surface", PLACES)
def test_no_byte_of_a_renamed_tree_says_an_old_name_or_a_line(surface, way, tmp_path):
    model = "mlp_train" if surface not in ("acl", "mindspore-o0o1") else "lenet"
    own = Setting(model, 3, "a2", surface, PLACES[surface], "", 1 if model == "lenet" else 2)
    run = device_run(own)
    words = {text.encode() for text in old_words(network(model, 3))}
    assert len(words) > 20
    plain, meaningless = (
        tree(one, way, tmp_path / str(n), surface) for n, one in enumerate((run, renamed(run)))
    )
    assert any(text in place.encode() + bytes_ for text in words for place, bytes_ in plain.items())
    for place, bytes_ in meaningless.items():
        whole = place.encode() + b"\n" + bytes_
        assert [text for text in words if text in whole] == [], place
        assert [text for text in LINES if text in whole] == [], place
    assert len(meaningless) == len(plain)


def test_no_byte_of_a_renamed_golden_tree_says_an_old_name(tmp_path):
    run = renamed(reference_run("mlp_train", 3, 2))
    found = contents(write_tree(run, "full", tmp_path, "mindspore-cpu", "npy", "reference"))
    words = {text.encode() for text in old_words(network("mlp_train", 3))}
    for place, bytes_ in found.items():
        assert not [text for text in words if text in place.encode() + bytes_], place


@pytest.mark.parametrize(
    "kind", ["wrong-sign", "nan-output", "stale-output", "overwritten-element"]
)
@pytest.mark.parametrize("surface", PLACES)
def test_a_fault_leaves_nothing_but_other_numbers(surface, kind, tmp_path):
    """The files, their names and all that is text are those of a run without a fault."""
    own = Setting("lenet", 3, "a2", surface, PLACES[surface], "", 1)
    fault = Fault(kind, "Default/conv2-Conv2d/Conv2D-op0", seed=917)
    clean, faulty = (
        tree(device_run(own, faults), "full", tmp_path / str(len(faults)), surface)
        for faults in ((), (fault,))
    )
    assert clean.keys() == faulty.keys()
    changed = {place for place in clean if clean[place] != faulty[place]}
    assert changed
    assert not [
        place for place in changed if place.endswith((".ir", ".txt", ".pb", ".json", ".csv"))
    ]
    assert {len(clean[place]) - len(faulty[place]) for place in changed} == {0}
    everything = b"\n".join((*map(str.encode, faulty), *faulty.values()))
    assert [name for name in (*FAULTS, "injected", "seed=917") if name.encode() in everything] == []
