"""What real MindSpore did with over a thousand configurations on a CPU, against our own check.

The record comes from `make conformance`; ``docs/evidence/conformance.md`` says how, and in which form. Only `judge` and
`plan_of` know our own interface.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import workbench.config
from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.core.plan import DumpPlan

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "tests/data/conformance/mindspore_2.10.0_cpu.json").read_text())
STEPS = RECORD["about"]["steps"]
KINDS = [
    *("text", "name", "place", "one", "path", "iteration", "kernels", "env", "several", "valid"),
    "pair",
]

EXPLAINED: dict[str, str] = {
    "text: nesting (500|2000|of objects 1100|2000 in kernels)":
        "MindSpore has no limit; we read 500 levels, because nothing real is deep",
    "text: trailing bytes": "MindSpore never reads what is behind the value; we need the file to be text to show it",
    "place: slash at the end": "a path loses its slash before our reader sees it",
}  # fmt: skip
"""Where we disagree with MindSpore, and why: regular expression over whole ids, explanation."""

NOTHING = ["path-long", "net-name-long"]
"""Problems that say that no tensor will be written."""

OPERATORS = {
    "Default/conv-Conv2d/Conv2D-op0": ("Conv2D.Default_conv-Conv2d_Conv2D-op0", "Conv2D"),
    "Default/conv-Conv2d/BiasAdd-op0": ("BiasAdd.Default_conv-Conv2d_BiasAdd-op0", "BiasAdd"),
    "Default/relu-ReLU/ReLU-op0": ("ReLU.Default_relu-ReLU_ReLU-op0", "ReLU"),
    "Default/flatten-Flatten/Flatten-op0": ("Flatten.Default_flatten-Flatten_Flatten-op0", "Flatten"),
    "Default/Mul-op0": ("Mul.Default_Mul-op0", "Mul"),
    "Default/Add-op0": ("Add.Default_Add-op0", "Add"),
    "Default/Add-op1": ("Add.Default_Add-op1", "Add"),
    "Default/fc1-Dense/MatMul-op0": ("MatMul.Default_fc1-Dense_MatMul-op0", "MatMul"),
    "Default/fc1-Dense/BiasAdd-op0": ("BiasAdd.Default_fc1-Dense_BiasAdd-op0", "BiasAdd"),
    "Default/fc1-Dense/activation-ReLU/ReLU-op0": ("ReLU.Default_fc1-Dense_activation-ReLU_ReLU-op0", "ReLU"),
    "Default/fc2-Dense/MatMul-op0": ("MatMul.Default_fc2-Dense_MatMul-op0", "MatMul"),
    "Default/fc2-Dense/BiasAdd-op0": ("BiasAdd.Default_fc2-Dense_BiasAdd-op0", "BiasAdd"),
    "conv.weight": ("Parameter.conv_weight", "conv.weight"),
    "conv.bias": ("Parameter.conv_bias", "conv.bias"),
    "fc1.weight": ("Parameter.fc1_weight", "fc1.weight"),
    "fc1.bias": ("Parameter.fc1_bias", "fc1.bias"),
    "fc2.weight": ("Parameter.fc2_weight", "fc2.weight"),
    "fc2.bias": ("Parameter.fc2_bias", "fc2.bias"),
    "x": ("Parameter.x", "x"),
}  # fmt: skip
"""Operators and parameters of the network: how its files begin, and what counts as its type."""
NAMES = {start: name for name, (start, _) in OPERATORS.items()}


@dataclass(frozen=True)
class Case:
    """A configuration and what MindSpore did with it."""

    id: str
    data: bytes | None
    file: str
    variable: str | None
    env: dict[str, str]
    accepted: bool
    message: str
    log: list[str]
    folders: dict[str, list[str]]

    @property
    def steps(self) -> dict[int, list[str]]:
        """Names of the tensor files of each iteration that was dumped."""
        matches = {folder: re.search(r"/rank_0/[^/]+/0/(\d+)$", folder) for folder in self.folders}
        return {int(m[1]): self.folders[folder] for folder, m in matches.items() if m}


def unpack(case: dict[str, Any]) -> Case:
    """Read one line of the record."""
    data, base = None, RECORD["base"]
    if case["text"] is not None:
        head, middle, tail = case["text"]
        text = base[:head] + middle + base[len(base) - tail :]
        data = text.encode("utf-8", "surrogateescape")
    file = case.get("file", "data_dump.json")
    tree = RECORD["trees"][case["files"]] if "files" in case else {}
    return Case(
        id=case["id"],
        data=data,
        file=file,
        variable=case.get("variable", f"/CASE/{file}"),
        env=case.get("env", {}),
        accepted={"accepted": True, "refused": False}[case["verdict"]],
        message=case.get("message", ""),
        log=RECORD["logs"][case["log"]] if "log" in case else [],
        folders={folder: RECORD["listings"][number] for folder, number in tree.items()},
    )


CASES = [unpack(case) for case in RECORD["cases"]]


def judge(case: Case, folder: Path) -> tuple[bool, tuple[str, ...]]:
    """Our own verdict: whether MindSpore accepts it, and the ids of what we found."""
    if not case.variable:
        return True, ()
    path = folder / case.variable.replace("/CASE", str(folder))
    try:
        config = workbench.config.load(path, "mindspore-cpu")
    except WorkbenchError as error:
        return False, (type(error).__name__,)
    problems = config.check(workbench.config.Context(version="2.10.0", env=case.env))
    return not any(p.severity == "error" for p in problems), tuple(p.id for p in problems)


def plan_of(case: Case, folder: Path) -> DumpPlan:
    """Our own plan of a configuration that both accept."""
    path = folder / case.variable.replace("/CASE", str(folder))
    context = workbench.config.Context(version="2.10.0", env=case.env)
    return workbench.config.load(path, "mindspore-cpu").plan(context)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folder of each case with its file."""
    base = tmp_path_factory.mktemp("cases")
    found = {case.id: base / str(number) for number, case in enumerate(CASES)}
    for case in CASES:
        path = found[case.id] / case.file
        path.parent.mkdir(parents=True)
        if case.data is not None:
            path.write_bytes(case.data)
    return found


