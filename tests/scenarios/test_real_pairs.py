"""The main job on dumps that real MindSpore wrote, against what is known about them."""

from __future__ import annotations

import json
import shutil
from itertools import product

import numpy as np
import pytest

import workbench as wb
from kit.build.foreign_files import PAIRS
from kit.cases import nightly
from kit.commands import run
from kit.evidence import codes, defects

# pair → (kind of the top finding, operator or its type, what differs, source line)
DEFECTS = {
    "alexnet_padmode": (
        "attribute",
        "Default/conv3-Conv2d/Conv2D-op0",
        "pad_mode",
        "self.conv3(x)",
    ),
    "kernels_partial": (
        "attribute",
        "Default/conv4-Conv2d/Conv2D-op0",
        "dilation",
        "self.conv4(x)",
    ),
    "transformer_ln_eps": (
        "attribute",
        "Default/layers-CellList/1-EncoderLayer/norm1-LayerNorm/LayerNorm-op0",
        "epsilon",
        "self.norm1(x)",
    ),
    "optimizer_lr": ("parameter", "ApplyMomentum", "learning_rate", None),
}
PRECISION = ("lenet_train_fp16", "lenet_train_fp16_ms200", "transformer_fp16")


@pytest.fixture(scope="module")
def compared(real_pairs):
    """Every pair, compared once."""
    return {name: wb.compare(pair.target, pair.golden) for name, pair in real_pairs.items()}


def test_the_table_of_expectations_covers_every_pair():
    assert {*DEFECTS, *PRECISION, "identical_rerun"} == set(PAIRS)


@pytest.mark.parametrize("name", DEFECTS)
def test_the_altered_operator_comes_first(compared, name):
    kind, operator, word, line = DEFECTS[name]
    comparison = compared[name]
    top = comparison.findings[0]
    assert comparison.verdict == "fail"
    assert top.kind == kind
    assert operator in (top.op_name, top.op_type)
    assert word in {one.values.get("name") for one in top.evidence}
    if line is not None:
        assert line in top.source.code
        assert not top.source.library
    else:  # the optimizer's lines lie in the framework alone
        assert top.source.library


@pytest.mark.parametrize("name", DEFECTS)
def test_the_first_divergence_is_the_one_that_truth_names(compared, real_pairs, name):
    first = real_pairs[name].truth["first_divergence"]
    expected = {(d["ir_name_b"], d["graph"], d["iteration"]) for d in first}
    top = compared[name].findings[0]
    assert (top.op_name, top.graph_id, top.iteration) in expected


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_told_once(compared, name):
    assert sum(finding.defect for finding in compared[name].findings) == 1


@pytest.mark.parametrize("name", PRECISION)
def test_another_number_format_is_no_defect(compared, name):
    comparison = compared[name]
    assert comparison.verdict in ("pass", "warn")
    assert not defects(comparison)
    assert "precision" in [f.kind for f in comparison.findings]


@pytest.mark.parametrize("name", PRECISION)
def test_every_mislabelled_output_is_an_anomaly_and_none_decides(compared, real_pairs, name):
    listed = real_pairs[name].truth["outputs_whose_file_is_not_what_its_dtype_says"]["b"]
    wrong = {item["ir_name"] for item in listed}
    found = {
        a.op_name
        for a in compared[name].anomalies
        if a.side == "target"
        and a.kind == "mislabelled"
        and a.detail.values["where"].startswith("output")
    }
    assert found == wrong
    rows = [
        r for r in compared[name].rows if r.op_name in wrong and r.io == "output" and r.match_rule
    ]
    assert rows
    assert {row.status for row in rows} == {"uncomparable"}


@pytest.mark.parametrize("name", PRECISION)
def test_outputs_that_both_runs_mislabel_alike_leave_a_pass(real_pairs, name):
    """Identical runs in float16 agree: what there is of those outputs is the same."""
    target = real_pairs[name].target
    comparison = wb.compare(target, target)
    assert comparison.verdict == "pass"
    assert "uncomparable" in {row.status for row in comparison.rows}


def test_an_identical_run_passes_without_a_finding(compared):
    comparison = compared["identical_rerun"]
    assert comparison.verdict == "pass"
    assert comparison.findings == ()
    assert {row.status for row in comparison.rows} == {"equal", "uncomparable"}


BY_TURNS = [(name, number % 2) for number, name in enumerate(PAIRS)]
"""Each pair from one side; the nightly run looks from both."""


@pytest.mark.parametrize(("name", "swapped"), nightly([*product(PAIRS, (0, 1))], BY_TURNS))
def test_the_ledger_adds_up_to_the_files_on_disk(real_pairs, name, swapped):
    pair = real_pairs[name]
    sides = (pair.golden, pair.target) if swapped else (pair.target, pair.golden)
    result = wb.compare(*sides).result
    for side, root in zip(("target", "golden"), sides, strict=True):
        skipped = sum(n for key, n in result.coverage.skipped.items() if key.startswith(side))
        alone = getattr(result.coverage, f"unmatched_{side}")
        on_disk = len(list(root.rglob("*.npy")))
        assert result.coverage.matched + alone + skipped == getattr(result, side).tensors == on_disk


