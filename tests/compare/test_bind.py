"""Which file belongs to which operator, on dumps whose truth is known."""

from __future__ import annotations

import pytest

from real_data import PAIRS
from workbench.compare.bind import bind
from workbench.dump.names import sanitize, short_name
from workbench.dump.reader import load

RENUMBERED = "operators_whose_id_in_ir_and_csv_differs_from_the_file_name"


def bound_names(folder) -> dict[str, set[str]]:
    """IR name → names of the files bound to it."""
    binding = bind(load(folder))
    table: dict[str, set[str]] = {}
    for runs in binding.runs.values():
        for run in runs.values():
            table.setdefault(run.op_name, set()).update(r.key.op_name for r in run.tensors.values())
    return table


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("side", ["a", "b"])
def test_every_file_is_bound_to_the_operator_that_truth_says(real_pairs, name, side):
    pair = real_pairs[name]
    other_id = pair.truth.get(RENUMBERED, {}).get(side, {})
    folder = pair.golden if side == "a" else pair.target
    old = name.endswith("ms200")
    for ir_name, files in bound_names(folder).items():
        plain = short_name(ir_name) if old else sanitize(ir_name)
        assert files == {other_id.get(ir_name, plain)}, ir_name


@pytest.mark.parametrize("name", PAIRS)
def test_every_renumbered_operator_is_noted(real_pairs, name):
    pair = real_pairs[name]
    truth = pair.truth.get(RENUMBERED, {}).get("b", {})
    noted = {note.name for note in bind(load(pair.target)).notes if note.kind == "renumbered"}
    assert noted == set(truth)


def test_an_ir_of_another_network_is_not_used(real_pairs):
    wrong = next((real_pairs["alexnet_padmode"].target / "rank_0/graphs").glob("*.ir"))
    binding = bind(load(real_pairs["transformer_fp16"].target, graph=wrong))
    assert [note.kind for note in binding.notes] == ["graph-mismatch"]
    assert all(run.op < 0 for runs in binding.runs.values() for run in runs.values())


def test_files_left_from_another_run_are_skipped_by_name(real_pairs, tmp_path):
    import shutil

    root = tmp_path / "dump"
    shutil.copytree(real_pairs["alexnet_padmode"].target, root)
    folder = root / "rank_0/AlexNet/0/0"
    victim = next(folder.glob("ReLU*output*"))
    victim.rename(folder / victim.name.replace("ReLU-op", "ReLU-op77"))
    binding = bind(load(root))
    assert [(item.reason) for item in binding.skipped] == ["not-in-graph"]
