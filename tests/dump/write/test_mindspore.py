"""Trees are checked against the layout of real dumps, byte vectors, and NumPy's own reader."""

import json
import resource
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from kit.build.written import write
from kit.oracle.dump_files import assert_agree
from kit.trees import listed, rows
from kit.words import refused
from workbench.core.errors import FormatError, OutputError
from workbench.core.plan import DumpPlan, Iterations, Selector
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.formats.mindspore_name import parse_npy_name
from workbench.dump.new_folder import WORK
from workbench.dump.reader import load
from workbench.dump.reports.kernel_args import arguments_of, kernel_arguments
from workbench.dump.selection import kernel_type
from workbench.dump.write.mindspore import no_npy
from workbench.dump.write.plan_files import ending_in_tables
from workbench.dump.write.targets import Clock
from workbench.graph.graph import Const, FreeRef, Graph, Op, Param, Parameter, Value
from workbench.graph_files.mindspore.pb import read_ms_pb

F = TensorSpec("float32", (2, 3))
ADD = "Default/net.a-Net/Add-op0"
RELU = "Default/net.a-Net/ReLU-op0"
GRAPH = Graph(
    "Net",
    (Parameter("w.x", F, True, "w.x"),),
    (
        Op(ADD, "Add", (Param(0), Param(0)), {}, (F,), (F, F)),
        Op(RELU, "ReLU", (Value(0),), {}, (F,), (F,)),
    ),
    (Value(1),),
)
PLAN = DumpPlan("/ignored", "My-Net_1")
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def record(op_name=ADD, io="output", slot=0, array=X, op_type="Add", iteration=0, **more):
    key = TensorKey(op_type, op_name, io, slot, more.pop("graph_id", 0), iteration)
    key = key._replace(rank=more.pop("rank", 0))
    label = TensorSpec(array.dtype.name, array.shape, more.pop("format", "DefaultFormat"))
    return TensorRecord(key, label, ArraySource(array), **more)


def parameter(iteration=0, name="w.x"):
    return record(name, op_type="Parameter", iteration=iteration)


def tensors(root):
    """Parsed names of all npy files, by rank/net/graph/iteration folder."""
    found = [
        (path.parent.relative_to(root), parse_npy_name(path.name)) for path in root.rglob("*.npy")
    ]
    return sorted((str(folder), parts) for folder, parts in found)


def only(root, pattern):
    (path,) = root.rglob(pattern)
    return path


def test_a_cpu_tree_has_the_layout_of_a_real_one(tmp_path):
    root = write(
        [record(io="input"), record(), parameter()], PLAN, tmp_path / "new" / "dump",
        graph=GRAPH, config_text='{ "a": 1 }\n', clock=Clock(7, 1_700_000_000_000_000),
    )  # fmt: skip
    assert root == tmp_path / "new" / "dump"
    leaf = "rank_0/My-Net_1/0/0/"
    names = listed(root)
    stamps = sorted(int(name.split(".")[4]) for name in names if name.endswith(".npy"))
    assert stamps[0] > 1_700_000_000_000_000
    assert len(set(stamps)) == 3
    first, second, third = stamps
    assert names == sorted(
        [
            "rank_0/.dump_metadata/config.json",
            "rank_0/.dump_metadata/data_dump.json",
            "rank_0/execution_order/ms_execution_order_graph_0.csv",
            "rank_0/execution_order/ms_global_execution_order_graph_0.csv",
            "rank_0/graphs/ms_output_trace_code_graph_0.ir",
            "rank_0/graphs/ms_output_trace_code_graph_0.pb",
            f"{leaf}Add.Default_net_a-Net_Add-op0.0.0.{first}.input.0.DefaultFormat.Float32.npy",
            f"{leaf}Add.Default_net_a-Net_Add-op0.0.0.{second}.output.0.DefaultFormat.Float32.npy",
            f"{leaf}Parameter.w_x.0.0.{third}.output.0.DefaultFormat.Float32.npy",
        ]
    )
    told = read_ms_pb(root / "rank_0/graphs/ms_output_trace_code_graph_0.pb")
    assert [(op.name, op.op_type) for op in told.ops] == [(ADD, "Add"), (RELU, "ReLU")]
    assert [p.name for p in told.parameters] == ["w.x"]
    texts = {
        name: (root / name).read_text() for name in names if not name.endswith((".npy", ".pb"))
    }
    assert texts["rank_0/.dump_metadata/config.json"] == (
        '{"device_target":"CPU","ms_version":"2.6.0"}'
    )
    assert texts["rank_0/.dump_metadata/data_dump.json"] == '{ "a": 1 }\n'
    assert texts["rank_0/execution_order/ms_execution_order_graph_0.csv"] == (
        f"NodeExecutionOrder-FullNameWithScope\n{ADD}\n{RELU}\n"
    )
    assert texts["rank_0/execution_order/ms_global_execution_order_graph_0.csv"] == "0\n"


