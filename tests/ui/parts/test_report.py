"""The panel of the report: what it holds, the files, the code of everything."""

import json

import pytest

import workbench as wb
from kit.face.screen import alerts_beside, alerts_in, label, said_in
from workbench.show.report import SECTIONS
from workbench.ui.bench.export import Export

KERNEL = "Default/head-Dense/MatMul-op0"


@pytest.fixture
def bench():
    made = wb.Workbench(graph="mlp", faults=[f"scaled-output:{KERNEL}:2"])
    made.run()
    return made


@pytest.fixture
def panel(bench, tmp_path):
    shown = bench.form("report")
    for kind, path in shown.paths.items():
        path.value = str(tmp_path / f"r.{kind}")
    yield shown
    shown.close()


@pytest.mark.usefixtures("pictures")
def test_every_file_is_written_and_told(panel, bench, tmp_path):
    for kind, button in panel.writers.items():
        button.click()
        assert alerts_in(panel) == []
        assert f"r.{kind}" in panel.said.value
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "fail"
    assert (tmp_path / "r.csv").read_text().count("\n") == len(bench.comparison.rows) + 1
    assert bench.comparison.sentence[:30] in (tmp_path / "r.html").read_text()


def test_what_is_chosen_is_in_the_report(panel, bench, tmp_path):
    panel.inputs["title"].value = "My <b> title"
    panel.inputs["notes"].value = "two\nlines"
    panel.inputs["sections"].value = ("findings", "provenance")
    panel.writers["html"].click()
    text = (tmp_path / "r.html").read_text()
    assert "My &lt;b&gt; title" in text
    assert "two\nlines" in text
    assert 'id="findings"' in text
    assert 'id="rows"' not in text
    assert bench.export == Export("My <b> title", "two\nlines", ("findings", "provenance"))


def test_a_cell_sets_the_inputs(panel, bench):
    bench.export = Export(title="t", sections=("rows",), pins=(KERNEL, "gone"))
    assert panel.inputs["title"].value == "t"
    assert panel.inputs["sections"].value == ("rows",)
    assert panel.inputs["pins"].value == (KERNEL, "gone")


@pytest.mark.usefixtures("pictures")
def test_the_code_of_everything_writes_the_same_files(panel, bench, tmp_path):
    bench.map_file.tolerate(0.001, "why", name="*ReLU*")
    bench.compare()
    panel.inputs["title"].value = "again"
    bench.comparison.look.query, bench.comparison.look.limit = "dense", 0.01
    assert "comparison.look.query = 'dense'\ncomparison.look.limit = 0.01\n" in panel.code.text
    bench.map_file.ignore("not compared with yet")
    bench.seed = 7
    for button in panel.writers.values():
        button.click()
    kinds = ("html", "json")  # the CSV names the files of the trees, which are new ones
    first = {kind: (tmp_path / f"r.{kind}").read_bytes() for kind in kinds}
    for kind in panel.paths:
        (tmp_path / f"r.{kind}").unlink()
    exec(panel.code.text, {})
    assert {kind: (tmp_path / f"r.{kind}").read_bytes() for kind in kinds} == first
    assert (tmp_path / "r.csv").is_file()


@pytest.mark.parametrize("path", ["", "  ", "/no/such/folder\0/x"])
def test_a_path_that_cannot_be_written_is_said(panel, path):
    panel.paths["html"].value = path
    panel.writers["html"].click()
    assert alerts_beside(panel.view, panel.paths["html"]) == alerts_in(panel) != []
    panel.writers["csv"].click()
    assert alerts_beside(panel.view, panel.paths["csv"]) == []


def test_the_session_is_saved_and_opens_the_same_form(panel, bench, tmp_path):
    panel.session.value = str(tmp_path / "s.json")
    panel.inputs["notes"].value = "kept"
    panel.keep.click()
    other = wb.Workbench.open(tmp_path / "s.json")
    assert other.export == bench.export
    assert other.faults == bench.faults


def test_without_a_comparison_nothing_is_written():
    panel = wb.Workbench(graph="mlp").form("report")
    assert all(button.disabled for button in panel.writers.values())
    assert panel.state == ("pending", "")
    assert list(panel.inputs["sections"].value) == list(SECTIONS)
    panel.close()


