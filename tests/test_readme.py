"""Every example of the documents is run: shell and Python, in a copy of the tree.

`make` targets and installations are looked up instead: `make test` is what runs this file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.cases import is_nightly
from kit.served import served

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
SHELL = ("bash", "sh", "console")
SECONDS = 120

# `make` target → what its recipe must do
TARGETS = {
    "demo": ["workbench demo --out demo_out"],
    "test": ["python -m pytest"],
    "test-all": ["python -m pytest", "--exhaustive"],
    "durations": ["python -m pytest", "--record-durations"],
    "check": ["ruff check", "ruff format --check", "mypy", "python -m pytest"],
    "lab": ["workbench lab ."],
    "conformance": ["conformance/run_mindspore.py", "pytest tests/config/test_conformance.py"],
    "conformance-operators": [
        "conformance/run_mindspore_operators.py",
        "pytest tests/ops/test_mindspore_operators.py",
    ],
    "conformance-torch": [
        "conformance/run_torch_operators.py",
        "tests/data/conformance/aclnn_torch_",
        "pytest tests/ops/test_torch_operators.py",
    ],
    "conformance-steps": [
        "conformance/run_mindspore_steps.py",
        "tests/data/conformance/steps_",
        "tests/network/nn/test_mindspore_steps.py",
    ],
    "conformance-flows": [
        "conformance/run_mindspore_flows.py",
        "tests/data/conformance/flows_",
        "tests/scenarios/test_flows.py",
    ],
    "conformance-names": [
        "conformance/run_mindspore_names.py",
        "tests/data/conformance/names_",
        "tests/forecast/test_real_names.py",
    ],
    "conformance-marks": [
        "conformance/run_mindspore_marks.py",
        "tests/data/conformance/marks_",
        "tests/network/test_set_dump.py",
    ],
    "conformance-layouts": [
        "conformance/run_torch_layouts.py",
        "tests/data/conformance/",
        "tests/scale/layouts/test_torch_layouts.py",
    ],
    "conformance-golden": ["conformance/run_golden_modules.py", "pytest tests/golden_data"],
    "conformance-msprobe": [
        "conformance/run_msprobe.py",
        "pytest tests/comparison/measure/test_msprobe_conformance.py",
    ],
    "conformance-msprobe-config": [
        "conformance/run_msprobe_config.py",
        "tests/data/conformance/msprobe_config_",
        "pytest tests/config/msprobe/test_msprobe_conformance.py",
    ],
    "conformance-offline": ["run_offline_models.py build/models build/offline.json faults"],
    "conformance-msaccucmp": [
        "conformance/run_msaccucmp.py",
        "tests/data/conformance/msaccucmp_",
        "pytest tests/comparison/measure/test_msaccucmp_conformance.py",
    ],
    "floors": [".ci/floors"],
    "mutations": [
        "MUTATIONS=10000 KILLS=50",
        "pytest -rP tests/scenarios/test_damaged_files.py tests/scenarios/test_killed_runs.py",
    ],
    "grid": [
        "GRID=all SEEDS=30",
        "pytest --exhaustive tests/scenarios/test_grid.py tests/scenarios/test_every_fault.py",
    ],
}

LOOKED_UP = ("make ", "pip install ")
"""Commands that are not run: how they begin."""

SLURM = "# slurm_job.py: run it on a login node or in a small job of its own"

# (document, first line of a block) → why it is neither run nor looked up
EXCUSED: dict[tuple[str, str], str] = {
    ("docs/architecture.md", " target, golden          two Dump values"): "a drawing",
    ("docs/scale.md", SLURM): "needs Slurm and dask-jobqueue",
    ("docs/scale.md", "# cluster.yaml: kubectl apply -f cluster.yaml"): "needs Kubernetes",
    ("docs/scale.md", "# in the client's pod"): "needs Kubernetes",
}

LEFT_OUT = (
    *(".git", ".venv", ".venv-*", "build", "demo_out", "*.egg-info", "__pycache__"),
    *(".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"),
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    document: str
    line: int
    language: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        return self.document, self.text.partition("\n")[0]

    def __str__(self) -> str:
        return f"{self.document}:{self.line}-{self.language or 'plain'}"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks(path: Path) -> list[Block]:
    text = read(path)
    return [
        Block(
            path.relative_to(ROOT).as_posix(),
            text.count("\n", 0, match.start(2)) + 1,
            match[1].strip(),
            match[2],
        )
        for match in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S)
    ]


BLOCKS = [block for path in DOCUMENTS for block in blocks(path) if block.key not in EXCUSED]


def commands(block: Block) -> list[str]:
    """Return the lines to type; a console shows them behind a prompt, among what they print."""
    lines = block.text.splitlines()
    if block.language == "console":
        return [line[2:] for line in lines if line.startswith("$ ")]
    return lines


def of(*languages: str) -> pytest.MarkDecorator:
    chosen = [block for block in BLOCKS if block.language in languages]
    return pytest.mark.parametrize("block", chosen, ids=str)


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the tree, for what the documents write."""
    copy = tmp_path_factory.mktemp("copy") / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return copy


