"""Files as torch.save writes them, made with the standard library: opcodes one by one, zip entries stored."""

from __future__ import annotations

import io
import zipfile

STORAGES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage",
    "uint8": "ByteStorage", "bool": "BoolStorage", "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}  # fmt: skip


def text(value: str) -> bytes:
    return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def name(module: str, attribute: str) -> bytes:
    return b"c" + f"{module}\n{attribute}\n".encode()


def numbers(values) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(dtype: str, shape, strides, *, offset: int = 0, key: str = "0", held: int = 0) -> bytes:
    """Opcodes that leave a tensor on the stack."""
    storage = b"(" + text("storage") + name("torch", STORAGES[dtype]) + text(key) + text("cpu")
    storage += number(held) + b"tQ"
    rest = number(offset) + numbers(shape) + numbers(strides) + b"\x89"
    hooks = name("collections", "OrderedDict") + b")R"
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + rest + hooks + b"tR"


def archive(
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


def saved(array, dtype: str = "") -> bytes:
    """A file of one array in C order."""
    strides = [step // array.itemsize for step in array.strides]
    pickle = tensor(dtype or array.dtype.name, array.shape, strides, held=array.size)
    return archive(pickle, {"0": array.tobytes()})
