"""Writes what `run_mindspore_operators` asks MindSpore to compute: the cases of the kernels' oracles.

Runs in our own environment; the other script runs in MindSpore's.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from ops.cases import CASES  # noqa: E402

from workbench.ops import OPS  # noqa: E402


def packed(array: np.ndarray) -> dict[str, Any]:
    """Return an array as JSON; float64 becomes float32, in which the operators are compared."""
    array = array.astype(np.float32) if array.dtype == np.float64 else array
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def cases() -> list[dict[str, Any]]:
    """Operators with their tensors, and their settings by name; those without a value are left out."""
    found = []
    for name, row_case in CASES.items():
        row = OPS[name]
        for number, (inputs, settings) in enumerate(row_case.examples):
            found.append(
                {
                    "op": name,
                    "case": number,
                    "arguments": row.arguments,
                    "tensors": list(row.positions),
                    "joined": row.tensors < 0,
                    "inputs": [packed(np.asarray(array)) for array in inputs],
                    "settings": {**row.defaults, **settings},
                }
            )
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(cases()), encoding="utf-8")
