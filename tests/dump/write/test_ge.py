"""Containers of written trees, taken apart by a decoder of the tests' own and laid out by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from kit.oracle import dump_files
from kit.trees import listed
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.plan import DumpPlan, Iterations
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.write.targets import Clock, Target
from workbench.dump.write.trees import write_tree
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, SourceTensor, Value

ACL = Target("acl")
PLAN = DumpPlan("/dump", files="bin", host_format=False)
HOST = DumpPlan("/dump", files="bin")
F = TensorSpec("float32", (2, 3))
X = np.arange(6, dtype=np.float32).reshape(2, 3)
GRAPH = Graph(
    "Net.1/a b",
    (Parameter("w", F, True, "w"),),
    (
        Op("scope/add.x", "Add", (Param(0), Param(0)), {}, (F,), (F, F)),
        Op("scope/relu", "ReLU", (Value(0),), {}, (F,), (F,)),
    ),
    (Value(1),),
)
FOLDER = "20231114221320/0/Net_1_a_b/1/0"


def record(name="scope/add.x", io="output", slot=0, array=X, op_type="Add", iteration=0, **more):
    key = TensorKey(op_type, name, io, slot, 0, iteration)
    label = TensorSpec(
        more.pop("dtype", array.dtype.name), array.shape, more.pop("format", "DefaultFormat")
    )
    return TensorRecord(key, label, ArraySource(array), **more)


def run(iteration=0, array=X):
    yield record(io="input", iteration=iteration, array=array)
    yield record(io="input", slot=1, iteration=iteration, array=array)
    yield record(array=array + 1, iteration=iteration)
    yield record("scope/relu", "input", 0, array + 1, "ReLU", iteration)
    yield record("scope/relu", "output", 0, array + 1, "ReLU", iteration)
    yield record("w", op_type="Parameter", iteration=iteration)


def decoded(path):
    """Header, and (part, message, bytes) of every block."""
    header, blocks = dump_files.container(path.read_bytes())
    return header, [(part, message, data) for part, _, message, data in blocks]


def only(root):
    (name,) = listed(root)
    return decoded(root / name)


def test_an_operator_is_one_container_of_the_device_writer(tmp_path):
    root = write_tree(run(), PLAN, tmp_path / "new", graph=GRAPH, target=ACL)
    add, relu = listed(root)
    found = re.fullmatch(rf"{FOLDER}/Add\.scope_add_x\.1\.1\.(\d{{16}})", add)
    assert re.fullmatch(rf"{FOLDER}/ReLU\.scope_relu\.2\.1\.\d{{16}}", relu)
    header, blocks = decoded(root / add)
    assert (header["version"], header["dump_time"]) == ("2.0", int(found[1]))
    assert header["op_name"] == "scope/add.x"
    assert header["order"] == [1, 2, 3, 4, 4, 6]
    assert [part for part, _, _ in blocks] == ["input", "input", "output"]
    for part, message, data in blocks:
        assert (message["data_type"], message["format"], message["size"]) == (1, 2, 24)
        assert message["shape"]["dim"] == message["original_shape"]["dim"] == [2, 3]
        assert data == (X + (part == "output")).tobytes()
    assert blocks[2][1]["original_op"]["name"] == "scope/add.x"
    assert blocks[2][1]["original_op"]["data_type"] == 1


@pytest.mark.parametrize(
    ("origins", "said"),
    [
        ((), "scope/relu"),
        ((SourceTensor("scope/bias", 0, F),), "scope/bias"),
        ((None,), None),
    ],
)
def test_an_output_says_which_tensor_of_the_network_it_is(tmp_path, origins, said):
    kernels = (GRAPH.ops[0], replace(GRAPH.ops[1], provenance=origins))
    root = write_tree(run(), PLAN, tmp_path, graph=replace(GRAPH, ops=kernels), target=ACL)
    _, blocks = decoded(root / listed(root)[1])
    assert [part for part, *_ in blocks] == ["input", "output"]
    assert "original_op" not in blocks[0][1]
    found = blocks[1][1].get("original_op")
    assert (found["name"] if found else None) == said


def test_tensors_that_are_the_same_memory_have_one_address(tmp_path):
    write_tree(run(), PLAN, tmp_path, graph=GRAPH, target=ACL)
    add, relu = (decoded(tmp_path / name)[1] for name in listed(tmp_path))
    first, second, out = (message["address"] for _, message, _ in add)
    assert first == second
    assert out == relu[0][1]["address"] != relu[1][1]["address"]
    assert len({first, out, relu[1][1]["address"]}) == 3
    assert all(address % 512 == 0 for address in (first, out))


def test_memory_is_used_again_once_nobody_reads_what_lies_there(tmp_path):
    ops = [Op("op0", "ReLU", (Param(0),), {}, (F,))]
    ops += [Op(f"op{n}", "ReLU", (Value(n - 1),), {}, (F,)) for n in range(1, 4)]
    graph = Graph("g", GRAPH.parameters, tuple(ops), (Value(3),))
    plan = DumpPlan("/dump", files="bin", io=frozenset(("output",)))
    records = (record(f"op{n}", op_type="ReLU") for n in range(4))
    write_tree(records, plan, tmp_path, graph=graph, target=ACL)
    found = [decoded(tmp_path / name)[1][0][1]["address"] for name in listed(tmp_path)]
    assert found == [found[0], found[0] + 512] * 2


def values(*shape, dtype=np.float32):
    return dump_files.counted(shape, dtype)


def nz(array, c0=16):
    return dump_files.matrix_by_loops(array, c0)


def nc1hwc0(array, c0=16):
    return dump_files.device_by_loops(array, "NCHW", "NC1HWC0", c0)


def fractal_z(array, c0=16):
    return dump_files.device_by_loops(array, "NCHW", "FRACTAL_Z", c0)


MAP, WEIGHT, OUT = values(1, 20, 3, 4), values(17, 20, 2, 2), values(1, 17, 2, 3)


def one_op(op_type, *arrays, attrs=None):
    """Graph of one operator whose last array is its output, and its records."""
    specs = [TensorSpec(array.dtype.name, array.shape) for array in arrays]
    op = Op("op", op_type, tuple(map(Param, range(len(arrays) - 1))), attrs or {}, (specs[-1],))
    parameters = tuple(Parameter(f"p{n}", spec) for n, spec in enumerate(specs[:-1]))
    records = [
        record("op", "input", slot, array, op_type) for slot, array in enumerate(arrays[:-1])
    ]
    graph = Graph("g", parameters, (op,), (Value(0),))
    return graph, [*records, record("op", "output", 0, arrays[-1], op_type)]


@pytest.mark.parametrize(
    ("op_type", "arrays", "expected"),
    [
        ("Conv2D", (MAP, WEIGHT, OUT),
         ((3, nc1hwc0(MAP)), (4, fractal_z(WEIGHT)), (3, nc1hwc0(OUT)))),
        ("MaxPool", (MAP, MAP), ((3, nc1hwc0(MAP)),) * 2),
        ("MatMul", (values(3, 18), values(18, 5), values(3, 5)),
         ((29, nz(values(3, 18))), (29, nz(values(18, 5))), (29, nz(values(3, 5))))),
        ("BatchMatMul", (values(2, 2, 3, 4), values(2, 2, 4, 17), values(2, 2, 3, 17)),
         ((29, nz(values(2, 2, 3, 4))), (29, nz(values(2, 2, 4, 17))), (29, nz(values(2, 2, 3, 17))))),
        ("BiasAdd", (MAP, values(20), MAP), ((3, nc1hwc0(MAP)), (2, values(20)), (3, nc1hwc0(MAP)))),
        ("BiasAdd", (X, values(3), X), ((2, X), (2, values(3)), (2, X))),
        ("Softmax", (MAP, MAP), ((0, MAP), (0, MAP))),
        ("MatMul", (values(3, dtype=np.int64).reshape(1, 3),) * 2,
         ((2, values(1, 3, dtype=np.int64)),) * 2),
        ("Conv2D", (MAP.astype(np.float16), WEIGHT.astype(ml_dtypes.bfloat16), OUT.astype(np.int8)),
         ((3, nc1hwc0(MAP.astype(np.float16))), (4, fractal_z(WEIGHT.astype(ml_dtypes.bfloat16))),
          (3, nc1hwc0(OUT.astype(np.int8), 32)))),
    ],
)  # fmt: skip
def test_the_device_holds_tensors_in_its_own_formats(tmp_path, op_type, arrays, expected):
    graph, records = one_op(op_type, *arrays)
    write_tree(records, PLAN, tmp_path, graph=graph, target=ACL)
    _, blocks = only(tmp_path)
    for (_, message, data), array, (code, laid) in zip(blocks, arrays, expected, strict=True):
        assert message.get("format", 0) == code
        assert message["shape"]["dim"] == list(laid.shape)
        assert message["original_shape"]["dim"] == list(array.shape)
        assert data == laid.tobytes()
    write_tree(records, HOST, tmp_path / "host", graph=graph, target=ACL)
    for (_, message, data), array in zip(only(tmp_path / "host")[1], arrays, strict=True):
        assert message.get("format", 0) == (0 if array.ndim == 4 else 2)
        assert data == array.tobytes()


@pytest.mark.parametrize(("group", "stated"), [(1, 0), (4, 4), (3, 0), ("4", 0)])
def test_groups_of_a_weight_are_its_sub_format(tmp_path, group, stated):
    arrays = values(1, 8, 4, 4), values(8, 2, 1, 1), values(1, 8, 4, 4)
    graph, records = one_op("Conv2D", *arrays, attrs={"group": group})
    write_tree(records, PLAN, tmp_path, graph=graph, target=ACL)
    _, ((_, _, _), (_, weight, data), _) = only(tmp_path)
    assert weight.get("sub_format", 0) == stated
    laid = np.frombuffer(data, np.float32)
    if stated:  # 4 groups of 2 rows and 2 channels share one block: group g at rows and lanes 2g
        assert weight["shape"]["dim"] == [1, 1, 16, 16]
        block = laid.reshape(16, 16)
        for row, lane in np.ndindex(8, 2):
            assert block[row, row // 2 * 2 + lane] == arrays[1][row, lane, 0, 0]
    assert np.count_nonzero(laid) == 16


def test_what_states_its_format_lies_there_already(tmp_path):
    laid = nz(values(3, 18))
    write_tree([record(array=laid, format="FRACTAL_NZ")], PLAN, tmp_path, graph=GRAPH, target=ACL)
    _, ((_, message, data),) = only(tmp_path)
    assert (message["format"], message["shape"]["dim"]) == (29, [2, 1, 16, 16])
    assert data == laid.tobytes()


def test_a_graphs_tensor_is_laid_as_its_label_states(tmp_path):
    array = values(1, 20, 3, 4)
    one = record(array=array, format="NC1HWC0")
    one = replace(one, label=one.label._replace(shape=(1, 3, 3, 4, 8)))
    write_tree([one], PLAN, tmp_path / "device", graph=GRAPH, target=ACL)
    _, ((_, message, data),) = only(tmp_path / "device")
    assert (message["format"], message["shape"]["dim"]) == (3, [1, 3, 3, 4, 8])
    assert message["original_shape"]["dim"] == [1, 20, 3, 4]
    assert data == nc1hwc0(array, 8).tobytes()
    write_tree([one], HOST, tmp_path / "host", graph=GRAPH, target=ACL)
    _, ((_, message, data),) = only(tmp_path / "host")
    assert (message.get("format", 0), message["shape"]["dim"]) == (0, [1, 20, 3, 4])
    assert data == array.tobytes()


def test_a_label_whose_shape_the_tensor_cannot_have_is_refused(tmp_path):
    one = record(array=values(1, 20, 3, 4), format="NC1HWC0")
    one = replace(one, label=one.label._replace(shape=(1, 2, 3, 4, 8)))
    with pytest.raises(FormatError, match=r"\(1, 3, 3, 4, 8\).*\(1, 2, 3, 4, 8\)"):
        write_tree([one], PLAN, tmp_path, graph=GRAPH, target=ACL)
    assert listed(tmp_path) == []


@pytest.mark.parametrize(
    ("array", "dtype", "number", "data"),
    [
        (np.array([True, False]), "", 11, "0100"),
        (np.array([1, -2], ml_dtypes.bfloat16), "", 27, "803f00c0"),
        (np.array([1, -1, 7], ml_dtypes.int4), "", 28, "f107"),
        (np.array([1, 0, 1], np.uint8), "uint1", 29, "a0"),
        (np.array([1 + 2j], np.complex64), "complex32", 32, "003c0040"),
        (np.array([1, 0], np.float32), "hifloat8", 33, "0800"),
        (np.array([2], ml_dtypes.float8_e8m0fnu), "", 36, "80"),
        (np.array([1, -6], ml_dtypes.float4_e2m1fn), "", 39, "f2"),
        (np.array([1.5, -0.25], np.float32), "float4_e1m2", 40, "96"),
    ],
)
def test_a_number_format_has_its_number_and_its_bytes(tmp_path, array, dtype, number, data):
    one = record(array=array, dtype=dtype or array.dtype.name)
    write_tree([one], PLAN, tmp_path, graph=GRAPH, target=ACL)
    _, ((_, message, found),) = only(tmp_path)
    assert (message["data_type"], message["size"]) == (number, len(found))
    assert found == bytes.fromhex(data)
    assert message["shape"]["dim"] == list(array.shape)


@pytest.mark.parametrize("dtype", ["float6_e3m2", "hifloat4"])
def test_a_format_without_a_known_packing_is_refused_and_leaves_no_file(tmp_path, dtype):
    with refused("core/packing", FormatError, dtype=dtype.upper()):
        write_tree([record(dtype=dtype)], PLAN, tmp_path, graph=GRAPH, target=ACL)
    assert listed(tmp_path) == []


def test_scalars_and_empty_tensors_stay_in_the_list(tmp_path):
    records = [
        record(io="input", array=np.empty((0, 3), np.float32)),
        record(io="input", slot=1, array=np.array(2.5)),
        record("scope/relu", "input", 0, np.empty((0, 3), np.float32), "ReLU"),
    ]
    write_tree(records, PLAN, tmp_path, graph=GRAPH, target=ACL)
    _, ((_, empty, nothing), (_, scalar, data)) = only(tmp_path)
    assert (nothing, empty["shape"]["dim"], "address" in empty) == (b"", [0, 3], False)
    assert (data, "dim" in scalar["shape"]) == (np.float64(2.5).tobytes(), False)


@pytest.mark.parametrize(
    ("target", "folder"),
    [
        (ACL, "{time}/0/Net_1_a_b/1/{i}"),
        (Target("acl", device=3), "{time}/3/Net_1_a_b/1/{i}"),
        (Target("tensorflow"), "{time}/0/ge_default_{time}_1/1/{i}"),
        (Target("torchair", world=(2, 1)),
         "worldsize2_global_rank1/{time}/0/ge_default_{time}_1/1/{i}"),
        (Target("mindspore-ge"), "{time}/0/kernel_graph1/1/{i}"),
        (Target("mindspore-o2"), "{i}/{time}/0/kernel_graph1/1/{i}"),
    ],
)  # fmt: skip
def test_each_surface_has_its_folders(tmp_path, target, folder):
    records = [*run(0), *run(2)]
    write_tree(records, PLAN, tmp_path, graph=GRAPH, target=target, clock=Clock(now=0))
    folders = {name.rpartition("/")[0] for name in listed(tmp_path)}
    assert folders == {folder.format(time="19700101000000", i=i) for i in (0, 2)}


@pytest.mark.parametrize("name", ["", "graphs", "a\0b", "x" * 256])
def test_a_model_whose_folder_nobody_could_read_is_refused(tmp_path, name):
    with refused("dump/folder-name", FormatError, got=name, layout="ge", template="{net}"):
        write_tree(run(), PLAN, tmp_path, graph=replace(GRAPH, name=name), target=ACL)
    assert listed(tmp_path) == []


def test_operators_alone_have_no_levels_of_a_model(tmp_path):
    plan = DumpPlan("/dump", files="bin", single_op=True)
    write_tree([*run(0), *run(1)], plan, tmp_path, graph=GRAPH, target=ACL)
    assert {name.rpartition("/")[0] for name in listed(tmp_path)} == {"20231114221320/0"}
    assert len(listed(tmp_path)) == 4


def watched_run(iteration=0):
    """The run, and what lies where `relu` writes after each operator; before it ran, 7."""
    for one in run(iteration):
        yield one
        if one.key[:3] == ("Add", "scope/add.x", "output"):
            yield record("scope/relu", array=X * 0 + 7, op_type="ReLU", iteration=iteration,
                         after="scope/add.x")  # fmt: skip


WATCH = DumpPlan("/dump", files="bin", kind="watch", watched=("scope/relu",))


def test_watched_outputs_are_called_by_both_operators_and_have_the_task_of_the_first(tmp_path):
    write_tree(watched_run(), WATCH, tmp_path, graph=GRAPH, target=ACL)
    after, own = listed(tmp_path)
    assert re.fullmatch(rf"{FOLDER}/ReLU\.scope_add_x_To_scope_relu\.1\.1\.\d{{16}}", after)
    assert re.fullmatch(rf"{FOLDER}/ReLU\.scope_relu\.2\.1\.\d{{16}}", own)
    header, ((part, message, data),) = decoded(tmp_path / after)
    assert (header["op_name"], part) == ("scope/add.x_To_scope/relu", "output")
    assert message["original_op"]["name"] == "scope/relu"
    assert data == (X * 0 + 7).tobytes()
    _, ((_, itself, data),) = decoded(tmp_path / own)
    assert (itself["address"], data) == (message["address"], (X + 1).tobytes())


def test_watched_outputs_are_written_in_the_iterations_that_are_asked_for(tmp_path):
    plan = replace(WATCH, iterations=Iterations.parse("1"))
    write_tree([*watched_run(0), *watched_run(1)], plan, tmp_path, graph=GRAPH, target=ACL)
    assert {name.split("/")[4] for name in listed(tmp_path)} == {"1"}
    assert len(listed(tmp_path)) == 2


def test_another_kind_of_dump_has_nothing_of_what_was_watched(tmp_path):
    write_tree(watched_run(), HOST, tmp_path, graph=GRAPH, target=ACL)
    assert {name.rpartition("/")[2].split(".")[1] for name in listed(tmp_path)} == {
        "scope_add_x",
        "scope_relu",
    }


def test_what_lies_on_the_device_is_written_with_its_padding(tmp_path):
    spec = TensorSpec("float32", (1, 3, 2, 2))
    op = Op("a", "ReLU", (Param(0),), {}, (spec,))
    graph = Graph("g", (Parameter("x", spec),), (op,), (Value(0),))
    host = np.ones(spec.shape, np.float32)
    there = np.arange(64, dtype=np.float32).reshape(1, 1, 2, 2, 16)
    one = replace(record("a", array=host, op_type="ReLU"), source=ArraySource(host, there=there))
    write_tree([one], PLAN, tmp_path, graph=graph, target=ACL)
    _, ((_, message, data),) = only(tmp_path)
    assert data == there.tobytes()
    assert message["original_shape"]["dim"] == [1, 3, 2, 2]


def test_a_name_that_is_too_long_becomes_a_number(tmp_path):
    long = "n" * 300
    op = Op(long, "Add", (Param(0), Param(0)), {}, (F,))
    graph = Graph("g", GRAPH.parameters, (op,))
    write_tree([record(long)], PLAN, tmp_path, graph=graph, target=ACL)
    mapping, number = sorted(listed(tmp_path), key=lambda name: not name.endswith("mapping.csv"))
    new, _, name = (tmp_path / mapping).read_text().strip().partition(",")
    assert number.rpartition("/")[2] == new
    assert new.isdecimal()
    assert re.fullmatch(rf"Add\.{long}\.1\.1\.\d{{16}}", name)
    assert decoded(tmp_path / number)[0]["op_name"] == long


def test_one_operator_twice_in_an_iteration_gets_two_files(tmp_path):
    twice = [record(timestamp_us=17, task_id=5, stream_id=9)] * 2
    write_tree(twice, PLAN, tmp_path, graph=GRAPH, target=ACL)
    first, second = listed(tmp_path)
    assert first.endswith("/Add.scope_add_x.5.9.17")
    assert second.startswith(first[:-2])


@pytest.mark.parametrize("name", ["a\0b", "a/../b"])
def test_no_name_leaves_the_folder(tmp_path, name):
    records = [record(name, op_type="../Add")]
    if "\0" in name:
        with refused("dump/operator-name", FormatError, got=name):
            write_tree(records, PLAN, tmp_path / "in", graph=GRAPH, target=ACL)
        return
    graph = Graph("../..", GRAPH.parameters, GRAPH.ops)
    write_tree(records, PLAN, tmp_path / "in", graph=graph, target=ACL)
    (file,) = listed(tmp_path)
    assert file.startswith("in/20231114221320/0/_____/1/0/___Add.a____b.0.1.")


def test_o2_writes_npy_files_beside_one_table(tmp_path):
    plan = DumpPlan("/dump", saved="full", statistics=("max", "count"))
    target = Target(
        "mindspore-o2",
        form=lambda step, start: {"acl_dump_0.json": json.dumps([step, start])},
        steps=4,
    )
    bf16 = values(1, 2, 2, 2, dtype=ml_dtypes.bfloat16)
    records = [record(io="input"), record(array=bf16), record(array=np.array(3.0), slot=1),
               record("scope/relu", array=X.astype(ml_dtypes.float8_e5m2), op_type="ReLU")]  # fmt: skip
    write_tree(records, plan, tmp_path, graph=GRAPH, target=target)
    assert json.loads((tmp_path / "acl_dump_0.json").read_text()) == [3, "20231114221320"]
    folder = tmp_path / "0/20231114221320/0/kernel_graph1/1/0"
    found = {path.name.split(".", 5)[5]: np.load(path) for path in folder.glob("*.npy")}
    assert {name: (a.dtype.name, a.shape) for name, a in found.items()} == {
        "input.0.ND.float32.npy": ("float32", (2, 3)),
        "output.0.NCHW.bfloat16.npy": ("float32", (1, 2, 2, 2)),
        "output.1.ND.float64.npy": ("float64", ()),
    }
    assert found["output.0.NCHW.bfloat16.npy"].tolist() == bf16.astype(np.float32).tolist()
    stamps = {path.name.split(".")[4] for path in folder.glob("Add*.npy")}
    assert len(stamps) == 1
    header, *rows = (folder / "statistic.csv").read_text().splitlines()
    assert header == (
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,"
        "Max Value,Count"
    )
    stamp = stamps.pop()
    assert rows[0] == f'Add,scope_add_x,1,1,{stamp},input,0,24,float32,"(2,3)",5,6,'
    assert rows[1] == f'Add,scope_add_x,1,1,{stamp},output,0,16,bfloat16,"(1,2,2,2)",8,8,'


def test_the_devices_table_is_of_the_tensor_as_it_lies_there(tmp_path):
    six = ("max", "min", "avg", "nan count", "negative inf count", "positive inf count")
    plan = DumpPlan("/dump", files="bin", host_format=False, saved="statistic", statistics=six)
    graph, records = one_op("MatMul", values(3, 18), values(18, 5), values(3, 5))
    write_tree(records, plan, tmp_path, graph=graph, target=ACL)
    (name,) = listed(tmp_path)
    assert re.fullmatch(r"20231114221320/0/g/1/0/MatMul\.op\.1\.1\.\d{16}\.csv", name)
    header, first, *_, last = (tmp_path / name).read_text().splitlines()
    assert header == (
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,"
        "Nan Count,Negative Inf Count,Positive Inf Count"
    )
    average = sum(range(1, 55)) / 512
    assert first == f"Input,0,2048,DT_FLOAT,FRACTAL_NZ,2x1x16x16,54,0,{average:.6g},512,0,0,0"
    assert last.startswith("Output,0,1024,DT_FLOAT,FRACTAL_NZ,1x1x16x16,15,0,")


def test_chosen_columns_come_from_the_host(tmp_path):
    plan = DumpPlan("/dump", files="bin", saved="statistic", statistics=("max", "l2norm"))
    write_tree([record()], plan, tmp_path, graph=GRAPH, target=ACL)
    header, row = (tmp_path / listed(tmp_path)[0]).read_text().splitlines()
    assert header == "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,l2norm"
    assert row == "Output,0,24,DT_FLOAT,ND,2x3,6,5,7.4162"


def test_settings_that_are_constants_are_inputs_like_others(tmp_path):
    op = Op("mm", "MatMul", (Param(0), Param(0), Const(True, "bool", ())), {}, (F,))
    graph = Graph("g", GRAPH.parameters, (op,))
    records = [record("mm", "input", 2, np.array(True), "MatMul")]
    write_tree(records, PLAN, tmp_path, graph=graph, target=ACL)
    _, ((_, message, data),) = only(tmp_path)
    assert (message["data_type"], message["format"], data) == (11, 2, b"\1")
