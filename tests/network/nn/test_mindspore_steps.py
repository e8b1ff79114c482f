"""Trainings against real MindSpore 2.10 on a CPU: losses of every step, and all weights after the last.

The record is made by ``make conformance-steps``; both sides build the network from one source.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from workbench.network import nn
from workbench.network.tracer import trace
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference

ROOT = Path(__file__).parents[3]
RECORD = ROOT / "tests" / "data" / "conformance" / "steps_2.10.0_cpu.json"
OUTCOMES = {one["case"]: one for one in json.loads(RECORD.read_text(encoding="utf-8"))["cases"]}

LOOKS_AHEAD = "momentum-nesterov"

_spec = importlib.util.spec_from_file_location("step_cases", ROOT / "conformance/step_cases.py")
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)


def trained(name, run):
    """Losses, weights after the last step, and the operators that update them."""
    case = cases.CASES[name]
    graph = trace(cases.build(nn, case, np.asarray), *cases.batch(case, 0))
    names = [one.name for one in graph.parameters if not one.is_weight]
    (loss,) = graph.outputs
    state, losses, weights = {}, [], {}
    for step in range(cases.STEPS):
        feeds = dict(zip(names, cases.batch(case, step), strict=True))
        for record in run(graph, feeds, iteration=step, state=state):
            key = record.key
            if (key.op_name, key.io) == (graph.ops[loss.op].name, "output") and not key.slot:
                losses.append(float(record.source.array()))
            if key.op_type == "Parameter":
                weights[key.op_name] = np.array(record.source.array()).ravel()
    return losses, weights, {op.op_type for op in graph.ops}


def test_the_record_has_every_case():
    assert OUTCOMES.keys() == cases.CASES.keys()


def test_mindspores_cpu_ignores_the_look_ahead_of_momentum():
    """Its documents give the formula of our kernel, which the cases of `ops.update_cases` check."""
    assert OUTCOMES[LOOKS_AHEAD]["losses"] == OUTCOMES["momentum"]["losses"]


@pytest.mark.parametrize("name", [name for name in cases.CASES if name != LOOKS_AHEAD])
def test_a_training_on_the_reference_is_mindspores(name):
    want = OUTCOMES[name]
    losses, weights, types = trained(name, run_reference)
    np.testing.assert_allclose(losses, want["losses"], rtol=2e-5)
    assert weights.keys() >= want["weights"].keys()
    for weight, values in want["weights"].items():
        np.testing.assert_allclose(weights[weight], values, rtol=2e-4, atol=2e-6, err_msg=weight)
    assert "AssignAdd" in types


@pytest.mark.parametrize("name", ["momentum-decay", "adam", "batch-normalization"])
def test_a_training_on_a_device_is_near_mindspores(name):
    losses, weights, _ = trained(name, run_npu)
    np.testing.assert_allclose(losses, OUTCOMES[name]["losses"], rtol=1e-2)
    for weight, values in OUTCOMES[name]["weights"].items():
        np.testing.assert_allclose(weights[weight], values, rtol=0.05, atol=0.02, err_msg=weight)
