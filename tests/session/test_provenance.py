"""How a comparison is made again: what the report says is done, and gives the same report."""

import shlex
from html.parser import HTMLParser

import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import chain, on_disk, shoot
from workbench.cli import main
from workbench.comparison.map_file import read_overrides
from workbench.ui.bench.map_file import MapFile

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
CULPRIT = "Default/MatMul-op1"


class Texts(HTMLParser):
    """Texts of a report that can be copied, by their titles."""

    def __init__(self, path):
        super().__init__()
        self.found, self.title = {}, None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.title = dict(attributes).get("data-copy") if tag == "pre" else None

    def handle_data(self, data):
        if self.title:
            self.found[self.title] = self.found.get(self.title, "") + data


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    root, values = tmp_path_factory.mktemp("a 'pair'"), small.given(GRAPH)
    on_disk(root / "golden", shoot(GRAPH, values), GRAPH)
    on_disk(root / "target", shoot(GRAPH, values, alter={CULPRIT: lambda x: x * 1.01}), GRAPH)
    return root / "target", root / "golden"


def overrides():
    made = MapFile()
    made.match(CULPRIT, CULPRIT)
    made.ignore("*Tanh*", "target", "it's random")
    made.tolerate(0.5, "agreed", op_type="ReLU")
    return made.overrides


def look_around(comparison):
    look = comparison.look
    look.query, look.statuses, look.choices = "'mat\x1b\u202emul'", ("fail",), {"io": "output"}
    look.positions, look.sort, look.factor, look.limit = (0, 2), ("error", True), 3.0, 1e-3
    look.figure = "inherited"
    return comparison


MADE = {
    "plain": lambda c: c,
    "narrowed": lambda c: c.filter(status=("fail", "pass"), iteration=0, query="mat", name="Mat"),
    "without a partner": lambda c: c.filter(rule="", file=""),
    "re-graded and ordered": lambda c: c.regrade(limit=1e-3).sort("error", falling=True),
    "looked at": look_around,
}


TOLD = {"title": "It's <b>", "notes": "two\nlines", "pins": [CULPRIT], "sections": ["provenance", "rows"]}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        *((name, {}, TOLD) for name in MADE),
        ("plain", {"map_file": overrides()}, {}),
        ("plain", {"rank": 0, "profile": "msaccucmp"}, {}),
    ],
)
def test_the_code_of_a_report_gives_the_same_report(pair, tmp_path, monkeypatch, name, options, told):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    comparison = MADE[name](wb.compare(*map(str, pair), **options))
    comparison.to_html(tmp_path / "out" / "first.html", **told)
    texts = Texts(tmp_path / "out" / "first.html").found
    for title, text in texts.items():
        if title.startswith("Map file"):
            (tmp_path / "map.json").write_text(text)
    names = {}
    exec(texts["Python"], names)
    first = (tmp_path / "out" / "first.html").read_bytes()
    assert (tmp_path / "report.html").read_bytes() == first
    assert b"first.html" not in first
    assert names["comparison"].rows == comparison.rows


def test_the_command_of_a_report_makes_the_same_comparison(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    comparison = wb.compare(*map(str, pair), map_file=overrides(), rank=(0, 0))
    comparison.to_html("first.html", sections=["provenance"])
    texts = Texts(tmp_path / "first.html").found
    (tmp_path / "map.json").write_text(texts["Map file (map.json)"])
    assert read_overrides(tmp_path / "map.json") == overrides()
    words = shlex.split(texts["Command"])
    assert words[0] == "workbench"
    with pytest.raises(SystemExit):
        main([*words[1:], "--json", "again.json"])
    comparison.to_json("one.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "one.json").read_bytes()


def test_a_map_file_that_was_read_is_named_and_one_that_was_changed_is_written_out(pair, tmp_path):
    path = tmp_path / "mine.json"
    made = MapFile(overrides())
    made.save(path)
    assert f"--map {path}" in wb.compare(*pair, map_file=path).provenance["Command"]
    edited = MapFile()
    edited.open(path)
    edited.ignore("more")
    texts = wb.compare(*pair, map_file=edited.overrides).provenance
    assert "--map map.json" in texts["Command"]
    assert '"more"' in texts["Map file (map.json)"]
    edited.undo()
    assert f"--map {path}" in wb.compare(*pair, map_file=edited.overrides).provenance["Command"]


def test_what_no_code_can_say_is_said(pair):
    code = wb.compare(*pair).filter(keep=lambda row: row.slot == 0, io="output").to_code()
    assert "# rows are left out by a function that this code does not have" in code
    assert "comparison = comparison.filter(io='output')" in code
    assert "Command" not in wb.compare(*pair).filter(io="output").provenance


def test_a_result_that_was_read_has_no_code(pair, tmp_path):
    comparison = wb.Comparison(wb.compare(*pair).result)
    assert comparison.to_code() == ""
    comparison.to_html(tmp_path / "r.html")
    assert Texts(tmp_path / "r.html").found == {}
