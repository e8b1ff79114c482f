"""Lets msprobe judge forms of its ``config.json`` and records which it takes.

Forms are made from a seed. Each framework's ``PrecisionDebugger`` is made of each form, as a script does it, in an
environment of its own with msprobe, MindSpore and PyTorch for a CPU: ``make conformance-msprobe-config``. Only this is
not as on a device: msprobe is told that torch_npu and its kernels for task ``nan_check`` are there.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Form = dict[str, Any]

FRAMEWORKS = ("pytorch", "mindspore")
SEED, COUNT = 20261127, 400

TASKS = (
    "statistics",
    "tensor",
    "structure",
    "nan_check",
    "diff_check",
    "acc_check",
    "exception_dump",
)
LEVELS = ("L0", "L1", "L2", "mix", "debug")
CALLS = (
    "Functional.conv2d.0.forward",
    "Tensor.add.3.backward",
    "Mint.add.0.forward",
    "Torch.relu.1.forward",
)
MODULES = (
    "Module.fc1.Linear.forward.0",
    "Module.bn.BatchNorm2d.backward.1",
    "Cell.net.Dense.forward.0",
)
NAMES = (
    *CALLS,
    *MODULES,
    "conv2d",
    "name-regex(Default/.+)",
    "name-regex(()",
    "",
    "Functional.conv2d",
)
MODES = ("all", "input", "output", "forward", "backward", "grad")
NOTHING = (None, "", [], {}, 0, False)
ANYTHING = (*NOTHING, True, 1, -1, 1.5, "x", ["x"], [1], [None], {"a": 1})
NUMBERS = ([], [0], [0, 1, "3-5"], ["2"], [" 4 - 6 "], ["+1"], [1_000_000], [1_000_001], [-1], ["5-3"], ["1-2-3"],
           ["a"], ["-1"], [True], [1.0], [None], ["0-1000000"], "0-5", 3, [[1]], ["1_0"], [""])  # fmt: skip
SUMMARIES = (
    "statistics",
    "md5",
    "xor",
    "sha1",
    ["max", "mean"],
    ["max", "md5"],
    ["median"],
    [],
    ["l2norm"],
)
SLICES = ([{"dim": 0, "begin": 1, "end": 2}], [{"dim": -1}], [{"size": -3}], [{"begin": -2}], [{}], [1], [{"dim": "0"}],
          [{"other": 1}], {"dim": 0}, [{"dim": True}])  # fmt: skip
LOADS = (
    {"path": "/tmp", "modules": list(MODULES[:1])},
    {"path": "/tmp", "modules": list(MODULES[:1]), "dump_after_load": True},
    {"path": "/tmp", "modules": list(MODULES[:1]) * 2},
    {"path": "/tmp", "modules": ["fc1"]},
    {"path": "/tmp", "modules": ["Module.fc1.backward.0.forward.0"]},
    {"path": "/tmp", "modules": ["Module.fc1.forward.x"]},
    {"path": "/tmp", "modules": []},
    {"path": "", "modules": list(MODULES[:1])},
    {"modules": list(MODULES[:1])},
    {"path": "/tmp", "modules": list(MODULES[:1]), "step": ["5-3"]},
    {"path": "/tmp", "modules": list(MODULES[:1]), "rank": [0]},
    {"path": "/tmp", "modules": list(MODULES[:1]), "dump_after_load": 1},
    {"path": "/tmp", "modules": "Module.fc1.forward.0"},
)  # fmt: skip


def make_form(seed: random.Random) -> Form:
    """Return a form that is mostly right, with up to three settings drawn from right and wrong ones."""
    pick = seed.choice
    task = pick(TASKS[:3]) if seed.random() < 0.75 else pick(TASKS)
    form: Form = {"task": task, "dump_path": "dump", "level": pick(LEVELS)}
    section: Form = {}
    if seed.random() < 0.5:
        section["list"] = [pick(NAMES) for _ in range(seed.randrange(3))]
    if seed.random() < 0.35:
        ends = pick((CALLS, MODULES, NAMES))
        section["scope"] = [pick(ends) for _ in range(pick((2, 2, 2, 1, 3, 0)))]
    if seed.random() < 0.4:
        section["data_mode"] = [pick(MODES[:5]) for _ in range(seed.randrange(1, 3))]
    form["async_dump"] = seed.random() < 0.2
    for _ in range(pick((0, 0, 0, 1, 1, 2, 3))):
        _change(seed, form, section)
    if section or seed.random() < 0.5:
        form[form["task"] if isinstance(form["task"], str) and form["task"] else "statistics"] = (
            section
        )
    if seed.random() < 0.1:
        form[pick(TASKS)] = pick(ANYTHING)
    if seed.random() < 0.1:
        form.pop(pick(sorted(form)), None)
    return form


def _change(seed: random.Random, form: Form, section: Form) -> None:
    pick = seed.choice
    drawn = {
        "rank": NUMBERS, "step": NUMBERS, "task": (*TASKS, *NOTHING, "free_benchmark"), "load": LOADS,
        "level": (*LEVELS, *NOTHING, "L3"), "dump_path": ("dump", "", None, 5, ["dump"]),
        "extra_info": (True, False, None, "true", 1), "async_dump": (True, False, None, "true", 0),
        "dump_enable": (True, False, None, "true", 1), "precision": ("low", "high", None, "mid", ""),
        "risk_level": ("CORE", "FOCUS", "ALL", "LOW", None, ""), "unknown": ANYTHING,
        "custom_op_namespaces": (None, [], ["_C"], "_C", [1]),
    }  # fmt: skip
    inside = {
        "scope": (*ANYTHING, list(CALLS[:2]), list(MODULES[:2])), "list": (*ANYTHING, list(NAMES[:2])),
        "data_mode": (*ANYTHING, list(MODES[1:5]), [*MODES[1:5], "input"], ["all", "input"], ["grad"]),
        "summary_mode": (*SUMMARIES, *NOTHING), "slice": (*SLICES, *NOTHING, "x"),
        "request_id": (None, "r", "", 1, ["r"]),
        "tensor_list": (None, [], ["conv"], "conv", [1]), "bench_path": (None, 1, ["x"]),
        "device": ("device", "host", "npu", None), "precision": ("high", "low", "mid", None),
        "diff_nums": (None, -1, 0, 1, 5, -2, True, "1", 1.5), "unknown": ANYTHING,
    }  # fmt: skip
    where, table = pick(((form, drawn), (section, inside)))
    key = pick(sorted(table))
    where[key] = pick(table[key])


def judge(framework: str, form: Form, folder: Path) -> list[str]:
    """Return what making a ``PrecisionDebugger`` of a form raises: its type and message; nothing if it is made."""
    file = folder / "config.json"
    file.write_text(json.dumps(form), encoding="utf-8")
    debugger = _debugger(framework)
    debugger._instance = None
    try:
        debugger(config_path=str(file))
    except Exception as error:  # whatever it is, the form is refused
        return [type(error).__name__, " ".join(str(error).split())[:160]]
    finally:
        made = debugger._instance
        service = getattr(made, "service", None)
        if service is not None and service.api_register is not None:
            service.api_register.restore_all_api()
    return []


def _debugger(framework: str) -> Any:
    if framework == "mindspore":
        from msprobe.mindspore import PrecisionDebugger

        return PrecisionDebugger
    from msprobe.core.dump.data_dump.data_processor import pytorch_processor
    from msprobe.pytorch import PrecisionDebugger
    from msprobe.pytorch.dump.debugger import debugger_config

    debugger_config._is_torch_npu_importable = lambda: True
    nan_check = pytorch_processor.NanCheckDataProcessor
    nan_check._nan_overflow_ops_available = staticmethod(lambda: True)
    return PrecisionDebugger


def judge_all(framework: str) -> None:
    """Judge the forms of standard input, one a line, and write the verdicts."""
    forms = [json.loads(line) for line in sys.stdin]
    verdicts = []
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        os.chdir(folder)
        verdicts = [judge(framework, form, Path(folder)) for form in forms]
    names = ("mindstudio-probe", "torch", "mindspore", "numpy")
    about = {name: importlib.metadata.version(name) for name in names}
    print(json.dumps({"about": about, "verdicts": verdicts}))
    sys.stdout.flush()
    os._exit(0)  # what msprobe would write at the end is not wanted


def main() -> None:
    """Make forms, have them judged and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "python", help="of an environment with msprobe; or a framework, to judge standard input"
    )
    parser.add_argument("out", type=Path, nargs="?", help="record to write")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    arguments = parser.parse_args()
    if arguments.python in FRAMEWORKS:
        judge_all(arguments.python)
    seed = random.Random(arguments.seed)
    forms = [make_form(seed) for _ in range(arguments.count)]
    text = "".join(json.dumps(form) + "\n" for form in forms)
    found: Json = {}
    for framework in FRAMEWORKS:
        run = subprocess.run(
            [arguments.python, __file__, framework],
            input=text,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found[framework] = json.loads(run.stdout.splitlines()[-1])
        taken = found[framework]["verdicts"].count([])
        print(f"{framework}: {taken} of {len(forms)} forms are taken")
    lines = [
        json.dumps([form, *(found[framework]["verdicts"][n] for framework in FRAMEWORKS)])
        for n, form in enumerate(forms)
    ]
    about = found["pytorch"]["about"] | {"seed": arguments.seed}
    arguments.out.write_text(
        f'{{"about":{json.dumps(about)},\n"forms":[\n' + ",\n".join(lines) + "\n]}\n",
        encoding="ascii",
    )


if __name__ == "__main__":
    main()
