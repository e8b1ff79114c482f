"""Names that a dump may hold although nobody would choose them, in all that a comparison gives out."""

import ast
import csv
import io
import json
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from kit import hostile
from kit.build.sample_results import make_result, make_row
from kit.hostile import GUILTY, NAMES, Page, controls, shown
from workbench.graph.graph import SourceFrame
from workbench.show.html import head_html
from workbench.show.json_result import from_json
from workbench.show.match_html import matches_html
from workbench.show.match_view import match_lines
from workbench.show.report import SECTIONS
from workbench.show.tables import plain_text
from workbench.views.render import operator_html, source_html

SHORT = {key: name for key, name in NAMES.items() if key not in ("long", "wide")}


@pytest.fixture(scope="module")
def found():
    return hostile.comparison()


def operators(found):
    """Key → index of its output's row."""
    rows = [n for n, row in enumerate(found.rows) if row.io == "output"]
    return dict(zip(NAMES, rows, strict=True))


@pytest.fixture(scope="module")
def report(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    pinned = ("long", "colour", "script", "surrogate")
    names = [found.rows[operators(found)[key]].op_name for key in pinned]
    title, notes = NAMES["end"] + NAMES["override"], "\n".join(NAMES.values())
    found.to_html(path, title=title, notes=notes, pins=names)
    return path.read_text(encoding="utf-8")


def without_code(report):
    """The report without the style sheet, the module and the data of its own."""
    head = r'<meta[^>]*>|<style>.*?</style>|<script type="(?:module|application/octet-stream)"[^>]*>.*?</script>'
    assert len(re.findall("<script", report)) == 2
    return re.sub(head, "", report, flags=re.DOTALL)


@pytest.mark.criterion(29)
def test_every_name_is_text_of_the_report(found, report):
    page = Page(without_code(report))
    assert page.wrong == []
    for name in SHORT.values():
        assert shown(name) in page.text
    assert "more]…" in page.text
    assert NAMES["long"] not in re.sub("<pre.*?</pre>", "", without_code(report), flags=re.DOTALL)
    assert set(re.findall(r'<section[^>]*aria-labelledby="(\w+)"', report)) >= set(SECTIONS) - {
        "iterations",
        "unmatched",
    }


def test_the_data_of_the_report_are_the_names_themselves(found, report):
    encoding, text = re.search(
        r'id="data" data-encoding="(\w+)">(.*?)</script>', report, re.DOTALL
    ).groups()
    if encoding == "gzip":
        import base64
        import gzip

        text = gzip.decompress(base64.b64decode(text)).decode()
    told = json.loads(text)
    texts = {text for column in told["columns"] for text in column.get("texts", ())}
    assert {row.op_name for row in found.rows} <= texts


@pytest.mark.parametrize("key", NAMES)
def test_an_operator_is_shown_in_full(found, key):
    sections = (
        "head",
        "source",
        "tensors",
        "worst",
        "neighbours",
        "attributes",
        "ir",
    )  # no figure: they are slow
    page = Page(operator_html(found.operator(operators(found)[key]), sections=sections))
    assert page.wrong == []
    if key in SHORT:
        assert (
            page.text.count(shown(NAMES[key])) >= 5
        )  # name, scope, source line, attributes, neighbours


def test_the_other_fragments_hold_text_alone(found):
    lines = match_lines(found.result)
    fragments = {
        "repr": found._repr_html_(),
        "head": head_html(found.result, "zh"),
        "source": source_html(found.source_map(), clickable=True),
        "matches": matches_html(found.result, lines, all_lines=len(lines)),
        "operator": found.operator(0)._repr_html_(),
        "sources": found.source_map()._repr_html_(),
        "next": found.next_config("mindspore-o0o1")._repr_html_(),
    }
    for key, fragment in fragments.items():
        assert Page(fragment).wrong == [], key
    assert all(shown(name) in Page(fragments["matches"]).text for name in SHORT.values())


def test_static_output_of_a_notebook_is_not_taken_for_mathematics(found):
    for item in (found, found.operator(0), found.source_map()):
        text = item._repr_html_()
        assert re.search(r'<div class="[^"]*\bmathjax_ignore\b', text)


def test_plots_draw_names_as_they_are(found):
    drawn = found.plot()
    assert controls(drawn._repr_svg_()) == []
    assert "Neg-op3" in Page(drawn._repr_svg_()).text
    assert drawn._repr_png_()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    "key", ["maths", "braces", "percent", "colour", "surrogate", "override", "arabic", "long"]
)
def test_a_plot_can_carry_any_name(key):
    from workbench.show.plots.divergence import divergence_svg

    made = wb.Comparison(hostile.blaming(NAMES[key]))
    text = divergence_svg(made.result)
    assert controls(text) == []
    assert Page(text).wrong == []
    assert shown(NAMES[key])[:10] in Page(text).text


