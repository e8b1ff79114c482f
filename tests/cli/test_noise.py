"""``workbench envelope`` and ``workbench order``: what they write, what other commands make of it."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.commands import run
from workbench.core.plan import DumpPlan
from workbench.network.models import load_graph
from workbench.npu.orders import read_orders
from workbench.session.envelope import read_envelope


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder, graph = tmp_path_factory.mktemp("trees"), load_graph("mlp")
    golden = wb.simulate(graph, None, DumpPlan("/dump"), folder / "golden")
    faulty = {"device": "a2", "faults": ["scaled-output:*ReLU-op0*:1.01"]}
    target = wb.simulate(graph, None, DumpPlan("/dump"), folder / "target", **faulty)
    return target, golden


@pytest.mark.parametrize("of_dump", [False, True])
def test_an_envelope_is_written_and_compared_with(tmp_path, capsys, trees, of_dump):
    target, golden = trees
    path = tmp_path / "envelope.json"
    network = golden if of_dump else "mlp"
    assert run(capsys, "envelope", network, "--out", path, "--runs", 2).status == 0
    assert read_envelope(path).runs == 2
    shown = run(capsys, "compare", target, golden, "--envelope", path)
    (said,) = [line for line in shown.out.splitlines() if line.startswith("envelope: ")]
    assert "ReLU-op0 output.0" in said
    assert shown.status == 1


def test_an_envelope_of_another_network_is_told(tmp_path, capsys, trees):
    path = tmp_path / "envelope.json"
    assert run(capsys, "envelope", "transformer", "--out", path).status == 0
    found = wb.compare(*trees, envelope=path)
    parts = found.result.facts["envelope"].values["parts"]
    assert [one.code for one in parts] == ["compare/envelope-unknown"]


@pytest.mark.parametrize("operator", ["ReduceSum", "MatMul"])
def test_a_device_is_probed_and_its_orders_are_gathered(tmp_path, capsys, operator):
    orders = tmp_path / "orders.json"
    for n in (6, 8, 6):
        folder = tmp_path / f"probes{n}"
        asked = ("--n", n, "--operator", operator, "--out", folder)
        assert run(capsys, "order", "write", *asked).status == 0
        rows = np.load(folder / "probes.npy")
        if operator == "MatMul":
            right = np.load(folder / "right.npy")
            total = np.zeros((len(rows), 2), np.float32)
            for k in range(n):
                total += rows[:, k, None] * right[k]
        else:
            total = np.add.reduce(rows, axis=1)
        np.save(folder / "outputs.npy", total)
        assert run(capsys, "order", "read", folder, "--orders", orders).status == 0
    found = [(one.operator, one.n, one.is_confirmed) for one in read_orders(orders).all]
    assert found == [(operator, 8, True), (operator, 6, True)]


def test_sums_that_are_not_reproduced_are_trouble(tmp_path, capsys):
    folder = tmp_path / "probes"
    run(capsys, "order", "write", "--n", 6, "--out", folder)
    total = np.add.reduce(np.load(folder / "probes.npy"), axis=1)
    total[-100:] = np.nextafter(total[-100:], np.float32(np.inf))
    np.save(folder / "outputs.npy", total)
    assert run(capsys, "order", "read", folder, "--orders", tmp_path / "orders.json").status == 2
    (order,) = read_orders(tmp_path / "orders.json").all
    assert (order.equal, order.is_confirmed) == (200, False)
