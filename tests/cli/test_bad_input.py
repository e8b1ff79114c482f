"""Bad input: one clear line, the right exit status, and the rest of the report still comes."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

import workbench as wb
from kit.commands import run
from workbench.comparison.measure.metrics import CANCELLED
from workbench.core.words import Message
from workbench.dump.layouts import LAYOUTS


@pytest.fixture
def pair(real_pairs, tmp_path):
    """A writable copy of a pair with a known defect in conv3: (target, golden)."""
    source = real_pairs["alexnet_padmode"]
    target, golden = tmp_path / "target", tmp_path / "golden"
    shutil.copytree(source.target, target)
    shutil.copytree(source.golden, golden)
    return target, golden


def one_file(root, pattern: str):
    return sorted(root.rglob(pattern))[0]


def the_defect_is_still_found(status: int, out: str) -> dict:
    result = json.loads(out)
    assert status == 1
    assert result["findings"][0]["op_name"] == "Default/conv3-Conv2d/Conv2D-op0"
    cover = result["coverage"]
    for side in ("target", "golden"):
        skipped = sum(n for key, n in cover["skipped"].items() if key.startswith(side))
        total = cover["matched"] + cover[f"unmatched_{side}"] + skipped
        assert total == result[side]["tensors"]
    return result


TROUBLES = {
    "a missing folder": (lambda path: None, "core/missing"),
    "an empty folder": (lambda path: path.mkdir(), "dump/folder-empty"),
    "a file": (lambda path: path.write_text("x"), "dump/not-a-folder"),
    "a folder of something else": (lambda path: [path.mkdir(), (path / "notes.txt").write_text("x")], "dump/no-dump"),
}  # fmt: skip


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_no_dump_is_refused_in_one_line(capsys, pair, tmp_path, trouble, side):
    make, code = TROUBLES[trouble]
    path = tmp_path / "bad"
    make(path)
    arguments = [path, pair[1]] if side == 0 else [pair[0], path]
    status, out, err = run(capsys, "compare", *arguments)
    assert (status, out) == (2, "")
    known = list(dict.fromkeys(row.name for row in LAYOUTS))
    assert err == f"error: {Message(code, got=str(path), known=known)}\n"
    assert len(err.splitlines()) == 1


def truncate(path) -> str:
    path.write_bytes(path.read_bytes()[:-7])
    return "byte"


def lie_about_the_shape(path) -> str:
    data = path.read_bytes()
    path.write_bytes(
        data.replace(b"'shape': (", b"'shape': (9999999999,", 1).replace(b"  ", b"", 6)
    )
    return "byte"


def hold_objects(path) -> str:
    np.save(path.with_suffix(""), np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return "dtype"


def hold_nothing(path) -> str:
    path.write_bytes(b"")
    return "byte 0"


def hold_noise(path) -> str:
    path.write_bytes(b"\x93NUMPX" + bytes(200))
    return "byte 0"


def become_a_folder(path) -> str:
    path.unlink()
    path.mkdir()
    return "director"


def become_a_dangling_link(path) -> str:
    path.unlink()
    os.symlink("nowhere", path)
    return "No such file"


@pytest.mark.parametrize(
    "damage",
    [truncate, lie_about_the_shape, hold_objects, hold_nothing, hold_noise, become_a_folder,
     become_a_dangling_link],
)  # fmt: skip
def test_a_broken_tensor_becomes_a_row_with_a_reason(capsys, pair, damage):
    victim = one_file(pair[0], "ReLU*output*.npy")
    words = damage(victim)
    status, out, _ = run(capsys, "compare", *pair, "--json", "-")
    result = the_defect_is_still_found(status, out)
    broken = [row for row in result["operators"] if victim.name in row["reason"]]
    assert [row["status"] for row in broken] == ["uncomparable"]
    assert words in broken[0]["reason"]


def test_a_tensor_that_may_not_be_read_becomes_a_row_with_a_reason(capsys, pair):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    victim = one_file(pair[0], "ReLU*output*.npy")
    victim.chmod(0)
    status, out, _ = run(capsys, "compare", *pair, "--json", "-")
    result = the_defect_is_still_found(status, out)
    assert any("Permission" in row["reason"] for row in result["operators"])


def test_a_garbage_ir_is_an_anomaly_and_the_other_graph_serves(capsys, pair):
    one_file(pair[0], "*.ir").write_bytes(bytes(range(256)) * 20)
    status, out, _ = run(capsys, "compare", *pair, "--json", "-")
    result = the_defect_is_still_found(status, out)
    assert any(a["kind"] == "graph" and ".ir:" in a["detail"] for a in result["anomalies"])


def test_without_any_graph_the_first_operator_in_time_is_named(capsys, pair):
    for root in pair:
        shutil.rmtree(root / "rank_0/graphs")
    status, out, _ = run(capsys, "compare", *pair, "--json", "-")
    result = json.loads(out)
    assert status == 1
    assert result["findings"][0]["op_name"] == "Default_conv3-Conv2d_Conv2D-op0"
    assert result["findings"][0]["source"] is None


def test_a_mapping_that_points_outside_its_folder_is_refused_row_by_row(
    capsys, real_pairs, tmp_path
):
    source = real_pairs["lenet_train_fp16"]
    root = tmp_path / "target"
    shutil.copytree(source.golden, root)
    mapping = one_file(root, "mapping.csv")
    before = mapping.read_text(encoding="utf-8")
    mapping.write_text("1234.npy,../../../etc/passwd\n" + before, encoding="utf-8")
    (mapping.parent / "1234.npy").write_bytes(b"secret")
    status, out, _ = run(capsys, "compare", root, source.golden, "--json", "-")
    result = json.loads(out)
    assert (status, result["coverage"]["gaps"]) == (3, {"target:unmapped": 1})
    kinds = {a["kind"]: a["detail"] for a in result["anomalies"] if a["side"] == "target"}
    assert "mapping.csv:1" in kinds["mapping"]
    assert result["coverage"]["skipped"]["target:unmapped"] == 1
    assert "secret" not in out


def test_a_file_name_no_grammar_knows_is_counted_and_named(capsys, pair):
    folder = one_file(pair[0], "ReLU*output*.npy").parent
    (folder / "what is this.npy").write_bytes(b"")
    (folder / "nor this.bin").write_bytes(b"x")
    status, out, _ = run(capsys, "compare", *pair, "--json", "-")
    result = the_defect_is_still_found(status, out)
    assert result["coverage"]["skipped"]["target:unknown-name"] == 2
    assert any("what is this.npy" in a["op_name"] for a in result["anomalies"])


@pytest.mark.parametrize(("option", "value", "code", "values"), [
    ("--rank", "x", "cli/two-numbers", {"name": "rank", "got": "x"}),
    ("--profile", "strict", "", {}),
    ("--map", "missing.json", "core/missing", {"got": "missing.json"}),
    ("--target-graph", "missing.ir", "core/missing", {"got": "missing.ir"}),
    ("--html", "/proc/nowhere/x.html", "core/unwritable", {"subject": "output", "why": "No such file or directory"}),
    ("--no-such-option", "1", "", {}),
])  # fmt: skip
def test_bad_usage_is_one_line_and_status_two(capsys, pair, option, value, code, values):
    status, _, err = run(capsys, "compare", *pair, option, value)
    assert status == 2
    named = value if option == "--profile" else option
    assert (str(Message(code, **values)) if code else named) in err
    assert len(err.strip().splitlines()) == 1


def test_dumps_without_a_common_tensor_are_inconclusive(capsys, real_pairs):
    one, other = real_pairs["alexnet_padmode"], real_pairs["transformer_fp16"]
    status, out, _ = run(capsys, "compare", one.target, other.golden)
    assert status == 3
    assert out.splitlines()[-1].startswith("inconclusive: ")


def test_a_real_interrupt_is_caught_while_measuring(pair):
    def interrupt(done, total, name):
        if done == 10:
            raise KeyboardInterrupt

    comparison = wb.compare(*pair, progress=interrupt)
    assert comparison.result.partial
    assert sum(row.reason != CANCELLED for row in comparison.rows) == 10


def test_too_little_memory_is_one_line_and_status_two(capsys, pair, monkeypatch):
    def compare(*_args, **_options):
        raise MemoryError("Unable to allocate 4.00 TiB")

    monkeypatch.setattr("workbench.session.compare.compare", compare)
    status, _, errors = run(capsys, "compare", *pair)
    assert status == 2
    said = Message("cli/memory", why="Unable to allocate 4.00 TiB")
    assert errors == f"error: {said}\n"
