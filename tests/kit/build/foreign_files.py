"""Files as other programs write them, made without the workbench, and the real dumps of MindSpore.

MindSpore's IR text of every version, spelled from one row of `SPELLED` a version (what ``anf_ir_dump.cc`` prints at
that tag); files of torch.save, opcode by opcode; what msaccucmp makes of an overflow record; and which real dumps
lie under tests/data/real.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parents[2] / "data"
PAIRS = sorted(path.name.removesuffix(".tar.xz") for path in (DATA / "real").glob("*.tar.xz"))


class RealPair:
    """One unpacked pair of real dumps and what is known about it."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.folder = folder
        self.golden = folder / "dump_a"
        self.target = folder / "dump_b"
        self.truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))


# ---------------- MindSpore's IR


class Spelling(NamedTuple):
    """How one version writes; each field is a template or a word."""

    header: str  # {name}, {count}
    parameter: str  # {number}, {name}, {host}, {device}, {weight}
    reference: str  # an operand that is a parameter
    host: str  # {kind}, {shape}
    weight: str  # host type of a weight
    device: str  # {dtype}, {format}, {shape}
    attrs: str  # {attrs}
    parallel: str
    name: str  # {name}
    location: str  # {file}, {line}
    instance: str = ""
    monads: bool = True
    inward: bool = True  # the operator's own line comes last

    def tensor(self, word: str, shape: str) -> str:
        """Type of a tensor on the host."""
        return self.host.format(kind=f"Tensor[{word}]", shape=shape)

    def laid(self, word: str, form: str, shape: str) -> str:
        """Type of a tensor on the device."""
        return self.device.format(dtype=word, format=form, shape=shape)

    def behind(self, name: str, lines: tuple[tuple[str, int], ...] = ()) -> str:
        """What follows an operator: its name, and the lines of the source that it comes from."""
        text = f"      {self.name.format(name=name)}\n"
        for file, line in lines if self.inward else reversed(lines):
            place = self.location.format(file=file, line=line)
            text += f"      # {place}        y = f(x)/\n"
        return text


OLD_HEADER = "#IR entry      : @{name}\n#attrs         :\nflag : 1\n#Total params  : {count}\n\n"
NEW_HEADER = "# IR entry: @{name}\n# Total subgraphs: 1\n\n# Attrs:\nflag: 1\n\n# Total params: {count}\n# Params:\n"
SQUARE, CURLY = (
    "<{dtype}x{format}[const vector][{shape}]>",
    "<{dtype}x{format}[const vector]{{{shape}}}>",
)
OLD = Spelling(
    OLD_HEADER,
    "%para{number} = {name} : {host}  :  {device}  :  IsWeight:{weight}",
    "%para{number}",
    "<{kind}x[const vector][{shape}]>",
    "<Ref[Tensor(F32)]x[const vector][{shape}]>",
    SQUARE,
    " {{{attrs}}}",
    " {{ strategy: ((1, 1), (1, 1)) }}",
    ": ({name})",
    "In file {file}({line})/",
    monads=False,
    inward=False,
)  # fmt: skip
V1_2 = OLD._replace(attrs=" primitive_attrs: {{{attrs}}} cnode_attrs: {{checkpoint: true}}")
V1_3 = V1_2._replace(
    parameter="%para{number}_{name} : {host}  :  {device}  :  IsWeight:{weight}",
    reference="%para{number}_{name}",
    monads=True,
)
V1_5 = V1_3._replace(host="<{kind}, ({shape})>", weight="<Ref[Tensor(F32)], ({shape})>")
V1_6 = V1_5._replace(parallel=" {{in_strategy: ((1, 1), (1, 1)), out_strategy: ((1, 1))}}")
V1_7 = V1_6._replace(
    name="# fullname_with_scope: ({name})",
    weight="<Ref[Tensor(F32)], ({shape}), ref_key=:fc.weight>",
)
V1_8 = V1_7._replace(instance="subgraph instance: {name} : 0x55afbafbbcd0\n")
V1_9 = V1_8._replace(
    parameter="%para{number}_{name} : {host}  :  has_default  :  {device}  :  IsWeight: {weight}",
    location="In file {file}:{line}/",
)
V2_0 = V1_9._replace(
    header=NEW_HEADER,
    name="# Fullname with scope: ({name})",
    weight="<Ref[Tensor[Float32]], ({shape}), ref_key=:fc.weight>",
    inward=True,
)
V2_2 = V2_0._replace(device=CURLY)
V2_3 = V2_2._replace(
    header=NEW_HEADER + "\nNode counting information:\nTotal number of nodes: 7\n\n",
    parameter="%para{number}_{name}: {host}  :  has_default  :  {device}  :  IsWeight: {weight}",
    weight="<Ref[Tensor[Float32]], ({shape}), ref_key=fc.weight, is_parameter>",
    location="In file {file}:{line}, 4~20/",
)
SPELLED = {
    "1.0": OLD, "1.1": OLD, "1.2": V1_2, "1.3": V1_3, "1.5": V1_5, "1.6": V1_6, "1.7": V1_7, "1.8": V1_8,
    "1.9": V1_9, "1.10": V1_9, "2.0": V2_0, "2.1": V2_0, "2.2": V2_2, "2.3": V2_3,
}  # fmt: skip

FRAMES = (("/w/net.py", 40), ("/w/net.py", 12), ("/v/site-packages/mindspore/nn/layer.py", 7))


