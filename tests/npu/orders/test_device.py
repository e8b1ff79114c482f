"""A device that sums in a given order: it is measured exactly, and replay in that order is equal to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.build.runs import dumped, on_reference, paired
from workbench.comparison.replay.replay import replay
from workbench.core.errors import GraphError
from workbench.core.plan import DumpPlan
from workbench.network.nn import functional as ops
from workbench.npu.orders import Order, Orders, blocked, probe_order, write_orders
from workbench.npu.runner import run_npu

N, ROWS, COLUMNS = 64, 300, 4
BLOCKS = {
    "blocks of 16, pairwise": blocked(N, 16),
    "blocks of 32, sequential": blocked(N, 32, "sequential"),
    "blocks of 8, sequential": blocked(N, 8, "sequential"),
}
OPERATORS = ("MatMul", "ReduceSum")


def given(tree, operator):
    product = "rounded" if operator == "MatMul" else ""
    return Order(tree, product=product, operator=operator, equal=1, checks=1)


def traced(operator, rows=ROWS, copies=1, seed=0):
    """Return a graph of some products (rows, N) × (N, COLUMNS), or sums of rows, each of inputs of its own."""
    rng = np.random.default_rng(seed)
    made = [
        (rng.standard_normal((rows, N)) * 2.0 ** rng.integers(-3, 4, (rows, N))).astype(np.float32)
        for _ in range(copies)
    ]
    right = rng.standard_normal((N, COLUMNS)).astype(np.float32)
    if operator == "ReduceSum":
        return wb.trace(lambda *x: tuple(ops.sum(one, 1) for one in x), *made)
    return wb.trace(lambda right, *x: tuple(ops.matmul(one, right) for one in x), right, *made)


def run(graph, orders, **more):
    return run_npu(graph, precision_mode="must_keep_origin_dtype", orders=orders, **more)


def device(operator, order):
    """The simulated device as a function that `probe_order` takes."""
    graph = traced(operator, rows=1)
    names = [one.name for one in graph.parameters]

    def compute(*tensors):
        arrays = [tensors[0][None]]
        if operator == "MatMul":
            arrays.insert(0, np.repeat(tensors[1][:, None], COLUMNS, axis=1))
        records = run(graph, Orders((order,)), feeds=dict(zip(names, arrays, strict=True)))
        found = next(
            one for one in records if one.key.op_type == operator and one.key.io == "output"
        )
        return found.source.array().reshape(-1)[0]

    return compute


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", BLOCKS)
def test_the_order_of_the_simulator_is_measured_and_replayed(name, operator):
    """Its tree exactly; and 300 vectors that were not probed, computed by replay, to the bit."""
    order = given(BLOCKS[name], operator)
    found = probe_order(device(operator, order), N, product=operator == "MatMul", operator=operator)
    assert found.tree == order.tree
    assert found.is_confirmed
    graph = traced(operator, seed=9)
    target = dumped(run(graph, Orders((order,))), graph, {"device_target": "Ascend"})
    pairing = paired(target, on_reference(graph))
    replayed = replay(pairing, npu=True, orders=Orders((found,)))
    (own,) = [
        one
        for (_, number), one in replayed.own_errors.items()
        if graph.ops[number].op_type == operator
    ]
    assert own.error == 0
    assert own.share_unequal == 0
    assert own.floor.rounding == 0
    assert not own.suspect
    plain = replay(pairing, npu=True)
    assert max(one.error for one in plain.own_errors.values()) > 0


def last_bit(graph, records, name):
    """Change the last bit of one number of 300."""
    for record in records:
        if record.key.op_name == name and record.key.io == "output":
            array = np.array(record.source.array())
            array.reshape(-1)[7] = np.nextafter(array.reshape(-1)[7], np.float32(np.inf))
            record = replace(record, source=replace(record.source, data=array))
        yield record


@pytest.mark.parametrize(("copies", "accused"), [(5, True), (2, False)])
def test_one_bit_is_an_error_where_other_sums_show_that_the_order_is_right(copies, accused):
    order = given(BLOCKS["blocks of 16, pairwise"], "ReduceSum")
    graph = traced("ReduceSum", copies=copies)
    name = [op.name for op in graph.ops if op.op_type == "ReduceSum"][1]
    records = last_bit(graph, run(graph, Orders((order,))), name)
    target = dumped(records, graph, {"device_target": "Ascend"})
    replayed = replay(paired(target, on_reference(graph)), npu=True, orders=Orders((order,)))
    suspects = [graph.ops[number].name for _, number in replayed.suspects]
    assert suspects == ([name] if accused else [])


def test_another_devices_orders_accuse_nobody():
    orders = [Orders((given(tree, "ReduceSum"),)) for tree in BLOCKS.values()]
    graph = traced("ReduceSum", copies=5)
    target = dumped(run(graph, orders[0]), graph, {"device_target": "Ascend"})
    replayed = replay(paired(target, on_reference(graph)), npu=True, orders=orders[1])
    assert not replayed.suspects


def test_orders_that_are_not_confirmed_or_of_other_lengths_compute_nothing():
    graph = traced("ReduceSum")
    plain = [one.source.array() for one in run(graph, Orders())]
    for order in (
        Order(blocked(N, 8, "sequential"), operator="ReduceSum", equal=2, checks=3),
        Order(blocked(N + 1, 8), operator="ReduceSum", equal=1, checks=1),
        Order(blocked(N, 8), "float16", operator="ReduceSum", equal=1, checks=1),
        Order(blocked(N, 8), operator="MatMul", equal=1, checks=1),
    ):
        other = [one.source.array() for one in run(graph, Orders((order,)))]
        assert all(map(np.array_equal, plain, other))


def test_simulate_and_compare_take_the_file(tmp_path):
    order = given(BLOCKS["blocks of 8, sequential"], "MatMul")
    path = write_orders(tmp_path / "orders.json", [order])
    graph = traced("MatMul", copies=3)
    golden = wb.simulate(graph, None, DumpPlan("/dump"), tmp_path / "golden")
    options = {"device": "a2", "precision_mode": "must_keep_origin_dtype"}
    target = wb.simulate(
        graph, None, DumpPlan("/dump"), tmp_path / "target", orders=path, **options
    )
    found = wb.compare(target, golden, orders=path)
    own = [row.own_error for row in found.rows if row.op_type == "MatMul" and row.io == "output"]
    assert own == [0.0] * 3
    assert f"--orders {path}" in found.provenance["Command"]
    with pytest.raises(GraphError) as error:
        wb.simulate(graph, None, DumpPlan("/dump"), tmp_path / "other", orders=path)
    assert error.value.code == "run/reference-orders"
