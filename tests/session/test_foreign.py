"""Hand-made results of every kind, read whole: rows, ledger, verdict, and the views of a comparison."""

from __future__ import annotations

import csv
import json
import sys
import zipfile
from html import unescape
from pathlib import Path

import pytest

import workbench as wb
from kit import trees
from kit.build.sample_results import network_result
from kit.face.screen import label
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.statistics.parse import MANY
from workbench.session import sheets

openpyxl = pytest.importorskip("openpyxl")

RESULTS = Path(__file__).parents[1] / "data" / "results"
FILES = sorted(RESULTS.glob("*.csv"))


def statuses(comparison):
    return [row.status for row in comparison.rows]


def as_workbook(source, path, *, sheet_rows=10_000):
    """Put the rows of a CSV file into a workbook, numbers as numbers, in sheets of a few rows."""
    head, *rows = trees.rows(source)
    book = openpyxl.Workbook(write_only=True)
    for start in range(0, len(rows), sheet_rows):
        sheet = book.create_sheet(f"part_{start}")
        sheet.append(head)
        for row in rows[start : start + sheet_rows]:
            sheet.append([number(cell) for cell in row])
    book.save(path)
    return path


def number(cell):
    try:
        value = float(cell)
    except ValueError:
        return cell or None
    return cell if value != value or value in (float("inf"), float("-inf")) else value


