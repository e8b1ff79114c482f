"""What the graph engine's trees look like, against small graphs written by hand in GE's own text."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from kit.wire import msg, num, varint
from workbench.core.plan import DumpPlan, Exclusion, Selector
from workbench.core.words import Message
from workbench.dump.formats.renamed import string_hash
from workbench.dump.write.forecast import foretell
from workbench.dump.write.targets import Target
from workbench.graph_files.ge.text import parse_ge_text
from workbench.network.models import load_graph

PLAN = DumpPlan("/dump", files="bin", host_format=False, io=frozenset(("output",)))
BOTH = replace(PLAN, io=frozenset(("input", "output")))


def tensor(field, dims, dtype="DT_FLOAT16", layout="NC1HWC0"):
    shape = "".join(f"      dim: {dim}\n" for dim in dims)
    return f'    {field} {{ dtype: {dtype} layout: "{layout}" shape {{\n{shape} }} }}\n'


def op(name, op_type, inputs=(), attrs=(), ins=(), outs=((2, 16),)):
    lines = [f'  op {{\n    name: "{name}"\n    type: "{op_type}"\n']
    lines += [f'    input: "{edge}"\n' for edge in inputs]
    lines += [tensor("input_desc", dims) for dims in ins]
    lines += [tensor("output_desc", dims) for dims in outs]
    lines += [f'    attr {{ key: "{key}" value {{ {value} }} }}\n' for key, value in attrs]
    return "".join((*lines, "  }\n"))


def graph(*ops, name="ge_default_1"):
    return parse_ge_text(f'graph {{\n  name: "{name}"\n{"".join(ops)}}}\n')


NET = graph(
    op("x", "Data"),
    op("w", "Const", outs=((16, 16),)),
    op("scope/mul.1", "MatMulV2", ("x:0", "w:0"), ins=((2, 16), (16, 16))),
    op("relu1", "Relu", ("scope/mul.1:0",), ins=((2, 16),)),
    op("dead", "Relu", ("scope/mul.1:0",), [("_no_task", "b: true")], ins=((2, 16),)),
    op("case", "Case", ("x:0",), ins=((2, 16),)),
    op("push", "StackPush", ("x:0",), ins=((2, 16),)),
    op("out", "NetOutput", ("relu1:0",), ins=((2, 16),), outs=()),
)
START = "20231114221320"


def foresee(net, plan, iterations, surface="acl", **more):
    return foretell([net], plan, iterations, Target(surface, **more))


def paths(forecast):
    """Paths without what a device makes up: task, stream and time."""
    found = [entry.path for entry in forecast.files]
    return [re.sub(r"\.\d+\.1\.17000000000\d{5}", "", path) for path in found]


def test_an_operator_is_one_container_whose_name_the_device_completes():
    forecast = foresee(NET, PLAN, [5], device=2)
    folder = f"{START}/2/ge_default_1/1/5"
    assert paths(forecast) == [f"{folder}/MatMulV2.scope_mul_1", f"{folder}/Relu.relu1"]
    assert Message("dump/names-of-device") in forecast.uncertain


def test_operators_that_never_run_on_the_device_are_named_with_the_reason():
    silent = foresee(NET, PLAN, [0]).without_dump
    assert {name: reason.code for name, reason in silent.items()} == {
        "x": "graph_files/silent-data",
        "w": "graph_files/silent-data",
        "dead": "graph_files/silent-no-task",
        "case": "graph_files/silent-control",
        "push": "graph_files/silent-flow",
        "out": "graph_files/silent-end",
    }


def container(name, tensors):
    """A dump file as the device writes it; tensors are (is output, dims) of float16."""
    header, payload = msg(1, b"2.0") + num(2, 1_700_000_000_000_000), 0
    for is_output, dims in tensors:
        size = 2 * int(np.prod(dims))
        shape = msg(1, b"".join(map(varint, dims)))
        numbers = (6, 7, 9) if is_output else (5, 6, 8)
        body = num(1, 2) + num(2, 3) + msg(3, shape) + num(numbers[0], size)
        body += msg(numbers[1], shape) + num(numbers[2], 0x12C0_4000_0000)
        if is_output:
            origin = msg(1, name.encode()) + num(3, 2)
            body += msg(4, origin + (b"" if len(dims) == 4 else num(4, 2)))
        header += msg(3 if is_output else 4, body)
        payload += size
    header += msg(6, name.encode())
    return 8 + len(header) + payload


@pytest.mark.parametrize("rank", [1, 2, 4, 6])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_the_bytes_of_a_container_are_those_of_a_real_one(rank, count):
    dims = (3,) * (rank - 1) + (500,)
    name = "network/layer-Dense/" + "n" * 40
    net = graph(op(name, "Add", ins=(dims,) * count, outs=(dims,)))
    (entry,) = foresee(net, BOTH, [0]).files
    real = container(name, [(True, dims), *[(False, dims)] * count])
    assert entry.size == real


def test_modes_choose_tensors_and_blacklists_bar_them():
    def tensors(plan):
        return foresee(NET, plan, [0]).tensors

    assert tensors(PLAN) == {"scope/mul.1": 1, "relu1": 1}
    assert tensors(replace(PLAN, io=frozenset(("input",)))) == {"scope/mul.1": 2, "relu1": 1}
    assert tensors(BOTH) == {"scope/mul.1": 3, "relu1": 2}
    barred = Exclusion("type", "MatMulV2", ("input0", "output0"))
    assert tensors(replace(BOTH, omit=(barred,))) == {"scope/mul.1": 1, "relu1": 2}
    everywhere = (Exclusion("name", "relu1"), Exclusion("name", "scope/mul.1", model="other"))
    assert tensors(replace(BOTH, omit=everywhere)) == {"scope/mul.1": 3}


def test_lists_name_operators_ranges_and_models():
    def chosen(*select):
        return [*foresee(NET, replace(PLAN, select=select), [0]).tensors]

    assert chosen(Selector("name", "relu1")) == ["relu1"]
    assert chosen(Selector("range", "scope/mul.1", "relu1")) == ["scope/mul.1", "relu1"]
    assert chosen(Selector("range", "relu1", "scope/mul.1")) == []
    assert chosen(Selector("all", model="ge_default_1")) == ["scope/mul.1", "relu1"]
    assert chosen(Selector("all", model="resnet")) == []
    assert chosen(Selector("name", "relu1", model="resnet")) == []


def test_data_operators_that_feed_a_chosen_one_are_dumped_by_torchair():
    plan = replace(BOTH, select=(Selector("name", "scope/mul.1"),))
    forecast = foresee(NET, plan, [0], "torchair")
    assert forecast.tensors == {"x": 1, "scope/mul.1": 3}
    assert Message("dump/fed", operators=["x"]) in forecast.uncertain
    assert foresee(NET, plan, [0]).tensors == {"scope/mul.1": 3}
    assert "x" in foresee(NET, BOTH, [0], "torchair").without_dump


def test_statistics_are_one_table_an_operator():
    plan = replace(BOTH, saved="statistic", statistics_on="device")
    assert paths(foresee(NET, plan, [0])) == [
        f"{START}/0/ge_default_1/1/0/{name}.csv" for name in ("MatMulV2.scope_mul_1", "Relu.relu1")
    ]


def test_o2_writes_npy_in_the_host_format_where_it_can_and_one_table():
    plan = DumpPlan("/dump", saved="full", io=frozenset(("output",)))
    net = load_graph("lenet")
    asked = Target(
        "mindspore-o2", form=lambda step, _: {"acl_dump_0.json": f"step {step}"}, steps=12
    )
    forecast = foretell([net], plan, [4], asked)
    table, form = forecast.files[-1], forecast.files[0]
    assert (form.path, form.size) == ("acl_dump_0.json", len("step 11"))
    assert table.path == f"4/{START}/0/kernel_graph1/1/4/statistic.csv"
    assert (forecast.rows, table.is_upper_bound) == (len(net.ops), True)
    kinds = {path.partition(".output")[2] for path in paths(forecast)[1:-1]}
    assert kinds == {".0.NCHW.float32.npy", ".0.ND.float32.npy", ".0.FRACTAL_NZ.float32.npy"}
    only_rows = foresee(net, replace(plan, saved="statistic"), [4], "mindspore-o2")
    assert [entry.path for entry in only_rows.files] == [table.path]


def test_watching_writes_the_watched_outputs_again_after_each_layer():
    names = ("a", "b", "c", "d")
    net = graph(*(op(name, "Relu") for name in names), op("sum", "HcomAllReduce"))
    layers = tuple(Selector("name", name) for name in ("a", "b", "c", "sum"))
    plan = replace(PLAN, kind="watch", select=layers, watched=("c", "d"))
    forecast = foresee(net, plan, [0])
    # layers a and b, and the watched operator itself: c is watched, and sum is collective
    assert forecast.tensors == {"c": 3, "d": 3}
    assert len(forecast.files) == 6
    everything = foresee(net, replace(plan, select=()), [0])
    assert everything.tensors == {"c": 3, "d": 3}


def test_names_that_are_too_long_become_numbers_and_lines_of_a_mapping():
    fixed = len("Relu..1.1.") + 16
    net = graph(op("n" * (255 - fixed), "Relu"), op("m" * (256 - fixed), "Relu"))
    long = foresee(net, PLAN, [0, 1])
    names = [entry.path.rpartition("/")[2] for entry in long.files]
    kept, number, again, other, *tables = names
    assert (len(kept), len(again), tables) == (255, 255, ["mapping.csv"] * 2)
    assert number.isdecimal()
    assert number != other
    folder = f"{START}/0/ge_default_1/1/0"
    (mapping, _) = (entry.size for entry in long.files if entry.path.endswith("mapping.csv"))
    assert mapping == len(number) + 1 + 256 + 1
    times = range(int(kept.split(".")[-1]), int(again.split(".")[-1]))
    assert number in {
        str(string_hash(f"{folder}/Relu.{'m' * (256 - fixed)}.2.1.{time}".encode()))
        for time in times
    }


def test_a_file_of_edges_alone_gives_names_without_bytes():
    net = parse_ge_text('graph { name: "g" op { name: "a" type: "Relu" input: "b:0" } '
                        'op { name: "b" type: "Relu" } }')  # fmt: skip
    forecast = foresee(net, BOTH, [0])
    assert forecast.tensors == {"a": 2, "b": 1}
    assert [entry.size for entry in forecast.files] == [None, None]
    assert Message("dump/shapeless", files=2) in forecast.uncertain


def test_iterations_repeat_the_files_and_none_write_nothing():
    twice = foresee(NET, PLAN, [3, 9])
    assert [path.split("/")[4] for path in paths(twice)] == ["3", "3", "9", "9"]
    assert twice.tensors == {"scope/mul.1": 2, "relu1": 2}
    assert twice.moved == 2 * 2 * 16 * 2
    never = foresee(NET, PLAN, [], "mindspore-o2")
    assert (never.files, never.tensors, never.moved) == ((), {}, 0)
    assert len(never.without_dump) == 6


def test_tensors_without_bytes_leave_no_file():
    empty = op("none", "Add", ("x:0",), ins=((0, 16),), outs=((0, 16),))
    half = op("half", "Add", ("x:0",), ins=((2, 16),), outs=((0, 16),))
    unknown = op("unknown", "Add", ("x:0",), ins=((0, 16),), outs=((-1, 16),))
    found = foresee(graph(empty, half, unknown), BOTH, [0])
    assert [path.rpartition("/")[2] for path in paths(found)] == [
        "Add.half",
        "Add.unknown",
    ]
    assert found.without_dump == {"none": Message("dump/no-bytes")}
    assert set(foresee(graph(half), PLAN, [0]).without_dump) == {"half"}
