"""Programs of operators that run one by one: what their kernels read and write shows in the graph."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build.programs import program_for
from kit.oracle import dump_files as wire
from workbench.core.plan import DumpPlan
from workbench.core.tensors import TensorSpec
from workbench.network.models import load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace

ROWS, WIDE = TensorSpec("float32", (4, 8)), TensorSpec("float32", (8, 16))
NET = trace(lambda x, w: F.gelu(F.matmul(x, w)), ROWS, WIDE)


def device_types(device, mode):
    program = program_for(NET, device=device, precision=mode)
    return [
        tuple(spec.dtype for spec in specs)
        for op in program.graph.ops
        for specs in (op.device_inputs[:2], op.device_outputs)
    ]


@pytest.mark.parametrize(
    ("device", "mode", "product", "vector"),
    [
        ("a2", "force_fp16", ("float16", "float16"), "float16"),
        ("a2", "allow_fp32_to_bf16", ("bfloat16", "bfloat16"), None),
        ("a2", "cube_fp16in_fp32out", ("float16", "float32"), None),
        ("910a", None, ("float16", "float16"), None),
        ("950", "cube_hif8", ("hifloat8", "float16"), None),
        ("a2", "must_keep_origin_dtype", None, None),
    ],
)
def test_lowered_operators_state_the_types_of_their_kernels(device, mode, product, vector):
    reads, writes = product or (None, None)
    wanted = [(reads, reads), (writes,)] if product else [(), ()]
    assert device_types(device, mode) == [*wanted, *([(vector,)] * 2 if vector else [(), ()])]


def test_what_is_no_float_keeps_its_type():
    ids, table = TensorSpec("int32", (3,)), TensorSpec("float32", (5, 2))
    graph = trace(lambda table, ids: F.gather(table, ids, 0), table, ids)
    (op,) = program_for(graph, precision="force_fp16").graph.ops
    assert [spec.dtype for spec in op.device_inputs[:3]] == ["float16", "int32", "int64"]
    assert op.device_inputs[1].shape == (3,)


def test_the_tensors_and_their_dtypes_are_those_of_the_network():
    graph = load_graph("lenet")
    program = program_for(graph, precision="force_fp16")
    assert program.network is graph
    for op, own in zip(program.graph.ops, graph.ops, strict=True):
        assert (op.inputs, op.outputs, op.input_specs) == (own.inputs, own.outputs, own.input_specs)


def test_a_format_of_a_unit_is_no_type():
    graph = load_graph("lenet")  # convolutions of A2 read HF32
    program = program_for(graph)
    assert program.graph == graph


def test_the_graph_in_a_tree_says_in_which_types_the_device_computed(tmp_path):
    feeds = {p.name: np.ones(p.spec.shape, np.float32) for p in NET.parameters}
    tree = wb.simulate(
        NET, feeds, DumpPlan("/x"), tmp_path / "t", device="a2", precision_mode="force_fp16"
    )
    (ir,) = tree.rglob("*.ir")
    graph = wb.read_ir(ir)
    product = next(op for op in graph.ops if op.op_type == "MatMul")
    assert [spec.dtype for spec in product.outputs] == ["float32"]
    assert [spec.dtype for spec in product.device_outputs] == ["float16"]


def test_a_compiled_device_reads_hifloat8_by_way_of_casts_and_dumps_its_bytes(tmp_path):
    feeds = {p.name: np.full(p.spec.shape, 1.3, np.float32) for p in NET.parameters}
    tree = wb.simulate(
        NET, feeds, DumpPlan("/x", host_format=False), tmp_path / "t", surface="tensorflow", device="950",
        precision_mode="cube_hif8",
    )  # fmt: skip
    (path,) = [path for path in tree.rglob("MatMul.*") if path.is_file()]
    _, blocks = wire.container(path.read_bytes())
    read = {slot: (stated, data) for part, slot, stated, data in blocks if part == "input"}
    for slot, shape in ((0, (4, 8)), (1, (8, 16))):
        stated, data = read[slot]
        lanes = -(-shape[-1] // 32), -(-shape[-2] // 16), 16, 32
        assert (stated["data_type"], tuple(stated["shape"]["dim"])) == (33, lanes)
        assert set(data) == {
            0,
            0x0A,
        }  # 1.25 is 0 0001 010: exponent 0 and three bits, 0 in the padding
    records = [
        r for r in wb.load(tree).records if r.key.op_type == "MatMul" and r.key.io == "input"
    ]
    assert {float(value) for r in records[:2] for value in np.unique(r.source.array())} == {1.25}


def test_the_host_of_o2_has_no_npy_file_for_hifloat8(tmp_path):
    feeds = {p.name: np.full(p.spec.shape, 1.3, np.float32) for p in NET.parameters}
    tree = wb.simulate(
        NET, feeds, DumpPlan("/x", files="npy"), tmp_path / "t", surface="mindspore-o2", device="950",
        precision_mode="cube_hif8",
    )  # fmt: skip
    files = {
        path.name.split(".")[0] + "." + ".".join(path.name.split(".")[-5:-3])
        for path in tree.rglob("*.npy")
    }
    assert "MatMul.output.0" in files
    assert not {name for name in files if name.startswith("MatMul.input")}
