"""Widgets of anywidget and the plain ones in their place: both keep the same promises."""

import importlib
import sys

import pytest

import workbench as wb
from kit.face.screen import label, said_in
from workbench.core.words.translate import ENGLISH
from workbench.ui.shell import PARTS
from workbench.ui.widgets import plain
from workbench.ui.widgets.alerts import close_tree
from workbench.ui.widgets.native import lacks_anywidget, make_copy, make_pieces, make_slider
from workbench.ui.widgets.plain import PlainCopy, marked_rows

HTML = (
    '<table><tr data-row="3"><td>ReLU</td><td>fail</td></tr>'
    '<tr data-row="12" aria-selected="true"><td>&lt;b&gt;</td></tr></table>'
)


@pytest.fixture
def without(monkeypatch):
    """A kernel in which importing anywidget fails."""
    monkeypatch.setitem(sys.modules, "anywidget", None)


@pytest.fixture(params=["anywidget", "plain"])
def either(request):
    """Both kinds of kernels."""
    if request.param == "plain":
        request.getfixturevalue("without")
    assert lacks_anywidget() == (request.param == "plain")
    return request.param


def click(pieces, number):
    """Choose a row: as the browser tells of a click, or in the list."""
    if isinstance(pieces, plain.PlainPieces):
        pieces.chooser.value = number
    else:
        pieces._handle_custom_msg({"row": number}, [])


def test_what_is_copied_is_the_text(either):
    copy = make_copy("ui/copy-as-code", ENGLISH)
    copy.text = "print('<&>')\n"
    assert (copy.label, copy.text) == (label("ui/copy-as-code"), "print('<&>')\n")
    close_tree(copy)


def test_a_slider_stays_inside_its_axis_and_tells_of_its_value(either):
    slider = make_slider(2, "axis 2", 7)
    heard = []
    slider.observe(lambda change: heard.append(change["new"]), "value")
    for value in (3, 99, -4):
        slider.value = value
    assert heard == [3, 7, 0]
    assert (slider.axis, slider.max) == (2, 7)
    close_tree(slider)


def test_a_row_of_the_pieces_can_be_chosen(either):
    chosen = []
    pieces = make_pieces(chosen.append)
    pieces.html = HTML
    click(pieces, "3")
    assert chosen == ["3"]
    assert pieces.html == HTML
    close_tree(pieces)


def test_drawing_anew_chooses_nothing(either):
    chosen = []
    pieces = make_pieces(chosen.append)
    for html in (HTML, "", HTML.replace("3", "4"), HTML):
        pieces.html = html
    assert chosen == []
    click(pieces, "3")
    assert chosen == ["3"]
    close_tree(pieces)


@pytest.mark.usefixtures("pictures")
def test_every_panel_works(either):
    bench = wb.Workbench(graph="mlp", faults=["scaled-output:Default/head-Dense/MatMul-op0:2"])
    shell = bench.form()
    shell.parts["run"].run.click()
    assert bench.runner.job.wait(60)
    for number in range(len(PARTS)):
        shell.tabs.selected_index = number
    operator, source = shell.parts["operator"], shell.parts["source"]
    assert "Default/head-Dense/MatMul-op0" in operator.code.text
    assert "MatMul" in operator.above.html
    assert "data-row" in source.lines.html
    assert ("wb-op-live" in source.lines.html) == (either == "anywidget")
    shell.language.value = "zh"
    assert [part.alert.widget.value for part in shell.parts.values()] == [""] * len(PARTS)
    shell.close()


@pytest.mark.parametrize("name", PARTS)
def test_every_panel_also_stands_alone(either, name):
    panel = wb.Workbench(graph="mlp").form(name)
    assert panel.alert.widget.value == ""
    panel.close()


def test_a_form_alone_works(either):
    form = wb.config.new("acl").form()
    form.config = form.config.set("dump.dump_step", "0|5-8")
    assert "0|5-8" in form.code.text
    form.close()