def test_a_graph_with_a_value_of_another_one_has_no_pb(tmp_path):
    taken = Op(ADD, "Add", (FreeRef("outer", "%3"), Param(0)), {}, (F,))
    write([record()], PLAN, tmp_path, graph=replace(GRAPH, ops=(taken,), outputs=(Value(0),)))
    (written,) = (tmp_path / "rank_0" / "graphs").iterdir()
    assert written.name == "ms_output_trace_code_graph_0.ir"


@pytest.mark.parametrize(
    ("device", "dtype", "stored", "word"),
    [
        ("Ascend", ml_dtypes.bfloat16, np.float32, "bfloat16"),
        ("Ascend", ml_dtypes.int4, np.int8, "int4"),
        ("Ascend", np.float16, np.float16, "float16"),
        ("Ascend", np.bool_, np.bool_, "bool"),
        ("Ascend", np.complex128, np.complex128, "complex128"),
        ("CPU", np.uint64, np.uint64, "UInt64"),
        ("CPU", np.float64, np.float64, "Float64"),
    ],
)
def test_each_dtype_is_stored_and_named_as_the_device_does(tmp_path, device, dtype, stored, word):
    values = np.array([[0, 1], [1, 0]]).astype(dtype)
    write([record(array=values)], PLAN, tmp_path, graph=GRAPH, device=device)
    path = only(tmp_path, "*.npy")
    assert path.name.endswith(f".{word}.npy")
    read = np.load(path)
    assert read.dtype == stored
    assert read.tolist() == [[0, 1], [1, 0]]


def test_bfloat16_on_a_cpu_keeps_its_sixteen_bits(tmp_path):
    values = np.array([1.0, -2.5], ml_dtypes.bfloat16)
    write([record(array=values)], PLAN, tmp_path, graph=GRAPH)
    data = only(tmp_path, "*.BFloat16.npy").read_bytes()
    assert b"'descr': '<E2'" in data
    assert data[-4:] == bytes.fromhex("803f 20c0")


@pytest.mark.parametrize(
    ("device", "dtype"), [("Ascend", np.complex64), ("CPU", ml_dtypes.float8_e5m2)]
)
def test_types_that_mindspore_cannot_store_have_no_file(tmp_path, device, dtype):
    write([record(array=np.ones(3, dtype)), record(RELU)], PLAN, tmp_path, graph=GRAPH,
          device=device)  # fmt: skip
    assert "ReLU" in only(tmp_path, "*.npy").name


def test_empty_tensors_have_no_file_and_scalars_have_one(tmp_path):
    records = [record(array=np.empty((0, 2))), record(RELU, array=np.array(2.5))]
    write(records, PLAN, tmp_path, graph=GRAPH)
    assert np.load(only(tmp_path, "*.npy")) == 2.5


def test_a_tensor_in_any_memory_order_is_stored_row_by_row(tmp_path):
    write([record(array=X.T)], PLAN, tmp_path, graph=GRAPH)
    assert np.load(only(tmp_path, "*.npy")).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_device_formats_show_in_the_name(tmp_path):
    write([record(format="FRACTAL_NZ")], PLAN, tmp_path, graph=GRAPH, device="Ascend")
    assert only(tmp_path, "*.npy").name.endswith(".output.0.FRACTAL_NZ.float32.npy")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {("Add", "input", 0), ("Add", "output", 0), ("ReLU", "output", 0),
              ("Parameter", "output", 0), ("Add", "output", 1), ("Parameter", "output", 1)}),
        ({"io": frozenset(("input",))}, {("Add", "input", 0)}),
        ({"iterations": Iterations.parse("1")}, {("Add", "output", 1), ("Parameter", "output", 1)}),
        ({"iterations": Iterations(())}, set()),
        ({"select": (Selector("name", RELU),)}, {("ReLU", "output", 0)}),
        ({"select": (Selector("type", "relu"),)}, {("ReLU", "output", 0)}),
        ({"select": (Selector("type", "W."),)}, {("Parameter", "output", 0),
                                                 ("Parameter", "output", 1)}),
        ({"select": (Selector("regex", "Default/net.*Add.*"),)},
         {("Add", "input", 0), ("Add", "output", 0), ("Add", "output", 1)}),
        ({"select": (Selector("regex", "Default/net"),)}, set()),
    ],
)  # fmt: skip
def test_the_plan_chooses_the_tensors(tmp_path, changes, expected):
    records = [
        record(io="input"), record(), record(RELU, op_type="ReLU"), parameter(),
        record(iteration=1), parameter(1),
    ]  # fmt: skip
    write(records, replace(PLAN, **changes), tmp_path, graph=GRAPH)
    found = {(p.op_type, p.io, int(folder[-1])) for folder, p in tensors(tmp_path)}
    assert found == expected


