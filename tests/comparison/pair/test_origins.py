"""Without a graph, what the files of fused kernels say of their outputs decides what these are compared with."""

from __future__ import annotations

import shutil

import pytest

import workbench as wb
from kit.build.small_dumps import ge_dump, ge_network
from kit.cases import first_form
from kit.evidence import defects
from workbench.comparison.map_file import Match, Overrides
from workbench.dump.formats.container import Origin
from workbench.network.models import load_graph

HEAD = "Default/head-Dense"
KERNELS = ("acl", "mindspore-ge", "tensorflow")


def simulate(surface, out, **options):
    return wb.simulate(
        load_graph("mlp"), None, first_form(surface), out, surface=surface, **options
    )


def without_graphs(tree):
    for graph in tree.rglob("ge_*.txt"):
        graph.unlink()
    return tree


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Trees of the same network: of kernels of the graph engine without their graphs, and of a CPU."""
    root = tmp_path_factory.mktemp("origins")
    found = {"golden": simulate("mindspore-cpu", root / "golden")}
    for surface in KERNELS:
        found[surface] = without_graphs(simulate(surface, root / surface, device="a2"))
    return found


def outputs(comparison):
    return {
        (row.op_name, row.golden_op_name, row.match_rule): row.status
        for row in comparison.rows
        if row.io == "output" and row.match_rule and row.golden_op_name.startswith("Default")
    }


@pytest.mark.parametrize("surface", KERNELS)
def test_an_output_is_compared_with_the_tensor_that_its_file_names(trees, surface):
    comparison = wb.compare(trees[surface], trees["golden"])
    kernel = f"{HEAD}/MatMul-op0".replace("/", "_")  # it adds the bias, too
    assert outputs(comparison)[kernel, f"{HEAD}/BiasAdd-op0", "fusion"] == "pass"
    assert not defects(comparison)
    assert comparison.coverage.skipped["golden:fused"] == 1  # the product without a bias


def test_a_golden_of_kernels_is_read_alike(trees):
    comparison = wb.compare(trees["golden"], trees["acl"])
    assert not defects(comparison)
    assert comparison.coverage.skipped["target:fused"] == 1
    kernel = f"{HEAD}/MatMul-op0".replace("/", "_")
    assert outputs(comparison)[f"{HEAD}/BiasAdd-op0", kernel, "fusion"] == "pass"


def test_two_dumps_of_kernels_pair_by_their_own_names(trees):
    comparison = wb.compare(trees["acl"], trees["acl"])
    assert {row.match_rule for row in comparison.rows} == {"file-name"}
    assert {row.status for row in comparison.rows} == {"equal"}


@pytest.mark.parametrize("partner", ["MatMul-op0", "BiasAdd-op0"])
def test_what_the_user_pairs_stays_his(trees, partner):
    kernel = f"{HEAD}/MatMul-op0".replace("/", "_")
    by_hand = Overrides((Match((kernel,), (f"{HEAD}/{partner}",)),))
    found = outputs(wb.compare(trees["acl"], trees["golden"], map_file=by_hand))
    assert (kernel, f"{HEAD}/{partner}", "map") in found


@pytest.mark.parametrize("partner", ["MatMul-op0", "BiasAdd-op0"])
def test_what_another_operator_is_paired_with_by_hand_is_not_taken(trees, partner):
    other = next(
        row.op_name
        for row in wb.compare(trees["acl"], trees["golden"]).rows
        if row.op_type == "MatMul" and "body" in row.op_name and row.io == "output"
    )
    by_hand = Overrides((Match((other,), (f"{HEAD}/{partner}",)),))
    found = outputs(wb.compare(trees["acl"], trees["golden"], map_file=by_hand))
    assert (other, f"{HEAD}/{partner}", "map") in found


def test_a_kernel_may_give_what_lies_between_its_operators_as_well(tmp_path):
    calls = ge_network()
    golden = ge_dump(tmp_path / "golden", calls)
    product, relu, *rest = calls
    both = (
        (*relu.outputs, {"origin": Origin(relu.name)}),
        (*product.outputs, {"origin": Origin(product.name)}),
    )
    target = ge_dump(tmp_path / "target", [product._replace(outputs=both), *rest])
    found = wb.compare(target, golden)
    given = {
        (row.slot, row.golden_op_name): row.status
        for row in found.rows
        if row.op_name == "layer1_MatMul" and row.io == "output"
    }
    assert given == {(0, "layer1_Relu"): "equal", (1, "layer1_MatMul"): "equal"}
    assert "golden:fused" not in found.coverage.skipped


def test_the_operator_that_is_wrong_is_named_and_no_kernel_before_it(tmp_path, trees):
    graph = load_graph("mlp")
    name = next(op.name for op in graph.ops if op.op_type == "MatMul" and "head" in op.name)
    fault = f"scaled-output:{name}:strength=1.5"
    tree = without_graphs(simulate("acl", tmp_path, device="a2", faults=[fault]))
    comparison = wb.compare(tree, trees["golden"])
    assert comparison.first_divergence.op_name == name.replace("/", "_")


def test_a_container_that_is_cut_off_meanwhile_is_told_and_pairs_as_its_header_said(
    trees, tmp_path
):
    tree = tmp_path / "damaged"
    shutil.copytree(trees["acl"], tree)
    dump = wb.load(tree)
    (file,) = (path for path in tree.rglob("*head-Dense_MatMul-op0*") if path.is_file())
    file.write_bytes(file.read_bytes()[:40])
    comparison = wb.compare(dump, trees["golden"])
    (row,) = (row for row in comparison.rows if file.name in row.target_path and row.io == "output")
    assert (row.golden_op_name, row.match_rule) == (f"{HEAD}/BiasAdd-op0", "fusion")
    assert row.status == "uncomparable"
    assert row.reason_code == "compare/unreadable"
    assert comparison.verdict != "fail"
