"""Offline models, their golden data and dumps, and the compiled graph as ATC's JSON: what msaccucmp reads.

`conformance/run_msaccucmp.py` gives them to msaccucmp and records its rows and figures;
`tests/comparison/measure/test_msaccucmp_conformance.py` holds ours against the record.
"""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from google.protobuf import text_format

import workbench as wb
from kit.build.onnx_models import model, node, offline_model
from workbench.graph_files.ge.schema import GE_IR
from workbench.simulation.inputs import networks_with_inputs
from workbench.simulation.simulate import simulate

FORM = {"dump": {"dump_list": [{}], "dump_path": "/dump", "dump_mode": "all"}}


def tokens() -> Any:
    """Two outputs of one node, matrices, a transposition, a normalization, and outputs of other dtypes."""
    draw = np.random.default_rng(5)
    weights = {
        "wqk": draw.standard_normal((32, 64)), "wo": draw.standard_normal((32, 32)),
        "scale": draw.uniform(0.5, 2, 32), "shift": draw.standard_normal(32),
    }  # fmt: skip
    nodes = [
        node("MatMul", ["x", "wqk"], ["qk"], "/attn/qk/MatMul"),
        node("Split", ["qk"], ["q", "k"], "/attn/Split", axis=-1, num_outputs=2),
        node("Transpose", ["k"], ["kt"], "/attn/Transpose", perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["scores"], "/attn/MatMul"),
        node("Softmax", ["scores"], ["probs"], "/attn/Softmax", axis=-1),
        node("MatMul", ["probs", "q"], ["mixed"], "/attn/MatMul_1"),
        node("MatMul", ["mixed", "wo"], ["o"], "/attn/out/MatMul"),
        node("Add", ["o", "x"], ["sum"], "/Add"),
        node("LayerNormalization", ["sum", "scale", "shift"], ["ln"], "/ln/LayerNormalization"),
        node("Greater", ["ln", "sum"], ["where"], "/Greater"),
        node("ArgMax", ["ln"], ["best"], "/ArgMax", axis=-1, keepdims=0),
    ]
    arrays = {name: array.astype(np.float32) / 4 for name, array in weights.items()}
    start = np.zeros((1, 8, 32), np.float32)
    return model(nodes, {"x": start}, ["ln", "where", "best"], arrays)


class Case(NamedTuple):
    """A model, arguments of its simulation, and whether its input is one of the golden files."""

    model: Any
    settings: dict[str, Any]
    fed: bool = False


CASES = {
    "cnn a2": Case(offline_model, {"device": "a2"}),
    "cnn 310p, with the input": Case(offline_model, {"device": "310p"}, fed=True),
    "cnn in float32": Case(
        offline_model, {"device": "a3", "precision_mode": "must_keep_origin_dtype"}, fed=True
    ),
    "cnn scaled": Case(
        offline_model, {"device": "a2", "faults": ["scaled-output:conv1_Conv:1.05"]}
    ),
    "cnn wrong sign": Case(offline_model, {"device": "a2", "faults": ["wrong-sign:gap"]}),
    "cnn NaN": Case(offline_model, {"device": "a2", "faults": ["nan-output:/pool/MaxPool"]}),
    "tokens 310p": Case(tokens, {"device": "310p"}, fed=True),
    "tokens in bfloat16": Case(
        tokens, {"device": "a2", "precision_mode": "allow_fp32_to_bf16"}, fed=True
    ),
}
"""Pairs by name."""


class Pair(NamedTuple):
    """What both tools read: folders of containers and golden data, the graph as JSON, the network."""

    containers: Path
    golden: Path
    graph: Path
    network: Path


def build(name: str, folder: Path) -> Pair:
    """Write a pair below ``folder``."""
    case = CASES[name]
    folder.mkdir(parents=True)
    network, golden, tree = folder / "net.onnx", folder / "golden", folder / "tree"
    network.write_bytes(case.model().SerializeToString())
    wb.golden(network, None, golden, engine="reference")
    # msaccucmp knows no folder `inputs`
    (golden / "inputs").rename(folder / "inputs")
    fed = folder / "inputs/x.npy"
    if case.fed:
        shutil.copy(fed, golden / "x.0.1700000000000000.npy")
    (folder / "acl.json").write_text(json.dumps(FORM), encoding="ascii")
    networks, feeds = networks_with_inputs([str(network)], {"x": fed}, {}, 0, 1)
    simulate(networks, feeds, folder / "acl.json", tree, surface="acl", **case.settings)
    [text] = tree.glob("graphs/ge_proto_*_Build.txt")
    (folder / "model.json").write_text(json.dumps(ge_json(text.read_text())), encoding="ascii")
    [some] = {path.parent for path in tree.glob("*/0/**/*") if path.is_file()}
    return Pair(some, golden, folder / "model.json", network)


def ge_json(text: str) -> dict[str, Any]:
    """A graph of GE as ATC writes it as JSON: a map is a list of ``key`` and ``value``, a number stays one."""
    return _fields(text_format.Parse(text, GE_IR.message_class("ModelDef")()))


def _fields(message: Any) -> dict[str, Any]:
    return {field.name: _value(field, value) for field, value in message.ListFields()}


def _value(field: Any, value: Any) -> Any:
    if field.message_type and field.message_type.GetOptions().map_entry:
        kind = field.message_type.fields_by_name["value"]
        return [{"key": key, "value": _single(kind, one)} for key, one in value.items()]
    if isinstance(value, str | bytes | int | float) or hasattr(value, "ListFields"):
        return _single(field, value)
    return [_single(field, one) for one in value]


def _single(field: Any, value: Any) -> Any:
    if field.message_type:
        return _fields(value)
    if field.enum_type:
        return field.enum_type.values_by_number[value].name
    return value.decode("latin-1") if isinstance(value, bytes) else value


def checksums(pair: Pair) -> dict[str, int]:
    """Checksum of every file of both folders by its name."""
    files = [*sorted(pair.containers.iterdir()), *sorted(pair.golden.glob("*.npy"))]
    return {path.name: zlib.crc32(path.read_bytes()) for path in files}
