"""The report as text: what a reader without a browser can check."""

import base64
import dataclasses
import gzip
import hashlib
import json
import math
import re
from functools import cache

import pytest

from kit.build.sample_results import NASTY, make_result, make_row, make_step, network_result
from kit.cases import nightly
from kit.face.screen import Document, label
from kit.words import refused
from workbench.comparison.result import Anomaly, OverrideUse
from workbench.show.report import SECTIONS, Extras, report_html
from workbench.show.view import LISTED


@cache
def report() -> str:
    """The report of a middling network; to draw one takes a third of a second."""
    return report_html(network_result(334, 2))


def test_two_reports_of_one_result_are_the_same_text():
    assert report_html(network_result(334, 2)) == report()


def test_what_the_user_adds_is_text_and_what_was_rendered_is_kept():
    extras = Extras(
        notes="<b>first</b>\nsecond", provenance={"Command": "workbench compare '<i>'"},
        operators={"Default/<b>": "<p class='x'>one</p>"}, source="<p class='y'>two</p>",
    )  # fmt: skip
    page = Document(report_html(make_result(), extras=extras))
    assert "<b>first</b>" in page.text
    assert "workbench compare '<i>'" in page.text
    assert {"b", "i"} & set(page.tags) == set()
    text = report_html(make_result(), extras=extras)
    assert "<p class='x'>one</p>" in text
    assert "<p class='y'>two</p>" in text
    bare = report_html(make_result(), extras=extras, sections=("findings",))
    assert "class='x'" not in bare
    assert "workbench compare" not in bare


def test_every_match_stands_in_it_or_is_counted():
    rows = [make_row(order=n, op_name=f"a{n}", golden_op_name=f"b{n // 2}") for n in range(7)]
    rows += [make_row(order=9, op_name="same", golden_op_name="same")]
    text = Document(report_html(make_result(rows=tuple(rows)), sections=("alignment",))).text
    assert label("show/matches-caption", n=4, total=4, rest=1) in text
    assert all(row.op_name in text for row in rows[:7])


def test_there_is_no_clock_in_it():
    result = dataclasses.replace(network_result(50, 1), facts={})
    text = report_html(result).replace("2026-11-03", "")  # the folder of the dumps
    assert not re.search(r"\b20\d\d-\d\d-\d\d|\b\d\d:\d\d:\d\d\b|\b(?:GMT|UTC)\b", text)


def test_reading_order_is_sentence_coverage_findings_plot_rows_anomalies_definitions():
    text = Document(report()).text
    codes = (
        "coverage",
        "findings",
        "divergence",
        "anomalies",
        "not-compared",
        "definitions",
        "provenance",
    )
    order = ["self.conv3(x)", *(label(f"show/{code}") for code in codes)]
    places = [text.index(word) for word in order]
    assert places == sorted(places)


def test_the_policy_forbids_requests_and_all_scripts_but_ours():
    text = report_html(network_result(50, 1))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    scripts = re.findall(r'<script type="module">(.*?)</script>', text, re.S)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert policy.startswith("default-src 'none'; ")
    assert [f"'sha256-{digest}'" for digest in digests] == re.findall(r"'sha256-[^']*'", policy)
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_nothing_in_it_points_outside():
    text = report()
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s\"'<>]*", text))
    spaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert {a for a in addresses if a.startswith("http")} <= spaces
    assert not {"link", "iframe", "img", "object"} & set(Document(text).tags)


@pytest.mark.parametrize("rows", [334, 6000])
def test_all_rows_are_in_the_data_whatever_its_encoding(rows):
    result = network_result(rows, 2)
    encoding, text = re.search(
        r'<script type="application/octet-stream" id="data" data-encoding="(\w+)">(.*?)</script>',
        report() if rows == 334 else report_html(result), re.S,
    ).groups()  # fmt: skip
    raw = gzip.decompress(base64.b64decode(text)) if encoding == "gzip" else text
    assert json.loads(raw)["rows"] == len(result.rows)
    assert encoding == ("json" if rows == 334 else "gzip")


def test_names_from_a_dump_stay_text():
    result = network_result(334, 2)
    text = report_html(dataclasses.replace(result, sentence=NASTY[0], facts={NASTY[2]: NASTY[0]}))
    page = Document(text)
    assert NASTY[0] in page.text
    assert page.tags.count("script") == 2
    assert not {"img", "b"} & set(page.tags)


