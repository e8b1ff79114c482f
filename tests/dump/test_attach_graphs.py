"""What a graph beside a dump says of its tensors, and which of them it says nothing of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.build.small_dumps import save_container
from kit.oracle.dump_files import counted, device_by_loops
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.attach_graphs import with_hosts
from workbench.dump.index import index_of
from workbench.dump.reader import load
from workbench.graph.graph import Graph, Op, Parameter

HOST = TensorSpec("float32", (2, 17, 3, 2), "NCHW")
GRAPH = Graph(
    "g", (Parameter("x", HOST),), (Op("net/ReLU-op0", "ReLU", (), {}, (HOST,), (HOST, None)),)
)
THERE = TensorSpec("float32", (2, 2, 3, 2, 16), "")
ROW = TensorRecord(TensorKey("ReLU", "net_ReLU-op0", "output", 0), THERE, None, {"Max Value": 1.0})


def changed(record: TensorRecord, **key) -> TensorRecord:
    """The record as the graph leaves it."""
    record = replace(record, key=record.key._replace(**key))
    (found,) = with_hosts(index_of([record]), {(0, 0): GRAPH}).records
    assert replace(found, label=record.label) == record
    return found


@pytest.mark.parametrize(("io", "dtype"), [("output", "float32"), ("input", "float16")])
def test_statistics_of_what_lies_on_the_device_get_its_format(io, dtype):
    """MindSpore's tables have no column for it; the shape that they state is the device's."""
    label = replace(ROW, label=THERE._replace(dtype=dtype))
    found = changed(label, io=io).label
    assert found == (dtype, THERE.shape, "NC1HWC0")


SILENT = {
    "of the host's size": (replace(ROW, label=THERE._replace(shape=(2, 17, 6))), {}),
    "with a format": (replace(ROW, label=THERE._replace(format="ND")), {}),
    "without a shape": (replace(ROW, label=THERE._replace(shape=None)), {}),
    "of no format's shape": (replace(ROW, label=THERE._replace(shape=(2, 2, 3, 5, 16))), {}),
    "with a file": (replace(ROW, source=ArraySource(np.zeros(3))), {}),
    "of another operator": (ROW, {"op_name": "net_ReLU-op1"}),
    "of another rank": (ROW, {"rank": 1}),
    "of another graph": (ROW, {"graph_id": 1}),
    "behind the outputs": (ROW, {"slot": 1}),
    "of an input that the graph does not describe": (ROW, {"io": "input", "slot": 1}),
}


@pytest.mark.parametrize(("record", "key"), SILENT.values(), ids=SILENT)
def test_a_tensor_of_which_the_graph_says_nothing_stays_as_it_is(record, key):
    assert changed(record, **key).label == record.label


def test_each_tensor_in_a_device_format_takes_the_host_layout_of_its_own_operator(tmp_path):
    """Two operators of one kind of file: both shapes fit the device's, and each has its own."""
    images = {"a": (2, 4, 4, 20), "b": (2, 20, 4, 4)}
    hosts = {"a": "NHWC", "b": "NCHW"}
    arrays = {name: counted(shape, np.float32) for name, shape in images.items()}
    for number, (name, array) in enumerate(arrays.items()):
        there = device_by_loops(array, hosts[name], "NC1HWC0", 16)
        leaf = tmp_path / f"20240613143502/0/net/1/0/ReLU.{name}.{number}.3.170000000000000{number}"
        save_container(leaf, [], [(there, {"format": 3})])
    index = load(tmp_path).index
    ops = tuple(
        Op(name, "ReLU", (), {}, (TensorSpec("float32", shape, hosts[name]),))
        for name, shape in images.items()
    )
    records = with_hosts(index, {(0, 0): Graph("net", (), ops)}).records
    for record in records:
        name = record.key.op_name
        assert record.source.spec() == ("float32", images[name], hosts[name])
        assert np.array_equal(record.source.array(), arrays[name])
