"""How trees are recognized, wherever in them a user points."""

from __future__ import annotations

import os

import pytest

from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.dump.dump import CONSTANT_ITERATION
from workbench.dump.layouts import LAYOUTS
from workbench.dump.survey import survey

NPY = "Add.Add-op0.0.0.1.output.0.DefaultFormat.npy"
GE = "Conv2D.conv1relu.2.7.1700000000000004"
CSV = "MatMul.mm.3.1.1700000000000007.csv"
GOLDEN = "conv1.0.1700000000000008.npy"
RAW = "MatMul.mm.3.1.17.output.0.ND.HIFLOAT8"
NODE = "add_1_device_0_0.pt"
CALL = "Functional.relu.0.forward.input.0.pt"
CAPTURED = "MatMul.mm.1.3.0.1700000000000009"
BRIEF = "exception_info.12.5.20250102030405678"
TIME = "20240613143502"

TREES = [
    # name, folder of the tensors, a file in it, what every leaf must know
    ("mindspore", "rank_3/Net/2/10", NPY, (3, "Net", 2, 10)),
    ("mindspore", "rank_3/Net/2/constants", NPY, (3, "Net", 2, CONSTANT_ITERATION)),
    ("mindspore-o2", f"5/{TIME}/1/Net_4/11/0", GE, (1, "Net_4", 0, 5)),
    ("mindspore-o2", f"5/{TIME}/1/Net_4/11/0", NPY, (1, "Net_4", 0, 5)),
    ("msprobe", f"rank_2/{TIME}/step_7", NPY, (2, "", 0, 7)),
    ("msprobe", f"rank_2/{TIME}/step_7", RAW, (2, "", 0, 7)),
    ("msprobe", f"rank_2/{TIME}/step_7/{TIME}/4", GE, (2, "", 0, 7)),
    ("torchair", f"worldsize8_global_rank6/{TIME}/1/ge_default/3/9", GE, (6, "ge_default", 0, 9)),
    ("torchair", f"worldsize8_global_rank6/{TIME}/1", GE, (6, "", 0, 0)),
    ("torchair", "worldsize8_global_rank6/1", CAPTURED, (6, "", 0, 0)),
    ("ge", f"{TIME}/1/ge_default_20240613143502_1/11/4", GE, (1, "ge_default_20240613143502_1", 0, 4)),
    ("ge", "2024112145738/0/net/1/0", CSV, (0, "net", 0, 0)),
    ("ge", f"{TIME}/1/net/11", GE, (1, "net", 0, 0)),
    ("ge", f"{TIME}/1/6", GE, (1, "", 0, 6)),
    ("single-operator", f"{TIME}/2", GE, (2, "", 0, 0)),
    ("captured-stream", "3", CAPTURED, (3, "", 0, 0)),
    ("torchair-graph", "worldsize8_global_rank6", NODE, (6, "", 0, 0)),
    ("torchair-graph", "", NODE, (0, "", 0, 0)),
    ("msprobe-api", "step3/rank2/dump_tensor_data", CALL, (2, "", 0, 3)),
    ("msprobe-api", "step3/proc4711/dump_tensor_data", CALL, (4711, "", 0, 3)),
    ("golden", "", GOLDEN, (0, "", 0, 0)),
    ("exception", "extra-info/data-dump/5", BRIEF, (5, "", 0, 0)),
]  # fmt: skip


def make(base, folder, file=""):
    """A tree with one file; the folder that was asked for."""
    leaf = base / folder
    leaf.mkdir(parents=True, exist_ok=True)
    if file:
        (leaf / file).touch()
    return leaf


def places(found):
    return [(leaf.rank, leaf.net_name, leaf.graph_id, leaf.iteration) for leaf in found.folders]


def pointed():
    """Every tree, from the folder above it down to its last folder."""
    for name, folder, file, place in TREES:
        levels = folder.split("/") if folder else []
        for depth in range(-1, len(levels) + 1):
            yield pytest.param(
                name, folder, file, place, depth, id=f"{name}-{folder}-{file[:3]}-{depth}"
            )


@pytest.mark.parametrize(("name", "folder", "file", "place", "depth"), list(pointed()))
def test_a_tree_is_known_from_every_folder_above_and_in_it(
    tmp_path, name, folder, file, place, depth
):
    base = tmp_path / "runs/dump"
    make(base, folder, file)
    (base / "acl_dump_1.json").touch()  # proves the step of O2 for whoever points below it
    where = base.parent if depth < 0 else base.joinpath(*folder.split("/")[:depth])
    found = survey(where)
    assert (found.layout, places(found)) == (name, [place])
    assert found.base == str(base)
    assert os.path.samefile(found.folders[0].path, base / folder)
    assert found.folders[0].names == (file,) or not folder


