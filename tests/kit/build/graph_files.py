"""One small graph in every format of graph files, written by hand: bytes of the wire, text, JSON.

The graph of GE's formats: ``x`` (Data) and ``w`` (Const) into ``y`` (Add), which ends in a NetOutput.
"""

from __future__ import annotations

import json
import struct

from kit.wire import msg, num, varint

IR = b"# IR entry: @g\n\nsubgraph @g() {\n  Return(%para1_x)\n}\n"
GE_TEXT = b'graph {\n  name: "g"\n  op {\n    name: "a"\n    type: "Add"\n  }\n}\n'
GE_MODEL = b"\x0a\x01g\x10\x01\x3a\x04\x0a\x02g0"  # name "g", version 1, graph "g0"
MS_PB = b"\x08\x01\x22\x03\x12\x01g"  # version 1, graph "g"
ONNX = b"\x08\x07\x12\x02pt\x3a\x03\x12\x01g"  # version 7, producer "pt", graph "g"

OPS = [("x", "Data"), ("w", "Const"), ("y", "Add"), ("end", "NetOutput")]
EDGES = {"y": ("x:0", "w:0", "x:-1"), "end": ("y:0",)}
"""Operator → its edges; the last of ``y`` is a control edge."""

SHAPE = (2, 16)


def ge_model() -> bytes:
    """The graph as a ``ModelDef``: numbers are those of ge_ir.proto."""
    desc = num(2, 1) + msg(3, msg(1, b"".join(map(varint, SHAPE)))) + msg(4, "ND")
    desc += msg(5, msg(1, "origin_format"), msg(2, msg(2, "NCHW")))
    ops = b""
    for number, (name, kind) in enumerate(OPS):
        edges = b"".join(msg(5, edge) for edge in EDGES.get(name, ()))
        attr = msg(10, msg(1, "alpha"), msg(2, num(3, 7)))
        ops += msg(6, msg(1, name), msg(2, kind), edges, attr, num(21, number), msg(34, desc))
    return msg(1, "model") + num(2, 1) + msg(7, msg(1, "g"), ops) + msg(7, msg(1, "then"))


def om(*, wide: bool = True, encrypted: bool = False, model: bytes | None = None) -> bytes:
    """An offline model: a header, a table of three parts, the ``ModelDef``, kernels, tasks.

    Sizes have 64 bits in the tables of newer releases (``wide``), 32 before.
    """
    parts = [(0, ge_model() if model is None else model), (3, b"k" * 23), (2, b"t" * 189)]
    header = bytearray(256)
    struct.pack_into("<4sII", header, 0, b"IMOD", 256, 0x20000000)
    header[80] = encrypted
    table, at = struct.pack("<I4x" if wide else "<I", len(parts)), 0
    for kind, content in parts:
        table += struct.pack("<I4xQQ" if wide else "<III", kind, at, len(content))
        at += len(content)
    return bytes(header) + table + b"".join(content for _, content in parts)


def model_json() -> bytes:
    """The graph as ``atc --mode=1`` writes it."""
    desc = {
        "attr": [{"key": "origin_format", "value": {"s": "NCHW"}}],
        "dtype": "DT_FLOAT",
        "layout": "ND",
        "shape": {"dim": list(SHAPE)},
    }
    ops = [
        {
            "attr": [{"key": "alpha", "value": {"i": 7}}, {"key": "none", "value": None}],
            "id": number,
            "input": list(EDGES.get(name, ())),
            "name": name,
            "output_desc": [desc],
            "type": kind,
        }
        for number, (name, kind) in enumerate(OPS)
    ]
    attrs = [
        {"key": "soc_version", "value": {"s": "Ascend310"}},
        {"key": "ratio", "value": {"f": "0.5"}},
    ]
    graphs = [{"name": "g", "op": ops}, {"name": "then"}]
    return json.dumps(
        {"attr": attrs, "graph": graphs, "name": "model", "version": 1}, indent=2
    ).encode()


