"""Has real MindSpore train small networks on the CPU, and records losses and weights.

``run_mindspore_steps.py RECORD``; needs an environment with MindSpore: ``make conformance-steps``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ |= {"GLOG_v": "4", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import mindspore
from mindspore import Tensor, nn
from step_cases import CASES, STEPS, batch, build


def outcome(name: str) -> dict[str, Any]:
    """Losses of the steps of a case, and all weights after the last."""
    case = CASES[name]
    train = build(nn, case, Tensor)
    batches = (map(Tensor, batch(case, step)) for step in range(STEPS))
    losses = [float(train(*inputs).asnumpy()) for inputs in batches]
    weights = {p.name: p.asnumpy().ravel().tolist() for p in train.get_parameters()}
    return {"case": name, "losses": losses, "weights": weights}


def main() -> None:
    """Run the cases and write the record."""
    mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="CPU")
    lines = ",\n".join(json.dumps(outcome(name), sort_keys=True) for name in CASES)
    text = f'{{"mindspore": "{mindspore.__version__}", "cases": [\n{lines}\n]}}\n'
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