def test_every_row_is_in_the_table_of_the_tests():
    assert {row.name for row in LAYOUTS} == {name for name, *_ in TREES}


def test_numbers_come_in_their_order(tmp_path):
    for folder in ("rank_0/Net/0/0", "rank_3/Net/0/2", "rank_3/Net/0/10", "rank_3/Net/1/2",
                   "rank_3/Net/0/constants", "rank_3/graphs", "rank_3/execution_order"):  # fmt: skip
        make(tmp_path, folder)
    found = survey(tmp_path)
    assert places(found) == [
        (0, "Net", 0, 0),
        (3, "Net", 0, 2),
        (3, "Net", 0, 10),
        (3, "Net", 0, CONSTANT_ITERATION),
        (3, "Net", 1, 2),
    ]
    assert [(root.path, root.rank) for root in found.roots] == [
        (str(tmp_path / "rank_0"), 0),
        (str(tmp_path / "rank_3"), 3),
    ]


def test_the_rank_above_the_given_folder_gives_its_graphs(tmp_path):
    leaf = make(tmp_path, "rank_3/Net/0/2", NPY)
    assert survey(leaf).roots == ((str(tmp_path / "rank_3"), 3),)


def test_a_rank_with_graphs_alone_is_a_dump(tmp_path):
    make(tmp_path, "rank_3/graphs", "ms_output_trace_code_graph_0.ir")
    found = survey(tmp_path)
    assert (found.layout, found.folders, found.roots) == (
        "mindspore",
        (),
        ((str(tmp_path / "rank_3"), 3),),
    )


def test_steps_above_the_given_folder_are_believed_only_beside_their_form(tmp_path):
    """``5`` may as well be the name that someone gave to the folder of a dump."""
    make(tmp_path, f"5/{TIME}/1/net/11/8", GE)
    assert survey(tmp_path).layout == "mindspore-o2"
    assert (survey(tmp_path / "5").layout, places(survey(tmp_path / "5"))[0][3]) == ("ge", 8)
    (tmp_path / "acl_dump_0.json").touch()
    assert places(survey(tmp_path / "5"))[0][3] == 5


@pytest.mark.parametrize("name", ["graphs", "execution_order", ".dump_metadata", "debug_files"])
def test_folders_beside_the_nets_are_no_nets(tmp_path, name):
    make(tmp_path, "rank_0/Net/0/0", NPY)
    make(tmp_path, f"rank_0/{name}/0/0", NPY)
    assert places(survey(tmp_path)) == [(0, "Net", 0, 0)]


@pytest.mark.parametrize("name", ["rank_", "rank_x", "rank_-1", "Rank_0", "rank_²"])
def test_other_names_are_no_ranks(tmp_path, name):
    make(tmp_path, f"{name}/Net/x", "notes.txt")
    with refused("dump/no-dump", FormatError, got=str(tmp_path)):
        survey(tmp_path)


def test_a_link_to_a_folder_is_not_followed_and_one_in_a_tensors_place_is_not_lost(
    tmp_path, tmp_path_factory
):
    outside = tmp_path_factory.mktemp("outside")
    make(outside, "0/0", NPY)
    leaf = make(tmp_path, "rank_0/Net/0/0", NPY)
    os.symlink(outside, tmp_path / "rank_0/Linked")
    linked, folder = NPY.replace("Add", "Linked"), NPY.replace("Add", "Folder")
    os.symlink(outside / "missing", leaf / linked)
    (leaf / folder).mkdir()
    found = survey(tmp_path)
    assert [leaf.names for leaf in found.folders] == [tuple(sorted((NPY, linked, folder)))]


def test_a_link_that_is_given_is_followed(tmp_path):
    make(tmp_path, "dump/rank_3/Net/0/2", NPY)
    os.symlink(tmp_path / "dump/rank_3", tmp_path / "latest")
    assert places(survey(tmp_path / "latest")) == [(3, "Net", 0, 2)]


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        (lambda path: None, "core/missing"),
        (lambda path: path.write_text(""), "dump/not-a-folder"),
        (lambda path: path.mkdir(), "dump/folder-empty"),
        (lambda path: make(path, "rank_x/1/2/3/4", NPY), "dump/layout-unknown"),
        (lambda path: os.symlink(path, path), ("core/missing", "core/unreadable")),
    ],
)
def test_what_is_no_dump_is_refused_in_words(tmp_path, prepare, code):
    prepare(tmp_path / "x")
    with refused(code, FormatError):
        survey(tmp_path / "x")