def test_sections_can_be_left_out_but_sentence_and_coverage_cannot():
    result = network_result(60, 1)
    text = Document(report_html(result, sections=())).text
    assert result.sentence in text
    assert label("show/coverage") in text
    assert label("show/findings") not in text
    bare = report_html(result, sections=("findings",))
    assert "<script" not in bare
    assert "script-src &#39;none&#39;" in bare or "script-src 'none'" in bare


def test_an_unknown_section_is_refused_with_the_known_ones():
    with refused("show/some", subject="sections", got=["plots"], known=list(SECTIONS)):
        report_html(make_result(), sections=("plots",))


def test_every_section_has_a_heading_of_its_own():
    result = dataclasses.replace(network_result(334, 2), iterations=(make_step(),))
    text = report_html(result, extras=Extras(operators={"one": "two"}, source="two"))
    assert [name for name in SECTIONS if f'id="{name}"' not in text] == []


def test_the_worst_of_every_part_of_an_iteration_is_shown_escaped():
    steps = [make_step(iteration=n, part=p) for n in (0, 1) for p in ("forward", "backward")]
    bad = make_step(iteration=2, error=math.nan, status="fail", failed=4, op_name=NASTY[0])
    page = Document(report_html(make_result(iterations=(*steps, bad))))
    failed = label("show/failed-of", n=4, total=20)
    iterations = [label("show/iteration", iteration=n) for n in (0, 2)]
    for words in (*iterations, f"NaN {failed}"):
        assert words in page.text
    assert not {"img", "b"} & set(page.tags)
    plain = Document(report_html(make_result()))
    assert label("show/iterations-worst") not in plain.text


def test_what_became_of_a_map_file_is_shown_escaped():
    uses = (
        OverrideUse("tolerance", NASTY[0], "agreed upon", 3, 7),
        *(OverrideUse("ignore", f"Print-op{n}", "", 0, 0) for n in range(LISTED)),
    )
    page = Document(report_html(make_result(overrides=uses)))
    more = label("show/map-file-more", n=1)
    for words in ("agreed upon", "Print-op1", label("show/none"), more):
        assert words in page.text
    assert not {"img", "b"} & set(page.tags)
    assert label("show/map-file") not in Document(report_html(make_result())).text


def test_title_profile_and_facts_are_shown():
    text = Document(report_html(network_result(30, 1), title="LeNet on the new box")).text
    assert "LeNet on the new box" in text
    assert "target.deviceAscend 910B" in text
    assert label("show/profile", profile="noise-floor") in text


def test_a_simulated_device_is_said_in_a_banner():
    result = make_result(facts={"simulated": "910B profile, seed 0"})
    assert f"{label('show/simulated')} 910B profile, seed 0" in Document(report_html(result)).text


def test_file_names_that_are_no_utf8_do_not_stop_the_report():
    result = dataclasses.replace(network_result(30, 1), sentence="broken \udcff name")
    assert "broken \\udcff name" in report_html(result)


@pytest.mark.slow
@pytest.mark.criterion(22)
@pytest.mark.parametrize(
    ("rows", "iterations", "most"),
    nightly(
        [(2_000, 1, 385), (2_000, 2, 385), (2_000, 4, 385), (4_000, 2, 370), (20_000, 4, 960)],
        [(2_000, 4, 385), (20_000, 4, 960)],
    ),
)
def test_a_report_is_small_enough_for_a_letter(rows, iterations, most):
    assert len(report_html(network_result(rows, iterations)).encode()) <= 1000 * most


def test_long_lists_say_where_the_rest_is():
    rows = [make_row(order=n, op_name=f"a{n}", golden_op_name=f"b{n}") for n in range(LISTED)]
    odd = [Anomaly("target", "stale", f"op{n}", "") for n in range(LISTED + 3)]
    text = Document(report_html(make_result(rows=tuple(rows), anomalies=tuple(odd)))).text
    assert label("show/matches-caption-csv", n=LISTED // 2, total=LISTED, rest=0) in text
    assert label("show/of-json", n=LISTED, total=LISTED + 3) in text
