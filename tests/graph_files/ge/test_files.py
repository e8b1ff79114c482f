"""Names and places of GE's graph files, and the computational graph among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.memory import peak_below
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.graph_files.ge import files as ge_files
from workbench.graph_files.ge.files import (
    find_computational_graph,
    ge_graph_directory,
    ge_graph_file,
)


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, "./"),
        ({"ASCEND_WORK_PATH": "/a"}, "/a/"),
        ({"ASCEND_WORK_PATH": ""}, "./"),
        ({"DUMP_GRAPH_PATH": "/d", "ASCEND_WORK_PATH": "/a"}, "/d/pid_7_deviceid_2/"),
        ({"DUMP_GRAPH_PATH": ""}, "pid_7_deviceid_2/"),
        ({"NPU_COLLECT_PATH": "/c", "DUMP_GRAPH_PATH": "/d"}, "/c/extra-info/graph/7_2/"),
    ],
)
def test_the_folder_is_the_first_that_the_environment_names(env, folder):
    assert ge_graph_directory(env, 7, 2) == folder


@pytest.mark.parametrize(
    ("index", "stage", "name"),
    [
        (17, "PreRunBegin", "ge_proto_00000017_PreRunBegin.txt"),
        (0, 'a/b\\c:d*e?f"g<h>i|j.k', "ge_proto_00000000_a_b_c_d_e_f_g_h_i_j.k.txt"),
    ],
)
def test_a_file_is_called_by_its_number_and_stage(index, stage, name):
    assert ge_graph_file(index, stage) == name


def found_in(folder, operator="", **options):
    """The graph of a folder's last stage."""
    return find_computational_graph(sorted(folder.glob("*_Build.txt")), operator, **options)


def text_of(name: str, *ops: str, kind: str = "Add") -> str:
    head = f'  name: "{name}"\n' if name else ""
    body = "".join(f'  op {{\n    name: "{op}"\n    type: "{kind}"\n  }}\n' for op in ops)
    return f"graph {{\n{head}{body}}}\n"


@pytest.fixture
def folder(tmp_path):
    """Graphs of a run: two that are not the computational one, one that is, and one of another stage."""
    folder = tmp_path / "run"
    folder.mkdir()
    for index, name, ops in (
        (280, "ge_default_20240613143501_0", ["init"]),
        (
            292,
            "ge_default_20240613143502_1",
            ["IteratorGetNext", "net/conv1/Conv2D", "net/conv1/Conv2D_1"],
        ),
        (301, "save graph.2", ["save/Save"]),
    ):
        (folder / ge_graph_file(index, "Build")).write_text(text_of(name, *ops))
    (folder / ge_graph_file(5, "PreRunBegin")).write_text(text_of("x", "Iterator"))
    return folder


def test_the_graph_with_an_iterator_is_found(folder):
    found = found_in(folder)
    assert found.path == folder / "ge_proto_00000292_Build.txt"
    assert found.name == found.folder == "ge_default_20240613143502_1"
    check_said(found.how, "graph_files/found-alone", word="Iterator", files=3)


def test_a_number_of_five_digits_is_read(folder):
    (folder / "ge_proto_00000292_Build.txt").rename(folder / "ge_proto_00292_Build.txt")
    assert found_in(folder).path == folder / "ge_proto_00292_Build.txt"


def test_the_graph_with_an_operator_is_found(folder):
    found = found_in(folder, "save/Save")
    assert (found.path.name, found.name) == ("ge_proto_00000301_Build.txt", "save graph.2")
    assert found.folder == "save_graph_2"


def test_a_name_counts_only_whole(folder):
    (folder / ge_graph_file(400, "Build")).write_text(text_of("other", "net/conv1/Conv2D_10" * 50))
    assert found_in(folder, "net/conv1/Conv2D").path.name == "ge_proto_00000292_Build.txt"
    with pytest.raises(FormatError):
        found_in(folder, "conv1/Conv2D_10")


def test_a_fused_operator_is_found_by_its_original_name(tmp_path):
    text = text_of("g", "fused").replace(
        'type: "Add"', 'attr { key: "n" value { list { s: "scale1" } } }'
    )
    (tmp_path / "ge_proto_00001_Build.txt").write_text(text)
    assert found_in(tmp_path, "scale1").name == "g"