SEVERAL = {
    "two of one layout": [("a/rank_0/Net/0/0", NPY), ("b/rank_0/Net/0/0", NPY)],
    "two layouts": [("rank_0/Net/0/0", NPY), (f"{TIME}/0/net/1/0", GE)],
    "tensors above the ranks": [("rank_0/Net/0/0", NPY), ("", NPY)],
    "tensors at two levels": [("1/2", GE), ("", GE)],
    "golden data beside": [("rank_0/Net/0/0", NPY), ("", GOLDEN)],
}


@pytest.mark.parametrize("files", SEVERAL.values(), ids=list(SEVERAL))
def test_several_dumps_are_refused_by_name(tmp_path, files):
    for folder, file in files:
        make(tmp_path / "dumps", folder, file)
    with refused("dump/dumps-several", FormatError, got=str(tmp_path / "dumps")):
        survey(tmp_path / "dumps")


def test_exceptions_lie_beside_any_dump(tmp_path):
    make(tmp_path, f"{TIME}/1/net/11/4", GE)
    make(tmp_path, "extra-info/data-dump/1", BRIEF)
    found = survey(tmp_path)
    assert (found.layout, len(found.folders)) == ("ge", 2)


def test_tensors_of_single_operators_lie_beside_models(tmp_path):
    make(tmp_path, f"{TIME}/1/net/11/4", GE)
    make(tmp_path, f"{TIME}/1", GE)
    found = survey(tmp_path)
    assert (found.layout, sorted(places(found))) == ("ge", [(1, "", 0, 0), (1, "net", 0, 4)])


def test_what_is_not_placed_is_said(tmp_path):
    make(tmp_path, "rank_0/Net/0/0", NPY)
    odd = make(tmp_path, "rank_0/Net/copy of 0", NPY)
    found = survey(tmp_path)
    assert (places(found), found.unplaced) == ([(0, "Net", 0, 0)], (str(odd),))


def test_a_folder_that_cannot_be_listed_is_told(tmp_path, monkeypatch):
    make(tmp_path, "rank_0/Net/0/0", NPY)
    shut = make(tmp_path, "rank_0/Net/0/1", NPY)
    real = os.scandir

    def scandir(path):
        if os.path.samefile(path, shut):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    ((name, why),) = survey(tmp_path).unreadable
    check_said(why, "core/unreadable", subject="folder", why="Permission denied")
    assert name == "rank_0/Net/0/1"
    with refused("core/unreadable", FormatError, place=str(shut), why="Permission denied"):
        survey(shut)


def test_a_tree_of_too_many_folders_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.dump.survey.MAX_FOLDERS", 3)
    make(tmp_path, "rank_0/Net/0/0", NPY)
    with refused("dump/folders", FormatError, got=str(tmp_path), limit=3):
        survey(tmp_path)


@pytest.mark.parametrize(
    "folder",
    ["graphs", "graphs/pid_7_deviceid_0", "graphs/extra-info/graph/7_0", "pid_7_deviceid_0"],
)
def test_graph_files_are_found_wherever_the_environment_put_them(tmp_path, folder):
    make(tmp_path, f"{TIME}/1/net/11/4", GE)
    files = [f"ge_proto_0000000{n}_Build.txt" for n in (0, 1)]
    for name in (*files, "ge_onnx_00000000_Build.pbtxt"):
        home = make(tmp_path, folder, name)
    found = survey(tmp_path)
    assert found.graph_files == tuple(f"{home}/{name}" for name in files)
    assert (found.layout, len(found.folders)) == ("ge", 1)


def test_graph_files_of_the_graph_engine_alone_make_no_dump_of_mindspore(tmp_path):
    make(tmp_path, "graphs/pid_7_deviceid_0", "ge_proto_00000000_Build.txt")
    with refused("dump/no-dump", FormatError):
        survey(tmp_path)
    make(tmp_path, "graphs", "ms_output_trace_code_graph_0.ir")
    assert survey(tmp_path).layout == "mindspore"


def test_folders_of_graphs_are_counted_too(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.dump.survey.MAX_FOLDERS", 6)
    make(tmp_path, f"{TIME}/1", GE)
    for number in range(4):
        make(tmp_path, f"graphs/{number}", "ge_proto_00000000_Build.txt")
    with refused("dump/folders", FormatError, limit=6):
        survey(tmp_path)