@pytest.fixture(scope="module")
def judged(folders: dict[str, Path]) -> dict[str, tuple[bool, tuple[str, ...]]]:
    """Our verdict on each case."""
    return {case.id: judge(case, folders[case.id]) for case in CASES}


def explained(label: str) -> bool:
    return any(re.fullmatch(pattern, label, re.DOTALL) for pattern in EXPLAINED)


@pytest.mark.parametrize("kind", KINDS)
def test_we_refuse_what_mindspore_refuses(kind, judged):
    cases = [case for case in CASES if case.id.startswith(f"{kind}: ")]
    wrong = {
        case.id: f"MindSpore: {case.message or 'accepted'}; we: {judged[case.id][1]}"
        for case in cases
        if judged[case.id][0] != case.accepted and not explained(case.id)
    }
    assert cases
    assert wrong == {}


def test_every_case_belongs_to_a_kind():
    assert {case.id.split(": ")[0] for case in CASES} == set(KINDS)


def test_explained_disagreements_are_disagreements(judged):
    for pattern in EXPLAINED:
        cases = [case for case in CASES if re.fullmatch(pattern, case.id, re.DOTALL)]
        assert cases, pattern
        agreeing = [case.id for case in cases if judged[case.id][0] == case.accepted]
        assert agreeing == [], pattern


def test_enough_cases_agree(judged):
    agreeing = [case for case in CASES if judged[case.id][0] == case.accepted]
    assert sum(case.accepted for case in agreeing) >= 400
    assert sum(not case.accepted for case in agreeing) >= 400


def unwritable(case: Case) -> bool:
    """Whether the folder itself could not be made, which no form can tell."""
    return any(re.search("Get real path failed|CreatePrefixPath failed", line) for line in case.log)


def files_of(case: Case) -> dict[int, set[tuple[str, str]]]:
    """Which inputs and outputs of which operators MindSpore wrote, by iteration."""
    found = {}
    for step, names in case.steps.items():
        starts = [name.partition(".0.0.*.") for name in names]
        found[step] = {(NAMES[start], rest.partition(".")[0]) for start, _, rest in starts}
    return found


def planned(plan: DumpPlan) -> dict[int, set[tuple[str, str]]]:
    """The same as our plan has it; MindSpore counts iterations in 32 bits."""
    found = {}
    for step in range(plan.initial_iteration, plan.initial_iteration + STEPS):
        wanted = {
            (name, io)
            for name, (start, kind) in OPERATORS.items()
            for io in (("output",) if start.startswith("Parameter.") else ("input", "output"))
            if plan.wants(name, kind, io, step % 2**32)
        }
        found |= {step % 2**32: wanted} if wanted else {}
    return found


def test_files_are_those_of_the_plan(judged, folders):
    wrong, seen = [], 0
    for case in CASES:
        if not (case.variable and case.accepted and judged[case.id][0]) or explained(case.id):
            continue
        plan = plan_of(case, folders[case.id])
        if plan.kind != "exception" and not unwritable(case):
            seen += 1
            wrong += [case.id] if planned(plan) != files_of(case) else []
    assert seen >= 400
    assert wrong == []


def test_exception_dump_writes_parameters_alone(judged, folders):
    """On a CPU nothing fails on a device; what comes out is the parameters of every iteration."""
    parameters = {(name, "output") for name in OPERATORS if "Default/" not in name}
    seen = set()
    for case in CASES:
        if case.accepted and any("Abnormal dump is not supported" in line for line in case.log):
            plan = plan_of(case, folders[case.id])
            expected = dict.fromkeys(range(STEPS), parameters) if plan.io != {"input"} else {}
            assert files_of(case) == expected
            assert plan.kind == "exception"
            seen.add(plan.io)
    assert len(seen) == 3


@pytest.mark.parametrize("problem", NOTHING)
def test_where_we_warn_of_nothing_nothing_comes_out(problem, judged):
    warned = [case for case in CASES if case.accepted and problem in judged[case.id][1]]
    assert warned
    assert [case.id for case in warned if case.steps] == []


def test_a_refused_run_writes_nothing():
    assert [case.id for case in CASES if case.folders and not case.accepted] == []


def test_record_is_of_the_present_generator():
    command = [sys.executable, str(ROOT / "conformance/generate.py")]
    output = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    made = json.loads(output.stdout)
    keys = ("id", "text", "file", "variable", "env")
    recorded = [{key: case[key] for key in keys if key in case} for case in RECORD["cases"]]
    for case, known in zip(RECORD["cases"], CASES, strict=True):
        text = known.data.decode("utf-8", "surrogateescape") if known.data is not None else None
        recorded[RECORD["cases"].index(case)]["text"] = text
    assert recorded == made
