"""``orders.json`` and the probes of a device as files: what is written is read, and what is broken is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from workbench.core.errors import FormatError, GraphError
from workbench.npu.orders import (
    Order,
    blocked,
    pairwise,
    read_orders,
    read_probes,
    sequential,
    write_orders,
    write_probes,
)

GOOD = {
    "schema": "workbench.orders/1",
    "orders": [
        {
            "device": "a2", "operator": "ReduceSum", "dtype": "float32", "n": 3, "accumulator": "float32",
            "product": "", "equal": 300, "checks": 300, "tree": [[0, 1], [3, 2]],
        }
    ],
}  # fmt: skip


def write(path, **changes):
    data = json.loads(json.dumps(GOOD))
    for key, value in changes.items():
        if key == "schema":
            data["schema"] = value
        elif key == "orders":
            data["orders"] = value
        else:
            data["orders"][0][key] = value
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_orders_are_read_as_they_were_written(tmp_path):
    given = [
        Order(blocked(32, 16), "float16", "float32", "rounded", "a2", "MatMul", 300, 300),
        Order(sequential(5), operator="ReduceSum", device="é", equal=2, checks=3),
    ]
    found = read_orders(write_orders(tmp_path / "orders.json", given))
    for one, other in zip(found.all, given, strict=True):
        assert all(getattr(one, name) == getattr(other, name) for name in one.__dataclass_fields__)
    assert found.find("MatMul", "float16", 32) is found.all[0]
    assert found.find("ReduceSum", "float32", 5) is None, "not confirmed"


BROKEN = {
    "another schema": ({"schema": "workbench.orders/9"}, "run/order-schema"),
    "no list": ({"orders": {}}, "run/order-schema"),
    "too many": ({"orders": [{}] * 5000}, "run/order-many"),
    "no object": ({"orders": [3]}, "run/order-entry"),
    "a node twice": ({"tree": [[0, 1], [0, 2]]}, "run/order-step"),
    "a later node": ({"tree": [[0, 4], [1, 2]]}, "run/order-step"),
    "itself": ({"tree": [[0, 3], [1, 2]]}, "run/order-step"),
    "below zero": ({"tree": [[0, -1], [3, 2]]}, "run/order-step"),
    "one operand": ({"tree": [[0], [1, 2]]}, "run/order-step"),
    "no operand": ({"tree": [[], [0, 1], [4, 2]]}, "run/order-step"),
    "unfinished": ({"tree": [[0, 1]]}, "run/order-unfinished"),
    "nested": ({"tree": [[[0, 1], 2]]}, "run/order-entry"),
    "a fraction": ({"tree": [[0.0, 1], [3, 2]]}, "run/order-entry"),
    "a truth value": ({"tree": [[False, True], [3, 2]]}, "run/order-entry"),
    "text": ({"tree": "[[0, 1]]"}, "run/order-entry"),
    "no terms": ({"n": 0, "tree": []}, "run/order-terms"),
    "too many terms": ({"n": 10**9}, "run/order-terms"),
    "n is no number": ({"n": "3"}, "run/order-entry"),
    "n is true": ({"n": True}, "run/order-entry"),
    "dtype": ({"dtype": "int8"}, "run/order-entry"),
    "dtype is a list": ({"dtype": []}, "run/order-entry"),
    "accumulator": ({"accumulator": "float8"}, "run/order-entry"),
    "product": ({"product": "guessed"}, "run/order-entry"),
    "more equal than tried": ({"equal": 301}, "run/order-entry"),
    "device": ({"device": None}, "run/order-entry"),
    "a long name": ({"operator": "x" * 1000}, "run/order-entry"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_orders_are_refused_with_their_file(tmp_path, case):
    changes, code = BROKEN[case]
    path = write(tmp_path / "orders.json", **changes)
    with pytest.raises(FormatError) as error:
        read_orders(path)
    assert error.value.code == code
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "[" * 100_000, '{"schema": "workbench.orders/1"}', "\0"]
)
def test_what_is_no_orders_file_is_refused(tmp_path, text):
    path = tmp_path / "orders.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError):
        read_orders(path)


CASES = [
    ("ReduceSum", "float32", 20, 0), ("ReduceSum", "float16", 20, 0), ("ReduceSum", "bfloat16", 20, 0),
    ("MatMul", "float32", 24, 0), ("MatMul", "float16", 24, 0), ("MatMul", "float32", 24, 1),
]  # fmt: skip


def run_device(folder, dtype, order):
    """What somebody runs on a real device: read the probes, compute, save the outputs."""
    rows = np.load(folder / "probes.npy")
    if order.product:
        right = np.load(folder / "right.npy")
        out = np.stack([order.dot(rows, right[:, column]) for column in range(2)], axis=-1)
    else:
        out = order.total(rows)
    np.save(folder / "outputs.npy", out)


@pytest.mark.parametrize(("operator", "dtype", "n", "scale"), CASES)
def test_a_device_is_probed_through_files(tmp_path, operator, dtype, n, scale):
    product = "rounded" if operator == "MatMul" else ""
    order = Order(blocked(n, 8, "sequential"), dtype, "float32", product)
    folder = write_probes(
        tmp_path / "probes", n, dtype, operator=operator, device="a2", scale=scale
    )
    run_device(folder, dtype, order)
    found = read_probes(folder)
    assert found.tree == order.tree
    assert found.is_confirmed
    assert found.checks == 300
    assert (found.operator, found.device, found.dtype, found.accumulator) == (
        operator,
        "a2",
        dtype,
        "float32",
    )


def spoilt(array):
    """One count is another tree's: terms 0 and 5 meet late, says the table, but not where others meet them."""
    array = array.copy()
    array[5] = 20 - 3
    return array