def test_a_name_that_is_no_ascii_is_searched_as_the_file_spells_it(tmp_path):
    (tmp_path / "ge_proto_00001_Build.txt").write_text(text_of("g", "\\347\\275\\221/conv"))
    assert found_in(tmp_path, "网/conv").name == "g"


def test_of_several_the_largest_is_taken_and_the_others_named(folder):
    (folder / ge_graph_file(310, "Build")).write_text(text_of("eval", "IteratorGetNext"))
    found = found_in(folder)
    assert found.path.name == "ge_proto_00000292_Build.txt"
    among = [
        "ge_proto_00000292_Build.txt (ge_default_20240613143502_1)",
        "ge_proto_00000310_Build.txt (eval)",
    ]
    check_said(found.how, "graph_files/found-largest", word="Iterator", among=among)


def test_of_several_the_one_with_dump_data_is_taken(folder):
    (folder / ge_graph_file(310, "Build")).write_text(text_of("eval/1", "IteratorGetNext"))
    found = found_in(folder, folders=["eval_1", "unrelated"])
    assert found.path.name == "ge_proto_00000310_Build.txt"
    check_said(found.how, "graph_files/found-dumped", word="Iterator")


def test_of_very_many_only_some_are_named(tmp_path):
    for index in range(40):
        (tmp_path / ge_graph_file(index, "Build")).write_text(text_of("", "Iterator"))
    found = found_in(tmp_path)
    assert found.path.name == "ge_proto_00000039_Build.txt"
    check_said(found.how, "graph_files/found-largest", word="Iterator")
    among = found.how.values["among"]
    assert (found.name, len(among), among[0]) == ("", 40, "ge_proto_00000000_Build.txt")


@pytest.mark.parametrize(
    ("operator", "code", "word"),
    [
        ("", "graph_files/iterator-nowhere", "Iterator"),
        ("gone", "graph_files/operator-nowhere", "gone"),
    ],
)
def test_no_graph_is_one_clear_error(folder, operator, code, word):
    (folder / "ge_proto_00000292_Build.txt").write_text(text_of("g", "a"))
    with refused(code, FormatError, place=str(folder), word=word, files=3):
        found_in(folder, operator)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with refused("core/missing", FormatError, got=str(tmp_path / "gone_Build.txt")):
        find_computational_graph([tmp_path / "gone_Build.txt"])


@given(st.integers(1, 40), st.integers(0, 120))
def test_a_word_across_two_pieces_is_found(chunk, before):
    class Memory:
        def __init__(self, data):
            self.data = data

        def read(self, count):
            piece, self.data = self.data[:count], self.data[count:]
            return piece

    text = b"x" * before + b'"Iterator"' + b"y" * 50
    original = ge_files._CHUNK
    ge_files._CHUNK = chunk
    try:
        pieces = [piece for _, piece in ge_files._pieces(Memory(text), len(b'"Iterator"'))]
    finally:
        ge_files._CHUNK = original
    assert any(b'"Iterator"' in piece for piece in pieces)
    assert all(len(piece) <= chunk + 10 for piece in pieces)


def test_a_large_file_is_searched_in_little_memory(tmp_path):
    path = tmp_path / "ge_proto_00001_Build.txt"
    with path.open("wb") as file:
        file.write(b'graph {\n  name: "big"\n')
        for _ in range(64):
            file.write(b"#" * (1 << 20))
        file.write(b'  op {\n    name: "Iterator"\n  }\n}\n')
    with peak_below(8 << 20):
        found = found_in(tmp_path)
    assert found.name == "big"


@pytest.mark.parametrize(
    "text",
    [
        "", "Iterator", 'graph { name: "\\q" } Iterator', "graph " * 20_000 + "Iterator",
        'graph{name:"' + "x" * 100_000 + "Iterator",
    ],
)  # fmt: skip
def test_any_file_with_the_word_has_a_name_or_none(tmp_path, text):
    (tmp_path / "a_Build.txt").write_text(text)
    if "Iterator" not in text:
        with pytest.raises(FormatError):
            found_in(tmp_path)
    else:
        assert found_in(tmp_path).name == ""


@pytest.mark.parametrize(
    ("text", "has"), [('graph { op { type: "IteratorV2" } }', True), ("graph {}", False)]
)
def test_the_word_of_the_computational_graph_is_in_a_file_or_not(tmp_path, text, has):
    path = tmp_path / "ge_proto_00000001_Build.txt"
    path.write_text(text)
    assert ge_files.has_iterator(path) is has
