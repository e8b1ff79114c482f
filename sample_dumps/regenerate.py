"""Make the simulated pair anew and write the manifests of both pairs.

    python sample_dumps/regenerate.py

Run it after a change of the simulated NPU, of the tracer or of the dump writer. The test
`tests/test_sample_dumps.py` fails until the dumps are what the written commands make.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import workbench as wb
from workbench.cli import main as run_command

if TYPE_CHECKING:
    from numpy.typing import NDArray

HERE = Path(__file__).parent

REAL: dict[str, Any] = {
    "summary": "A small AlexNet, one inference call, float32 on both sides, written by MindSpore.",
    "origin": (
        "Real MindSpore 2.10.0 on a CPU in graph mode wrote both trees. The paths below "
        "/srv/train in the IR are those of the machine that ran the program."
    ),
    "programs": {"mindspore": "2.10.0", "python": "3.11.7", "numpy": "1.26.4"},
    "folder": "/srv/train/alexnet_padmode",
    "commands": [
        "MINDSPORE_DUMP_CONFIG=$PWD/data_dump.json python script.py a",
        "MINDSPORE_DUMP_CONFIG=$PWD/data_dump.json python script.py b",
    ],
    "difference": (
        "conv3 has pad_mode 'same' in dump_a, and pad_mode 'pad' with padding 1 in dump_b. With "
        "stride 2 on an even size the output has the same shape, but every window is shifted by "
        "one: nothing crashes, the numbers are wrong."
    ),
    "altered": (
        "Nothing in the files. Modes were widened (MindSpore writes 0400) and each run's tree was"
        " moved from the form's path to dump_a and dump_b."
    ),
    "golden": "dump_a",
    "target": "dump_b",
    "expected": {
        "exit_status": 1,
        "verdict": "fail",
        "kind": "attribute",
        "op_name": "Default/conv3-Conv2d/Conv2D-op0",
        "source": "script.py:41",
        "code": "x = self.conv3(x)",
        "evidence": "pad_mode differs: 'pad' (target), 'same' (golden)",
        "matched": 74,
        "unmatched_target": 0,
        "unmatched_golden": 0,
    },
}

SIMULATED: dict[str, Any] = {
    "summary": "A small LeNet, one inference call: NumPy reference against a simulated NPU with a planted fault.",
    "origin": "No device was involved: the workbench made both trees from net.py.",
    "programs": {"npu-accuracy-workbench": wb.__version__},
    "folder": "sample_dumps/simulated_pair",
    "commands": [
        "workbench simulate --graph net.py:LeNet --config ../data_dump.json --device reference --out golden",
        "workbench simulate --graph net.py:LeNet --config ../data_dump.json --device a2 "
        "--fault overwritten-element:Default/conv2-Conv2d/Conv2D-op0 --out target",
    ],
    "difference": (
        "In target one element of the output of conv2 is overwritten with ten times the largest "
        "magnitude, as a stray write on the device would. The rest of target differs by what the "
        "device rounds."
    ),
    "altered": "Nothing: the commands write every byte, clock and random numbers are seeded.",
    "golden": "golden",
    "target": "target",
    "expected": {
        "exit_status": 1,
        "verdict": "fail",
        "kind": "own-error",
        "op_name": "Default/conv2-Conv2d/Conv2D-op0",
        "source": "net.py:25",
        "code": "x = self.conv2(x)",
        "evidence": "× expected rounding error",
        "matched": 47,
        "unmatched_target": 0,
        "unmatched_golden": 9,
    },
}

PAIRS: dict[str, dict[str, Any]] = {"real_pair": REAL, "simulated_pair": SIMULATED}

_CONVOLUTIONS = ((6, 16, 400), (6, 9, 400), (16, 6, 36))
_DENSE = ((144, 60), (60, 42), (42, 10))


def blas_order() -> str:
    """Return a hash of how the host's BLAS sums the products that the simulated network needs.

    The cube unit's order inside a block of 16 is that of the host's float32 product, so the last
    bits of ``target`` are the same only where this hash is.
    """
    rng, found = np.random.default_rng(0), hashlib.sha256()

    def numbers(*shape: int) -> NDArray[np.float32]:
        """As the cube unit gets them: float16, whose products are exact in float32."""
        return rng.standard_normal(shape, np.float32).astype(np.float16).astype(np.float32)

    for rows, inner, columns in _CONVOLUTIONS:
        found.update((numbers(1, rows, inner) @ numbers(1, inner, columns)).tobytes())
    for inner, columns in _DENSE:
        left, right = numbers(2, inner), numbers(columns, inner)
        for k in range(0, inner, 16):
            found.update((left[:, k : k + 16] @ right[:, k : k + 16].T).tobytes())
    return found.hexdigest()


def hashes(folder: Path) -> dict[str, str]:
    """Return SHA-256 of every file of a pair but the manifests, by path inside it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.stem != "MANIFEST" and "__pycache__" not in path.parts
    }


