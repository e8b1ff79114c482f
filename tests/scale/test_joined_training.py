"""A transformer's training, simulated in several layouts: clean they agree, and one fault is named with its rank."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.network.models import load_graph
from workbench.run.parallel import Parallel
from workbench.simulation.split import split_network

pytestmark = pytest.mark.exhaustive

GRAPH = load_graph("transformer_train")
LAYER = "Default/network-WithLossCell/_backbone-Transformer/layer1-EncoderLayer"
REDUCED = f"{LAYER}/attention-Attention/output-Dense/AllReduce-op0"
GELU = LAYER.replace("layer1", "layer2") + "/gelu-GELU/GeLU-op0"
PRODUCT = f"{LAYER}/dense1-Dense/MatMul-op0"


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """``trees(axes, fault, device)``: a tree of two iterations and the file of its layouts, written once."""
    top = tmp_path_factory.mktemp("training")
    written = {}

    def tree(axes, fault="", device="reference"):
        if (axes, fault, device) not in written:
            surface = "mindspore-cpu" if device == "reference" else "mindspore-o0o1"
            form = wb.config.new(surface, common_dump_settings__iteration="all")
            out = wb.simulate(
                GRAPH, None, form, top / str(len(written)), device=device, surface=surface,
                iterations=2, parallel=axes or None, faults=(fault,) if fault else (),
            )  # fmt: skip
            text = split_network(GRAPH, Parallel.of(axes)).layouts_text() if axes else ""
            layouts = out.with_suffix(".txt")
            layouts.write_text(text)
            written[axes, fault, device] = out, layouts if axes else ""
        return written[axes, fault, device]

    return tree


CLEAN = [
    ("tp=4", "tp=2", {"pass", "warn"}), ("tp=2", "tp=4", {"pass", "warn"}),
    ("pp=4", "", {"pass"}), ("tp=4", "", {"pass", "warn"}), ("pp=2", "pp=4", {"pass"}),
    ("tp=2,pp=2", "tp=4", {"pass", "warn"}), ("", "tp=2", {"pass", "warn"}),
    ("dp=2", "", {"pass", "warn"}), ("dp=4", "dp=2", {"pass", "warn"}), ("tp=2,dp=2", "pp=2", {"pass", "warn"}),
    ("cp=2:zigzag", "tp=2,cp=2", {"pass", "warn"}), ("tp=2,sp=2", "cp=2", {"pass", "warn"}),
]  # fmt: skip
"""Target, golden, verdicts: another order of adding is a remark."""


def job_of(trees, target, golden, client, out, **options):
    tree, layouts = trees(*target)
    other, others = trees(golden)
    return wb.compare_job(
        tree, other, layouts=layouts or "", golden_layouts=others, out=out, client=client,
        **({"parallel": "tp=1"} if not layouts else {}), **options,
    )  # fmt: skip


@pytest.mark.parametrize(("target", "golden", "verdicts"), CLEAN)
def test_a_clean_training_agrees_in_any_two_layouts(
    trees, client, tmp_path, target, golden, verdicts
):
    job = job_of(trees, (target,), golden, client, tmp_path / "r")
    assert job.verdict in verdicts, str(job.sentence)
    assert (job.found, job.first) == ((), None)


OPERATORS = [
    ("tp=4", "tp=2", f"scaled-output:{PRODUCT}:1.5,rank=2", PRODUCT, (2,)),
    ("tp=4", "", f"scaled-output:{PRODUCT}:1.5,rank=2", PRODUCT, (2,)),
    ("pp=4", "", f"scaled-output:{GELU}:1.5,rank=2", GELU, (2,)),
    ("tp=2,pp=2", "tp=4", f"wrong-sign:{PRODUCT}:rank=1", PRODUCT, (1,)),
]


@pytest.mark.parametrize(("target", "golden", "fault", "operator", "ranks"), OPERATORS)
def test_a_fault_is_found_in_its_operator_and_on_its_rank(
    trees, client, tmp_path, target, golden, fault, operator, ranks
):
    job = job_of(trees, (target, fault, "a2"), golden, client, tmp_path / "r")
    assert job.verdict == "fail"
    first = job.first
    assert (first.divergence.op_name.replace("/", "_"), first.ranks, first.iteration) == (
        operator.replace("/", "_"), ranks, 0,
    )  # fmt: skip


LINKS = [
    ("tp=2", f"skipped-collective:{REDUCED}", "never-reduced", (0, 1, 2, 3), 0),
    ("", f"skipped-collective:{REDUCED}", "never-reduced", (0, 1, 2, 3), 0),
    ("", f"stale-collective:{REDUCED}:rank=2,since=1", "replica-stale", (2,), 1),
    ("tp=2", f"garbled-collective:{REDUCED}:rank=3,iteration=1", "replica-differs", (3,), 1),
]


@pytest.mark.parametrize(("golden", "fault", "code", "ranks", "iteration"), LINKS)
def test_a_fault_of_a_link_is_named(trees, client, tmp_path, golden, fault, code, ranks, iteration):
    job = job_of(trees, ("tp=4", fault), golden, client, tmp_path / "r")
    one = job.found[0]
    assert (job.verdict, one.code, one.ranks, one.iteration) == ("fail", code, ranks, iteration)
    assert one.op_name == REDUCED.replace("/", "_")
    assert job.sentence.values["clauses"][0].values["found"].code == f"layouts/found-{code}"


@pytest.mark.parametrize("axes", ["tp=4", "pp=4", "dp=2", "tp=2,dp=2"])
def test_axes_and_layouts_are_told_from_the_dumps(trees, client, tmp_path, axes):
    job = wb.compare_job(trees(axes)[0], trees("")[0], out=tmp_path / "r", client=client)
    assert job.axes == (axes, "tp=1", "inferred")
    assert job.verdict in ("pass", "warn"), str(job.sentence)
