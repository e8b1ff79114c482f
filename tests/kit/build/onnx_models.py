"""Small ONNX models, node by node, and what comes of them."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from kit.build.graph_outputs import results
from workbench.graph.onnx import read_onnx


def value(name, array):
    kind = helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
    return helper.make_tensor_value_info(name, kind, np.shape(array))


def model(nodes, inputs, outputs, weights=(), opset=21, **extra):
    """A model; ``inputs`` are arrays or value infos by name, ``outputs`` names."""
    infos = [v if hasattr(v, "type") else value(k, v) for k, v in inputs.items()]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    initializers = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(weights).items()]
    graph = helper.make_graph(nodes, "net", infos, results, initializers)
    imports = [helper.make_opsetid("", opset), *extra.pop("imports", ())]
    return helper.make_model(graph, opset_imports=imports, **extra)


def node(op_type, inputs, outputs, name="", notes=None, **attrs):
    made = helper.make_node(op_type, inputs, outputs, name, **attrs)
    for key, text in (notes or {}).items():
        entry = made.metadata_props.add()
        entry.key, entry.value = key, text
    return made


def computed(made, feeds, **settings):
    """Outputs of a model for some feeds."""
    graph = read_onnx(made, **settings)
    return results(graph, feeds)


def one(op_type, inputs, opset, weights=(), count=1, **attrs):
    """Outputs of a single node; ``inputs`` are fed, ``weights`` are known."""
    weights = dict(weights)
    outputs = [f"y{k}" for k in range(count)]
    made = model([helper.make_node(op_type, [*inputs, *weights], outputs, **attrs)], inputs, outputs,
                 weights, opset)  # fmt: skip
    return computed(made, inputs)


FLOAT = TensorProto.FLOAT