EXPECTED = {
    "compare_result_1_3_20250102030405": ("warn", ["pass", "uncomparable", "uncomparable"], (2, 1, 0)),
    "msaccucmp": (
        "fail", ["pass", "fail", "uncomparable", "uncomparable", "uncomparable"], (3, 1, 1)
    ),
    "msaccucmp_mapping": ("inconclusive", ["uncomparable"] * 2, (1, 1, 0)),
    "msaccucmp_pytorch": ("pass", ["pass"], (1, 0, 0)),
    "msprobe_digests": ("fail", ["pass", "fail", "uncomparable"], (3, 0, 0)),
    "msprobe_graph_statistics": ("pass", ["pass"], (1, 0, 0)),
    "msprobe_statistics": ("fail", ["pass", "fail", "uncomparable", "uncomparable"], (4, 0, 0)),
    "msprobe_tensor": (
        "fail",
        ["pass", "fail", "warn", "pass", "uncomparable", "uncomparable", "uncomparable"],
        (6, 1, 0),
    ),
    "msprobe_tensor_1.0": ("fail", ["pass", "fail", "uncomparable"], (3, 0, 0)),
    "msprobe_torchair": ("fail", ["pass", "fail", "uncomparable"], (3, 0, 0)),
    "msquickcmp": ("fail", ["fail", "pass", "uncomparable"], (3, 0, 0)),
}  # fmt: skip
"""File → verdict, statuses, and how many are matched and alone on either side."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_result_has_its_statuses_and_its_ledger(path):
    found = wb.read_result(path)
    verdict, expected, (matched, target, golden) = EXPECTED[path.stem]
    assert (found.verdict, statuses(found)) == (verdict, expected)
    cover = found.coverage
    assert (cover.matched, cover.unmatched_target, cover.unmatched_golden) == (
        matched,
        target,
        golden,
    )
    assert found.result.target.tensors == matched + target
    assert found.result.golden.tensors == matched + golden
    assert (cover.skipped, found.anomalies, found.findings) == ({}, (), ())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_workbook_reads_like_the_csv(path, tmp_path):
    book = as_workbook(path, tmp_path / f"{path.stem}.xlsx", sheet_rows=2)
    expected, found = wb.read_result(path), wb.read_result(str(book))
    assert str(found.rows) == str(expected.rows)
    assert statuses(found) == statuses(expected)
    assert [row.reason for row in found.rows] == [row.reason for row in expected.rows]
    assert found.sentence == expected.sentence


@pytest.mark.parametrize("path", FILES[::3], ids=lambda path: path.stem)
def test_every_view_of_a_comparison_shows_it(path, tmp_path):
    found = wb.read_result(path)
    assert len(found.frame(order="worst")) == len(found.rows)
    assert found.plot().axes
    assert found.to_html(tmp_path / "r.html").read_text().count("<html") == 1
    assert len(found.to_csv(tmp_path / "r.csv").read_text().splitlines()) == len(found.rows) + 1
    assert len(found.to_json()["operators"]) == found.coverage.matched
    assert found.sentence.split(";")[0].split(" of ")[0] in found._repr_html_()


def test_the_sentence_says_whose_verdict_it_is():
    own = wb.read_result(RESULTS / "msprobe_tensor.csv")
    said = Message(
        "session/foreign-fail",
        failing=1,
        judged=4,
        first="Functional.conv2d.0.forward output:0",
        open=Message("session/foreign-open", count=2),
        tool="msprobe",
        kind="real data",
        judge=Message("session/foreign-verdicts", column="Result"),
    )
    assert own.sentence == str(said)
    assert own.selected.op_name == "Functional.conv2d.0.forward"
    ours = wb.read_result(RESULTS / "msaccucmp.csv")
    assert "msaccucmp" in ours.sentence
    assert ours.result.facts["thresholds"].startswith("CosineSimilarity ≥ 0.99, Relative")


def test_words_and_complex_numbers_are_figures_too(tmp_path):
    """msprobe prints the largest of a bool or complex tensor as Python does."""
    head, row, *_ = trees.rows(RESULTS / "msprobe_statistics.csv")
    cells = dict(zip(head, row, strict=True)) | {"NPU max": "True", "Bench max": "False"}
    other = cells | {"NPU max": "(1.5-2j)", "Bench max": "(nan+1e-05j)", "NPU min": "-infj"}
    path = tmp_path / "r.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, list(cells.values()), list(other.values())])
    first, second = (found.metrics for found in wb.read_result(path).rows)
    assert (first["NPU max"], first["Bench max"]) == (1.0, 0.0)
    assert {title: second[title] for title in second if "(" in title} == pytest.approx(
        {
            "NPU max (real)": 1.5, "NPU max (imaginary)": -2.0,
            "Bench max (real)": float("nan"), "Bench max (imaginary)": 1e-05,
            "NPU min (real)": 0.0, "NPU min (imaginary)": float("-inf"),
        },
        nan_ok=True,
    )  # fmt: skip
    assert "NPU max" not in second
    frame = wb.read_result(path).frame()
    assert frame["NPU max (imaginary)"].tolist()[1] == -2.0


def test_the_report_speaks_of_the_tools_verdicts_and_not_of_ours(tmp_path):
    text = wb.read_result(RESULTS / "msprobe_tensor.csv").to_html(tmp_path / "r.html").read_text()
    text = unescape(text)
    for ours in (
        "show/define-expected",
        "show/findings-none",
        "show/divergence-order",
        "show/means-fail",
    ):
        assert label(ours) not in text
    assert label("show/tool-fail") in text
    assert label("show/findings-tool", tool="msprobe") in text
    assert label("show/defined-by", tool="msprobe") in text


def test_the_name_of_a_file_tells_rank_and_step(tmp_path):
    rows = wb.read_result(RESULTS / "compare_result_1_3_20250102030405.csv").rows
    assert {(row.rank, row.iteration) for row in rows} == {(1, 3)}
    renamed = tmp_path / "compare_result_rank5-rank5_20250102030405.csv"
    renamed.write_bytes((RESULTS / "msprobe_tensor.csv").read_bytes())
    assert {(row.rank, row.iteration) for row in wb.read_result(renamed).rows} == {(5, 0)}


def test_operators_stand_in_the_order_of_the_table_and_repetitions_are_turns(tmp_path):
    text = (RESULTS / "msaccucmp_pytorch.csv").read_text()
    head, row = text.splitlines()
    path = tmp_path / "r.csv"
    path.write_text("\n".join([head, row, row.replace("conv", "relu"), row, ""]))
    rows = wb.read_result(path).rows
    assert [(r.op_name, r.order, r.turn) for r in rows] == [
        ("conv", 0, 0), ("relu", 1, 0), ("conv", 2, 1),
    ]  # fmt: skip


def test_rows_that_cannot_be_read_are_counted_with_their_line(tmp_path):
    text = (RESULTS / "msaccucmp_pytorch.csv").read_text()
    path = tmp_path / "r.csv"
    path.write_text(
        text
        + "\n,,,\n1,2,3,4,5,6,7,8,9,10\n*,*,x\n2,"
        + "a" * 140_000
        + "\n"
        + text.splitlines()[1]
    )
    found = wb.read_result(path)
    assert [row.op_name for row in found.rows] == ["conv", "conv"]
    lines = [f"{path}:{number}" for number in (5, 6, 7)]
    details = [anomaly.detail for anomaly in found.anomalies]
    cells = Message("session/sheet-cells", place=lines[0], expected=9, got=10)
    assert details[:2] == [str(cells), str(Message("session/sheet-operator", place=lines[1]))]
    assert details[2].startswith(f"{lines[2]}: ")
    assert found.coverage.skipped == {"target:bad-row": 3}
    assert found.result.target.tensors == 5


def test_a_short_row_lacks_its_last_cells(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text((RESULTS / "msaccucmp_pytorch.csv").read_text() + "2,relu,/n/relu\n")
    assert [row.status for row in wb.read_result(path).rows] == ["pass", "uncomparable"]


def test_a_byte_order_mark_is_no_title(tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (RESULTS / "msprobe_digests.csv").read_bytes())
    assert len(wb.read_result(path).rows) == 3


@pytest.mark.parametrize(
    ("data", "code", "values"),
    [
        (b"", "result-header", {"got": ""}),
        (b"a,b,c\n1,2,3\n", "result-header", {"got": "['a', 'b', 'c']"}),
        (b"\xd0\xcf\x11\xe0rest", "sheet-old", {}),
        (b"PK\x03\x04rest", "sheet-unreadable", {"kind": "BadZipFile"}),
        (bytes(range(256)), "result-header", {}),
    ],
)
def test_what_is_no_result_is_refused_with_its_place(tmp_path, data, code, values):
    path = tmp_path / "r.csv"
    path.write_bytes(data)
    with refused(f"session/{code}", FormatError, **values) as caught:
        wb.read_result(path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with refused(("core/missing", "core/unreadable", "core/not-a-file"), FormatError):
            wb.read_result(path)


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    book = as_workbook(FILES[0], tmp_path / "r.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with refused("session/openpyxl", path=str(book)):
        wb.read_result(book)


def test_other_sheets_of_a_workbook_are_named_and_left_out(tmp_path):
    path = as_workbook(RESULTS / "msprobe_digests.csv", tmp_path / "r.xlsx")
    book = openpyxl.load_workbook(path)
    book.create_sheet("notes").append(["seen by", "me"])
    book.create_sheet("empty")
    book.save(path)
    found = wb.read_result(path)
    assert len(found.rows) == 3
    assert [(a.kind, a.detail) for a in found.anomalies] == [
        ("unknown-sheet", str(Message("session/sheet-kind", place=f"{path}:notes!1")))
    ]


def test_formulas_are_not_evaluated(tmp_path):
    path = as_workbook(RESULTS / "msaccucmp_pytorch.csv", tmp_path / "r.xlsx")
    book = openpyxl.load_workbook(path)
    book.worksheets[0]["G2"] = "=1/4"
    book.save(path)
    (row,) = wb.read_result(path).rows
    assert "CosineSimilarity" not in row.metrics


def repack(source, target, change):
    """Write a workbook anew, each part as ``change(name, data)`` gives it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return target


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda name, data: data + b" " * (30 << 20) if "sheet1" in name else data,
         "sheet-size"),
        (lambda name, data: b'<!DOCTYPE x [<!ENTITY a "b">]>' + data if "sheet1" in name else data,
         "sheet-xml"),
        (lambda name, data: data.decode().encode("utf-16") if "sheet1" in name else data,
         "sheet-xml"),
        (lambda name, data: b"<worksheet" if "sheet1" in name else data, "sheet-unreadable"),
        (lambda name, data: b"" if "workbook.xml" in name else data, "sheet-unreadable"),
    ],
    ids=["bomb", "entities", "encoding", "cut sheet", "no workbook"],
)  # fmt: skip
def test_hostile_workbooks_are_refused(tmp_path, change, code):
    good = as_workbook(RESULTS / "msprobe_digests.csv", tmp_path / "good.xlsx")
    bad = repack(good, tmp_path / "bad.xlsx", change)
    with refused(f"session/{code}", FormatError) as caught:
        wb.read_result(bad)
    assert str(caught.value).startswith(str(bad))


