"""A rehearsal on every surface of an NPU finds the planted fault, and nothing where there is none."""

import numpy as np
import pytest

from kit.build.runs import rehearse
from kit.evidence import defects
from kit.words import misconfigured
from workbench.config import new
from workbench.core.errors import GraphError
from workbench.network.models import load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.simulation.pair import dump_both, unsupported_reason

GUILTY = "Default/conv2-Conv2d/Conv2D-op0"
SURFACES = (
    "mindspore-o0o1", "mindspore-o2", "mindspore-ge", "tensorflow", "torchair", "acl",
)  # fmt: skip


@pytest.mark.parametrize("surface", SURFACES)
def test_the_guilty_operator_is_found_in_every_tree(surface):
    graph, config = load_graph("lenet"), new(surface)
    assert unsupported_reason(config) == ""
    clean = rehearse(graph, config)
    assert clean.verdict == "warn"  # a CPU also writes parameters, which nothing answers
    half = {"precision"} if surface == "acl" else set()  # the mode that ATC compiles in
    assert {finding.kind for finding in clean.findings} == {"unmatched", *half}
    faulty = rehearse(graph, config, faults=[f"scaled-output:{GUILTY}:1.05"])
    assert faulty.verdict == "fail"
    fused = "" if surface == "mindspore-o0o1" else "Default/relu-ReLU/ReLU-op1"
    assert (faulty.findings[0].kind, faulty.findings[0].op_name) == ("own-error", GUILTY + fused)
    said = [one for one in faulty.findings[0].evidence if one.code == "compare/stands-for"]
    assert [GUILTY in one.values["names"] for one in said] == [True] * bool(fused)


def test_a_form_that_is_refused_is_not_rehearsed():
    config = new("acl").set("dump.dump_mode", "everything")
    assert "dump_mode" in str(unsupported_reason(config))


def network(x):
    return F.relu(x * x * 0.5)


@pytest.mark.parametrize(("surface", "device", "matched"), [
    ("acl", "910a", 3),
    ("acl", "a2", 3),
    ("mindspore-o0o1", "a2", 8),
    ("mindspore-o0o1", "910a", 0),
])  # fmt: skip
def test_a_rehearsed_overflow_dump_is_held_against_everything(surface, device, matched):
    """On a2 three operators have Inf, which MindSpore dumps; on 910a none has."""
    config = new(surface)
    if surface == "acl":
        config = config.set("dump", {"dump_path": "./", "dump_debug": "on"})
    else:
        config = config.set("common_dump_settings.op_debug_mode", 3)
    assert unsupported_reason(config) == ""
    graph = trace(network, np.full(4, 300, np.float32))
    found = rehearse(graph, config, device=device, precision_mode="force_fp16")
    assert found.coverage.matched == matched
    if matched:
        assert found.findings[0].op_name == "Default/Mul-op0"
    assert found.verdict == ("fail" if matched else "inconclusive")


def test_a_dump_of_what_fails_has_nothing_to_be_compared_with():
    config = new("acl").set("dump", {"dump_scene": "aic_err_brief_dump"})
    found = unsupported_reason(config)
    assert found == "a dump of what fails holds nothing else: nothing to compare"


def test_several_networks_are_rehearsed_in_the_order_of_a_schedule():
    config = new("mindspore-o0o1").set("common_dump_settings.iteration", "all")
    pair = [load_graph("mlp_train"), load_graph("mlp")]
    faults = ["scaled-output:*head-Dense/MatMul-op0:2,iteration=1"]
    clean = rehearse(pair, config, schedule=(0, 1, 0))
    assert not defects(clean)
    graphs = {row.graph_id for row in clean.rows}
    assert len(graphs) == 2
    assert {row.iteration for row in clean.rows} >= {0, 1}
    faulty = rehearse(pair, config, schedule=(0, 1, 0), faults=faults)
    assert faulty.findings[0].op_type == "MatMul"


def test_a_loop_that_takes_too_many_turns_ends_a_rehearsal():
    def endless(x):
        return F.while_loop(lambda y: F.less(y, 1e9), lambda y: y + 0.0, x)

    graph = trace(endless, np.float32(1))
    with pytest.raises(GraphError, match="3"):
        rehearse(graph, new("mindspore-o0o1"), max_turns=3)


def test_several_ranks_are_rehearsed_together():
    graph, config = load_graph("mlp_train", 0, 2), new("mindspore-o2")
    name = "Default/optimizer-SGD/SGD-op1"
    found = rehearse(graph, config, ranks=2, faults=[f"scaled-output:{name}:2,rank=1"])
    assert (found.findings[0].op_name, found.findings[0].rank) == (name, 1)


def test_what_no_device_simulates_is_refused_before_the_reference_runs(tmp_path):
    with misconfigured("surface", "simulation/not-simulated", surface="msprobe"):
        dump_both(load_graph("mlp"), new("msprobe"), tmp_path)
    assert list(tmp_path.iterdir()) == []