def test_the_global_order_lists_the_iterations_that_were_asked_for(tmp_path):
    plan = replace(PLAN, iterations=Iterations.parse("1-2"), select=(Selector("name", "none"),))
    write([record(iteration=i) for i in range(4)], plan, tmp_path, graph=GRAPH)
    assert only(tmp_path, "ms_global*.csv").read_text() == "1\n2\n"
    assert not (tmp_path / "rank_0" / "My-Net_1").exists()


def test_a_plan_that_meets_no_iteration_leaves_graph_and_order_alone(tmp_path):
    plan = replace(PLAN, iterations=Iterations.parse("100"))
    write([record()], plan, tmp_path, graph=GRAPH)
    assert [name.rpartition("/")[2] for name in listed(tmp_path)] == [
        "config.json", "ms_execution_order_graph_0.csv",
        "ms_output_trace_code_graph_0.ir", "ms_output_trace_code_graph_0.pb",
    ]  # fmt: skip


def test_ranks_graphs_and_iterations_have_their_own_folders(tmp_path):
    records = [record(rank=0), record(rank=3, iteration=5)]
    write(records, PLAN, tmp_path, graph=GRAPH)
    assert [folder for folder, _ in tensors(tmp_path)] == [
        "rank_0/My-Net_1/0/0",
        "rank_3/My-Net_1/0/5",
    ]
    assert len(list(tmp_path.rglob("*.ir"))) == 2
    other = tmp_path.with_name("other")
    write([record(graph_id=2)], PLAN, other, graph=GRAPH.with_id(2))
    assert tensors(other)[0][0] == "rank_0/My-Net_1/2/0"
    assert only(other, "*.ir").name == "ms_output_trace_code_graph_2.ir"


def test_sampling_keeps_the_first_elements_of_larger_tensors(tmp_path):
    records = [record(array=X), record(RELU, array=X.reshape(-1)[:4].reshape(2, 2))]
    write(records, replace(PLAN, sample=4), tmp_path, graph=GRAPH, device="Ascend")
    arrays = {
        p.op_name[-9:]: np.load(only(tmp_path, f"*{p.op_name}*")) for _, p in tensors(tmp_path)
    }
    assert arrays["t_Add-op0"].tolist() == [0, 1, 2, 3]
    assert arrays["_ReLU-op0"].tolist() == [[0, 1], [2, 3]]


def test_statistics_alone_replace_the_tensors(tmp_path):
    plan = replace(PLAN, saved="statistic", statistics=("max", "count"))
    write([record(stream_id=2), record(RELU)], plan, tmp_path, graph=GRAPH, device="Ascend")
    assert not list(tmp_path.rglob("*.npy"))
    header, first, second = rows(only(tmp_path, "statistic.csv"))
    assert header[-3:] == ["Shape", "Max Value", "Count"]
    assert first[:4] == ["Add", "Default_net_a-Net_Add-op0", "0", "2"]
    assert first[5:] == ["output", "0", "24", "float32", "(2,3)", "5", "6", ""]
    assert second[1] == "Default_net_a-Net_ReLU-op0"


def test_full_dumps_have_both_with_one_identity(tmp_path):
    write([record()], replace(PLAN, saved="full"), tmp_path, graph=GRAPH, device="Ascend")
    _, row = rows(only(tmp_path, "statistic.csv"))
    parts = parse_npy_name(only(tmp_path, "*.npy").name)
    assert [row[1], int(row[4]), row[5], int(row[6])] == [
        parts.op_name, parts.timestamp_us, parts.io, parts.slot
    ]  # fmt: skip
    assert float(row[-2]) == pytest.approx(np.sqrt(55), rel=1e-5)


