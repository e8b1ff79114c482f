"""What the graph engine's trees look like, against small graphs written by hand in GE's own text."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from workbench.core.plan import DumpPlan, Exclusion, Selector
from workbench.dump.containers import TREES, predict_containers
from workbench.graph.models import load_graph
from workbench.ir.ge_text import parse_ge_text

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
NAME = ".{task_id}.{stream_id}.{timestamp}"


def paths(forecast):
    return [entry.path for entry in forecast.files]


@pytest.mark.parametrize(
    ("surface", "folder"),
    [
        ("acl", "{time}/2/ge_default_1/{model_id}/5"),
        ("tensorflow", "{time}/2/ge_default_1/{model_id}/5"),
        ("torchair", "worldsize8_global_rank3/{time}/2/ge_default_1/{model_id}/5"),
        ("mindspore-ge", "{time}/2/ge_default_1/{model_id}/5"),
        ("mindspore-o2", "5/{time}/2/ge_default_1/{model_id}/{iteration_id}"),
    ],
)
def test_each_surface_has_its_tree_with_one_container_an_operator(surface, folder):
    places = {"device_id": "2", "world": "worldsize8_global_rank3"}
    forecast = predict_containers(NET, PLAN, [5], surface, places)
    kept = [path for path in paths(forecast) if path != "acl_dump_2.json"]
    assert kept == [f"{folder}/MatMulV2.scope_mul_1{NAME}", f"{folder}/Relu.relu1{NAME}"]
    assert (surface == "mindspore-o2") == (len(kept) < len(forecast.files))
    assert any("placeholders" in doubt for doubt in forecast.doubts)


def test_every_surface_that_is_not_simulated_has_a_tree():
    assert TREES.keys() == {"acl", "tensorflow", "torchair", "mindspore-ge", "mindspore-o2"}


def test_operators_that_never_run_on_the_device_are_named_with_the_reason():
    silent = predict_containers(NET, PLAN, [0], "acl").silent
    assert {name: reason.split(" ")[0:3] for name, reason in silent.items()} == {
        "x": ["data", "operators", "are"],
        "w": ["data", "operators", "are"],
        "dead": ["its", "attribute", "_no_task"],
        "case": ["control", "flow", "is"],
        "push": ["data", "flow", "operators"],
        "out": ["it", "ends", "the"],
    }


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def member(number, value):
    """A protobuf field: bytes are length-delimited, numbers varints."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def container(name, tensors):
    """A dump file as the device writes it; tensors are (is output, dims) of float16."""
    header, payload = member(1, b"2.0") + member(2, 1_700_000_000_000_000), 0
    for is_output, dims in tensors:
        size = 2 * int(np.prod(dims))
        shape = member(1, b"".join(map(varint, dims)))
        numbers = (6, 7, 9) if is_output else (5, 6, 8)
        body = member(1, 2) + member(2, 3) + member(3, shape) + member(numbers[0], size)
        body += member(numbers[1], shape) + member(numbers[2], 0x12C0_4000_0000)
        header += member(3 if is_output else 4, body)
        payload += size
    header += member(6, name.encode())
    return 8 + len(header) + payload


@pytest.mark.parametrize("rank", [1, 2, 4, 6])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_the_bytes_of_a_container_are_near_those_of_a_real_one(rank, count):
    dims = (3,) * (rank - 1) + (500,)
    name = "network/layer-Dense/" + "n" * 40
    net = graph(op(name, "Add", ins=(dims,) * count, outs=(dims,)))
    (entry,) = predict_containers(net, BOTH, [0], "acl").files
    real = container(name, [(True, dims), *[(False, dims)] * count])
    assert abs(entry.size - real) <= 24 * (count + 1)


def test_modes_choose_tensors_and_blacklists_bar_them():
    def tensors(plan):
        return predict_containers(NET, plan, [0], "acl").tensors

    assert tensors(PLAN) == {"scope/mul.1": 1, "relu1": 1}
    assert tensors(replace(PLAN, io=frozenset(("input",)))) == {"scope/mul.1": 2, "relu1": 1}
    assert tensors(BOTH) == {"scope/mul.1": 3, "relu1": 2}
    barred = Exclusion("type", "MatMulV2", ("input0", "output0"))
    assert tensors(replace(BOTH, omit=(barred,))) == {"scope/mul.1": 1, "relu1": 2}
    everywhere = (Exclusion("name", "relu1"), Exclusion("name", "scope/mul.1", model="other"))
    assert tensors(replace(BOTH, omit=everywhere)) == {"scope/mul.1": 3}


def test_lists_name_operators_ranges_and_models():
    def chosen(*select):
        return [*predict_containers(NET, replace(PLAN, select=select), [0], "acl").tensors]

    assert chosen(Selector("name", "relu1")) == ["relu1"]
    assert chosen(Selector("range", "scope/mul.1", "relu1")) == ["scope/mul.1", "relu1"]
    assert chosen(Selector("range", "relu1", "scope/mul.1")) == []
    assert chosen(Selector("all", model="ge_default_1")) == ["scope/mul.1", "relu1"]
    assert chosen(Selector("all", model="resnet")) == []
    assert chosen(Selector("name", "relu1", model="resnet")) == []


