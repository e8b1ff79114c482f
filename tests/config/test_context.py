"""What a form is judged by is told, never guessed."""

import os

import pytest

from kit.words import refused
from workbench.config.context import Context, is_before, version_numbers
from workbench.core.errors import FormatError


@pytest.mark.parametrize(("text", "numbers"), [
    ("", ()),
    ("2", (2,)),
    ("2.7.0", (2, 7, 0)),
    ("2.7.0rc1", (2, 7, 0)),
    ("8.0.RC3", (8, 0)),
    ("2.7.rc1.5", (2, 7)),
    ("26.0.0", (26, 0, 0)),
    ("007.1", (7, 1)),
])  # fmt: skip
def test_a_version_is_its_leading_numbers(text, numbers):
    assert version_numbers(text) == numbers
    assert Context(text).release() == numbers


@pytest.mark.parametrize("text", ["v2.7", "latest", ".", " 2", "-1", "²"])
def test_what_begins_with_no_number_is_no_version(text):
    with refused("config/version-text", FormatError, got=text):
        version_numbers(text)


@pytest.mark.parametrize(("version", "since", "before"), [
    ("26", "26.0", False),
    ("26.0.0", "26", False),
    ("2.7.0rc1", "2.7", False),
    ("2.3", "2.3.1", True),
    ("2.9", "2.10", True),
    ("2.10", "10.0", True),
    ("", "1.0", False),
    ("1.0", "", False),
])  # fmt: skip
def test_a_version_is_older_only_if_a_number_is_smaller(version, since, before):
    assert is_before(version_numbers(version), since) == before


def test_variables_are_those_that_are_told(monkeypatch):
    monkeypatch.setenv("ASCEND_WORK_PATH", "/real")
    assert Context().variable("ASCEND_WORK_PATH") == ""
    assert Context(env={"ASCEND_WORK_PATH": "/told"}).variable("ASCEND_WORK_PATH") == "/told"


def test_paths_are_looked_at_only_here(tmp_path):
    file = tmp_path / "f"
    file.write_text("")
    folder, missing = str(tmp_path), str(tmp_path / "missing")
    for path in (folder, missing, str(file), "", "a\0b", "x" * 5000):
        assert Context().usable_folder(path)
        assert Context().file_exists(path)
    here = Context(here=True)
    assert here.usable_folder(folder)
    assert here.file_exists(str(file))
    for path in (missing, str(file), "", "a\0b", "x" * 5000):
        assert not here.usable_folder(path)
    for path in (missing, folder, "", "a\0b", "x" * 5000):
        assert not here.file_exists(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_not_usable(tmp_path):
    tmp_path.chmod(0o500)
    assert not Context(here=True).usable_folder(str(tmp_path))
    tmp_path.chmod(0o700)