def test_a_sheet_that_claims_to_be_huge_stays_small(tmp_path):
    good = as_workbook(RESULTS / "msprobe_digests.csv", tmp_path / "good.xlsx")
    huge = b'<dimension ref="A1:XFD1048576"/><sheetData>'

    def grown(name, data):
        return data.replace(b"<sheetData>", huge) if "sheet1" in name else data

    def far(name, data):
        return data.replace(b'<row r="4"', b'<row r="1048000"') if "sheet1" in name else data

    assert len(wb.read_result(repack(good, tmp_path / "wide.xlsx", grown)).rows) == 3
    with refused("session/sheet-blank", FormatError, limit=1000):
        wb.read_result(repack(good, tmp_path / "far.xlsx", far))


def test_bounds_hold_for_csv_and_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "MAX_BYTES", 100)
    with refused("core/too-large", FormatError, limit=100):
        wb.read_result(RESULTS / "msprobe_tensor.csv")
    book = as_workbook(RESULTS / "msprobe_digests.csv", tmp_path / "r.xlsx")
    with refused("session/sheet-size", FormatError):
        wb.read_result(book)
    monkeypatch.setattr(sheets, "MAX_PARTS", 2)
    with refused("session/sheet-parts", FormatError, limit=2):
        wb.read_result(book)