def test_the_json_of_the_command_is_the_contract(real_pairs, capsys):
    pair = real_pairs["alexnet_padmode"]
    shown = run(capsys, "compare", pair.target, pair.golden, "--json", "-")
    data = json.loads(shown.out)
    assert shown.status == 1
    assert data["schema"] == "workbench.comparison/2"
    assert data["findings"][0]["source"] == {
        "file": "/srv/train/alexnet_padmode/script.py",
        "line": 41,
        "code": data["findings"][0]["source"]["code"],
        "library": False,
    }


@pytest.mark.parametrize(("name", "status"), [("identical_rerun", 0), ("transformer_fp16", 0),
                                              ("optimizer_lr", 1)])  # fmt: skip
def test_the_exit_status_follows_diff(real_pairs, capsys, name, status):
    pair = real_pairs[name]
    shown = run(capsys, "compare", pair.target, pair.golden)
    assert shown.status == status
    assert shown.out.splitlines()[-1].startswith(("pass:", "warn:", "fail:"))


@pytest.mark.parametrize(("name", "place"), nightly([*product(PAIRS, (0, 1))], BY_TURNS))
def test_a_pb_graph_of_one_side_says_nothing_else(compared, real_pairs, name, place):
    """It knows no constants, number formats of attributes or device types: that is no difference."""
    side = ("target", "golden")[place]
    pair, whole = real_pairs[name], compared[name]
    (pb,) = (getattr(pair, side) / "rank_0/graphs").glob("*.pb")
    comparison = wb.compare(pair.target, pair.golden, **{f"{side}_graph": pb})
    assert (comparison.verdict, comparison.findings) == (whole.verdict, whole.findings)
    places = [
        {(a.side, a.kind, a.op_name, a.detail.values.get("where")) for a in result.anomalies}
        for result in (comparison, whole)
    ]
    assert places[0] == places[1]


def test_the_same_program_of_two_versions_agrees(real_pairs):
    """2.0.0 fuses MatMul and BiasAdd, names files otherwise and writes another IR dialect."""
    old, new = real_pairs["lenet_train_fp16_ms200"], real_pairs["lenet_train_fp16"]
    comparison = wb.compare(new.golden, old.golden)
    assert comparison.verdict in ("pass", "warn")
    assert not defects(comparison)
    assert "group" in {row.match_rule for row in comparison.rows}
    assert sum(row.status in ("equal", "pass") for row in comparison.rows) > 200


def _changed(root, name, number, value):
    """Change an element of a tensor, wherever the files of a dump hold that tensor."""
    first = next(iter(sorted(root.rglob(name))))
    told, changed = np.load(first).astype(np.float64).ravel(), []
    for path in root.rglob("*.npy"):
        held = np.load(path)
        if held.dtype.kind == "f" and np.array_equal(held.astype(np.float64).ravel(), told):
            with np.errstate(over="ignore"):
                held.reshape(-1)[number] = np.float32(value).astype(held.dtype)
            np.save(path, held)
            changed.append(path.name)
    return changed


def test_an_overflow_in_a_cast_that_the_golden_lacks_is_named_there(real_pairs, tmp_path):
    """An element of the embedding table is 1e5, which float16 cannot hold, up to the first LayerNorm."""
    pair = real_pairs["transformer_fp16"]
    target, golden = (
        shutil.copytree(one, tmp_path / one.name) for one in (pair.target, pair.golden)
    )
    token = int(np.load(next(golden.rglob("Gather.*.input.1.*.npy"))).ravel()[0])
    cast = next(iter(sorted(target.rglob("Cast.*embed-Embedding_Cast-op0.*.output.0.*")))).name
    for root in (target, golden):
        assert _changed(root, "Parameter.embed_embedding_table.*", 32 * token + 3, 1e5)
        for name in ("Gather.*.output.0.*", "Add.Default_Add-op0.*.output.0.*"):
            assert len(_changed(root, name, 3, 1e5)) > 1
    assert cast in _changed(target, cast, 32 * token + 3, 1e5)  # infinity, of that type
    _changed(target, "LayerNorm.*0-EncoderLayer_norm1-*.output.0.*", slice(0, 32), np.nan)
    comparison = wb.compare(target, golden)
    first = defects(comparison)[0]
    assert comparison.verdict == "fail"
    assert (first.kind, first.op_name) == ("non-finite", "Default/embed-Embedding/Cast-op1")
    assert "born-non-finite" in codes(first.evidence)


@pytest.mark.parametrize("name", PAIRS)
def test_the_lines_of_a_finding_are_the_user_s_and_the_first_is_its_source(compared, name):
    comparison = compared[name]
    shown = {row.op_name: row.source for row in comparison.rows if row.op_name}
    for one in comparison.findings:
        assert one.source == (one.frames[0] if one.frames else None)
        assert one.source == shown.get(one.op_name, one.source)
        assert len({frame.library for frame in one.frames}) <= 1
