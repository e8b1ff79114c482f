"""The map file: what it may say, and how it is refused."""

from __future__ import annotations

import json

import pytest

from workbench.compare.overrides import NO_OVERRIDES, read_overrides
from workbench.core.errors import WorkbenchError


def read(tmp_path, data):
    path = tmp_path / "map.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return read_overrides(path)


def test_pairs_and_operators_to_ignore_are_read(tmp_path):
    found = read(tmp_path, {"pairs": [{"target": "a", "golden": "b"}], "ignore": ["c", "c"]})
    assert (dict(found.pairs), found.ignore) == ({"a": "b"}, frozenset("c"))
    assert found.path.endswith("map.json")


def test_an_empty_map_file_changes_nothing(tmp_path):
    found = read(tmp_path, {})
    assert (found.pairs, found.ignore) == (NO_OVERRIDES.pairs, NO_OVERRIDES.ignore)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("{", "must be JSON"),
        ([], "got 'list'"),
        ({"pair": []}, r"got \['pair'\]"),
        ({"pairs": {}}, "pairs must be a list"),
        ({"pairs": ["a"]}, r"pairs\[0\] must be"),
        ({"pairs": [{"target": "a"}]}, r"pairs\[0\] must be"),
        ({"pairs": [{"target": "a", "golden": 3}]}, r"pairs\[0\] must be"),
        ({"ignore": "a"}, "ignore must be a list"),
        ({"ignore": [1]}, "ignore must be a list"),
        (
            {"pairs": [{"target": "a", "golden": "b"}, {"target": "a", "golden": "c"}]},
            r"pairs\[1\] must name a target once, got 'a' again",
        ),
        (
            {"pairs": [{"target": "a", "golden": "c"}, {"target": "b", "golden": "c"}]},
            r"pairs\[1\] must name a golden once, got 'c' again",
        ),
    ],
)
def test_what_is_no_map_file_is_refused_with_its_place(tmp_path, data, words):
    with pytest.raises(WorkbenchError, match=words) as error:
        read(tmp_path, data)
    assert str(error.value).startswith(str(tmp_path / "map.json"))


def test_a_missing_or_undecodable_map_file_is_refused(tmp_path):
    with pytest.raises(WorkbenchError, match="readable"):
        read_overrides(tmp_path / "missing.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(WorkbenchError, match="must be JSON"):
        read_overrides(tmp_path / "bytes.json")


def test_a_deeply_nested_map_file_is_refused_and_not_a_crash(tmp_path):
    with pytest.raises(WorkbenchError, match="must be JSON"):
        read(tmp_path, "[" * 100_000)