def manifest(name: str, folder: Path) -> dict[str, Any]:
    """Return the manifest of a pair as JSON values."""
    made: dict[str, Any] = {"schema": "workbench.sample/1", "name": name, **PAIRS[name]}
    if name == "simulated_pair":
        made["programs"] |= {"python": platform.python_version(), "numpy": np.__version__}
        made["blas_order"] = blas_order()
    return made | {"files": hashes(folder)}


def markdown(made: dict[str, Any]) -> str:
    """Return the manifest for people."""
    expected, files = made["expected"], made["files"]
    programs = ", ".join(f"{name} {version}" for name, version in made["programs"].items())
    lines = [
        f"# Manifest of {made['name']}",
        made["summary"],
        f"**Where it comes from.** {made['origin']}",
        f"**How it was made.** {programs}; in `{made['folder']}`:",
        "\n".join(["```text", *made["commands"], "```"]),
        f"**What differs.** {made['difference']}",
        f"**What was altered afterwards.** {made['altered']}",
        "**What a comparison must say.**",
        "\n".join(["```text", f"workbench compare {made['target']} {made['golden']}", "```"]),
        f"Exit status {expected['exit_status']}, verdict `{expected['verdict']}`. First finding: "
        f"kind `{expected['kind']}`, operator `{expected['op_name']}`, from `{expected['source']}`, "
        f"`{expected['code']}`; the evidence holds “{expected['evidence']}”. "
        f"{expected['matched']} pairs of tensors, {expected['unmatched_target']} tensors only in "
        f"the target, {expected['unmatched_golden']} only in the golden.",
    ]
    if "blas_order" in made:
        lines.append(
            "**Reproducible.** The commands make the same bytes again: those of `golden` "
            "everywhere, those of `target` where the host's BLAS sums 16 products in the same "
            "order (`blas_order` in MANIFEST.json); elsewhere a few of its last bits differ."
        )
    lines.append("**SHA-256** of every file, as `sha256sum --check` reads it:")
    sums = (f"{digest}  {path}" for path, digest in files.items())
    lines.append("\n".join(["```text", *sums, "```"]))
    return "\n\n".join(lines) + "\n"


def simulate(folder: Path) -> None:
    """Run the written commands anew in a folder that holds net.py, below one that holds the form."""
    for side in ("golden", "target"):
        shutil.rmtree(folder / side, ignore_errors=True)
    with contextlib.chdir(folder):
        for command in SIMULATED["commands"]:
            try:
                run_command(shlex.split(command)[1:])
            except SystemExit as end:
                if end.code:
                    raise


def main() -> None:
    """Write the simulated pair and both manifests."""
    simulate(HERE / "simulated_pair")
    for name in PAIRS:
        made = manifest(name, HERE / name)
        text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
        (HERE / name / "MANIFEST.json").write_text(text, encoding="utf-8", newline="\n")
        (HERE / name / "MANIFEST.md").write_text(markdown(made), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
