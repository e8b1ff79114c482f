"""Results as parquet: what comes back is what was written, in columns that any reader of parquet reads."""

from __future__ import annotations

import json
import math
import random
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from kit.build.sample_results import make_result, make_row, make_step, network_result
from kit.words import refused
from workbench.comparison.result import OverrideUse
from workbench.comparison.rows import ROWS
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.session import parquet
from workbench.session.parquet import METADATA, from_parquet, signed, to_parquet

NAN, INF = math.nan, math.inf
RESULT = replace(
    network_result(90, 2),
    iterations=(make_step(error=NAN, noise_floor=None),),
    overrides=(OverrideUse("ignore", "*Cast*", "why", 2, 3),),
)

ROWS_OF_ANY_KIND = (
    make_row(),
    make_row(error=None, inherited_error=NAN, noise_floor=-INF, own_error=0.0, match_score=NAN),
    make_row(metrics={"TargetNaN": 3, "MaxAbsoluteError": NAN}, rank=3, graph_id=-1, iteration=-1),
    make_row(metrics={}, source=None, target_spec=None, golden_spec=TensorSpec("bool", ())),
    make_row(target_spec=TensorSpec("", None, ""), golden_spec=TensorSpec("float32", (0, -1), "NC1HWC0")),
    make_row(op_name="Default/größe.γ\x00\n", target_path="a/b.npy", order=2**62, slot=2**31, turn=9),
    make_row(match_rule="", golden_op_name="", status="uncomparable", reason="alone", metrics={"": 1.5}),
)  # fmt: skip


def table_of(content):
    return pq.read_table(pa.BufferReader(content))


def written(table):
    """A file of a table that states its digest, if its metadata have a place for one."""
    out = pa.BufferOutputStream()
    pq.write_table(table, out)
    return signed(out.getvalue().to_pybytes())


def about(table, rest):
    """A table that says other things beside its rows."""
    return table.replace_schema_metadata({**table.schema.metadata, METADATA: rest})


GOOD = to_parquet(RESULT)


@pytest.mark.parametrize(
    "result",
    [RESULT, make_result(rows=ROWS_OF_ANY_KIND), make_result(rows=())],
    ids=["network", "odd", "empty"],
)
def test_everything_that_the_json_holds_comes_back_and_every_row_whole(result, tmp_path):
    written = wb.Comparison(result).to_parquet(tmp_path / "new" / "result.parquet")
    again = wb.Comparison.from_parquet(written)
    assert again.to_json() == wb.Comparison(result).to_json()
    assert again.rows == result.rows
    assert (again.iterations.shape, again.result.overrides) == (
        wb.Comparison(result).iterations.shape, result.overrides,
    )  # fmt: skip


def test_a_tensor_without_a_partner_is_called_unmatched_as_on_screen():
    content = to_parquet(make_result(rows=ROWS_OF_ANY_KIND))
    assert table_of(content)["status"].to_pylist()[-1] == "unmatched"
    assert from_parquet(content).rows[-1].status == "uncomparable"


def test_whole_numbers_stay_whole_and_what_was_not_measured_is_no_nan():
    rows = from_parquet(to_parquet(make_result(rows=ROWS_OF_ANY_KIND))).rows
    assert repr(rows[2].metrics["TargetNaN"]) == "3"
    assert ("MaxAbsoluteError" in rows[2].metrics, "MaxAbsoluteError" in rows[0].metrics) == (
        True,
        False,
    )
    assert (rows[1].error, math.isnan(rows[1].inherited_error)) == (None, True)


def test_reasons_come_back_as_the_text_that_the_json_holds():
    said = Message("compare/only-target")
    (row,) = from_parquet(to_parquet(make_result(rows=(make_row(reason=said),)))).rows
    assert row.reason == str(said)


def test_a_name_that_is_not_unicode_is_written_escaped():
    (row,) = from_parquet(to_parquet(make_result(rows=(make_row(op_name="a\udcff"),)))).rows
    assert row.op_name == "a\\udcff"


def test_every_column_says_its_title_unit_and_meaning():
    schema = table_of(GOOD).schema
    assert {one.name for one in ROWS.columns} - {
        "titles",
        "first",
        "source",
        "target_spec",
        "golden_spec",
    } <= {*schema.names}
    assert all(
        schema.field(name).metadata.keys() == {b"title", b"unit", b"meaning"}
        for name in schema.names
    )
    known = schema.field("metric.MaxAbsoluteError").metadata
    assert (known[b"title"], known[b"unit"], known[b"meaning"]) == (
        b"MaxAbsoluteError",
        b"data",
        b"max|d|",
    )
    assert schema.field("error").type == pa.float64()
    assert json.loads(schema.metadata[METADATA])["schema"] == "workbench.comparison/2"


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused("session/pyarrow"):
        to_parquet(RESULT)
    with refused("session/pyarrow"):
        from_parquet(GOOD)