def test_statistics_of_bfloat16_are_those_of_its_sixteen_bits(tmp_path):
    values = np.array([1.0, 3.0], ml_dtypes.bfloat16)
    plan = replace(PLAN, saved="full", statistics=("avg",))
    write([record(array=values)], plan, tmp_path, graph=GRAPH, device="Ascend")
    _, row = rows(only(tmp_path, "statistic.csv"))
    assert row[7:] == ["4", "bfloat16", "(2)", "2", ""]


@pytest.mark.parametrize(
    ("precision", "cells"),
    [("high", ["40000", "40000", "56568.5", ""]), ("low", ["40000", "40000", "56576", ""])],
)
def test_the_device_computes_statistics_in_its_own_precision(tmp_path, precision, cells):
    plan = replace(
        PLAN, saved="statistic", statistics=("max", "avg", "l2norm"),
        statistics_on="device", statistics_precision=precision,
    )  # fmt: skip
    records = [
        record(array=np.float16([40000, 40000])),
        record(RELU, array=np.int32([1, 4])),
        record(RELU, io="input", array=np.bool_([False, True])),
    ]
    write(records, plan, tmp_path, graph=GRAPH, device="Ascend")
    _, half, whole, flag = rows(only(tmp_path, "statistic.csv"))
    assert (half[7:10], half[10:]) == (["4", "float16", "(2)"], cells)
    mean = 2.5 if precision == "high" else 2
    assert whole[10:] == ["4", str(mean), "null", ""]
    assert flag[10:] == ["True" if precision == "high" else "null", "null", "null", ""]
    read = {r.key.op_name + r.key.io: r.statistics for r in load(tmp_path).records}
    assert read["Default_net_a-Net_ReLU-op0output"] == {"Max Value": 4.0, "Avg Value": mean}
    assert read["Default_net_a-Net_ReLU-op0input"] == (
        {"Max Value": 1.0} if precision == "high" else {}
    )


@pytest.mark.parametrize(("where", "size", "largest"), [("host", "16", "3"), ("device", "24", "5")])
def test_the_host_sums_up_the_sample_and_the_device_the_tensor(tmp_path, where, size, largest):
    plan = replace(PLAN, saved="statistic", statistics=("max",), sample=4, statistics_on=where)
    write([record()], plan, tmp_path, graph=GRAPH, device="Ascend")
    _, row = rows(only(tmp_path, "statistic.csv"))
    assert row[7:] == [size, "float32", "(4)", largest, ""]


def long_record(length, number=0):
    """A record whose file name has exactly so many bytes on a CPU."""
    fixed = len(f"Add..0.0.{'1' * 16}.output.0.DefaultFormat.Float32.npy")
    name = "Default/" + str(number) + "n" * (length - fixed - 9)
    return record(name, timestamp_us=1_111_111_111_111_111)


def test_names_of_255_bytes_stay_and_longer_ones_become_numbers(tmp_path):
    write([long_record(255, 1), long_record(256, 2), long_record(300, 3)], PLAN, tmp_path,
          graph=GRAPH)  # fmt: skip
    names = sorted((path.name for path in tmp_path.rglob("*.npy")), key=len)
    assert [len(name) for name in names] == [len(names[0]), len(names[1]), 255]
    table = dict(line.split(",") for line in only(tmp_path, "mapping.csv").read_text().splitlines())
    assert table.keys() == set(names[:2])
    assert all(name.removesuffix(".npy").isdecimal() for name in names[:2])
    assert sorted(len(name) for name in table.values()) == [256, 300]
    assert all(parse_npy_name(name) is not None for name in table.values())
    assert len(load(tmp_path).records) == 3


def test_turns_of_a_loop_keep_all_their_files(tmp_path):
    records = [record(timestamp_us=17, array=X + turn) for turn in range(3)]
    write(records, PLAN, tmp_path, graph=GRAPH)
    sums = sorted(float(np.load(path).sum()) for path in tmp_path.rglob("*.npy"))
    assert sums == [15, 21, 27]