OUTPUTS = {
    "fewer rows": (lambda out: out[:-1], FormatError, "run/order-outputs"),
    "more columns": (lambda out: np.stack([out, out], -1), FormatError, "run/order-outputs"),
    "integers": (lambda out: out.astype(np.int32), FormatError, "run/order-outputs"),
    "half a unit": (lambda out: out + np.float32(0.5), GraphError, "run/order-units"),
    "one count of another tree": (spoilt, GraphError, "run/order-none"),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_outputs_of_other_probes_are_refused(tmp_path, case):
    change, kind, code = OUTPUTS[case]
    folder = write_probes(tmp_path, 20)
    run_device(folder, "float32", Order(blocked(20, 8)))
    np.save(folder / "outputs.npy", change(np.load(folder / "outputs.npy")))
    with pytest.raises(kind) as error:
        read_probes(folder)
    assert error.value.code == code


def test_a_pickle_is_never_read(tmp_path):
    folder = write_probes(tmp_path, 4)
    np.save(folder / "outputs.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError) as error:
        read_probes(folder)
    assert error.value.code == "run/order-outputs"


def test_probes_that_no_file_may_hold_are_refused(tmp_path):
    with pytest.raises(GraphError) as error:
        write_probes(tmp_path, 4000)
    assert error.value.code == "run/order-probes"
    assert not [*tmp_path.iterdir()]


ASKED = {"schema": "workbench.order-probe/1", "operator": "ReduceSum", "device": "a2", "dtype": "float32", "n": 4,
         "scale": 0, "checks": 300, "seed": 0}  # fmt: skip
MISASKED = {
    "schema": ({"schema": "workbench.orders/1"}, FormatError, "run/order-schema"),
    "n is text": ({"n": "4"}, FormatError, "run/order-entry"),
    "n is negative": ({"n": -4}, FormatError, "run/order-entry"),
    "n is beyond all": ({"n": 2**31}, FormatError, "run/order-entry"),
    "one term": ({"n": 1}, GraphError, "run/order-count"),
    "checks": ({"checks": None}, FormatError, "run/order-entry"),
    "dtype": ({"dtype": "int8"}, FormatError, "run/order-entry"),
    "operator": ({"operator": "Add"}, FormatError, "run/order-entry"),
    "device": ({"device": "x" * 257}, FormatError, "run/order-entry"),
    "scale": ({"scale": 2}, FormatError, "run/order-entry"),
    "too many numbers": ({"n": 4096}, FormatError, "run/order-entry"),
    "another number of rows": ({"n": 5}, FormatError, "run/order-outputs"),
    "products": ({"operator": "MatMul"}, FormatError, "run/order-outputs"),
}


@pytest.mark.parametrize("case", MISASKED)
def test_what_was_asked_is_not_believed(tmp_path, case):
    changes, kind, code = MISASKED[case]
    folder = write_probes(tmp_path, 4, device="a2")
    assert json.loads((folder / "probe.json").read_text()) == ASKED
    run_device(folder, "float32", Order(sequential(4)))
    assert read_probes(folder).tree == sequential(4)
    (folder / "probe.json").write_text(json.dumps(ASKED | changes))
    with pytest.raises(kind) as error:
        read_probes(folder)
    assert error.value.code == code


UNASKED = {
    "operator": ({"operator": "Add"}, "core/choice"),
    "dtype": ({"dtype": "int8"}, "core/choice"),
    "scale": ({"scale": 2}, "core/choice"),
    "no scale": ({"scale": -1}, "core/choice"),
    "one term": ({"n": 1}, "run/order-count"),
    "more than float16 counts": ({"n": 2049, "dtype": "float16", "checks": 0}, "run/order-count"),
}


@pytest.mark.parametrize("case", UNASKED)
def test_what_is_not_probed_is_refused_before_anything_is_written(tmp_path, case):
    changes, code = UNASKED[case]
    with pytest.raises(GraphError) as error:
        write_probes(tmp_path, **{"n": 4, **changes})
    assert error.value.code == code
    assert not [*tmp_path.iterdir()]


def test_probes_are_a_row_of_units_a_row_a_pair_and_rows_to_check(tmp_path):
    folder = write_probes(tmp_path, 3, checks=2, seed=7)
    rows = np.load(folder / "probes.npy")
    large = 2.0**100
    assert rows.dtype == np.float32
    assert rows[:4].tolist() == [
        [1, 1, 1],
        [large, -large, 1],
        [large, 1, -large],
        [1, large, -large],
    ]
    assert rows.shape == (6, 3)
    assert not (folder / "right.npy").exists()
    again = np.load(write_probes(tmp_path / "again", 3, checks=2, seed=7) / "probes.npy")
    other = np.load(write_probes(tmp_path / "other", 3, checks=2, seed=8) / "probes.npy")
    assert np.array_equal(rows, again)
    assert not np.array_equal(rows[4:], other[4:])


def test_products_have_another_factor_of_ones_and_one_of_numbers(tmp_path):
    right = np.load(write_probes(tmp_path, 3, operator="MatMul", checks=2) / "right.npy")
    assert right.shape == (3, 2)
    assert right[:, 0].tolist() == [1, 1, 1]
    assert len(set(right[:, 1].tolist())) == 3
    without = write_probes(tmp_path / "none", 3, operator="MatMul", checks=0)
    assert not (without / "right.npy").exists()


@pytest.mark.parametrize("operator", ["ReduceSum", "MatMul"])
def test_an_order_that_nothing_was_tried_on_is_not_confirmed(tmp_path, operator):
    folder = write_probes(tmp_path, 6, operator=operator, checks=0)
    order = Order(blocked(6, 3), product="rounded" if operator == "MatMul" else "")
    rows = np.load(folder / "probes.npy")
    total = order.dot(rows, np.ones(6, np.float32)) if order.product else order.total(rows)
    np.save(folder / "outputs.npy", np.stack([total, total], -1) if order.product else total)
    found = read_probes(folder)
    assert (found.tree, found.checks, found.is_confirmed) == (order.tree, 0, False)


def test_a_file_elsewhere_and_the_limits_of_entries_are_read(tmp_path):
    folder = write_probes(tmp_path / "probes", 4)
    run_device(folder, "float32", Order(pairwise(4)))
    (folder / "outputs.npy").rename(tmp_path / "mine.npy")
    assert read_probes(folder, tmp_path / "mine.npy").tree == pairwise(4)
    path = write(tmp_path / "orders.json", device="x" * 256, equal=0, checks=0)
    assert read_orders(path).all[0].device == "x" * 256
    many = write(tmp_path / "many.json", orders=GOOD["orders"] * 4096)
    assert len(read_orders(many)) == 4096
