"""A rehearsal on every surface of an NPU finds the planted fault, and nothing where there is none."""

import pytest

from workbench.config import new
from workbench.graph.models import load_graph
from workbench.pipeline.rehearse import rehearse, why_not

GUILTY = "Default/conv2-Conv2d/Conv2D-op0"
SURFACES = (
    "mindspore-o0o1", "mindspore-o2", "mindspore-ge", "tensorflow", "torchair", "acl",
)  # fmt: skip


@pytest.mark.parametrize("surface", SURFACES)
def test_the_guilty_operator_is_found_in_every_tree(surface):
    graph, config = load_graph("lenet"), new(surface)
    assert why_not(config) == ""
    clean = rehearse(graph, config)
    assert clean.verdict == "warn"  # a CPU also writes parameters, which nothing answers
    assert {finding.kind for finding in clean.findings} == {"unmatched"}
    faulty = rehearse(graph, config, faults=[f"scaled-output:{GUILTY}:1.05"])
    assert faulty.verdict == "fail"
    assert (faulty.findings[0].kind, faulty.findings[0].op_name) == ("own-error", GUILTY)


def test_a_form_that_is_refused_is_not_rehearsed():
    config = new("acl").set("dump.dump_mode", "everything")
    assert "dump_mode must be" in why_not(config)
