"""How trees are recognised, and which folders of them hold tensors."""

from __future__ import annotations

import os

import pytest

from workbench.core.errors import FormatError
from workbench.dump.layouts import LAYOUTS, detect
from workbench.dump.tree import CONSTANT_ITERATION

FILE = "Add.Add-op0.0.0.1.output.0.DefaultFormat.npy"


@pytest.fixture
def tree(tmp_path):
    """Two ranks; rank 3 has two graphs and constants."""
    for folder in ("rank_0/Net/0/0", "rank_3/Net/0/2", "rank_3/Net/0/10", "rank_3/Net/1/2",
                   "rank_3/Net/0/constants", "rank_3/graphs", "rank_3/execution_order"):  # fmt: skip
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def leaves(path):
    return [tuple(leaf)[1:] for leaf in detect(path).leaves(path)]


def test_every_leaf_knows_its_place_and_numbers_come_in_order(tree):
    assert detect(tree).name == "mindspore"
    assert leaves(tree) == [
        (0, "Net", 0, 0),
        (3, "Net", 0, 2),
        (3, "Net", 0, 10),
        (3, "Net", 0, CONSTANT_ITERATION),
        (3, "Net", 1, 2),
    ]


def test_a_rank_folder_alone_keeps_its_number(tree):
    assert detect(tree / "rank_3").name == "mindspore-rank"
    assert {rank for rank, *_ in leaves(tree / "rank_3")} == {3}


def test_a_rank_folder_under_another_name_is_rank_0(tree):
    (tree / "rank_3").rename(tree / "copied")
    assert {rank for rank, *_ in leaves(tree / "copied")} == {0}


def test_one_folder_of_tensors_is_a_dump(tree):
    folder = tree / "rank_3/Net/0/10"
    (folder / FILE).touch()
    assert detect(folder).name == "mindspore-folder"
    assert leaves(folder) == [(0, "", 0, 0)]


@pytest.mark.parametrize("name", ["graphs", "execution_order", ".dump_metadata", "debug_files"])
def test_folders_beside_the_nets_are_no_nets(tree, name):
    (tree / f"rank_0/{name}/0/0").mkdir(parents=True)
    assert [leaf for leaf in leaves(tree) if leaf[0] == 0] == [(0, "Net", 0, 0)]


@pytest.mark.parametrize("name", ["rank_", "rank_x", "rank_-1", "Rank_0", "rank_²"])
def test_other_names_are_no_ranks(tmp_path, name):
    (tmp_path / name / "Net/x").mkdir(parents=True)
    with pytest.raises(FormatError, match="without rank_N"):
        detect(tmp_path)


def test_a_link_is_not_followed(tree, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "0/0").mkdir(parents=True)
    os.symlink(outside, tree / "rank_0/Linked")
    assert [leaf for leaf in leaves(tree) if leaf[0] == 0] == [(0, "Net", 0, 0)]


def test_the_folder_between_two_levels_is_refused_by_name(tree):
    with pytest.raises(FormatError, match="Net"):
        detect(tree / "rank_3" / "Net")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "nothing"),
        (lambda path: path.write_text(""), "a file"),
        (lambda path: path.mkdir(), "an empty folder"),
    ],
)
def test_what_is_no_dump_is_refused_in_words(tmp_path, make, words):
    make(tmp_path / "x")
    with pytest.raises(FormatError, match=words):
        detect(tmp_path / "x")


def test_a_tree_that_two_layouts_recognise_is_refused(tree):
    """A folder with tensors of its own and a rank folder below it: which one is meant?"""
    (tree / FILE).touch()
    with pytest.raises(FormatError, match="one layout"):
        detect(tree)


def test_names_of_layouts_are_unique():
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS)