def test_kernel_arguments_are_written_once_an_operator(tmp_path):
    plan = replace(PLAN, kernel_args=True)
    softmax = Op(
        "Default/a.b/Softmax-op1", "Softmax", (Param(0), Const((-1,), "tuple", (1,))), {}, (F,)
    )
    graph = replace(GRAPH, ops=(softmax,), outputs=(Value(0),))
    records = [record(softmax.name, io) for io in ("input", "output")]
    write([*records, record(softmax.name, iteration=1)], plan, tmp_path, graph=graph,
          device="Ascend")  # fmt: skip
    paths = sorted(path for path in tmp_path.rglob("*.json"))
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        f"rank_0/My-Net_1/0/{i}/Softmax.Default_a_b_Softmax-op1.json" for i in (0, 1)
    ]
    assert paths[0].read_text() == '{\n    "axis": "[-1]"\n}'


def test_arguments_of_unknown_operators_are_their_attributes():
    op = Op("Default/Odd-op0", "Odd", (), {"group": 1, "dilation": (1, 1), "flag": True})
    assert arguments_of(op) == {"group": "1", "dilation": "(1, 1)", "flag": "true"}


def test_settings_that_a_kernel_takes_as_inputs_are_printed_like_tensors():
    """The tutorial's own example is a MatMul; a ReLU has no settings at all."""
    no, yes = Const(False, "bool", ()), Const(True, "bool", ())
    matmul = Op("Default/MatMul-op0", "MatMul", (Param(0), Param(0), no, yes), {"hint": 1}, (F,))
    assert kernel_arguments(matmul) == (
        '{\n    "transpose_a": "False",\n    "transpose_b": "True"\n}'
    )
    mean = (Param(0), Const((0, 10), "tuple", (2,)), yes)
    assert arguments_of(Op("Default/ReduceMean-op0", "ReduceMean", mean, {}, (F,))) == {
        "axis": "[ 0 10]",
        "keep_dims": "True",
    }
    assert kernel_arguments(GRAPH.ops[1]) == "null"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Default/conv1-Conv2d/Conv2D-op12", "Conv2D"),
        ("conv1.weight", "conv1.weight"),
        ("a-b/c", "c"),
        ("x/-op1", "-op1"),
    ],
)
def test_the_type_is_between_the_last_slash_and_the_last_hyphen(name, kind):
    assert kernel_type(name) == kind


def test_the_same_records_give_the_same_bytes(tmp_path):
    records = [record(), long_record(300), parameter()]
    for name in ("a", "b"):
        write(records, PLAN, tmp_path / name, graph=GRAPH, clock=Clock(5))
    assert listed(tmp_path / "a") == listed(tmp_path / "b")
    for name in listed(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    write(records, PLAN, tmp_path / "c", graph=GRAPH, clock=Clock(6))
    assert listed(tmp_path / "c") != listed(tmp_path / "a")


def test_progress_counts_tensors(tmp_path):
    seen = []
    plan = replace(PLAN, io=frozenset(("output",)))
    write([record(io="input"), record(), record(RELU)], plan, tmp_path, graph=GRAPH,
          progress=lambda count, name: seen.append((count, name)))  # fmt: skip
    assert seen == [(1, ADD), (2, RELU)]


@pytest.mark.parametrize("name", ["alexnet_padmode", "kernels_partial", "transformer_ln_eps"])
def test_a_real_tree_written_anew_has_the_same_files_and_bytes(real_pairs, tmp_path, name):
    real = real_pairs[name].target
    dump = load(real)
    (net,) = {found.key.net_name for found in dump.records}
    config = only(real, "data_dump.json").read_text()
    write(dump.records, DumpPlan("/x", net), tmp_path, graph=dump.graphs[0, 0],
          version="2.10.0", config_text=config)  # fmt: skip
    assert listed(tmp_path) == listed(real)
    for file in listed(real):
        if not file.endswith((".ir", ".pb", "ms_execution_order_graph_0.csv")):
            assert (tmp_path / file).read_bytes() == (real / file).read_bytes(), file
    assert load(tmp_path).graphs == dump.graphs
    assert_agree(read_ms_pb(only(tmp_path, "*.pb")), dump.graphs[0, 0], "pb-debugger")
    assert set(load(tmp_path).orders[0, 0]) == set(dump.orders[0, 0])


def test_a_folder_in_use_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with refused("dump/out-filled", FormatError, got=str(tmp_path)):
        write([record()], PLAN, tmp_path, graph=GRAPH)
    assert listed(tmp_path) == ["mine.txt"]
    with refused("dump/out-file", FormatError, got=str(tmp_path / "mine.txt")):
        write([record()], PLAN, tmp_path / "mine.txt", graph=GRAPH)


def test_a_run_that_was_interrupted_is_told(tmp_path):
    (tmp_path / WORK).mkdir()
    (tmp_path / "whole.npy").write_bytes(b"")
    with refused("dump/out-interrupted", FormatError, got=str(tmp_path), files=1):
        write([record()], PLAN, tmp_path, graph=GRAPH)


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path):
    (tmp_path / "file").write_text("")
    with refused("core/unwritable", OutputError, subject="dump folder"):
        write([record()], PLAN, tmp_path / "file" / "below", graph=GRAPH)