def test_a_file_that_is_not_there_and_one_that_is_too_large_are_refused(tmp_path, monkeypatch):
    with refused("core/missing"):
        wb.Comparison.from_parquet(tmp_path / "none.parquet")
    path = wb.Comparison(RESULT).to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(parquet, "MAX_BYTES", len(GOOD) - 1)
    with refused("core/too-large"):
        wb.Comparison.from_parquet(path)


@pytest.mark.parametrize(("limit", "what"), [("MAX_ROWS", "rows"), ("MAX_BYTES", "bytes")])
def test_what_unpacks_to_too_much_is_refused(limit, what, monkeypatch):
    table = table_of(GOOD)
    large = written(pa.concat_tables([table] * 40))
    monkeypatch.setattr(parquet, limit, 1000 if what == "rows" else 100_000)
    with pytest.raises(WorkbenchError) as caught:
        from_parquet(large)
    assert (caught.value.code, caught.value.values["what"]) == ("session/parquet-size", what)


def test_few_bytes_that_stand_for_many_values_are_refused(monkeypatch):
    same = pa.concat_tables([table_of(GOOD).slice(0, 1)] * 5000)  # every column repeats one value
    monkeypatch.setattr(parquet, "MAX_BYTES", 250_000)
    with refused("session/parquet-size", FormatError, what="values", limit=250_000):
        from_parquet(written(same))


def changed(name, values, type_=None):
    table = table_of(GOOD)
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values, type_))


COUNT = len(RESULT.rows)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (lambda: table_of(GOOD).replace_schema_metadata({}), "session/parquet-foreign"),
        (lambda: table_of(GOOD).drop_columns(["error"]), "session/parquet-column"),
        (lambda: table_of(GOOD).append_column("error", pa.nulls(COUNT, pa.float64())), "session/parquet-column"),
        (lambda: changed("slot", ["0"] * COUNT), "session/parquet-column"),
        (lambda: changed("slot", [None] * COUNT, pa.int64()), "session/parquet-column"),
        (lambda: changed("op_name", [None] * COUNT, pa.string()), "session/parquet-column"),
        (lambda: changed("metric.TargetNaN", ["x"] * COUNT), "session/parquet-column"),
        (lambda: changed("status", ["good"] * COUNT), "show/json-choice"),
        (lambda: about(table_of(GOOD), b"{"), "session/parquet"),
        (lambda: about(table_of(GOOD), b"[" * 100_000), "session/parquet"),
        (lambda: about(table_of(GOOD), b"{}"), "show/json-key"),
        (lambda: about(table_of(GOOD), b"\xff"), "session/parquet"),
    ],
    ids=[
        "no-metadata", "column-missing", "column-twice", "text-for-number", "gap", "gap-in-text", "metric-text",
        "unknown-status", "half-json", "deep-json", "other-json", "no-utf8",
    ],
)  # fmt: skip
def test_another_table_is_refused_with_a_code(table, code, tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(written(table()))
    with refused(code) as caught:
        wb.Comparison.from_parquet(path)
    assert str(path) in str(caught.value)


def damaged(seed):
    """A file with a few other bytes, cut, or with a piece taken out."""
    rng, content = random.Random(seed), bytearray(GOOD)
    kind = seed % 4
    if kind == 0:
        return bytes(content[: rng.randrange(len(content))])
    if kind == 1:
        start = rng.randrange(len(content))
        del content[start : start + rng.randrange(1, 64)]
    elif kind == 2:  # the footer, on which pyarrow crashes
        for _ in range(3):
            content[rng.randrange(len(content) * 3 // 4, len(content))] = rng.randrange(256)
    else:
        for _ in range(8):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_file_is_refused(seed):
    content = damaged(seed)
    if content == GOOD:
        assert from_parquet(content).rows == RESULT.rows
        return
    with refused(("session/parquet-damaged", "session/parquet-foreign")):
        from_parquet(content)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 4, b"{}", bytes(1000)], ids=repr)
def test_what_is_no_parquet_is_refused(content):
    with refused("session/parquet-foreign"):
        from_parquet(content)


def test_a_file_of_pyarrow_that_is_cut_but_states_its_digest_is_refused():
    with refused("session/parquet"):
        from_parquet(signed(GOOD[: GOOD.rfind(b"PAR1")]))
