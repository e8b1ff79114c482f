"""Files of PyTorch are read without it: nothing in them runs, and nothing in them is believed."""

from __future__ import annotations

import os
import pickle
import pickletools
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.arrays import read_all
from kit.build.foreign_files import (
    DATA,
    TORCH_STORAGES,
    pickled_name,
    pickled_number,
    pickled_tensor,
    pickled_text,
    torch_file,
)
from kit.cases import examples
from kit.memory import peak_below
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.dump.formats import torch_pickle as module
from workbench.dump.formats.archives import locate
from workbench.dump.formats.torch_pickle import read_pickle
from workbench.dump.payload.blocks import ExtentSource

FILES = DATA / "torch"
X = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
TRUTH = {
    "plain": [("float32", X)],
    "protocol5": [("float32", X)],
    "parameter": [("float32", X)],
    "add_device_0_0": [("float32", X)],
    "pair_device_0_0": [("float32", X), ("float16", X)],
    "list": [("float32", X), ("float16", X)],
    "transposed": [("float32", [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]])],
    "views": [("float32", [3.0, 4.0, 5.0]), ("float32", [[1.0, 2.0], [4.0, 5.0]])],
    "scalar": [("bfloat16", 3.0)],
    "empty": [("float32", [])],
    "bool": [("bool", [True, False])],
    "complex": [("complex64", [1 + 2j])],
    "float8": [("float8_e4m3fn", X)],
    "uint16": [("uint16", [1, 65535])],
}
"""What PyTorch saved in every file (``conformance/save_torch.py``)."""

REFUSED = {
    "expanded": ("pt-elements", {"got": 12, "held": 3}),
    "conjugated": ("pickle-lazy", {}),
    "dictionary": ("pickle-dictionary", {}),
    "nested": ("pickle-others", {}),
    "sparse": ("pickle-name", {"got": "torch._utils _rebuild_sparse_tensor"}),
    "code": ("pickle-name", {"got": "torch.nn.modules.linear Linear"}),
    "legacy": ("pt-zip", {}),
}


def sources(path):
    return [ExtentSource(extent) for extent in locate(str(path))]


@pytest.mark.parametrize("name", TRUTH)
def test_what_pytorch_saved_is_read(name):
    found = sources(FILES / f"{name}.pt")
    assert [(one.spec().dtype, one.array().tolist()) for one in found] == TRUTH[name]
    for one in found:
        assert one.spec().shape == one.array().shape
        assert read_all(one).tobytes() == one.array().tobytes()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_tensor_is_refused_with_its_byte(name):
    path, (code, values) = FILES / f"{name}.pt", REFUSED[name]
    with refused(f"dump/{code}", FormatError, **values) as caught:
        locate(str(path))
    assert caught.value.place.startswith(f"{path}: byte ")


def test_every_file_of_the_folder_is_looked_at():
    assert {path.stem for path in FILES.glob("*.pt")} == TRUTH.keys() | REFUSED.keys()


