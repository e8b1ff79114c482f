"""Golden folders of plain names: what becomes of npy files and archives of NumPy, and of damaged ones."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest

from kit.words import check_said
from workbench.core.errors import FormatError
from workbench.dump.reader import load
from workbench.dump.survey import survey

ONE = np.float32([[1, 2], [3, 4]])
BIG = np.arange(6, dtype=">f4").reshape(2, 3)
NAMED = {"/features/0/Conv_output_0": ONE, "x": np.asfortranarray(ONE * 2), "big": BIG}


def values(dump):
    return {one.key.op_name: one.source.array().tolist() for one in dump.records}


WRITERS = {"stored": np.savez, "deflated": np.savez_compressed}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_an_archive_has_its_tensors_under_their_own_names(tmp_path, write):
    write(tmp_path / "golden.npz", **NAMED)
    dump = load(tmp_path)
    assert values(dump) == {name: array.tolist() for name, array in NAMED.items()}
    assert [one.source.spec().shape for one in dump.records] == [(2, 2), (2, 2), (2, 3)]
    assert {(one.key.op_type, one.key.io, one.key.slot) for one in dump.records} == {
        ("", "output", 0)
    }
    assert (dump.layout, dump.skipped, dump.notes) == ("golden", (), ())


def test_a_file_has_its_tensor_under_its_own_name(tmp_path):
    np.save(tmp_path / "conv.1.npy", ONE)
    (tmp_path / "README.md").touch()
    assert values(load(tmp_path)) == {"conv.1": ONE.tolist()}


def npy(array=ONE):
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


def archive(*entries, kind=zipfile.ZIP_STORED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", kind) as made:
        for name, content in entries:
            made.writestr(name, content)
    return data.getvalue()


def test_an_archive_may_have_as_many_tensors_as_a_large_model(tmp_path):
    names = [f"/a/scope/of/usual/length/{number}/Conv_output_0.npy" for number in range(6000)]
    (tmp_path / "golden.npz").write_bytes(archive(*((name, npy()) for name in names)))
    assert len(load(tmp_path).records) == len(names)


def objects():
    data = io.BytesIO()
    np.save(data, np.array([{"a": 1}], object), allow_pickle=True)
    return data.getvalue()


HUGE = npy().replace(b"(2, 2), }          ", b"(40000, 40000), }  ")
BOMB = archive(("bomb.npy", npy(np.zeros(1 << 22, np.float32))), kind=zipfile.ZIP_DEFLATED)
REFUSED = {
    "objects, which are never unpickled": (archive(("o.npy", objects())), "dump/npy-descr"),
    "no npy file": (archive(("o.npy", b"nothing at all")), "dump/npy-magic"),
    "a shape of more bytes than the entry has": (archive(("o.npy", HUGE)), "dump/npz-size"),
    "fewer bytes than the shape": (archive(("o.npy", npy()[:-4])), "dump/npz-size"),
    "a deflated shape of more bytes": (archive(("o.npy", HUGE), kind=zipfile.ZIP_DEFLATED), "dump/npz-size"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "code"), REFUSED.values(), ids=REFUSED)
def test_an_entry_that_is_no_tensor_is_skipped_and_the_others_stay(tmp_path, content, code):
    data = io.BytesIO(content)
    with zipfile.ZipFile(data, "a") as made:
        made.writestr("good.npy", npy())
    (tmp_path / "golden.npz").write_bytes(data.getvalue())
    dump = load(tmp_path)
    assert values(dump) == {"good": ONE.tolist()}
    assert [(one.reason, one.detail.code) for one in dump.skipped] == [("unreadable", code)]
    check_said(dump.skipped[0].detail, code)


def test_a_list_that_claims_more_than_deflate_can_hold_is_not_believed(tmp_path):
    """A bomb whose list says 16 GiB: nothing of it is allocated."""
    size = (16 << 20) + 128
    claimed = BOMB.replace(size.to_bytes(4, "little"), (0xFFFFFF00).to_bytes(4, "little"))
    assert claimed != BOMB
    (tmp_path / "golden.npz").write_bytes(claimed)
    (skipped,) = load(tmp_path).skipped
    assert skipped.detail.code == "core/too-large"


@pytest.mark.parametrize("content", [b"", b"PK\3\4 damaged", pickle.dumps(ONE)])
def test_what_is_no_archive_is_skipped(tmp_path, content):
    (tmp_path / "golden.npz").write_bytes(content)
    (skipped,) = load(tmp_path).skipped
    assert (skipped.reason, skipped.detail.code) == ("unreadable", "dump/pt-zip")


def test_a_name_that_leaves_the_folder_is_no_path(tmp_path):
    outside = tmp_path / "outside.npy"
    (tmp_path / "golden").mkdir()
    content = archive(("../outside.npy", npy()), ("/etc/x.npy", npy(ONE * 2)))
    (tmp_path / "golden" / "golden.npz").write_bytes(content)
    found = values(load(tmp_path / "golden"))
    assert found == {"../outside": ONE.tolist(), "/etc/x": (ONE * 2).tolist()}
    assert not outside.exists()


def test_two_entries_of_one_name_are_one(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = archive(("a.npy", npy()), ("a.npy", npy(ONE * 2)))
    (tmp_path / "golden.npz").write_bytes(content)
    dump = load(tmp_path)
    assert len(dump.records) == 1


def test_beside_another_dump_files_of_any_name_are_none(tmp_path):
    leaf = tmp_path / "rank_0" / "Net" / "0" / "0"
    leaf.mkdir(parents=True)
    np.save(leaf / "Add.Default_Add-op1.0.0.17.output.0.DefaultFormat.float32.npy", ONE)
    np.save(leaf / "mine.npy", ONE)
    np.savez(tmp_path / "weights.npz", w=ONE)
    dump = load(tmp_path)
    assert dump.layout == "mindspore"
    assert [one.key.op_name for one in dump.records] == ["Default_Add-op1"]
    assert [folder.path for folder in survey(tmp_path).folders] == [str(leaf)]


def test_a_deflated_entry_that_is_damaged_says_so_when_it_is_read(tmp_path):
    content = bytearray(archive(("a.npy", npy(np.arange(90000.0))), kind=zipfile.ZIP_DEFLATED))
    middle = len(content) // 2
    content[middle : middle + 64] = b"\xff" * 64
    (tmp_path / "golden.npz").write_bytes(content)
    (record,) = load(tmp_path).records
    with pytest.raises(FormatError) as refused:
        record.source.array()
    assert refused.value.message.code == "dump/npz-damaged"
