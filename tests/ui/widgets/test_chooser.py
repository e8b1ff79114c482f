"""Choosing a folder or a file: going down and up, what cannot be read, what is too much to list."""

import pytest

from kit.face.screen import label
from workbench.ui.widgets.chooser import MOST, Chooser


@pytest.fixture
def tree(tmp_path):
    for name in ("a", "a/b", "c d"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "net.onnx").write_bytes(b"")
    (tmp_path / "a" / "note.txt").write_bytes(b"")
    return tmp_path


def opened(start, **options):
    chooser = Chooser("target tree", **options)
    chooser.value = str(start)
    chooser.browse.value = True
    return chooser


def test_a_folder_is_found_by_going_down_and_up(tree):
    chooser = opened(tree)
    assert [name for _, name in chooser.list.options] == ["../", "a/", "c d/"]
    chooser.list.value = "a/"
    assert [name for _, name in chooser.list.options] == ["../", "b/"]
    chooser.list.value = "b/"
    chooser.list.value = "../"
    chooser.use.click()
    assert chooser.value == str(tree / "a")
    assert chooser.text.value == chooser.value
    assert chooser.drawer.layout.display == "none"
    chooser.close()


def test_a_file_of_the_right_ending_is_taken_at_once(tree):
    chooser = opened(tree / "a", suffixes=(".onnx",))
    assert [name for _, name in chooser.list.options] == ["../", "b/", "net.onnx"]
    chooser.list.value = "net.onnx"
    assert chooser.value == str(tree / "a" / "net.onnx")
    chooser.close()


def test_what_is_typed_is_the_value(tree):
    chooser = Chooser("target tree")
    chooser.text.value = f"  {tree} "
    assert chooser.value == str(tree)
    chooser.close()


def test_browsing_begins_above_what_is_not_there(tree):
    chooser = opened(tree / "a" / "gone")
    assert ("b/", "b/") in chooser.list.options
    chooser.close()


def test_what_cannot_be_read_is_an_alert_and_the_next_step_works(tree):
    chooser = opened(tree / "no" / "such")
    assert 'role="alert"' in chooser.alert.widget.value
    chooser.text.value = str(tree)
    chooser.browse.value = False
    chooser.browse.value = True
    assert chooser.alert.widget.value == ""
    assert ("a/", "a/") in chooser.list.options
    chooser.close()


def test_a_long_list_says_how_long_it_is(tmp_path):
    for number in range(MOST + 7):
        (tmp_path / f"{number:04}").mkdir()
    chooser = opened(tmp_path)
    assert len(chooser.list.options) == MOST + 1
    assert chooser.counted.value == label("ui/first-entries", most=MOST, n=MOST + 7)
    chooser.close()