REFUSED = {
    **{
        f"net {name!r}": ({"net_name": name}, {}, "dump/net-name", {"got": name})
        for name in ("..", "", "a/b", "a.b", "a\n")
    },
    **{  # its tensors would be read by nobody
        f"net {name}": ({"net_name": name}, {}, "dump/folder-name", {"got": name, "layout": "mindspore"})
        for name in ("graphs", "execution_order", "debug_files")
    },
    **{
        f"type {name!r}": ({}, {"op_type": name}, "dump/operator-name", {})
        for name in ("../../../Add", "a/b", "nul\0")
    },
    **{
        f"{field} -1": ({}, {field: -1}, "dump/negative-number", {field: -1})
        for field in ("rank", "iteration", "graph_id", "slot")
    },
}  # fmt: skip


@pytest.mark.parametrize(("plan", "changes", "code", "values"), REFUSED.values(), ids=REFUSED)
def test_names_that_could_leave_the_root_and_negative_numbers_are_refused(
    tmp_path, plan, changes, code, values
):
    with refused(code, FormatError, **values):
        write([record(**changes)], replace(PLAN, **plan), tmp_path / "d", graph=GRAPH)
    assert not list(tmp_path.rglob("*.npy"))
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "d"])


def test_records_that_end_in_an_error_leave_whole_files_and_their_tables(tmp_path):
    def failing():
        yield record()
        yield long_record(300)
        raise KeyboardInterrupt

    plan = replace(PLAN, saved="full")
    with pytest.raises(KeyboardInterrupt):
        write(failing(), plan, tmp_path, graph=GRAPH)
    assert len([np.load(path) for path in tmp_path.rglob("*.npy")]) == 2
    assert len(rows(only(tmp_path, "statistic.csv"))) == 3
    assert only(tmp_path, "mapping.csv").read_text().count("\n") == 1


def test_a_disk_that_is_full_leaves_no_half_file_and_the_tables_of_what_is_there(tmp_path):
    plan = replace(PLAN, saved="full")
    large = np.zeros(100_000, np.float32)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with refused("core/unwritable", OutputError, subject="dump folder"):
            write([record(), record(RELU, array=large)], plan, tmp_path, graph=GRAPH)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert np.array_equal(np.load(only(tmp_path, "*.npy")), X)
    assert not [name for name in listed(tmp_path) if "partial" in name]
    assert len(rows(only(tmp_path, "statistic.csv"))) == 2


def test_records_that_fail_at_once_leave_no_folder(tmp_path):
    def failing():
        raise ZeroDivisionError
        yield

    with pytest.raises(ZeroDivisionError):
        write(failing(), PLAN, tmp_path / "d", graph=GRAPH)
    assert not (tmp_path / "d").exists()


def test_the_configuration_is_copied_byte_for_byte(tmp_path):
    text = '{"größe": "é",\r\n "x": 1} trailing'
    write([record()], PLAN, tmp_path, graph=GRAPH, config_text=text)
    assert only(tmp_path, "data_dump.json").read_bytes() == text.encode()
    assert json.loads(only(tmp_path, "config.json").read_text())["device_target"] == "CPU"


@pytest.mark.parametrize(("dtype", "said"), [("int4", "int4"), ("", "?")])
def test_a_type_without_an_npy_file_is_named(dtype, said):
    assert no_npy(dtype, "Ascend").values["dtype"] == said


def test_tables_follow_files_that_end_in_an_error_and_no_files_that_nobody_takes():
    def files(error):
        yield "file"
        raise error

    for error in (OSError(28, "full"), KeyboardInterrupt()):
        taken = []
        with pytest.raises(type(error)):
            taken.extend(ending_in_tables(files(error), lambda: iter(["table"])))
        assert taken == ["file", "table"]
    left = ending_in_tables(files(OSError()), lambda: iter(["table"]))
    assert next(left) == "file"
    left.close()  # nothing is yielded any more
    assert list(left) == []