def ge_onnx() -> bytes:
    """The graph as ``DUMP_GRAPH_FORMAT=onnx`` writes it."""
    stated = [
        ("alpha", "i: 7\n      type: INT"),
        ("nothing", "type: INTS"),
        ("output_desc_attr_placement:0", "type: INT"),
        ("output_desc_dtype:0", 's: "DT_FLOAT"\n      type: STRING'),
        ("output_desc_layout:0", 's: "ND"\n      type: STRING'),
        ("output_desc_nums", "i: 1\n      type: INT"),
        ("output_desc_origin_layout:0", 's: "NCHW"\n      type: STRING'),
        ("output_desc_shape:0", "".join(f"ints: {n}\n      " for n in SHAPE) + "type: INTS"),
    ]
    text = 'ir_version: 6\nproducer_name: "GE"\ngraph {\n'
    for number, (name, kind) in enumerate(OPS):
        text += "  node {\n" + "".join(f'    input: "{edge}"\n' for edge in EDGES.get(name, ()))
        text += f'    output: "{name}:0"\n    name: "{name}"\n    op_type: "ge:{kind}"\n'
        for key, value in [*stated, ("id", f"i: {number}\n      type: INT")]:
            text += f'    attribute {{\n      name: "{key}"\n      {value}\n    }}\n'
        if kind == "Add":
            text += (
                '    attribute {\n      name: "body"\n      g {\n        name: "then"\n      }\n'
            )
            text += "      type: GRAPH\n    }\n"
        text += "  }\n"
    return (text + '  name: "g"\n}\n').encode()


def frozen() -> bytes:
    """The graph as a frozen ``GraphDef`` of TensorFlow: numbers are those of graph.proto and attr_value.proto."""
    dims = b"".join(msg(2, num(1, size)) for size in SHAPE)
    kind = msg(5, msg(1, "dtype"), msg(2, num(6, 1)))
    shape = msg(5, msg(1, "shape"), msg(2, msg(7, msg(2, num(1, -1)), msg(2, num(1, 16)))))
    value = msg(5, msg(1, "value"), msg(2, msg(8, num(1, 1), msg(2, dims), msg(4, bytes(128)))))
    t = msg(5, msg(1, "T"), msg(2, num(6, 1)))
    shapes = msg(5, msg(1, "_output_shapes"), msg(2, msg(1, msg(7, dims), msg(7, num(3, 1)))))
    return b"".join(
        (
            msg(1, msg(1, "x"), msg(2, "Placeholder"), kind, shape),
            msg(1, msg(1, "w"), msg(2, "Const"), kind, value),
            msg(
                1, msg(1, "y"), msg(2, "Split"), *(msg(3, i) for i in ("x", "w:0", "^x")), t, shapes
            ),
            msg(1, msg(1, "z"), msg(2, "Relu"), msg(3, "y:1"), msg(3, "lost"), t),
            msg(2, b""),
            msg(4, num(1, 987)),
        )
    )


IR_OF_MANY = IR.replace(
    b"\nsubgraph", b"%para1_x : <Tensor[Float32], (1)>\n" * 3000 + b"\nsubgraph"
)
MS_PB_BEHIND = b"\x2a\x80\x80\x08" + bytes(1 << 17) + MS_PB  # 128 KiB of metadata in front
KEY_VALUES = b'{"attr": [{"key": "soc_version", "value": {"s": "a"}}' + b", {}" * 40_000 + b"]}"

SAMPLES: dict[str, dict[str, bytes]] = {
    "IR text (.ir)": {
        "IR": IR,
        "IR of 1.5": IR.replace(b"# IR entry:", b"#IR entry      :"),
        "IR of many parameters": IR_OF_MANY,
    },
    "MindSpore protobuf (.pb)": {
        "pb": MS_PB,
        "pb without a version": MS_PB[2:],
        "pb cut off": MS_PB[:-1],
        "pb behind metadata": MS_PB_BEHIND,
    },
    "GE text (ge_proto_*.txt)": {
        "GE text": GE_TEXT,
        "GE text of a model": b'name: "ge_default"\nversion: 1\n' + GE_TEXT,
        "GE text of Windows": GE_TEXT.replace(b"\n", b"\r\n"),
    },
    "GE text as ONNX (ge_onnx_*.pbtxt)": {"pbtxt": ge_onnx()},
    "GE binary model": {
        "ModelDef": ge_model(),
        "ModelDef of nothing": GE_MODEL,
        "ModelDef without a name": GE_MODEL[3:],
        "ModelDef cut off": GE_MODEL[:-1],
    },
    "offline model (.om)": {
        "om": om(),
        "om of 2020": om(wide=False),
        "om, encrypted": om(encrypted=True),
        "om cut off": om()[:100],
    },
    "model of ATC (.json)": {"json": model_json(), "json of many attributes": KEY_VALUES},
    "ONNX model (.onnx)": {"onnx": ONNX, "onnx cut off": ONNX[:-1]},
    "frozen TensorFlow graph (.pb)": {
        "frozen": frozen(),
        "frozen, of very many nodes": frozen() * 3000,
    },
}
"""Format → files of it, whole or not."""