@given(data=st.data())
@settings(max_examples=examples(100), deadline=None)
def test_tensors_of_any_type_shape_and_stride_are_read(tmp_path_factory, data):
    """A view of a larger storage: some axes in another order, from some element on."""
    dtype = data.draw(st.sampled_from([name for name in TORCH_STORAGES if name != "bfloat16"]))
    shape = data.draw(st.lists(st.integers(0, 4), max_size=4))
    before, behind = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    order = data.draw(st.permutations(range(len(shape))))
    count = int(np.prod(shape))
    held = np.random.default_rng(3).integers(0, 100, before + count + behind).astype(dtype)
    array = held[before : before + count].reshape(shape).transpose(order)
    strides = [step // array.itemsize for step in array.strides]
    pickled = pickled_tensor(dtype, array.shape, strides, offset=before, held=held.size)
    path = tmp_path_factory.mktemp("pt") / "x.pt"
    path.write_bytes(torch_file(pickled, {"0": held.tobytes()}))
    (source,) = sources(path)
    assert source.spec()[:2] == (dtype, array.shape)
    assert (source.array() == array).all()
    assert read_all(source).tobytes() == array.tobytes()


def save(tmp_path, pickled, storages=None, **more):
    path = tmp_path / "x.pt"
    path.write_bytes(
        torch_file(pickled, {"0": bytes(24)} if storages is None else storages, **more)
    )
    return path


def arrays(path):
    return [source.array() for source in sources(path)]


def refusal(path) -> FormatError:
    with pytest.raises(FormatError) as caught:
        arrays(path)
    assert caught.value.place.startswith(f"{path}: byte ")
    return caught.value


ONE = pickled_tensor("float32", (2, 3), (3, 1))


@pytest.mark.parametrize(
    ("pickled", "code", "values"),
    [
        (pickled_name("os", "system") + b"(" + pickled_text("true") + b"tR", "name", {"got": "os system"}),
        (pickled_name("builtins", "eval") + b")R", "name", {"got": "builtins eval"}),
        (pickled_name("torch", "load") + b")R", "name", {"got": "torch load"}),
        (ONE + b"}b", "opcode", {"got": "BUILD"}),
        (pickled_text("a") + b")R", "call", {}),
        (pickled_number(1), "no-tensor", {}),
        (ONE + ONE, "no-tensor", {}),
        (b"", "no-tensor", {}),
        (b"(" + ONE + b"K\1" + b"t", "others", {}),
        (b"K\1t", "", {"why": "pop from empty list"}),
        (b"h\x07", "", {"why": "Memo value not found at index 7"}),
        (b"\x86", "", {"why": "list index out of range"}),
        (pickled_number(1) + b"Q", "persistent", {}),
        (b"(" + pickled_text("storage") + b"NNNNtQ", "storage", {}),
        (b"]" + ONE + b"a" + b"K\1K\2s", "items", {}),
        (b"}K\1a", "", {"why": "'dict' object has no attribute 'append'"}),
        (pickled_name("torch._utils", "_rebuild_parameter") + b")R", "parameter", {}),
        (ONE.replace(b"FloatStorage", b"UntypedStorage"), "dtype", {}),
        (pickled_name("torch._utils", "_rebuild_tensor_v3") + b"(NNNNNNNtR", "dtype", {}),
        (ONE.replace(b"FloatStorage", b"NoSuchStorage"), "name", {"got": "torch NoSuchStorage"}),
        (ONE.replace(b"_rebuild_tensor_v2", b"_rebuild_qtensor"), "name", {}),
        (pickled_tensor("float32", (2, 3), (3,)), "strides", {}),
        (pickled_tensor("float32", (1,) * 33, (1,) * 33), "strides", {"limit": 32}),
        (pickled_tensor("float32", (-1,), (1,)), "strides", {}),
        (pickled_tensor("float32", (2,), (-1,)), "strides", {}),
    ],
)  # fmt: skip
def test_pickles_of_anything_else_are_refused(tmp_path, pickled, code, values):
    check_said(refusal(save(tmp_path, pickled)), f"dump/pickle-{code}".rstrip("-"), **values)


@pytest.mark.parametrize(
    ("pickled", "code", "values"),
    [
        (pickled_tensor("float32", (7,), (1,)), "storage", {"needed": 7, "held": 6}),
        (pickled_tensor("float32", (2, 3), (3, 1), offset=1), "storage", {"needed": 7, "held": 6}),
        (pickled_tensor("float32", (2**40,), (0,)), "elements", {"got": 2**40, "held": 6}),
        (pickled_tensor("float32", (2**61,), (2**61,)), "storage", {"held": 6}),
        (
            pickled_tensor("float32", (2, 3), (3, 1), key="1"),
            "missing",
            {"entry": "archive/data/1"},
        ),
        (pickled_tensor("float32", (2, 3), (3, 1), key="../version"), "missing", {}),
    ],
)
def test_tensors_beyond_their_storage_are_refused(tmp_path, pickled, code, values):
    check_said(refusal(save(tmp_path, pickled)), f"dump/pt-{code}", **values)


def test_nothing_in_a_pickle_runs(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        body = pickle.dumps(Bomb(), protocol)
        path = tmp_path / "x.pt"
        with zipfile.ZipFile(path, "w") as out:
            out.writestr("x/data.pkl", body)
        refusal(path)
    assert not (tmp_path / "ran").exists()


def test_opcodes_that_no_tensor_needs_are_refused_with_their_name(tmp_path):
    known = {
        getattr(pickle, name)[0]
        for name in (*module._OPCODES, "FRAME", "SETITEM", "SETITEMS", "REDUCE", "STOP")
    }
    others = [one for one in pickletools.opcodes if ord(one.code) not in known]
    assert len(others) == len(pickletools.opcodes) - 34
    for one in others:
        check_said(
            refusal(save(tmp_path, one.code.encode("latin-1"))), "dump/pickle-opcode", got=one.name
        )
    check_said(refusal(save(tmp_path, b"\xff")), "dump/pickle-opcode", got="0xff")


@pytest.mark.parametrize(
    "pickled",
    [
        b"Nr"
        + (2**31 - 1).to_bytes(
            4, "little"
        ),  # a place in the memo: the unpickler in C makes room up to it
        b"\x8d" + (2**62).to_bytes(8, "little"),  # a text
        b"\x95" + (2**62).to_bytes(8, "little"),  # a frame
        b"]\x94" + b"(h\0h\0h\0h\0h\0e" * 6000,  # a list that holds itself
    ],
    ids=["memo", "text", "frame", "list"],
)
def test_numbers_in_a_pickle_take_no_memory(pickled):
    with pytest.raises(FormatError):
        read_pickle(b"\x80\x02" + pickled[:20] + b".")
    with peak_below(1 << 20), pytest.raises(FormatError):
        read_pickle(b"\x80\x02" + pickled + b".")


def test_values_within_values_take_no_time(tmp_path):
    """Each tuple holds the one before twice, or each the one before: nobody looks at all of them."""
    twice = b"".join(bytes((0x68, n, 0x68, n, 0x86, 0x71, n + 1)) for n in range(200))
    check_said(refusal(save(tmp_path, b"]q\0" + twice)), "dump/pickle-no-tensor")
    check_said(refusal(save(tmp_path, b")" + b"\x85" * 60_000)), "dump/pickle-others")
    keys = b")q\0" + twice + b"}h\xc7Ns"  # a key is not hashed, which would look at all of them
    check_said(refusal(save(tmp_path, keys)), "dump/pickle-no-tensor")


@pytest.mark.parametrize(
    ("more", "code", "got"),
    [({"byteorder": b"big"}, "byteorder", b"big"), ({"root": "a/b"}, "pickles", 0)],
)
def test_archives_that_are_otherwise_laid_out_are_refused(tmp_path, more, code, got):
    check_said(refusal(save(tmp_path, ONE, **more)), f"dump/pt-{code}", got=got)


def test_a_pickle_that_is_too_long_is_refused_unread(tmp_path):
    error = refusal(save(tmp_path, pickled_text("x" * 200_000) + ONE))
    check_said(error, "core/too-large", limit=131072)


@pytest.mark.parametrize(
    ("entries", "size", "code"),
    [
        (2000, None, "dump/pt-pickles"),
        (5000, None, "core/too-large"),
        (9, 0x7FFFFFFF, "dump/pt-zip"),
    ],
)
def test_lists_of_entries_take_little_memory(tmp_path, entries, size, code):
    path = tmp_path / "x.pt"
    with zipfile.ZipFile(path, "w") as out:
        for number in range(entries):
            out.writestr(f"archive/{number:08}", b"")
    if size is not None:
        with path.open("r+b") as file:
            file.seek(-10, os.SEEK_END)
            file.write(size.to_bytes(4, "little"))
    refusal(path)
    with peak_below(4 << 20):
        error = refusal(path)
    check_said(error, code)


def test_an_archive_that_lacks_bytes_is_refused(tmp_path):
    data = (FILES / "plain.pt").read_bytes()
    at = data.index(b"PK\6\6")
    for path, lost in (
        (tmp_path / "end.pt", at),
        (tmp_path / "begin.pt", 0),
        (tmp_path / "middle.pt", at // 2),
    ):
        path.write_bytes(data[:lost] + data[lost + 3 :])
        check_said(refusal(path), "dump/pt-zip")


def test_compressed_entries_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.pt", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("x/data.pkl", b"\x80\x02" + ONE * 20 + b".")
    check_said(refusal(tmp_path / "x.pt"), "dump/pt-compressed")


def test_a_checksum_that_does_not_fit_is_refused(tmp_path):
    path = save(tmp_path, ONE)
    data = bytearray(path.read_bytes())
    at = data.index(b"cpu")
    data[at : at + 3] = b"gpu"
    path.write_bytes(data)
    check_said(refusal(path), "dump/pt-checksum", entry="archive/data.pkl")


def test_sizes_of_64_bits_are_read(tmp_path):
    array = np.arange(6, dtype=np.float32)
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as out:
        pickled = b"\x80\x02" + pickled_tensor("float32", (6,), (1,)) + b"."
        for name, data in (("x/data.pkl", pickled), ("x/data/0", array.tobytes())):
            with out.open(name, "w", force_zip64=True) as entry:
                entry.write(data)
    (source,) = sources(tmp_path / "x.pt")
    assert source.array().tolist() == array.tolist()
