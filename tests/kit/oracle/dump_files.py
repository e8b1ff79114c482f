"""What files of dumps hold, by what is written of them: the bytes of a container, a tensor's elements on the device,
a graph in a ``.pb``.

The container is decoded from its field numbers alone, the elements are placed by the written index formulas:
loops over bytes and over elements, no library, none of ours.
"""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np

from kit.wire import msg, num
from workbench.graph.graph import Const, GraphRef

# ---------------------------------------------------------------- containers

KINDS = {
    "DumpData": {1: ("version", "text"), 2: ("dump_time", "int"), 3: ("output", "OpOutput"),
                 4: ("input", "OpInput"), 5: ("buffer", "OpBuffer"), 6: ("op_name", "text"),
                 7: ("attr", "OpAttr"), 8: ("space", "Workspace"), 9: ("dfx_message", "text")},
    "OpOutput": {1: ("data_type", "int"), 2: ("format", "int"), 3: ("shape", "Shape"),
                 4: ("original_op", "OriginalOp"), 5: ("data", "bytes"), 6: ("size", "int"),
                 7: ("original_shape", "Shape"), 8: ("sub_format", "int"), 9: ("address", "int"),
                 10: ("dim_range", "DimRange"), 11: ("offset", "int"), 12: ("arg_index", "int")},
    "OpInput": {1: ("data_type", "int"), 2: ("format", "int"), 3: ("shape", "Shape"),
                4: ("data", "bytes"), 5: ("size", "int"), 6: ("original_shape", "Shape"),
                7: ("sub_format", "int"), 8: ("address", "int"), 9: ("offset", "int"),
                10: ("arg_index", "int"), 11: ("input_type", "int")},
    "Shape": {1: ("dim", "ints")},
    "DimRange": {1: ("dim_start", "int"), 2: ("dim_end", "int")},
    "OriginalOp": {1: ("name", "text"), 2: ("output_index", "int"), 3: ("data_type", "int"),
                   4: ("format", "int")},
    "OpBuffer": {1: ("buffer_type", "int"), 2: ("data", "bytes"), 3: ("size", "int")},
    "OpAttr": {1: ("name", "text"), 2: ("value", "text")},
    "Workspace": {1: ("type", "int"), 2: ("data", "bytes"), 3: ("size", "int"),
                  4: ("arg_index", "int")},
}  # fmt: skip
LISTS = {"output", "input", "buffer", "attr", "space", "dim_range"}


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def message(kind: str, data: bytes) -> dict:
    """Fields by name; those that repeat are lists; ``order`` has the numbers as they came."""
    found: dict = {"order": []}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        found["order"].append(number)
        name, what = KINDS[kind][number]
        if wire == 0:
            assert what == "int"
            found[name], at = varint(data, at)
            continue
        assert wire == 2
        length, at = varint(data, at)
        content = data[at : at + length]
        assert len(content) == length
        at += length
        if what == "ints":
            value: object = []
            inner = 0
            while inner < length:
                one, inner = varint(content, inner)
                value.append(one)
        elif what in KINDS:
            value = message(what, content)
        else:
            value = content.decode() if what == "text" else content
        if name in LISTS:
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def container(data: bytes) -> tuple[dict, list[tuple[str, int, dict, bytes]]]:
    """Header, and every block of the payload: part, slot, message, bytes."""
    (length,) = struct.unpack_from("<Q", data)
    header = message("DumpData", data[8 : 8 + length])
    at = 8 + length
    blocks = []
    for part in ("input", "output", "buffer", "space"):
        for slot, one in enumerate(header.get(part, [])):
            size = one.get("size", 0)
            blocks.append((part, slot, one, data[at : at + size]))
            at += size
    assert at == len(data)
    return header, blocks


def field(number: int, value: int | bytes) -> bytes:
    """One field of a message, made by hand."""
    return num(number, value) if isinstance(value, int) else msg(number, value)