def test_what_python_prints_of_the_objects_is_one_readable_line(found):
    graph = hostile.graph()
    items = [
        found, *found.rows, *found.findings, found.operator(0), found.source_map(), graph, hostile.map_file(),
        *hostile.map_file().matches, *hostile.map_file().ignore, *hostile.map_file().tolerances,
        *(row.source for row in found.rows), *found.anomalies, *found.result.overrides, found.result.target,
        wb.Workbench(graph=graph), wb.Workbench(target=NAMES["line"], golden=NAMES["colour"]),
    ]  # fmt: skip
    for item in items:
        assert controls(repr(item)) == []
        assert controls(str(item)) == []
        assert "\n" not in repr(item)
    assert len(repr(found.rows[operators(found)["long"]])) < 2000


def test_json_holds_every_name_whole(found, tmp_path):
    found.to_json(tmp_path / "found.json")
    text = (tmp_path / "found.json").read_text(encoding="utf-8")
    assert controls(text) == []
    assert {row["op_name"] for row in json.loads(text)["operators"]} == {
        row.op_name for row in found.rows
    }
    again = from_json(json.loads(text))
    assert [row.op_name for row in again.rows] == [row.op_name for row in found.rows]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A result whose texts begin with the names, and its CSV."""
    rows = tuple(
        make_row(op_name=name, golden_op_name=name, op_type=name, reason=name, match_rule=name,
                 source=SourceFrame(name, n, name), order=n)
        for n, name in enumerate(NAMES.values())
    )  # fmt: skip
    made = wb.Comparison(make_result(rows=rows))
    return made, made.to_csv(tmp_path_factory.mktemp("csv") / "rows.csv")


def test_csv_gives_every_text_back(table):
    made, path = table
    frame = made.frame()
    again = pd.read_csv(path, keep_default_na=False, dtype=str)
    texts = ("NPUDump", "GroundTruth", "OpType", "MatchRule", "Reason", "Source")
    assert set(texts) <= set(frame.columns)
    for title in texts:
        expected = [text.encode("utf-8", "backslashreplace").decode() for text in frame[title]]
        assert again[title].map(plain_text).tolist() == expected


def test_no_cell_is_a_formula(table):
    text = table[1].read_bytes().decode("utf-8")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert len(cells) > len(NAMES)
    for cell in cells:
        assert not cell.startswith(("=", "@", "\t", "\r"))
        if cell.startswith(("+", "-")):
            float(cell)


def test_the_recipe_of_the_report_can_be_run(found, tmp_path):
    given = {"Python": found.provenance["Python"], "Command": found.provenance["Command"]}
    call = ast.parse(given["Python"]).body[-1].value
    assert [ast.literal_eval(one) for one in call.args] == [
        found.result.target.path,
        found.result.golden.path,
    ]
    assert controls(given["Command"]) == []
    path = (
        "a b\n"
        + "".join(n for key, n in SHORT.items() if key not in ("nul", "surrogate"))
        + hostile.SHELL
    )
    for given_path in (path, "a\udcff\x1b[31m", "plain/path", "größe/权重"):
        line = wb.session.provenance.provenance_texts((given_path, "b"), {"map_file": given_path})[
            "Command"
        ]
        assert controls(line) == []
        told = subprocess.run(
            ["bash", "-c", f"set -- {line}; printf '%s\\0' \"$@\""],
            capture_output=True,
            check=True,
            cwd=tmp_path,
        ).stdout.split(b"\0")
        wanted = given_path.encode("utf-8", "surrogateescape")
        assert told == [b"workbench", b"compare", wanted, b"b", b"--map", wanted, b""]
    assert list(tmp_path.iterdir()) == []


def test_the_minimal_case_is_python_and_names_its_operator(found, tmp_path):
    case = found.operator(operators(found)[GUILTY]).extract(tmp_path / "case")
    for script in Path(case.folder).glob("*.py"):
        ast.parse(script.read_text(encoding="utf-8"))
        assert controls(script.read_text(encoding="utf-8")) == []
    about = json.loads((tmp_path / "case/operator.json").read_text(encoding="utf-8"))
    assert about["op_name"] == found.rows[operators(found)[GUILTY]].op_name
    assert controls(str(case)) == []


def test_a_map_file_says_the_same_after_it_was_written(tmp_path):
    from workbench.comparison.map_file import read_overrides, save_overrides

    made = hostile.map_file()
    save_overrides(made, tmp_path / "map.json")
    assert read_overrides(tmp_path / "map.json") == made


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_errors_show_names_as_text(found, name, tmp_path):
    for wrong in (
        lambda: found.operator(f"no {name}"),
        lambda: wb.compare(tmp_path / name.replace("/", "_")[:200].replace("\0", "0"), tmp_path),
        lambda: wb.config.new(name),
        lambda: setattr(found, "selected", f"no {name}"),
        lambda: wb.Workbench(device=name),
        lambda: wb.Workbench.open(tmp_path / name.replace("/", "_")[:50]),
    ):
        with pytest.raises((wb.WorkbenchError, ValueError)) as caught:
            wrong()
        assert controls(str(caught.value)) == []