def test_very_many_rows_that_cannot_be_read_are_counted_and_some_told(tmp_path):
    path = tmp_path / "r.csv"
    head, row = (RESULTS / "msprobe_tensor.csv").read_text().splitlines()[:2]
    path.write_text("\n".join([head, row, *[row + "," * 300] * (MANY + 5)]))
    found = wb.read_result(path)
    assert found.coverage.skipped == {"target:bad-row": MANY + 5}
    told = [anomaly.detail for anomaly in found.anomalies]
    assert len(told) == MANY + 1
    assert told[0].startswith(f"{path}:3: ")
    assert told[-1] == str(Message("session/sheet-rows", place=f"{path}:{MANY + 3}"))


def test_a_header_of_very_many_columns_is_refused(tmp_path):
    path = tmp_path / "r.csv"
    head = (RESULTS / "msprobe_tensor.csv").read_text().splitlines()[0]
    path.write_text(head + ",x" * 1000 + "\n")
    with refused("session/result-header", FormatError):
        wb.read_result(path)


def test_the_json_of_a_comparison_is_opened_again(tmp_path):
    made = wb.read_result(RESULTS / "msprobe_tensor.csv")
    written = made.to_json(tmp_path / "r.json")
    assert wb.read_result(tmp_path / "r.json").to_json() == written
    assert wb.read_result(written).to_json() == written  # what `to_json` returned


@pytest.mark.parametrize("before", ["\ufeff", "\n\n", " \r\n\t", "\ufeff\n"])
@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("schema", ["workbench.comparison/1", "workbench.comparison/2"])
def test_the_json_is_read_however_it_is_laid_out_and_of_each_release(
    tmp_path, before, indent, schema
):
    written = wb.Comparison(network_result(20, 1)).to_json()
    path = tmp_path / "r.json"
    text = json.dumps(written | {"schema": schema}, indent=indent)
    path.write_text(before + text, encoding="utf-8")
    assert wb.read_result(path).to_json() == written


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{}", "show/json-key"),
        ('{"schema": "workbench.comparison/9"}', "show/json-choice"),
    ],
)
def test_json_that_is_no_comparison_is_refused_with_its_file(tmp_path, text, code):
    path = tmp_path / "r.json"
    path.write_text(text)
    with refused(code, FormatError, place=f"{path}: comparison"):
        wb.read_result(path)


@pytest.mark.parametrize("text", ["{", "{" * 100_000])
def test_what_is_no_json_is_refused_with_its_file(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        wb.read_result(path)
    assert str(caught.value).startswith(f"{path}: ")
