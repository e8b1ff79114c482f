"""The sample pairs: whole, as their manifests say, and made by the commands written there."""

from __future__ import annotations

import hashlib
import io
import json
import re
import runpy
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from kit.commands import run, status

SAMPLES = Path(__file__).parents[1] / "sample_dumps"
PAIRS = ("real_pair", "simulated_pair")
MANIFESTS = {
    name: json.loads((SAMPLES / name / "MANIFEST.json").read_text(encoding="utf-8"))
    for name in PAIRS
}
ANEW = "run `python sample_dumps/regenerate.py` if the change is meant"


def files(folder: Path) -> dict[str, bytes]:
    """Contents of every file below a folder by its path there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("name", PAIRS)
def test_the_manifest_lists_every_file_with_its_hash(name):
    found = {
        path: hashlib.sha256(content).hexdigest()
        for path, content in files(SAMPLES / name).items()
        if not path.startswith("MANIFEST.")
    }
    assert found == MANIFESTS[name]["files"], ANEW


@pytest.mark.parametrize("name", PAIRS)
def test_the_manifest_for_people_says_the_same(name):
    text = (SAMPLES / name / "MANIFEST.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(SAMPLES / "regenerate.py"))["markdown"](MANIFESTS[name]) == text, ANEW
    for path, digest in MANIFESTS[name]["files"].items():
        assert f"\n{digest}  {path}\n" in text
    for command in MANIFESTS[name]["commands"]:
        assert f"\n{command}\n" in text


def test_files_can_be_read_by_all_and_run_by_none_and_stay_small():
    sizes = [path.stat() for path in SAMPLES.rglob("*") if path.is_file()]
    assert {status.st_mode & 0o111 for status in sizes} == {0}
    assert sum(status.st_size for status in sizes) < 2_000_000


@pytest.mark.parametrize("name", PAIRS)
def test_comparing_a_pair_says_what_the_manifest_expects(name, capsys):
    made, folder = MANIFESTS[name], SAMPLES / name
    expected = made["expected"]
    sides = (folder / made[side] for side in ("target", "golden"))
    ended, out, _ = run(capsys, "compare", *sides, "--json", "-")
    found = json.loads(out)
    first, cover = found["findings"][0], found["coverage"]
    assert ended == expected["exit_status"]
    assert found["verdict"] == expected["verdict"]
    assert (first["kind"], first["op_name"]) == (expected["kind"], expected["op_name"])
    source = first["source"]
    assert f"{source['file'].rpartition('/')[2]}:{source['line']}" == expected["source"]
    assert source["code"].strip() == expected["code"]
    assert any(expected["evidence"] in line for line in first["evidence"])
    for key in ("matched", "unmatched_target", "unmatched_golden"):
        assert cover[key] == expected[key]


def test_the_real_pair_is_what_mindspore_wrote(real_pairs):
    pair = files(SAMPLES / "real_pair")
    ours = {"MANIFEST.json", "MANIFEST.md"}
    assert {path: pair[path] for path in pair.keys() - ours} == files(
        real_pairs["alexnet_padmode"].folder
    )


def simulate(folder: Path, monkeypatch, capsys) -> dict[str, bytes]:
    """Run the written commands on copies of their inputs alone."""
    shutil.copy(SAMPLES / "data_dump.json", folder)
    work = folder / "simulated_pair"
    work.mkdir()
    shutil.copy(SAMPLES / "simulated_pair" / "net.py", work)
    monkeypatch.chdir(work)
    for command in MANIFESTS["simulated_pair"]["commands"]:
        program, *arguments = shlex.split(command)
        assert program == "workbench"
        assert status(*arguments) == 0
    capsys.readouterr()
    return files(work)


def test_the_written_commands_make_the_same_bytes(tmp_path, monkeypatch, capsys):
    made = simulate(tmp_path, monkeypatch, capsys)
    kept = {p: c for p, c in files(SAMPLES / "simulated_pair").items() if not p.startswith("MANI")}
    assert made.keys() == kept.keys()
    order = runpy.run_path(str(SAMPLES / "regenerate.py"))["blas_order"]()
    same_order = order == MANIFESTS["simulated_pair"]["blas_order"]
    for path, content in kept.items():
        if same_order or not path.startswith("target/") or not path.endswith(".npy"):
            assert made[path] == content, f"{path}; {ANEW}"
        else:  # the host sums 16 products in another order, as the simulated device is free to
            want, got = (np.load(io.BytesIO(one)) for one in (content, made[path]))
            scale = float(np.max(np.abs(want.astype(np.float64)), initial=0))
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-3 * scale)


def test_the_simulated_dumps_name_no_machine():
    pair = files(SAMPLES / "simulated_pair")
    graphs = [content.decode() for path, content in pair.items() if path.endswith(".ir")]
    assert len(graphs) == 2
    named = {name for text in graphs for name in re.findall(r"In file ([^:]*):", text)}
    assert named == {
        "net.py",
        "workbench/network/nn/layers.py",
        "workbench/network/nn/functional.py",
    }
    for private in (str(SAMPLES.parent), str(Path.home()) + "/"):
        assert not [path for path, content in pair.items() if private.encode() in content]