@pytest.fixture(scope="module")
def installed() -> str:
    """``PATH`` with the installed command."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


@pytest.fixture(scope="module")
def quick(installed, tmp_path_factory) -> Iterator[str]:
    """``PATH`` with a command whose imports are done once for all; each night with the installed one itself."""
    if is_nightly() or sys.platform != "linux":
        yield installed
        return
    program = shutil.which("workbench", path=installed)
    with served(tmp_path_factory.mktemp("served"), program) as command:
        yield os.pathsep.join([str(command.parent), installed])


@pytest.mark.slow
@pytest.mark.parametrize("line", ["config new acl", "config check /nowhere", "--help --no-such"])
def test_a_quick_command_ends_and_prints_as_the_installed_one(installed, quick, tmp_path, line):
    quick_one, other = (
        subprocess.run(
            ["bash", "-c", f"workbench {line}"], cwd=tmp_path, timeout=SECONDS, text=True,
            capture_output=True, env=os.environ | {"PATH": path}, check=False,
        )
        for path in (quick, installed)
    )  # fmt: skip
    ended = [(one.returncode, one.stdout, one.stderr) for one in (quick_one, other)]
    assert ended[0] == ended[1]


@pytest.fixture(scope="module")
def shown(tree, quick) -> dict[Block, subprocess.CompletedProcess[str]]:
    """Run every shell block once, in order, without its `make` lines."""
    done = {}
    for block in BLOCKS:
        if block.language in SHELL:
            script = "\n".join(c for c in commands(block) if not c.startswith(LOOKED_UP))
            done[block] = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script], cwd=tree, timeout=SECONDS, text=True,
                capture_output=True, env=os.environ | {"PATH": quick}, check=False,
            )  # fmt: skip
    return done


@pytest.mark.slow
@of(*SHELL)
def test_a_shell_block_runs(shown, block):
    assert shown[block].returncode == 0, shown[block].stdout + shown[block].stderr


@pytest.mark.slow
@of("text")
def test_quoted_output_is_what_some_command_prints(shown, block):
    printed = " ".join(word for run in shown.values() for word in run.stdout.split())
    assert " ".join(block.text.split()) in printed


@pytest.mark.slow
@of("python")
def test_a_python_block_runs(tree, namespace, monkeypatch, block):
    monkeypatch.chdir(tree)
    code = "\n" * (block.line - 1) + block.text
    exec(compile(code, str(ROOT / block.document), "exec"), namespace)


@pytest.fixture(scope="module")
def namespace() -> dict[str, object]:
    """What Python blocks define is there in the next one."""
    return {"__name__": "__main__"}


@of("json")
def test_a_json_block_is_json(block):
    json.loads(block.text)


def dry_run(target: str) -> str:
    """Return what a target would do; a `make` around this test must not pass on its own flags."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, env=clean, text=True, capture_output=True,
        check=True, timeout=SECONDS,
    ).stdout  # fmt: skip


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_a_make_target_does_what_is_said_of_it(target):
    recipe = dry_run(target)
    assert [step for step in TARGETS[target] if step not in recipe] == []


def test_every_make_command_of_the_documents_is_looked_up():
    lines = [c for block in BLOCKS if block.language in SHELL for c in commands(block)]
    named = {line.removeprefix("make ") for line in lines if line.startswith("make ")}
    for path in DOCUMENTS:
        named |= set(re.findall(r"`make (\S+)`", read(path)))
    assert named == TARGETS.keys()


def test_every_installation_names_this_folder_and_its_extras():
    text = "\n".join(map(read, DOCUMENTS))
    asked = re.findall(r"(?<!python -m )\bpip install ('[^']*'|[^`\s]+)", text)
    extras = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    assert set(asked) == {".", *(f"'.[{name}]'" for name in ("onnx", "scale", "dev"))}
    assert {"onnx", "scale", "dev"} <= extras.keys()


def test_no_block_is_passed_over():
    handled = (*SHELL, "python", "json", "text")
    assert [str(block) for block in BLOCKS if block.language not in handled] == []
    assert sum(read(path).count("\n```") for path in DOCUMENTS) == 2 * (len(BLOCKS) + len(EXCUSED))
    known = {block.key for path in DOCUMENTS for block in blocks(path)}
    assert EXCUSED.keys() <= known


def test_the_readme_is_short_and_begins_with_the_installation():
    lines = read(ROOT / "README.md").splitlines()
    assert len(lines) <= 90
    assert next(line for line in lines if line.startswith("## ")) == "## Install"
    assert blocks(ROOT / "README.md")[0].text == "pip install .\n"


ONE_HOP = {
    "Which exit status means what?": ("docs/reference/exit-status.md", "`workbench compare` | 1 |"),
    "What does `noise_floor` mean?": ("docs/reference/glossary.md", "| `noise_floor` |"),
    "How do I compare two ranks?": ("docs/guide/compare.md", "`--rank T:G`"),
}
"""Question of the README → the page that it links, and words of the answer there."""


@pytest.mark.parametrize("question", ONE_HOP)
def test_a_question_of_a_newcomer_is_answered_by_one_link(question):
    page, answer = ONE_HOP[question]
    (row,) = [line for line in read(ROOT / "README.md").splitlines() if question in line]
    assert f"]({page}" in row
    assert answer in read(ROOT / page)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_inside_the_tree_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)\s]*)\)", read(path)):
        if link.startswith("https://"):
            continue
        file, _, place = link.partition("#")
        there = path.parent / file if file else path
        assert there.exists(), link
        headings = re.findall(r"^#+ (.*)$", read(there), re.M) if place else []
        slugs = {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}
        assert not place or place in slugs, link