def mutate(data: bytes, rng) -> bytes:
    """A seeded mutation: bytes changed, cut, repeated, inserted, or a number made extreme."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        kind, at = rng.integers(0, 7), int(rng.integers(0, len(out) + 1))
        # most structure lies in front
        at = at if rng.random() < 0.3 else min(at, int(rng.integers(0, 160)))
        if kind == 0 and at < len(out):
            out[at] = int(rng.integers(0, 256))
        elif kind == 1 and at < len(out):
            out[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            del out[at : at + int(rng.integers(1, 16))]
        elif kind == 4:
            out[at:at] = rng.bytes(int(rng.integers(1, 16)))
        elif kind == 5:
            out[at:at] = out[at : at + int(rng.integers(1, 64))]
        else:
            number = (0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)[rng.integers(0, 6)]
            out[at : at + 8] = struct.pack("<Q", number)
    return bytes(out)


# ---------------------------------------------------------------- layouts on the device


def up(number, block):
    """Blocks that a number of places needs."""
    blocks = 0
    while blocks * block < number:
        blocks += 1
    return blocks


def flat(shape, index):
    place = 0
    for size, at in zip(shape, index, strict=True):
        assert 0 <= at < size
        place = place * size + at
    return place


def shape_of(device, size, c0):
    """Device shape, from the table of shapes; ``size`` holds the extent of each axis."""
    n, c, h, w, d = (size.get(axis, 1) for axis in "NCHWD")
    return {
        "NC1HWC0": (n, up(c, c0), h, w, c0),
        "NC1HWC0_C04": (n, up(c, 4), h, w, 4),
        "FRACTAL_Z": (up(c, c0) * h * w, up(n, 16), 16, c0),
        "FRACTAL_Z_C04": (up(4 * h * w, 16), up(n, 16), 16, 16),
        "C1HWNCoC0": (up(c, c0), h, w, n, c0, c0),
        "NDC1HWC0": (n, d, up(c, c0), h, w, c0),
        "FRACTAL_Z_3D": (d * up(c, c0) * h * w, up(n, 16), 16, c0),
    }[device]


def place_of(device, size, at, c0):
    """Flat device index of the element ``at``, from the table of positions."""
    n, c, h, w, d = (at.get(axis, 0) for axis in "NCHWD")
    sizes = [size.get(axis, 1) for axis in "NCHWD"]
    count, channels, height, width, depth = sizes
    c1, n1 = up(channels, c0), up(count, 16)
    weights = (height, width, n1, 16, c0)
    if device == "FRACTAL_Z_C04":
        k = (h * width + w) * 4 + c
        return flat(shape_of(device, size, c0), (k // 16, n // 16, n % 16, k % 16))
    if device == "FRACTAL_Z":
        return flat((c1, *weights), (c // c0, h, w, n // 16, n % 16, c % c0))
    if device == "FRACTAL_Z_3D":
        return flat((depth, c1, *weights), (d, c // c0, h, w, n // 16, n % 16, c % c0))
    if device == "NC1HWC0_C04":
        c0 = 4
    index = {
        "NC1HWC0": (n, c // c0, h, w, c % c0),
        "NC1HWC0_C04": (n, c // c0, h, w, c % c0),
        "C1HWNCoC0": (c // c0, h, w, n, c % c0, c % c0),
        "NDC1HWC0": (n, d, c // c0, h, w, c % c0),
    }[device]
    return flat(shape_of(device, size, c0), index)


def device_by_loops(array, host, device, c0):
    size = dict(zip(host, array.shape, strict=True))
    shape = shape_of(device, size, c0)
    result = np.zeros(math.prod(shape), array.dtype)
    for index in np.ndindex(*array.shape):
        at = dict(zip(host, index, strict=True))
        result[place_of(device, size, at, c0)] = array[index]
    return result.reshape(shape)


def grouped_by_loops(array, groups, c0):
    """Grouped weights (N, cin, D, H, W) on the device, element by element."""
    total, cin, depth, height, width = array.shape
    cout = total // groups
    per_in = next(k for k in itertools.count(1) if k * cin % c0 == 0)
    per_out = next(k for k in itertools.count(1) if k * cout % 16 == 0)
    both = next(k for k in itertools.count(1) if k % per_in == 0 and k % per_out == 0)
    together = min(both, groups)
    cin_opt, cout_opt = up(together * cin, c0) * c0, up(together * cout, 16) * 16
    blocks = up(groups, together) * depth * (cin_opt // c0) * height * width
    result = np.zeros(blocks * cout_opt * c0, array.dtype)
    for g, n, c, d, h, w in np.ndindex(groups, cout, cin, depth, height, width):
        dci, dco = (g % together) * cin + c, (g % together) * cout + n
        block = (g // together) * depth * (cin_opt // c0) + d * (cin_opt // c0) + dci // c0
        place = ((block * height + h) * width + w) * cout_opt * c0 + dco * c0 + dci % c0
        result[place] = array[g * cout + n, c, d, h, w]
    return result.reshape(blocks, cout_opt // 16, 16, c0)


def matrix_by_loops(array, c0):
    """FRACTAL_NZ of an array of rank 2 or more."""
    *lead, rows, columns = array.shape
    shape = (*lead, up(columns, c0), up(rows, 16), 16, c0)
    result = np.zeros(shape, array.dtype)
    for *before, i, j in np.ndindex(*array.shape):
        result[(*before, j // c0, i // 16, i % 16, j % c0)] = array[(*before, i, j)]
    return result


def counted(shape, dtype=np.int32):
    """1, 2, 3, …: no element looks like padding or like another."""
    return np.arange(1, math.prod(shape) + 1).astype(dtype).reshape(shape)


# ---------------------------------------------------------------- graphs


def same_operand(ours, theirs) -> bool:
    """Equal, or a tensor constant whose value the file does not hold."""
    if isinstance(ours, Const) and isinstance(theirs, Const):
        if theirs.dtype == "monad":
            return ours.dtype == "monad"
        if ours.value == "...":
            # what it says is right: the dialect of a dump says nothing, stages say dtype and shape
            known = (ours.dtype, ours.shape)
            return theirs.shape is not None and known in (("", None), (theirs.dtype, theirs.shape))
    return ours == theirs


def same_attr(ours, theirs) -> bool:
    """Equal, or a type: the file keeps its kind, not its bits."""
    kinds = {"Float": ("F16", "F32", "Float16", "Float32"), "Int": ("I32", "Int32")}
    return ours == theirs or theirs in kinds.get(ours if isinstance(ours, str) else "", ())


def assert_agree(ours, theirs, dialect):
    assert (ours.graph_id, ours.dialect, ours.unknown_lines) == (theirs.graph_id, dialect, 0)
    assert [(p.name, p.spec) for p in ours.parameters] == [
        (p.name, p.spec) for p in theirs.parameters
    ]
    assert ours.outputs == theirs.outputs
    assert len(ours.ops) == len(theirs.ops)
    for op, other in zip(ours.ops, theirs.ops, strict=True):
        assert op.op_type == other.op_type
        if op.op_type == "call":  # an empty message: the file says that there is a node, no more
            continue
        assert op.name == other.name
        assert len(op.inputs) == len(other.inputs)
        for mine, yours in zip(op.inputs, other.inputs, strict=True):
            graphs = isinstance(mine, GraphRef) and isinstance(yours, GraphRef)
            assert graphs or same_operand(mine, yours), op.name
        assert [s.dtype for s in op.outputs] == [s.dtype for s in other.outputs]
        assert op.attrs.keys() == other.attrs.keys()
        assert all(same_attr(op.attrs[key], other.attrs[key]) for key in op.attrs), op.name
        for mine, yours in zip(op.input_specs, other.input_specs, strict=True):
            assert mine == yours or mine is None or mine.shape is None


# ---------------------------------------------------------------- tensors as the graph has them

DTYPES = {1: np.float32, 2: np.float16, 8: np.int64, 9: np.uint32, 11: np.bool_}


def graph_array(data: bytes, fields: dict) -> np.ndarray:
    """Elements of a block of a container in the order and shape of the graph."""
    laid = np.frombuffer(data, DTYPES[fields["data_type"]])
    laid = laid.reshape(fields["shape"].get("dim", []))
    return in_graph_order(laid, fields.get("format", 0), fields["original_shape"].get("dim", []))


def in_graph_order(laid: np.ndarray, form: int, shape: list[int]) -> np.ndarray:
    """A device array in a format of this number, in the order and shape of the graph."""
    if form == 29:
        *lead, c1, r1, r0, c0 = laid.shape
        laid = np.moveaxis(laid, -4, -2).reshape(*lead, r1 * r0, c1 * c0)
    elif form == 3:
        n, c1, h, w, c0 = laid.shape
        laid = laid.transpose(0, 1, 4, 2, 3).reshape(n, c1 * c0, h, w)
    elif form == 4:
        _, _, h, w = shape
        laid = laid.reshape(-1, h, w, *laid.shape[1:]).transpose(3, 4, 0, 5, 1, 2)
        laid = laid.reshape(-1, laid.shape[2] * laid.shape[3], h, w)
    return laid[tuple(map(slice, shape))]
