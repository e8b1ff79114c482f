"""Notebook output, read by the parser of the standard library."""

import dataclasses
import re
from xml.etree.ElementTree import fromstring

import pytest

from kit.build.sample_results import NASTY, make_finding, make_result, make_row, network_result
from kit.face.screen import Document, label
from workbench.comparison.result import Anomaly, Coverage, SideInfo
from workbench.core.text import brief
from workbench.graph.graph import SourceFrame
from workbench.show.html import TOP_ROWS, head_html, repr_html
from workbench.show.templates import _environment


def test_sentence_ledger_findings_and_source_can_be_read():
    result = network_result(334, 2)
    text = Document(repr_html(result)).text
    assert result.sentence in text
    counts = {"tensors": 341, "matched": 334, "unmatched": 4, "skipped": 3}
    assert label("show/equation", **counts) in text
    assert "/srv/train/model.py:175" in text
    assert "x = self.conv3(x)" in text
    assert f"(42 × {label('show/expected-error')})" in text


def test_it_needs_no_script_and_asks_for_nothing():
    page = Document(repr_html(network_result(334, 2)))
    assert not {"script", "img", "iframe", "link", "object", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "url(" not in repr_html(network_result(20, 1))


@pytest.mark.parametrize("name", [*NASTY, "\"'><script>alert(1)</script>", "{{ 7*7 }}{% raw %}"])
def test_strings_of_a_dump_are_shown_literally_wherever_they_stand(name):
    row = make_row(op_name=name, op_type=name, reason=name, status="fail", io=name)
    finding = make_finding(
        op_name=name, op_type=name, evidence=(name,), advice=name,
        frames=(dataclasses.replace(row.source, file=name, code=name),),
    )  # fmt: skip
    result = make_result(
        sentence=name,
        target=SideInfo(name, name, 1),
        coverage=Coverage(0, 1, 0, {f"target:{name}": 1}),
        rows=(row, dataclasses.replace(row, match_rule="", golden_spec=None)),
        findings=(finding,),
        anomalies=(Anomaly("target", name, name, name),),
    )
    page = Document(repr_html(result))
    assert page.text.count(re.sub(r"\s+", " ", name)) >= 12
    assert not {"script", "img", "b"} & set(page.tags)


def test_a_cut_list_says_how_much_is_shown():
    result = network_result(334, 2)
    text = Document(repr_html(result)).text
    assert label("show/of", n=TOP_ROWS, total=338) in text
    many = dataclasses.replace(result, findings=result.findings * 5)
    shown = label("show/of-attribute", n=5, total=15, place=".findings")
    assert shown in Document(repr_html(many)).text


def test_nan_and_inf_lead_the_worst_rows():
    text = Document(repr_html(network_result(334, 2))).text
    assert text.index("NaN") < text.index("Inf")
    worst = text[text.index(label("show/worst-tensors")) :]
    assert re.search(r"ReLU-op130.*NaN.*BiasAdd-op137.*Inf", worst)


def test_a_ledger_that_does_not_add_up_is_not_hidden():
    result = make_result(target=SideInfo("t", "x", 9), coverage=Coverage(matched=1))
    text = Document(repr_html(result)).text
    assert f"({label('show/side-unaccounted', n=8)})" in text


def test_a_partial_result_says_so_first():
    text = Document(repr_html(make_result(partial=True))).text
    assert text.strip().startswith(label("show/partial"))


def test_nothing_at_all_is_still_a_page():
    result = make_result(
        rows=(), verdict="inconclusive", sentence="Nothing could be compared.", coverage=Coverage()
    )
    text = Document(repr_html(result)).text
    assert label("show/verdict-inconclusive") in text
    assert "Nothing could be compared." in text


def test_colors_follow_the_notebook():
    """Each color has one for light and one for dark themes, and the notebook's theme chooses."""
    html = repr_html(make_result())
    style = "".join(re.findall(r"<style>(.*?)</style>", html, re.S))
    declared = set(re.findall(r"(--wb-[\w-]+)\s*:", style))
    assert set(re.findall(r"var\((--wb-[\w-]+)", style)) <= declared
    one_for_all = re.sub(r"light-dark\((#\w+), (?!\1)#\w+\)", "", style)
    assert re.findall(r":[^;{}]*#[0-9a-f]{3,8}\b[^;{}]*", one_for_all) == []
    (schemes,) = re.findall(r"([^{}]*)\{ color-scheme: dark; \}", style)
    assert 'body[data-jp-theme-light="false"] .wb' in schemes
    assert "--wb-back: var(--jp-layout-color1," in style


@pytest.mark.parametrize("ranks", [(0, 0), (0, 2)])
def test_the_rank_of_a_finding_is_shown_where_there_are_several(ranks):
    rows = tuple(make_row(rank=rank) for rank in ranks)
    found = make_finding(rank=ranks[-1], iteration=4)
    page = Document(repr_html(make_result(rows=rows, findings=(found,))))
    assert label("show/iteration", iteration=4) in page.text
    assert (label("show/rank-of", rank=2) in page.text) == (ranks == (0, 2))


def test_worst_rows_tell_their_own_error():
    rows = (make_row(status="fail", own_error=0.0321), make_row(status="fail"))
    html = repr_html(make_result(rows=rows))
    table = html[html.index(f'<th scope="col" class="wb-num">{label("show/col-own")}') :]
    assert table.count("0.0321") == 1
    assert table.count("–</td>") >= 1


def test_all_findings_can_be_unfolded_above_the_explorer():
    result = network_result(334, 2)
    many = dataclasses.replace(result, findings=result.findings * 5)
    page = Document(head_html(many))
    assert label("show/show-all", n=15) in page.text
    assert page.tags.count("li") - sum(len(one.evidence) for one in many.findings) == 15
    few = dataclasses.replace(result, findings=result.findings[:2])
    assert label("show/show-all", n=2) not in Document(head_html(few)).text


def test_a_candidate_line_is_said_to_be_one_and_other_lines_can_be_unfolded():
    frames = tuple(SourceFrame("/w/n.py", line, "f()", group="candidate") for line in (3, 9))
    page = Document(repr_html(make_result(findings=(make_finding(frames=frames),))))
    assert page.text.count(label("show/candidate")) == len(frames)
    assert label("show/more-lines") in page.text
    own = make_finding(frames=(replace_group(frames[0]),))
    page = Document(repr_html(make_result(findings=(own,))))
    assert label("show/candidate") not in page.text
    assert label("show/more-lines") not in page.text


def replace_group(frame):
    """The same line as the operator's own."""
    return dataclasses.replace(frame, group="own")


def test_templates_are_compiled_once_and_anew_when_they_change(tmp_path, monkeypatch):
    from jinja2 import Environment

    from workbench.show import templates

    compiled = []
    real = Environment.compile

    def compile_(self, source, *more, **options):
        compiled.append(source)
        return real(self, source, *more, **options)

    def page(text):
        (tmp_path / "a.j2").write_text(text)
        monkeypatch.setattr(templates, "FOLDER", tmp_path)
        made = templates._environment.__wrapped__()
        return made.get_template("a.j2").render(name="<b>")

    monkeypatch.setattr(Environment, "compile", compile_)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    assert page("{{ name }}") == "&lt;b&gt;"
    (tmp_path / "__pycache__").mkdir()
    assert [page("{{ name }}"), page("{{ name }}"), page("{{ name }}!")] == ["&lt;b&gt;"] * 2 + [
        "&lt;b&gt;!"
    ]
    assert compiled == ["{{ name }}"] * 2 + ["{{ name }}!"]
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    page("{{ 1 }}")
    page("{{ 1 }}")
    assert compiled[3:] == ["{{ 1 }}"] * 2


@pytest.mark.parametrize(
    "name", [*NASTY, "", "a", "/", "a/b/c", "Default/x/Conv2D-op0", "y" * 3000]
)
def test_a_name_is_written_whole_in_two_parts_and_as_text(name):
    text = _environment().from_string("{{ name | named }}").render(name=name)
    tree = fromstring(text)  # of XML: one element, all of it closed
    scope, leaf = ("".join(part.itertext()) for part in tree)
    assert scope + leaf == brief(name)
    assert leaf == "/".join(brief(name).rstrip("/").split("/")[-2:]) or not name.strip("/")
    assert {part.tag for part in tree.iter()} <= {"span", "bdi"}
