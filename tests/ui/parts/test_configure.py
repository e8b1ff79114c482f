"""Where forms come from and go to: another system, a file, a download."""

import base64
import re

import pytest

import workbench as wb
from kit.cases import ONE_OF_A_KIND, nightly
from kit.face.screen import alerts_beside, alerts_in, codes_beside, said_in
from workbench.core.text import escape

ITERATION = "common_dump_settings.iteration"


@pytest.fixture
def panel():
    shown = wb.Workbench(graph="mlp").form("configure")
    yield shown
    shown.close()


@pytest.mark.parametrize("surface", wb.config.SURFACES)
def test_every_system_can_be_begun_anew(panel, surface):
    panel.surface.value = surface
    assert panel.bench.config == wb.config.new(surface)
    assert panel.form.config == panel.bench.config
    assert len(panel.holder.children) == 1
    assert alerts_in(panel) == []


def test_the_preview_counts_the_iterations_of_the_run(panel):
    """Told to run 3, with a form that dumps one, it says so; of very many it previews the first."""
    assert "3 iterations" not in panel.form.preview.value
    panel.bench.iterations = 3
    assert "1 of 3 iterations dumped" in panel.form.preview.value
    panel.bench.config = panel.bench.config.set(ITERATION, "all")
    assert "in 3 iterations" in panel.form.preview.value
    panel.bench.iterations = 1000
    assert said_in(panel.form.preview.value)[0] == "ui/preview-first"
    assert "in 100 iterations" in panel.form.preview.value


def test_converting_says_what_is_lost(panel):
    panel.bench.config = wb.config.new("mindspore-o2").set(ITERATION, "3")
    expected = panel.bench.config.convert("torchair")
    panel.way.value = "convert"
    panel.surface.value = "torchair"
    assert panel.bench.config == expected.config
    assert all(escape(str(loss)) in panel.said.value for loss in expected.losses)
    assert panel.said.value.count("<li>") == len(expected.losses) > 0
    assert said_in(panel.said.value) == ["ui/converted-partly"]
    panel.bench.config = wb.config.new("mindspore-o2")
    panel.surface.value = "mindspore-o0o1"
    losses = len(wb.config.new("mindspore-o2").convert("mindspore-o0o1").losses)
    assert said_in(panel.said.value) == ["ui/converted-partly" if losses else "ui/converted"]


def test_a_refused_form_converts_to_nothing_and_says_why(panel):
    panel.bench.config = wb.config.new("mindspore-o2").set(ITERATION, "x")
    panel.way.value = "convert"
    panel.surface.value = "acl"
    (problem,) = (p for p in panel.bench.config.check() if p.severity == "error")
    assert codes_beside(panel.view, panel.surface) == [problem.id]
    assert panel.surface.value == "mindspore-o2"
    panel.way.value = "new"
    panel.surface.value = "acl"
    assert alerts_in(panel) == []
    assert panel.bench.config == wb.config.new("acl")
    assert panel.bench.refused is None


@pytest.mark.parametrize("surface", nightly([*wb.config.SURFACES], (*ONE_OF_A_KIND, "msprobe")))
def test_what_is_saved_opens_again(tmp_path, surface):
    one = wb.Workbench(wb.config.new(surface)).form("configure")
    one.path.value = str(
        tmp_path / ("f.json" if one.bench.config.surface.language == "json" else "f.py")
    )
    one.save.click()
    other = wb.Workbench(graph="mlp").form("configure")
    other.file.value = one.path.value
    assert alerts_in(other) == []
    assert other.bench.config.to_text() == one.bench.config.to_text()
    one.close()
    other.close()


@pytest.mark.parametrize(("content", "words"), [("{", "json:1"), ("{}", "surface"), (None, "json")])
def test_a_file_that_is_no_form_changes_nothing(panel, tmp_path, content, words):
    before = panel.bench.config
    path = tmp_path / "f.json"
    if content is not None:
        path.write_text(content)
    panel.file.value = str(path)
    (line,) = alerts_beside(panel.view, panel.file.text)
    assert words in line
    assert panel.file.text.value == str(path)
    assert panel.bench.config == before
    panel.surface.value = "acl"
    assert panel.bench.config.surface.name == "acl"


def test_the_download_is_the_form(panel):
    panel.form.fields[ITERATION].input.value = "7"
    data = re.search(r"base64,([^\"]+)", panel.download.value)[1]
    assert base64.b64decode(data).decode() == panel.bench.config.to_text()
    assert '"7"' in base64.b64decode(data).decode()


def test_saving_needs_a_path(panel):
    panel.path.value = " "
    panel.save.click()
    assert codes_beside(panel.view, panel.path) == ["ui/path-empty"]