class TestWithoutAnywidget:
    def test_the_panel_says_so_once_and_how_to_mend_it(self, without):
        bench = wb.Workbench(graph="mlp")
        for name in ("", "run"):
            panel = bench.form(name)
            bench.language = "en"
            line = panel.view.children[0]
            assert label("ui/no-anywidget") in line.value
            bench.language = "zh"
            assert label("ui/no-anywidget") not in line.value
            assert label("ui/no-anywidget", "zh") in line.value
            panel.close()

    def test_nothing_is_said_where_nothing_is_missing(self):
        panel = wb.Workbench(graph="mlp").form("run")
        assert all("pip install" not in str(one.get_state()) for one in panel.view.children)
        panel.close()

    def test_a_version_that_does_not_load_is_as_good_as_none(self, monkeypatch, tmp_path):
        (tmp_path / "anywidget.py").write_text("raise AttributeError('no such thing')")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "anywidget", raising=False)
        importlib.invalidate_caches()
        assert lacks_anywidget()

    def test_the_code_is_shown_to_be_copied_by_hand(self):
        copy = PlainCopy("Copy <as> code")
        copy.text = "a < b\n"
        assert copy.area.layout.display == "none"
        copy.toggle.value = True
        assert copy.area.layout.display == ""
        assert ">\na &lt; b\n</textarea>" in copy.area.value
        assert 'aria-label="Copy &lt;as&gt; code"' in copy.area.value
        assert "readonly" in copy.area.value
        close_tree(copy)

    def test_a_slider_has_a_name_that_tells_its_end(self, without):
        slider = make_slider(0, "axis 0", 4)
        assert slider.description == label("ui/axis-range", label="axis 0", last=4)
        close_tree(slider)

    def test_the_list_has_the_rows_and_shows_the_selected_one(self, without):
        pieces = make_pieces(lambda row: None)
        assert pieces.choice.layout.display == "none"
        pieces.html = HTML
        assert pieces.choice.layout.display == ""
        assert list(pieces.chooser.options) == [("–", ""), ("ReLU fail", "3"), ("<b>", "12")]
        assert pieces.chooser.value == "12"
        assert pieces.search.layout.display == "none"
        pieces.html = "<p>nothing</p>"
        assert pieces.choice.layout.display == "none"
        close_tree(pieces)

    def test_of_many_rows_some_are_listed_and_a_filter_finds_the_others(self, without, monkeypatch):
        monkeypatch.setattr(plain, "MOST", 3)
        chosen = []
        pieces = make_pieces(chosen.append)
        pieces.html = "".join(f'<p data-row="{n}">name {n}</p>' for n in range(40))
        assert len(pieces.chooser.options) == 4
        assert label("ui/first-of", n=3, total=40) in pieces.counted.value
        pieces.search.value = "NAME 39"
        assert list(pieces.chooser.options) == [("–", ""), ("name 39", "39")]
        assert said_in(pieces.counted.value) == []
        pieces.chooser.value = "39"
        assert chosen == ["39"]
        close_tree(pieces)


@pytest.mark.parametrize(
    ("html", "rows", "selected"),
    [
        ("", {}, ""),
        ("<p>data-row</p>", {}, ""),
        ('<g data-row="1"><title>whole</title><text>sho…</text></g>', {"1": "whole"}, ""),
        ('<tr data-row="1" data-words="a &amp; b"><td>1</td></tr>', {"1": "a & b"}, ""),
        ('<p data-row="1">Default/<wbr><b>conv</b>1</p>', {"1": "Default/conv1"}, ""),
        ('<div data-row="1">a<div>b<br>c</div>d</div>e', {"1": "a b c d"}, ""),
        ('<i data-row="1">a</i><i data-row="1" aria-selected="true">b</i>', {"1": "a"}, "1"),
        ('<i data-row="1">a<path/></i><i data-row="2">&lt;i data-row="3"&gt;</i>',
         {"1": "a", "2": '<i data-row="3">'}, ""),
        ('<i data-row="1">never closed', {}, ""),
    ],
)  # fmt: skip
def test_rows_are_found_with_their_words(html, rows, selected):
    assert marked_rows(html) == (rows, selected)
