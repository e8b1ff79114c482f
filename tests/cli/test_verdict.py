"""The verdict on a form: its sentence, and the JSON of forms that can be read and of text that cannot."""

import pytest

from kit.words import check_said
from workbench.cli.verdict import unreadable_json, verdict_json, verdict_message
from workbench.config import Context, get, new
from workbench.core.errors import FormatError

FORMS = {
    "accepted": (new("acl"), [("check-none", {})]),
    "with hints": (new("mindspore-o0o1").set("common_dump_settings.iteration", "all"), [("check-hints", {"count": 2})]),
    "refused": (new("acl").set("dump.dump_mode", "some"), [("check-errors", {"count": 1})]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_the_sentence_and_the_json_agree(name):
    form, counts = FORMS[name]
    judged = form.judge(Context())
    row, accepted = form.surface, name != "refused"
    said, found = verdict_message(judged), verdict_json(judged)
    code = "cli/check-accepted" if accepted else "cli/check-refused"
    check_said(said, code, product=row.product, version=row.version, surface=row.name)
    told = [(one.code, dict(one.values)) for one in said.values["found"]]
    assert told == [(f"cli/{code}", values) for code, values in counts]
    assert (found["schema"], found["accepted"]) == ("workbench.config/1", accepted)
    assert (found["surface"], found["version"]) == (row.name, row.version)
    seen = [one["message"] for one in found["problems"]]
    assert seen == [str(one.message) for one in judged.problems]
    assert all(isinstance(one["fix"], str) for one in found["problems"])


@pytest.mark.parametrize(
    ("place", "line"),
    [("net.py:12", 12), ("net.py", 0), ("net.py: byte 4", 0), ("C:/a:b/net.py:3", 3)],
)
def test_what_cannot_be_read_says_where(place, line):
    error = FormatError("config/json", place=place, why="x", excerpt="\nshown below")
    found = unreadable_json(error)
    (problem,) = found["problems"]
    assert (found["surface"], found["version"], found["accepted"]) == ("", "", False)
    assert (problem["id"], problem["severity"], problem["line"]) == ("unreadable", "error", line)
    assert problem["message"] == str(error).partition("\n")[0]


def test_of_a_known_surface_it_has_the_vendors_code_and_version():
    error = FormatError("config/json", place="acl.json:1", why="x", excerpt="")
    for given in ("", "8.0"):
        found = unreadable_json(error, "acl", given)
        assert (found["surface"], found["version"]) == ("acl", given or get("acl").version)
        assert found["problems"][0]["code"] == get("acl").syntax_code == "EP0004"
