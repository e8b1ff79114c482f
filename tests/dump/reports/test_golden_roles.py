"""What golden data say of their files: lines that are read, and lines that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.dump.formats.renamed import MANY
from workbench.dump.reports.golden_roles import Role, format_role, header, parse_roles

GOOD = {
    "a.0.1.npy": Role("copy", "b.0.2.npy"),
    "b.0.2.npy": Role("copy", "inputs/x.npy"),
    "c.0.3.npy": Role("unread"),
}
BAD = [
    "a.npy", "a.npy,copy", "a.npy,copy,", "a.npy,copy,b.npy,more", "a.npy,other,b.npy", "a.npy,unread,b.npy",
    "../a.npy,copy,b.npy", "a.npy,copy,../b.npy", "a.npy,copy,/etc/b.npy", "a.npy,copy,inputs/../b.npy",
    "a.npy,copy,b", "a,unread,", ",copy,b.npy", "a\0.npy,unread,", "a.npy,copy,c:\\b.npy",
]  # fmt: skip


def test_what_is_written_is_read():
    lines = [header(), *(format_role(file, role) for file, role in GOOD.items())]
    assert parse_roles(lines) == (GOOD, [])


@pytest.mark.parametrize("line", BAD)
def test_a_line_that_is_none_is_told_with_its_place_and_the_others_count(line):
    found, wrong = parse_roles([header(), line, "c.0.3.npy,unread,"])
    assert found == {"c.0.3.npy": Role("unread")}
    assert [(one.code, str(one).partition(": ")[0]) for one in wrong] == [
        ("dump/role-row", "roles.csv:2")
    ]


def test_many_wrong_lines_are_counted():
    _, wrong = parse_roles(["wrong"] * (MANY + 7))
    assert len(wrong) == MANY + 1
    assert (wrong[-1].code, wrong[-1].values["more"]) == ("dump/mapping-more", 7)


def test_wrong_lines_are_notes_of_the_dump_and_nothing_else_changes(tmp_path):
    np.save(tmp_path / "conv1.0.1700000000000008.npy", np.ones(3))
    before = wb.load(tmp_path)
    (tmp_path / "roles.csv").write_bytes(b"\xff\xfe,copy\n../x.npy,unread,\n")
    dump = wb.load(tmp_path)
    assert [(note.kind, note.name) for note in dump.notes] == [("mapping", "roles.csv")] * 2
    assert (dump.tensors, dump.skipped, dict(dump.roles)) == (before.tensors, (), {})
