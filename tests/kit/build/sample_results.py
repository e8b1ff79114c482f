"""Results made by hand, as a comparison of a small network would give them."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from workbench.comparison.measure.metrics import METRICS
from workbench.comparison.result import (
    Anomaly,
    Coverage,
    Finding,
    IterationRow,
    Result,
    Row,
    SideInfo,
)
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import SourceFrame
from workbench.show.tables import csv_pieces

NASTY = (
    "Default/</script><img src=x onerror=alert(1)>/MatMul-op1",
    "Default/größe.γ/权重/Add-op2",
    'Default/it\'s "quoted" & <b>bold</b> $x_2$ {{ 7*7 }}/Mul-op3',
    '=HYPERLINK("x")/Cast-op4',
)

TYPES = ("Conv2D", "BiasAdd", "ReLU", "MaxPool", "MatMul", "LayerNorm", "Softmax", "Cast")


def make_row(**changes) -> Row:
    values = {
        "op_name": "Default/net/Conv2D-op0",
        "op_type": "Conv2D",
        "graph_id": 0,
        "iteration": 0,
        "io": "output",
        "slot": 0,
        "golden_op_name": "Default/net/Conv2D-op0",
        "match_rule": "name",
        "match_score": 1.0,
        "status": "pass",
        "reason": "",
        "metrics": {"RelativeEuclideanDistance": 2e-4, "CosineSimilarity": 0.99999},
        "source": SourceFrame("model.py", 12, "x = self.conv(x)"),
        "order": 0,
        "error": 2e-4,
        "inherited_error": 1e-5,
        "noise_floor": 1e-3,
        "target_spec": TensorSpec("float16", (2, 8, 14, 14)),
        "golden_spec": TensorSpec("float32", (2, 8, 14, 14)),
    }
    return Row(**{**values, **changes})


def make_finding(**changes) -> Finding:
    values = {
        "kind": "attribute",
        "op_name": "Default/net/Conv2D-op0",
        "op_type": "Conv2D",
        "graph_id": 0,
        "iteration": 0,
        "io": "output",
        "slot": 0,
        "score": 0.97,
        "own_error": 0.0412,
        "inherited_error": 3.1e-4,
        "noise_floor": 9.8e-4,
        "evidence": (
            "pad_mode is 'same' in the target and 'pad' in the golden graph",
            "replayed with the golden attributes, the target's own inputs give the golden output",
        ),
        "advice": "Set pad_mode of this convolution as in the golden network and dump it again.",
        "frames": (SourceFrame("/srv/train/model.py", 175, "x = self.conv3(x)"),),
        "order": 0,
    }
    return Finding(**{**values, **changes})


def make_result(**changes) -> Result:
    values = {
        "verdict": "pass",
        "sentence": "All tensors agree within the noise floor of their number formats.",
        "target": SideInfo("runs/npu", "mindspore-o0o1", 1),
        "golden": SideInfo("runs/gpu", "mindspore-gpu", 1),
        "coverage": Coverage(matched=1),
        "rows": (make_row(),),
    }
    return Result(**{**values, **changes})


def make_step(**changes) -> IterationRow:
    values = {
        "rank": 0,
        "iteration": 3,
        "part": "backward",
        "tensors": 20,
        "equal": 1,
        "warned": 2,
        "failed": 0,
        "op_name": "Gradients/Default/net/Grad_MatMul/MatMul-op0",
        "status": "pass",
        "error": 2e-4,
        "inherited_error": 1e-4,
        "noise_floor": 1e-3,
    }
    return IterationRow(**{**values, **changes})


def _status(error: float, floor: float) -> str:
    if error == 0:
        return "equal"
    if not math.isfinite(error) or error > 8 * floor:
        return "fail"
    return "warn" if error > floor else "pass"


def _error(rng: random.Random, step: int, born: int, per_iteration: int) -> float:
    if step in (born + 40, born + 47):
        return math.nan if step == born + 40 else math.inf
    if step % 9 == 4:
        return 0.0
    level = 3e-4 if step < born else 4e-2 * math.exp(-(step - born) / per_iteration)
    return level * rng.lognormvariate(0, 0.5)


def _metrics(rng: random.Random, error: float) -> dict[str, float]:
    """Every metric of the code with figures as uneven as real ones."""
    made = {
        title: 0.0 if title.endswith(("NaN", "Inf", "Zero", "Mismatch")) else rng.gauss(0, 1)
        for title in METRICS
    }
    cosine = 1 - min(1.0, error**2 / 2) if math.isfinite(error) else math.nan
    for title, scale in (("MaxAbsoluteError", 3.1), ("MeanAbsoluteError", 0.14),
                         ("RootMeanSquareError", 0.3), ("AccumulatedRelativeError", 900.0),
                         ("MaxRelativeError", 90.0), ("MeanRelativeError", 1.7)):  # fmt: skip
        made[title] = error * scale * rng.uniform(0.5, 2)
    made |= {
        "WorstSliceAxis": float(rng.randrange(-1, 2)),
        "WorstSliceIndex": float(rng.randrange(256)),
    }
    return {**made, "RelativeEuclideanDistance": error, "CosineSimilarity": cosine}


def _network_row(rng: random.Random, number: int, steps: int, born: int) -> Row:
    iteration, step = divmod(number, steps)
    op_type = TYPES[step % len(TYPES)]
    name = f"Default/network-Net/layers.{step // 8}/{op_type}-op{step}"
    if iteration == 0 and 20 <= step < 20 + len(NASTY):
        name = NASTY[step - 20]
    floor = 9.8e-4 if step % 5 else 2.4e-7
    error = _error(rng, number, born, steps)
    missing = step % 97 == 60
    return make_row(
        op_name=name,
        golden_op_name=name,
        op_type=op_type,
        iteration=iteration,
        order=number,
        slot=0,
        status="uncomparable" if missing else _status(error, floor),
        reason="shapes (2, 8) and (8, 2) cannot be brought together" if missing else "",
        metrics={} if missing else _metrics(rng, error),
        error=None if missing else error,
        inherited_error=None if missing or not math.isfinite(error) else error * 0.7,
        noise_floor=floor,
        source=SourceFrame("/srv/train/model.py", 20 + step % 180, f"x = self.block{step % 7}(x)"),
    )


def _lonely_row(number: int) -> Row:
    """A tensor without a counterpart."""
    return make_row(
        op_name=f"Default/extra/Cast-op{9000 + number}",
        op_type="Cast",
        golden_op_name="",
        match_rule="",
        match_score=0.0,
        status="uncomparable",
        reason="no operator of the golden graph has this name, line or neighborhood",
        metrics={},
        error=None,
        inherited_error=None,
        noise_floor=None,
        golden_spec=None,
    )


def _network_findings(guilty: Row, sick: Row) -> tuple[Finding, ...]:
    """A wrong attribute, a NaN, and a precision that blames no operator."""
    return (
        make_finding(op_name=guilty.op_name, op_type=guilty.op_type, order=guilty.order),
        make_finding(
            kind="non-finite",
            op_name=sick.op_name,
            op_type=sick.op_type,
            order=sick.order,
            score=0.61,
            own_error=math.nan,
            evidence=("3 of 3,136 elements are NaN in the target, none in the golden tensor",),
            advice="Dump its inputs in full and look for values beyond 65504.",
            frames=(),
        ),
        make_finding(
            kind="precision",
            op_name="",
            op_type="",
            io="",
            score=0.3,
            own_error=None,
            inherited_error=None,
            noise_floor=None,
            evidence=("the target stores float16 where the golden run stores float32",),
            advice="",
            frames=(
                SourceFrame("/usr/lib/python3/dist-packages/mindspore/nn/cell.py", 9, "return out"),
            ),
        ),
    )


def _network_anomalies(made: list[Row]) -> tuple[Anomaly, ...]:
    half = "half of a float32 buffer stored as float16"
    return (
        *(Anomaly("target", "mislabelled", made[n].op_name, half) for n in (3, 4, 5)),
        Anomaly("golden", "stale", made[8].op_name, "the file is older than its producer's"),
    )


def network_result(rows: int = 334, iterations: int = 2) -> Result:
    """A failing comparison with nasty names, NaN and Inf, zeros, lonely and skipped tensors."""
    rng = random.Random(7)
    steps = max(1, rows // iterations)
    born = min(steps * iterations // 2, 90)
    made = [_network_row(rng, n, steps, born) for n in range(steps * iterations)]
    guilty, sick = made[born], made[min(born + 40, len(made) - 1)]
    return Result(
        verdict="fail",
        sentence=(
            f"The first operator that adds error is {guilty.op_name.rpartition('/')[2]}, "
            "model.py:175 “x = self.conv3(x)”; its own error is 42 times what float16 explains; "
            "its pad_mode differs: same against pad."
        ),
        target=SideInfo("runs/2026-11-03/npu_dump", "mindspore-o0o1", len(made) + 4 + 3),
        golden=SideInfo("runs/2026-11-03/gpu_dump", "mindspore-gpu", len(made) + 2 + 1),
        coverage=Coverage(
            matched=len(made),
            unmatched_target=4,
            unmatched_golden=2,
            skipped={
                "target:overwritten in place": 2,
                "target:loop turn without a pair": 1,
                "golden:file is shorter than its header says": 1,
            },
        ),
        anomalies=_network_anomalies(made),
        findings=_network_findings(guilty, sick),
        rows=(*made, *map(_lonely_row, range(4))),
        facts={"target.device": "Ascend 910B", "golden.device": "GPU", "seed": "0"},
    )


def one_of_each(result: Result) -> Result:
    """The result with one row of each kind and those that its findings tell of: a page of it is soon checked."""
    named = {finding.op_name for finding in result.findings}
    kinds = {
        (row.status, row.match_rule, row.error is not None and math.isfinite(row.error)): row
        for row in reversed(result.rows)
    }
    kept = {id(row) for row in kinds.values()}
    rows = (row for row in result.rows if id(row) in kept or row.op_name in named)
    return replace(result, rows=tuple(rows))


def csv_text(result: Result) -> str:
    """Return the CSV of a result whole."""
    return "".join(csv_pieces(result))