def old_file(spelling: Spelling, *, header: bool = True) -> str:
    """A dense layer and its cast as a version spells them."""
    s = spelling
    x, w = s.tensor("Float32", "2, 3"), s.weight.format(shape="4, 3")
    on = s.laid("Float32", "DefaultFormat", "2, 3"), s.laid("Float32", "DefaultFormat", "4, 3")
    out = s.laid("Float32", "FRACTAL_NZ", "1, 1, 16, 16")
    text = s.header.format(name="kernel_graph_1", count=2) if header else ""
    for number, (name, kind, where, weight) in enumerate(
        (("x", x, on[0], "false"), ("fc.weight", w, on[1], "true")), 1
    ):
        text += s.parameter.format(number=number, name=name, host=kind, device=where, weight=weight)
        text += "\n"
    text += "\n#Total subgraph : 1\n\n" if s.header == OLD_HEADER and header else "\n"
    text += "subgraph attr:\nflag : 1\n" + s.instance.format(name="kernel_graph_1")
    text += "subgraph @kernel_graph_1() {\n"
    read = s.reference.format(number=2, name="fc.weight")
    number, host = 0, s.tensor("Float32", "4, 3")
    if s.monads:
        text += f"  %0([CNode]11) = Load({read}, U)\n      : ({w}, <UMonad>) -> ({host})\n"
        text += s.behind("Default/Load-op1")
        read, number = "%0", 1
    attrs = "input_names: [x1, x2], transpose_b: true, eps: 0.5, pad_mode: same"
    first, product = s.reference.format(number=1, name="x"), s.tensor("Float32", "2, 4")
    text += f"  %{number}(equivy) = MatMul({first}, {read}) {{instance name: matmul}}"
    text += f"{s.attrs.format(attrs=attrs)}{s.parallel.format()}\n"
    text += f"      : ({x}, {host}) -> ({product})\n      : ({on[0]}, {on[1]}) -> ({out})\n"
    text += s.behind("Default/fc-Dense/MatMul-op3", FRAMES)
    half = s.tensor("Float16", "2, 4")
    text += f"  %{number + 1}(y) = Cast(%{number}){s.attrs.format(attrs='dst_type: Float16')}\n"
    text += f"      : ({product}) -> ({half})\n"
    text += f"      : ({out}) -> ({s.laid('Float16', 'FRACTAL_NZ', '1, 1, 16, 16')})\n"
    text += s.behind("Default/fc-Dense/Cast-op4", FRAMES[:1])
    text += f"  Return(%{number + 1})\n      : ({half})\n"
    return text + s.behind("Default/Return-op5") + "}\n\n"


# ---------------- torch.save

TORCH_STORAGES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage",
    "uint8": "ByteStorage", "bool": "BoolStorage", "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}  # fmt: skip


def pickled_text(value: str) -> bytes:
    return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()


def pickled_number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def pickled_name(module: str, attribute: str) -> bytes:
    return b"c" + f"{module}\n{attribute}\n".encode()


def _numbers(values) -> bytes:
    return b"(" + b"".join(map(pickled_number, values)) + b"t"


def pickled_tensor(
    dtype: str, shape, strides, *, offset: int = 0, key: str = "0", held: int = 0
) -> bytes:
    """Opcodes that leave a tensor on the stack."""
    storage = pickled_text("storage") + pickled_name("torch", TORCH_STORAGES[dtype])
    storage += pickled_text(key) + pickled_text("cpu") + pickled_number(held)
    place = pickled_number(offset) + _numbers(shape) + _numbers(strides) + b"\x89"
    hooks = pickled_name("collections", "OrderedDict") + b")R"
    rebuild = pickled_name("torch._utils", "_rebuild_tensor_v2")
    return rebuild + b"((" + storage + b"tQ" + place + hooks + b"tR"


def torch_file(
    pickle: bytes, storages, *, root: str = "archive", byteorder: bytes = b"little"
) -> bytes:
    """A file of a pickle (without its begin and end) and the bytes of its storages by key."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as out:
        out.writestr(f"{root}/data.pkl", b"\x80\x02" + pickle + b".")
        if byteorder:
            out.writestr(f"{root}/byteorder", byteorder)
        for key, data in storages.items():
            out.writestr(f"{root}/data/{key}", data)
        out.writestr(f"{root}/version", b"3\n")
    return file.getvalue()


def saved_by_torch(array, dtype: str = "") -> bytes:
    """A file of one array in C order."""
    strides = [step // array.itemsize for step in array.strides]
    pickle = pickled_tensor(dtype or array.dtype.name, array.shape, strides, held=array.size)
    return torch_file(pickle, {"0": array.tobytes()})


# ---------------- msaccucmp

MSACCUCMP = """{
    "DHA Atomic Add": {
        "model_id": 0,
        "stream_id": 0,
        "task_id": 0,
        "task_type": 0,
        "pc_start": "0x0",
        "para_base": "0x0",
        "status": 0
    },
    "L2 Atomic Add": {
        "model_id": 0,
        "stream_id": 0,
        "task_id": 0,
        "task_type": 0,
        "pc_start": "0x0",
        "para_base": "0x0",
        "status": 0
    },
    "AI Core": {
        "model_id": 514,
        "stream_id": 563,
        "task_id": 57,
        "task_type": 0,
        "pc_start": "0x1008005b0000",
        "para_base": "0x100800297000",
        "kernel_code": "0x1008005ae000",
        "block_idx": 1,
        "status": 32
    }
}"""
"""An overflow record of the classic kind as msaccucmp writes it."""