def test_data_operators_that_feed_a_chosen_one_are_dumped_by_torchair():
    plan = replace(BOTH, select=(Selector("name", "scope/mul.1"),))
    forecast = predict_containers(NET, plan, [0], "torchair")
    assert forecast.tensors == {"x": 1, "scope/mul.1": 3}
    assert any("'x'" in doubt for doubt in forecast.doubts)
    assert predict_containers(NET, plan, [0], "acl").tensors == {"scope/mul.1": 3}
    assert "x" in predict_containers(NET, BOTH, [0], "torchair").silent


def test_statistics_are_one_table_an_operator():
    plan = replace(BOTH, saved="statistic", statistics_on="device")
    assert paths(predict_containers(NET, plan, [0], "acl")) == [
        f"{{time}}/0/ge_default_1/{{model_id}}/0/{name}{NAME}.csv"
        for name in ("MatMulV2.scope_mul_1", "Relu.relu1")
    ]


def test_o2_writes_npy_in_the_host_format_and_one_table():
    plan = DumpPlan("/dump", saved="full", io=frozenset(("output",)))
    net = load_graph("lenet")
    forecast = predict_containers(net, plan, [4], "mindspore-o2")
    table, form = forecast.files[-1], forecast.files[0]
    assert form.path == "acl_dump_0.json"
    text = ('{"dump":{"dump_list":[],"dump_mode":"output","dump_op_switch":"on",'
            '"dump_path":"/dump/4"}}')  # fmt: skip
    assert form.size == len(text)
    assert table.path == "4/{time}/0/{model_name}/{model_id}/{iteration_id}/statistic.csv"
    assert (forecast.rows, table.bound) == (len(net.ops), True)
    tensors = {entry.path.split(NAME)[1]: entry.size for entry in forecast.files[1:-1]}
    assert tensors.keys() == {".output.0.NCHW.float32.npy", ".output.0.ND.float32.npy"}
    assert "a ge_proto_*_Build.txt" in " ".join(forecast.doubts)
    only_rows = predict_containers(net, replace(plan, saved="statistic"), [4], "mindspore-o2")
    assert len(only_rows.files) == 2


def test_watching_writes_the_watched_outputs_again_after_each_layer():
    names = ("a", "b", "c", "d")
    net = graph(*(op(name, "Relu") for name in names), op("sum", "HcomAllReduce"))
    layers = tuple(Selector("name", name) for name in ("a", "b", "c", "sum"))
    plan = replace(PLAN, kind="watch", select=layers, watched=("c", "d"))
    forecast = predict_containers(net, plan, [0], "acl")
    # layers a and b, and the watched operator itself: c is watched, and sum is collective
    assert forecast.tensors == {"c": 3, "d": 3}
    assert len(forecast.files) == 6
    everything = predict_containers(net, replace(plan, select=()), [0], "acl")
    assert everything.tensors == {"c": 3, "d": 3}


def test_names_that_are_too_long_become_numbers_and_lines_of_a_mapping():
    fixed = len("Relu..1234.12.") + 16
    net = graph(op("n" * (255 - fixed), "Relu"), op("m" * (256 - fixed), "Relu"))
    long = predict_containers(net, PLAN, [0, 1], "acl")
    names = Counter(path.rpartition("/")[2][:8] for path in paths(long))
    assert names == {"Relu.nnn": 2, "{number}": 2, "mapping.": 2}
    (mapping, _) = (entry.size for entry in long.files if entry.path.endswith("mapping.csv"))
    assert mapping == len("1234567890,") + 256 + 1


def test_a_file_of_edges_alone_gives_names_without_bytes():
    net = parse_ge_text('graph { name: "g" op { name: "a" type: "Relu" input: "b:0" } '
                        'op { name: "b" type: "Relu" } }')  # fmt: skip
    forecast = predict_containers(net, BOTH, [0], "acl")
    assert forecast.tensors == {"a": 2, "b": 1}
    assert [entry.size for entry in forecast.files] == [None, None]
    assert any("shapes of 2 files" in doubt for doubt in forecast.doubts)


def test_iterations_repeat_the_files_and_none_write_nothing():
    twice = predict_containers(NET, PLAN, [3, 9], "acl")
    assert [path.split("/")[4] for path in paths(twice)] == ["3", "3", "9", "9"]
    assert twice.tensors == {"scope/mul.1": 2, "relu1": 2}
    assert twice.moved == 2 * 2 * 16 * 2
    never = predict_containers(NET, PLAN, [], "mindspore-o2")
    assert (never.files, never.tensors, never.moved) == ((), {}, 0)
    assert len(never.silent) == 6


def test_tensors_without_bytes_leave_no_file():
    empty = op("none", "Add", ("x:0",), ins=((0, 16),), outs=((0, 16),))
    half = op("half", "Add", ("x:0",), ins=((2, 16),), outs=((0, 16),))
    unknown = op("unknown", "Add", ("x:0",), ins=((0, 16),), outs=((-1, 16),))
    found = predict_containers(graph(empty, half, unknown), BOTH, [0], "acl")
    assert [path.rpartition("/")[2] for path in paths(found)] == [
        f"Add.half{NAME}",
        f"Add.unknown{NAME}",
    ]
    assert found.silent == {"none": "its tensors hold no bytes"}
    assert set(predict_containers(graph(half), PLAN, [0], "acl").silent) == {"half"}
