"""An ONNX model, its values by onnx's own evaluator, and what a compiled run of it dumps.

Nothing here is the workbench's but the writers of containers: names are spelled as ATC and msaccucmp spell them, and
kernels compute from onnx's values rounded to float16, as the device would hold them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kit.build.small_dumps import LEAF, START, ge_attr, ge_graph, save_container
from workbench.graph_files.ge.write_text import write_ge_text

FORMATS = {"NCHW": 0, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4}
STAMP = 1700000000123456
"""Timestamp of the names of golden files."""


class Kernel(NamedTuple):
    """An operator of the compiled graph.

    ``inputs`` are edges; ``stands`` are nodes that it stands for (``None``: it does not say; empty: inserted);
    ``tensor`` is the tensor of the model that it gives, ``origin`` its node; ``layout`` and ``dtype`` are the
    device's; ``task`` says whether it runs, and so is dumped.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    tensor: str
    stands: tuple[str, ...] | None = None
    origin: str = ""
    layout: str = "NC1HWC0"
    dtype: str = "float16"
    task: bool = True


class Network(NamedTuple):
    """A model, what it is fed, and how it was compiled."""

    model: onnx.ModelProto
    feeds: dict[str, np.ndarray]
    kernels: tuple[Kernel, ...]


def _nodes(prefix: str) -> list[onnx.NodeProto]:
    """Nine nodes; one has no name, most tensors are called otherwise than their nodes."""
    conv, relu = f"{prefix}0/Conv", f"{prefix}1/Relu"
    make = helper.make_node
    return [
        make("Conv", ["x", "w1", "b1"], [f"{conv}_output_0"], conv, pads=[1, 1, 1, 1]),
        make("Relu", [f"{conv}_output_0"], [f"{relu}_output_0"], relu),
        make("MaxPool", [f"{relu}_output_0"], ["pooled"], "", kernel_shape=[2, 2], strides=[2, 2]),
        make("Conv", ["pooled", "w2", "b2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        make("Add", ["c2", "pooled"], ["sum"], "block.add"),
        make("Relu", ["sum"], ["act"], "block.relu"),
        make("GlobalAveragePool", ["act"], ["gap_out"], "gap"),
        make("Flatten", ["gap_out"], ["flat_out"], "flat"),
        make("Gemm", ["flat_out", "fw", "fb"], ["logits"], "fc", transB=1),
    ]


def network(prefix: str = "/features/", seed: int = 0) -> Network:
    """A small network of images as ATC compiles it: two kernels of several nodes, inserted casts and layouts."""
    rng = np.random.default_rng(seed)
    weights = {
        "w1": rng.standard_normal((16, 3, 3, 3)) / 5,
        "b1": rng.standard_normal(16) / 4,
        "w2": rng.standard_normal((16, 16, 3, 3)) / 12,
        "b2": rng.standard_normal(16) / 4,
        "fw": rng.standard_normal((10, 16)) / 4,
        "fb": rng.standard_normal(10) / 4,
    }
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])
    end = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])
    held = [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()]
    graph = helper.make_graph(_nodes(prefix), "net", [info], [end], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    feeds = {"x": rng.standard_normal((1, 3, 16, 16)).astype(np.float32)}
    return Network(model, feeds, _compiled(prefix))


def _compiled(prefix: str) -> tuple[Kernel, ...]:
    conv, relu = f"{prefix}0/Conv", f"{prefix}1/Relu"
    first, last = f"{conv}{relu}", "block.addblock.relu"
    return (
        Kernel("x", "Data", (), "x", layout="NCHW", dtype="float32", task=False),
        Kernel("w1", "Const", (), "w1", task=False),
        Kernel("b1", "Const", (), "b1", layout="ND", task=False),
        Kernel("w2", "Const", (), "w2", task=False),
        Kernel("b2", "Const", (), "b2", layout="ND", task=False),
        Kernel("fw", "Const", (), "fw", layout="ND", task=False),
        Kernel("fb", "Const", (), "fb", layout="ND", task=False),
        Kernel("trans_Cast_0", "Cast", ("x:0",), "x", (), layout="NCHW"),
        Kernel("trans_TransData_1", "TransData", ("trans_Cast_0:0",), "x", ()),
        Kernel(first, "Conv2D", ("trans_TransData_1:0", "w1:0", "b1:0"), f"{relu}_output_0",
               (conv, relu), relu),
        Kernel("MaxPool_0", "MaxPoolV3", (f"{first}:0",), "pooled", ("MaxPool_0",), "MaxPool_0"),
        Kernel("conv2", "Conv2D", ("MaxPool_0:0", "w2:0", "b2:0"), "c2", ("conv2",), "conv2"),
        Kernel(last, "Add", ("conv2:0", "MaxPool_0:0"), "act", ("block.add", "block.relu"), "block.relu"),
        Kernel("gap", "GlobalAveragePool", (f"{last}:0",), "gap_out", ("gap",), "gap"),
        Kernel("trans_TransData_4", "TransData", ("gap:0",), "gap_out", (), layout="NCHW"),
        Kernel("flat", "Reshape", ("trans_TransData_4:0",), "flat_out", ("flat",), "flat",
               layout="ND", task=False),
        Kernel("fc", "MatMulV2", ("flat:0", "fw:0", "fb:0"), "logits", ("fc",), "fc", layout="ND"),
        Kernel("trans_Cast_6", "Cast", ("fc:0",), "logits", (), layout="ND", dtype="float32"),
        Kernel("Node_Output", "NetOutput", ("trans_Cast_6:0",), "logits", task=False, layout="ND",
               dtype="float32"),
    )  # fmt: skip


def values(net: Network) -> dict[str, np.ndarray]:
    """Every tensor of the model, as onnx's reference computes it."""
    model = onnx.ModelProto()
    model.CopyFrom(net.model)
    names = [name for node in model.graph.node for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    found = ReferenceEvaluator(model).run(names, net.feeds)
    held = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    return held | net.feeds | dict(zip(names, found, strict=True))


def spoilt(net: Network, by: float = 1.5) -> dict[str, np.ndarray]:
    """Values of a run in which the second convolution gives ``by`` times what it should."""
    other = onnx.ModelProto()
    other.CopyFrom(net.model)
    for held in other.graph.initializer:
        if held.name in ("w2", "b2"):
            held.CopyFrom(
                numpy_helper.from_array(numpy_helper.to_array(held) * np.float32(by), held.name)
            )
    own = values(net)
    return values(net._replace(model=other)) | {"w2": own["w2"], "b2": own["b2"]}


# ---------------- golden folders


def standard_names(net: Network, *, unnamed: str = "place") -> dict[str, str]:
    """Names of files as msaccucmp's recipe has them → tensor; a node without a name has its place, or ATC's number."""
    names: dict[str, str] = {}
    count = 0
    for place, node in enumerate(net.model.graph.node):
        name = node.name
        if not name:
            name = f"{node.op_type}_{place if unnamed == 'place' else count}"
            count += 1
        for slot, tensor in enumerate(node.output):
            file = name.replace(".", "_").replace("/", "_")
            names[f"{file}.{slot}.{STAMP + place}.npy"] = tensor
    return names


def tensor_names(net: Network) -> dict[str, str]:
    """Names of files that are those of tensors."""
    tensors = [name for node in net.model.graph.node for name in node.output]
    return {f"{name.replace('/', '_').replace('.', '_')}.npy": name for name in tensors}


def save_golden(folder: Path, names: dict[str, str], found: dict[str, np.ndarray]) -> Path:
    """Write a golden folder."""
    folder.mkdir(parents=True)
    for file, tensor in names.items():
        np.save(folder / file, found[tensor])
    return folder


def save_npz(
    folder: Path, net: Network, found: dict[str, np.ndarray], *, deflated: bool = False
) -> Path:
    """Write one archive with every tensor under its own name."""
    folder.mkdir(parents=True)
    tensors = [name for node in net.model.graph.node for name in node.output]
    save = np.savez_compressed if deflated else np.savez
    save(folder / "golden.npz", **{name: found[name] for name in tensors})
    return folder


# ---------------- the target


def laid(array: np.ndarray, layout: str) -> np.ndarray:
    """An array of NCHW as it lies on the device: channels in blocks of 16, the rest filled with zeros."""
    if layout == "FRACTAL_Z":
        n, c, h, w = array.shape
        blocks, rows = -(-c // 16), -(-n // 16)
        wide = np.zeros((rows * 16, blocks * 16, h, w), array.dtype)
        wide[:n, :c] = array
        cut = wide.reshape(rows, 16, blocks, 16, h, w).transpose(2, 4, 5, 0, 1, 3)
        return np.ascontiguousarray(cut.reshape(blocks * h * w, rows, 16, 16))
    if layout != "NC1HWC0":
        return array
    n, c, h, w = array.shape
    blocks = -(-c // 16)
    wide = np.zeros((n, blocks * 16, h, w), array.dtype)
    wide[:, :c] = array
    return np.ascontiguousarray(wide.reshape(n, blocks, 16, h, w).transpose(0, 1, 3, 4, 2))


def _layout(kernel: Kernel, array: np.ndarray) -> str:
    weight = kernel.type == "Const" and array.ndim == 4
    return "FRACTAL_Z" if weight else kernel.layout


def _given(kernel: Kernel, found: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, Any]]:
    """What a kernel gives, as a container holds it; a cast to float32 has what it reads, which is rounded."""
    array = found[kernel.tensor]
    if kernel.type == "Cast":
        array = array.astype(np.float16)
    array = array.astype(kernel.dtype)
    layout = _layout(kernel, array)
    return laid(array, layout), {"format": FORMATS[layout], "original_shape": array.shape}


def save_target(
    root: Path, net: Network, found: dict[str, np.ndarray], *, inputs: bool = True
) -> Path:
    """Write the tree of containers."""
    given = {one.name: _given(one, found) for one in net.kernels}
    for number, one in enumerate(net.kernels):
        if not one.task:
            continue
        read = [given[_source(edge)] for edge in one.inputs] if inputs else []
        stem = one.name.replace("/", "_").replace(".", "_")
        name = f"{one.type}.{stem}.{number}.3.{START + 10 * number}"
        save_container(root / LEAF / name, read, [given[one.name]], op_name=one.name)
    return root


def _source(edge: str) -> str:
    return edge.rpartition(":")[0]


def ge_text_of(net: Network, found: dict[str, np.ndarray]) -> str:
    """The compiled graph as GE's text."""
    kernels = {one.name: one for one in net.kernels}
    blocks = [_op_text(one, kernels, found) for one in net.kernels]
    return write_ge_text(ge_graph(*blocks))


def _op_text(one: Kernel, kernels: dict[str, Kernel], found: dict[str, np.ndarray]) -> str:
    lines = [f'name: "{one.name}" type: "{one.type}"', *(f'input: "{edge}"' for edge in one.inputs)]
    if one.stands is not None:
        lines.append(ge_attr("_datadump_original_op_names", list(one.stands)))
    if not one.task and one.type == "Reshape":
        lines.append(ge_attr("_no_task", True))
    sources = [kernels[_source(edge)] for edge in one.inputs]
    lines += [f"input_desc {{ {_desc(source, found)} }}" for source in sources]
    if one.type != "NetOutput":
        lines.append(f"output_desc {{ {_desc(one, found)} {_origin(one)} }}")
    return "op { " + " ".join(lines) + " }"


def _desc(one: Kernel, found: dict[str, np.ndarray]) -> str:
    host = found[one.tensor]
    array, layout = laid(host, _layout(one, host)), _layout(one, host)
    dims = " ".join(f"dim: {size}" for size in array.shape)
    sizes = " ".join(f"i: {size}" for size in host.shape)
    plain = "NCHW" if host.ndim == 4 else "ND"
    word = {"float16": "DT_FLOAT16", "float32": "DT_FLOAT"}[one.dtype]
    shape = f'attr {{ key: "origin_shape" value {{ list {{ {sizes} val_type: VT_LIST_INT }} }} }}'
    return f'dtype: {word} shape {{ {dims} }} layout: "{layout}" {shape} {ge_attr("origin_format", plain)}'


def _origin(one: Kernel) -> str:
    if not one.origin:
        return ""
    name = ge_attr("_datadump_origin_name", one.origin)
    return f"{name} {ge_attr('_datadump_origin_output_index', 0)}"