def test_pinned_operators_are_told_in_full_beside_the_first_to_blame(panel, bench, tmp_path):
    other = "Default/body-SequentialCell/0-Dense/MatMul-op0"
    panel.inputs["pins"].value = (other,)
    panel.writers["html"].click()
    text = (tmp_path / "r.html").read_text()
    assert text.count('"wb-op-head"') == 2
    panel.inputs["pins"].value = ()
    panel.writers["html"].click()
    assert (tmp_path / "r.html").read_text().count('"wb-op-head"') == 1


def test_the_source_is_in_the_report(panel, tmp_path):
    panel.writers["html"].click()
    text = (tmp_path / "r.html").read_text()
    assert 'id="source"' in text
    assert "models/networks.py" in text[text.index('id="source"') :]


def test_of_many_operators_the_worst_can_be_pinned_and_every_pin_stays(bench, monkeypatch):
    monkeypatch.setattr("workbench.ui.parts.report.MOST", 1)
    panel = bench.form("report")
    assert [name for _, name in panel.inputs["pins"].options] == [
        KERNEL.replace("MatMul", "BiasAdd")
    ]
    bench.export = Export(pins=("Default/body-SequentialCell/0-Dense/MatMul-op0",))
    assert panel.inputs["pins"].value == bench.export.pins
    assert len(panel.inputs["pins"].options) == 2
    panel.close()


class TestInTheBackground:
    def test_a_file_is_written_while_everything_else_works(self, panel, bench, gate, tmp_path):
        slow = gate(type(bench.comparison), "to_html")
        panel.writers["html"].click()
        slow.wait()
        assert said_in(panel.said.value) == ["ui/writing-path"]
        assert all(button.disabled for button in panel.writers.values())
        bench.export = Export(title="A title that came too late")
        assert all(button.disabled for button in panel.writers.values())
        assert bench.runner.start(lambda job: bench.compare()).wait(60)
        slow.open()
        assert panel.background.wait(60)
        assert said_in(panel.said.value) == ["ui/written-size"]
        assert not any(button.disabled for button in panel.writers.values())
        assert bench.export.title not in (tmp_path / "r.html").read_text()

    def test_a_file_that_cannot_be_written_is_an_alert(self, panel, real_threads, tmp_path):
        panel.paths["json"].value = str(tmp_path)
        panel.writers["json"].click()
        assert panel.background.wait(60)
        assert 'role="alert"' in panel.alert_of(panel.writers["json"]).widget.value
        assert panel.said.value == ""
        assert not panel.writers["json"].disabled

    def test_two_files_asked_for_at_once_are_both_written(self, panel, bench, gate, tmp_path):
        slow = gate(type(bench.comparison), "to_html")
        panel.writers["html"].click()
        slow.wait()
        panel._write("csv")  # a click on its way while the buttons were not disabled yet
        slow.open()
        assert panel.background.wait(60)
        assert (tmp_path / "r.html").is_file()
        assert (tmp_path / "r.csv").is_file()


def test_operators_to_pin_are_counted_and_the_rest_is_found_by_a_filter(panel, bench, monkeypatch):
    monkeypatch.setattr("workbench.ui.parts.report.MOST", 3)
    panel.refresh()
    names = {row.op_name for row in bench.comparison.rows if row.op_name}
    listed = [name for _, name in panel.inputs["pins"].options]
    assert len(listed) == 3
    assert label("ui/worst-of", n=3, total=len(names)) in panel.counted.value
    other = sorted(names - set(listed))[0]
    panel.search.value = other.upper()
    assert [name for _, name in panel.inputs["pins"].options] == [other]
    panel.inputs["pins"].value = (other,)
    assert bench.export.pins == (other,)
    panel.search.value = "no such operator"
    assert panel.inputs["pins"].value == (other,)  # what is pinned stays
    assert bench.export.pins == (other,)
    assert label("ui/worst-of", n=0, total=len(names)) in panel.counted.value
    panel.search.value = ""
    assert len(panel.inputs["pins"].options) == 4


def test_operators_of_another_comparison_are_listed_anew(panel, bench):
    before = [name for _, name in panel.inputs["pins"].options]
    bench.faults, bench.graph = (), "lenet"
    bench.run()
    after = {name for _, name in panel.inputs["pins"].options}
    assert after == {row.op_name for row in bench.comparison.rows if row.op_name}
    assert not set(before) >= after
