"""Parts of outputs that mean nothing: left out where both sides agree what they are, counted, and nowhere else."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build.small_dumps import Net, Shot, file_name, in_memory
from workbench.comparison.map_file import parse_overrides, to_data
from workbench.core.errors import FormatError
from workbench.graph.graph import Const, Param, Value
from workbench.ops.dont_care import DONT_CARE, Whole
from workbench.session.parquet import from_parquet, to_parquet
from workbench.show.json_result import from_json, to_json

B, N, S, D = 2, 2, 4, 8
H = N * D
RNG = np.random.default_rng(33)
QUERY, KEY, VALUE = (RNG.standard_normal((B, S, H)).astype(np.float32) for _ in range(3))
MASK = np.zeros((B, 1, S, S), np.uint8)
MASK[1, 0, 2:] = 1  # the last two rows of the second sequence are padding: they may look at no key


def attention():
    """What the formula gives, with zeros in rows that may look at no key; loops, on purpose."""
    out = np.zeros((B, S, H), np.float32)
    for b in range(B):
        for n in range(N):
            part = slice(n * D, (n + 1) * D)
            for s in range(S):
                open_keys = MASK[b, 0, s] == 0
                if open_keys.any():
                    scores = KEY[b, open_keys, part] @ QUERY[b, s, part]
                    weights = np.exp(scores - scores.max())
                    out[b, s, part] = weights @ VALUE[b, open_keys, part] / weights.sum()
    return out


OUT = attention()
STATISTICS = RNG.standard_normal((B, N, S, 8)).astype(np.float32)


class Flash:
    """A FlashAttentionScore and what reads it, in one run."""

    def __init__(self, out=OUT, statistics=STATISTICS, mask=MASK, **settings):
        self.net, self.shots = Net(), []
        told = {"inner_precise": 0, "sparse_mode": 0, "input_layout": "BSH"} | settings
        none = Const(None, "None")
        feeds = [self.net.feed(name, (B, S, H)) for name in ("query", "key", "value")]
        feeds += [none] * 3
        feeds.append(self.net.feed("attn_mask", mask.shape, "uint8"))
        self.value = self.net.op(
            "FlashAttentionScore", *feeds, outputs=4, shape=(B, S, H), attrs=told
        )
        self.name = file_name(self.net.ops[-1].name)
        for slot, array in enumerate((QUERY, KEY, VALUE)):
            self.shot("FlashAttentionScore", self.name, "input", slot, array)
        self.shot("FlashAttentionScore", self.name, "input", 6, mask)
        for slot, array in enumerate((statistics, statistics, statistics[..., :1], out)):
            self.shot("FlashAttentionScore", self.name, "output", slot, array)
        self.value = Value(self.value.op, 3)
        self.array = out

    def shot(self, *values):
        self.shots.append(Shot(*values))

    def then(self, op_type, compute, *more, wrong=None, attrs=None):
        """Let an operator read the last value; ``more`` are weights, ``wrong`` spoils what it gives."""
        result = compute(self.array, *more).astype(np.float32)
        result = result if wrong is None else wrong(result)
        operands = [self.net.weight(f"w{len(self.net.parameters)}", array.shape) for array in more]
        self.value = self.net.op(
            op_type, self.value, *operands, shape=result.shape, attrs=attrs or {}
        )
        name = file_name(self.net.ops[-1].name)
        for slot, array in enumerate((self.array, *more)):
            self.shot(op_type, name, "input", slot, array)
        self.shot(op_type, name, "output", 0, result)
        self.array = result
        return self

    def dump(self, *, graph=True, without=()):
        shots = [one for one in self.shots if (one.io, one.slot) not in without]
        results = (*(Value(0, slot) for slot in range(3)), self.value)
        return in_memory(shots, *([self.net.graph(*results)] if graph else []))


def garbage(array, *place, value=None):
    """The array with something else at a place; NaN where memory was never written."""
    spoilt = array.copy()
    spoilt[place] = 7.5 if value is None else value
    return spoilt


ROWS = (1, slice(2, 4))
"""Where the mask forbids every key."""


def row_of(found, op_type, io, slot):
    (row,) = (one for one in found.rows if (one.op_type, one.io, one.slot) == (op_type, io, slot))
    return row


CASES = [
    pytest.param(OUT, OUT, {}, "pass", 0, id="nothing differs: nothing is left out"),
    pytest.param(garbage(OUT, *ROWS), OUT, {}, "pass", 2 * H, id="garbage in forbidden rows"),
    pytest.param(garbage(OUT, *ROWS, value=np.nan), OUT, {}, "pass", 2 * H, id="NaN in forbidden rows"),
    pytest.param(
        garbage(OUT, *ROWS, value=np.nan), garbage(OUT, *ROWS, value=np.nan), {}, "pass", 2 * H,
        id="NaN on both sides",
    ),
    pytest.param(garbage(OUT, 1, 1), OUT, {}, "fail", 0, id="garbage in an open row"),
    pytest.param(
        garbage(garbage(OUT, *ROWS), 0, 3), OUT, {}, "fail", 2 * H, id="garbage in both kinds of rows"
    ),
    pytest.param(garbage(OUT, *ROWS), OUT, {"inner_precise": 2}, "fail", 0, id="invalid rows are computed"),
    pytest.param(garbage(OUT, *ROWS), OUT, {"sparse_mode": 3}, "fail", 0, id="the mask is compressed"),
    pytest.param(garbage(OUT, *ROWS), OUT, {"input_layout": "SBH"}, "fail", 0, id="rows lie elsewhere"),
    pytest.param(garbage(OUT, *ROWS), OUT, {"input_layout": 0}, "pass", 2 * H, id="layout by number"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "golden", "settings", "verdict", "count"), CASES)
def test_rows_that_the_mask_forbids(target, golden, settings, verdict, count):
    found = wb.compare(Flash(target, **settings).dump(), Flash(golden, **settings).dump())
    row = row_of(found, "FlashAttentionScore", "output", 3)
    assert (found.verdict, row.dont_care) == (verdict, count)
    assert found.coverage.dont_care == ({"masked-rows": count} if count else {})
    if verdict == "fail":
        assert found.findings[0].op_type == "FlashAttentionScore"
    elif count:
        assert (row.status, row.reason_code, row.error) == ("equal", "compare/left-out", 0.0)


def test_a_symptom_is_of_what_counts():
    found = wb.compare(Flash(garbage(garbage(OUT, *ROWS), 0, 3)).dump(), Flash(OUT).dump())
    assert found.findings[0].symptom.detail.values["value"] == 7.5
    assert found.findings[0].symptom.where.values["start"] == [0, 3, 0]


def test_figures_are_those_of_the_rest():
    small = OUT.copy()
    small[0, 0] *= np.float32(1 + 1e-6)
    found = wb.compare(Flash(garbage(small, *ROWS)).dump(), Flash(OUT).dump())
    row = row_of(found, "FlashAttentionScore", "output", 3)
    kept = np.delete(OUT.reshape(-1, H), [6, 7], axis=0)
    off = np.delete(small.reshape(-1, H), [6, 7], axis=0) - kept
    expected = np.linalg.norm(off.astype(np.float64)) / np.linalg.norm(kept.astype(np.float64))
    assert row.error == pytest.approx(expected, rel=1e-6)
    assert row.status == "pass"


@pytest.mark.parametrize("slot", [0, 1])
def test_statistics_of_forbidden_rows(slot):
    target = Flash()
    at = next(n for n, one in enumerate(target.shots) if (one.io, one.slot) == ("output", slot))
    spoilt = garbage(STATISTICS, 1, slice(None), slice(2, 4))
    target.shots[at] = target.shots[at]._replace(data=spoilt)
    found = wb.compare(target.dump(), Flash().dump())
    row = row_of(found, "FlashAttentionScore", "output", slot)
    assert (found.verdict, row.dont_care) == ("pass", 2 * N * 8)


def other_mask():
    mask = MASK.copy()
    mask[0, 0, 0, 3] = 1
    return mask


@pytest.mark.parametrize(
    ("target", "golden"),
    [
        pytest.param({"mask": other_mask()}, {}, id="masks differ"),
        pytest.param({"mask": MASK * 3}, {"mask": MASK * 3}, id="no mask of zeros and ones"),
        pytest.param(
            {"mask": MASK[:1]}, {"mask": MASK[:1]}, id="the mask forbids no row as a whole"
        ),
        pytest.param({"mask": MASK[:, :, :2]}, {"mask": MASK[:, :, :2]}, id="a mask of fewer rows"),
    ],
)
def test_nothing_is_left_out_if_nobody_knows_where(target, golden):
    found = wb.compare(Flash(garbage(OUT, *ROWS), **target).dump(), Flash(OUT, **golden).dump())
    assert found.verdict == "fail"
    assert {row.dont_care for row in found.rows} == {0}


@pytest.mark.parametrize(
    ("target", "golden"),
    [
        pytest.param({"without": [("input", 6)]}, {}, id="not dumped of the target"),
        pytest.param({}, {"without": [("input", 6)]}, id="not dumped of the golden"),
        pytest.param({"graph": False}, {"graph": False}, id="no graph says which input it is"),
    ],
)
def test_nothing_is_left_out_without_the_mask(target, golden):
    found = wb.compare(Flash(garbage(OUT, *ROWS)).dump(**target), Flash(OUT).dump(**golden))
    assert found.verdict == "fail"
    assert {row.dont_care for row in found.rows} == {0}


# --- what reads it ----------------------------------------------------------------------------

W = RNG.standard_normal((H, 6)).astype(np.float32)


def flat(array):
    return array.reshape(B * S, H)


def network(out, *, wrong=None, last=None):
    """Attention, its rows through Reshape and MatMul, and the sum over all rows, padding among them."""
    run = Flash(out).then("Reshape", flat).then("MatMul", np.matmul, W, wrong=wrong)
    run.then("Tanh", np.tanh)
    if last is not None:
        run.then(last, lambda x: x.sum(0))
    return run.dump()


@pytest.mark.parametrize("value", [7.5, np.nan], ids=["numbers", "NaN"])
def test_rows_are_followed_through_what_treats_rows_alone(value):
    found = wb.compare(network(garbage(OUT, *ROWS, value=value)), network(OUT))
    assert found.verdict == "pass"
    counts = {(row.op_type, row.io): row.dont_care for row in found.rows if row.dont_care}
    expected = {("FlashAttentionScore", "output"): 2 * H, ("Reshape", "input"): 2 * H,
                ("Reshape", "output"): 2 * H, ("MatMul", "input"): 2 * H, ("MatMul", "output"): 12,
                ("Tanh", "input"): 12, ("Tanh", "output"): 12}  # fmt: skip
    assert counts == expected
    assert found.coverage.dont_care == {"masked-rows": sum(expected.values())}


@pytest.mark.parametrize(
    ("row", "verdict"),
    [(0, "fail"), (5, "fail"), (6, "pass")],
)
def test_a_fault_behind_shows_in_every_row_that_counts(row, verdict):
    spoil = lambda array: garbage(array, row)  # noqa: E731
    found = wb.compare(network(garbage(OUT, *ROWS), wrong=spoil), network(OUT))
    if verdict == "fail":
        assert [one.op_type for one in found.findings if one.defect] == ["MatMul"]
    assert found.verdict == verdict


def test_a_sum_over_all_rows_is_neither_right_nor_wrong():
    found = wb.compare(
        network(garbage(OUT, *ROWS), last="BiasAddGrad"), network(OUT, last="BiasAddGrad")
    )
    row = row_of(found, "BiasAddGrad", "output", 0)
    assert (row.status, row.reason_code) == ("uncomparable", "compare/reads-left-out")
    assert not [one for one in found.findings if one.defect]
    assert found.verdict == "incomplete"


def test_replay_still_convicts_a_sum_over_all_rows():
    wrong = Flash(garbage(OUT, *ROWS)).then("Reshape", flat)
    wrong.then("BiasAddGrad", lambda x: x.sum(0), wrong=lambda x: x * np.float32(1.5))
    right = Flash(OUT).then("Reshape", flat).then("BiasAddGrad", lambda x: x.sum(0))
    found = wb.compare(wrong.dump(), right.dump())
    assert found.verdict == "fail"
    assert [one.op_type for one in found.findings if one.defect][:1] == ["BiasAddGrad"]


def layer(run, *, key=None, wrong=None):
    """A second attention that reads the last value as query, and as key or value."""
    first, array = run.value, run.array
    inputs = [first, run.net.feed("key2", (B, S, H)), run.net.feed("value2", (B, S, H))]
    arrays = [array, KEY, VALUE]
    if key is not None:
        inputs[key], arrays[key] = first, array
    inputs += [Const(None, "None")] * 3 + [Param(3)]
    run.value = run.net.op(
        "FlashAttentionScore", *inputs, outputs=4, shape=(B, S, H), attrs=run.net.ops[0].attrs
    )
    run.value = Value(run.value.op, 3)
    name = file_name(run.net.ops[-1].name)
    for slot, one in (*enumerate(arrays), (6, run.shots[3].data)):
        run.shot("FlashAttentionScore", name, "input", slot, one)
    run.array = OUT[::-1].copy() if wrong is None else wrong(OUT[::-1].copy())
    run.shot("FlashAttentionScore", name, "output", 3, run.array)
    return run


PADDED = MASK.copy()
PADDED[1, 0, :, 2:] = 1  # nobody looks at padding


@pytest.mark.parametrize(
    ("mask", "key", "wrong", "verdict"),
    [
        (MASK, None, None, "pass"),
        (PADDED, 1, None, "pass"),
        (PADDED, 2, None, "pass"),
        (PADDED, 2, (1, slice(2, 4)), "pass"),
        (PADDED, 2, (1, 1), "fail"),
        (PADDED, 2, (0, 3), "fail"),
        (MASK, 2, None, "pass"),  # they look at padding, and nothing comes of it
        (MASK, 2, (0, 3), "fail"),
        (MASK, 2, (1, 1), "pass"),  # they look at padding: what comes of it is left out
    ],
)
def test_an_attention_that_reads_an_attention(mask, key, wrong, verdict):
    spoil = None if wrong is None else lambda array: garbage(array, *wrong)
    target = layer(Flash(garbage(OUT, *ROWS), mask=mask), key=key, wrong=spoil)
    found = wb.compare(target.dump(), layer(Flash(mask=mask), key=key).dump())
    assert found.verdict == verdict
    if verdict == "fail":
        names = [one.op_name for one in found.findings if one.defect]
        assert names == ["Default/FlashAttentionScore-op1"]


# --- counts and groups ------------------------------------------------------------------------


def one_operator(op_type, inputs, outputs, graph=True, attrs=None):
    net, shots = Net(), []
    feeds = [net.feed(f"x{n}", one.shape, one.dtype.name) for n, one in enumerate(inputs)]
    net.op(op_type, *feeds, outputs=len(outputs), shape=outputs[0].shape, attrs=attrs or {})
    name = file_name(net.ops[-1].name)
    shots += [Shot(op_type, name, "input", slot, one) for slot, one in enumerate(inputs)]
    shots += [Shot(op_type, name, "output", slot, one) for slot, one in enumerate(outputs)]
    made = net.graph(*(Value(0, slot) for slot in range(len(outputs))))
    return in_memory(shots, *([made] if graph else []))


BOXES = RNG.standard_normal((20, 4)).astype(np.float32)
PICKED = np.array([5, 3, 9, 0, 0, 0], np.int32)
VALID = np.array(3, np.int32)
FOUND = RNG.standard_normal((2, 5, 4)).astype(np.float32)
EACH = np.array([2, 4], np.int32)


@pytest.mark.parametrize("graph", [True, False], ids=["graph", "no graph"])
@pytest.mark.parametrize(
    ("op_type", "outputs", "at", "verdict", "count"),
    [
        ("NonMaxSuppressionV4", (PICKED, VALID), (0, slice(3, 6)), "pass", 3),
        ("NonMaxSuppressionV4", (PICKED, VALID), (0, slice(2, 6)), "fail", 3),
        ("NonMaxSuppressionV5", (PICKED, BOXES[:6, 0], VALID), (1, slice(3, 6)), "pass", 3),
        ("BatchMultiClassNonMaxSuppression", (FOUND, FOUND[..., 0], FOUND[..., 1], EACH),
         (0, (0, slice(2, 5))), "pass", 16),
        ("BatchMultiClassNonMaxSuppression", (FOUND, FOUND[..., 0], FOUND[..., 1], EACH),
         (0, (1, slice(2, 5))), "fail", 16),
        ("BatchMultiClassNonMaxSuppression", (FOUND, FOUND[..., 0], FOUND[..., 1], EACH),
         (2, (0, slice(2, 5))), "pass", 4),
    ],
)  # fmt: skip
def test_behind_the_valid_count(op_type, outputs, at, verdict, count, graph):
    slot, place = at
    spoilt = [garbage(one, *([place] if not isinstance(place, tuple) else place)) if n == slot else one
              for n, one in enumerate(outputs)]  # fmt: skip
    found = wb.compare(
        one_operator(op_type, [BOXES], spoilt, graph),
        one_operator(op_type, [BOXES], outputs, graph),
    )
    row = row_of(found, op_type, "output", slot)
    assert (found.verdict, row.dont_care) == (verdict, count)


ROWS_IN = RNG.standard_normal((30, 8)).astype(np.float32)
WEIGHTS = RNG.standard_normal((3, 8, 5)).astype(np.float32)
ROWS_OUT = RNG.standard_normal((30, 5)).astype(np.float32)


@pytest.mark.parametrize(
    ("groups", "attrs", "first", "verdict"),
    [
        ([12, 14, 18], {"group_list_type": 0}, 18, "pass"),
        ([12, 2, 4], {"group_list_type": 1}, 18, "pass"),
        ([12, 14, 18], {}, 18, "pass"),  # as sizes they would be more rows than there are
        ([12, 2, 4], {}, 18, "pass"),  # as ends they would fall
        ([2, 4, 6], {}, 12, "pass"),  # sizes or ends: as many rows as may be count
        ([2, 4, 6], {}, 6, "fail"),
        ([12, 14, 18], {"group_list_type": 0}, 17, "fail"),
        ([12, 14, 31], {"group_list_type": 0}, 18, "fail"),  # more than there are
        ([12, 14, 18], {"group_type": 2}, 18, "fail"),  # sums over groups
    ],
)  # fmt: skip
def test_rows_behind_the_last_group(groups, attrs, first, verdict):
    inputs = [ROWS_IN, WEIGHTS, np.array(groups, np.int64)]
    spoilt = garbage(ROWS_OUT, slice(first, 30))
    found = wb.compare(
        one_operator("GroupedMatmul", inputs, [spoilt], attrs=attrs),
        one_operator("GroupedMatmul", inputs, [ROWS_OUT], attrs=attrs),
    )
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("op_type", "slot", "graph"),
    [
        ("GroupedMatmul", 0, False),
        ("GroupedMatmulV4", 0, True),
        ("GroupedMatmulSwigluQuant", 0, True),
        ("GroupedMatmulSwigluQuant", 1, True),
        ("GroupedMatmulSwigluQuant", 1, False),
    ],
)
@pytest.mark.parametrize(("first", "verdict"), [(18, "pass"), (17, "fail")])
def test_operators_in_groups(op_type, slot, graph, first, verdict):
    inputs = [ROWS_IN, WEIGHTS, np.array([12, 14, 18], np.int64)]
    right = [ROWS_OUT, ROWS_OUT[:, 0]][: slot + 1]
    wrong = [garbage(one, slice(first, 30)) if n == slot else one for n, one in enumerate(right)]
    pair = [one_operator(op_type, inputs, some, graph) for some in (wrong, right)]
    assert wb.compare(*pair).verdict == verdict


def test_two_vectors_of_int64_name_no_groups():
    inputs = [ROWS_IN, WEIGHTS, *[np.array([12, 14, 18], np.int64)] * 2]
    spoilt = garbage(ROWS_OUT, slice(18, 30))
    pair = [one_operator("GroupedMatmul", inputs, [one]) for one in (spoilt, ROWS_OUT)]
    assert wb.compare(*pair).verdict == "fail"


def test_every_row_names_its_document_and_its_case():
    cases = {"FlashAttentionScore", "LSTM", "GroupedMatmul", "GroupedMatmulV4", "GroupedMatmulSwigluQuant",
             "NonMaxSuppressionV4", "NonMaxSuppressionV5", "BatchMultiClassNonMaxSuppression"}  # fmt: skip
    assert {row.op_type for row in DONT_CARE} == cases
    assert len({(row.op_type, row.slot) for row in DONT_CARE}) == len(DONT_CARE)
    for row in DONT_CARE:
        assert ": " in row.source
        assert row.reason in (
            ("reserved", "rng-state")
            if isinstance(row.region, Whole)
            else ("masked-rows", "behind-groups", "behind-count")
        )


def test_the_documents_list_every_row():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "coverage.md").read_text("utf-8")
    listed = page[page.index("## Excluded elements") :]
    for row in DONT_CARE:
        (line,) = (
            one for one in listed.splitlines() if one.startswith("| `") and f"`{row.reason}`" in one
        )
        assert re.search(rf"\b{row.op_type}\b", line)


# --- where it is told -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told():
    return wb.compare(network(garbage(OUT, *ROWS)), network(OUT))


def test_json_has_the_elements_of_every_row_and_the_sum_of_every_reason(told):
    values = to_json(told.result)
    assert values["coverage"]["dont_care"] == {"masked-rows": 164}
    assert sum(one["dont_care"] for one in values["operators"]) == 164
    back = from_json(values)
    assert back.coverage == told.result.coverage
    assert back.columns.column("dont_care") == told.result.columns.column("dont_care")


def test_json_of_others_has_no_such_key():
    values = to_json(wb.compare(network(OUT), network(OUT)).result)
    assert "dont_care" not in values["coverage"]
    assert not any("dont_care" in one for one in values["operators"])


def test_tables_have_a_column(told, tmp_path):
    path = told.to_csv(tmp_path / "told.csv")
    with Path(path or tmp_path / "told.csv").open(encoding="utf-8-sig", newline="") as file:
        read = list(csv.DictReader(file))
    assert sum(int(line["DontCare"] or 0) for line in read) == 164
    assert told.frame()["DontCare"].sum() == 164
    assert "DontCare" not in wb.compare(network(OUT), network(OUT)).frame()


def test_parquet_keeps_it(told):
    pytest.importorskip("pyarrow")
    back = from_parquet(to_parquet(told.result))
    assert back.columns.column("dont_care") == told.result.columns.column("dont_care")


def test_the_sentence_says_how_many(told):
    clauses = told.result.sentence.values["clauses"]
    (said,) = (one for one in clauses if one.code == "compare/left-out-clause")
    assert dict(said.values) == {"count": 164, "tensors": 7}


# --- what the user says -----------------------------------------------------------------------

LENGTHS = np.array([3, 1], np.int32)
OPEN = np.array([[1, 1, 1, 0], [1, 0, 0, 0]], np.int32)
TOKENS = RNG.standard_normal((2, 4, 5)).astype(np.float32)


def said(entry):
    return parse_overrides({"dont_care": [{"reason": "padding", **entry}]})


@pytest.mark.parametrize("op_type", ["Tanh", "PadTokens"], ids=["replayed", "unknown operator"])
@pytest.mark.parametrize(
    ("entry", "second"),
    [
        ({"op_type": "", "behind": "input.1", "axis": 1}, LENGTHS),
        ({"name": "Default/*-op0", "output": 0, "where_zero": "input.1"}, OPEN),
    ],
    ids=["behind", "where zero"],
)
@pytest.mark.parametrize(
    ("place", "verdict", "count"),
    [((1, slice(1, 4)), "pass", 20), ((0, 2), "fail", 0), ((slice(None), slice(1, 4)), "fail", 20)],
)
def test_an_entry_of_the_map_file(op_type, entry, second, place, verdict, count):
    overrides = said({key: value or op_type for key, value in entry.items() if key != "output"})
    right = np.tanh(TOKENS)
    wrong = garbage(right, *place)
    inputs = [TOKENS, second]
    found = wb.compare(
        one_operator(op_type, inputs, [wrong]),
        one_operator(op_type, inputs, [right]),
        map_file=overrides,
    )
    row = row_of(found, op_type, "output", 0)
    assert (found.verdict, row.dont_care) == (verdict, count)
    (use,) = found.result.overrides
    assert (use.kind, use.reason, use.operators, use.tensors) == (
        "dont-care",
        "padding",
        1,
        int(count > 0),
    )
    if verdict == "pass":
        assert row.reason.values["why"].code == "compare/left-out-map"
        assert found.coverage.dont_care == {"map-file": count}


def test_an_entry_that_fits_nothing_is_told():
    pair = [one_operator("Tanh", [TOKENS], [np.tanh(TOKENS)]) for _ in range(2)]
    found = wb.compare(*pair, map_file=said({"op_type": "Nothing", "behind": "input.0"}))
    assert [one.kind for one in found.anomalies] == ["map-file"]


def test_entries_are_written_as_they_were_read():
    entries = [
        {"op_type": "A", "output": 1, "behind": "output.2", "axis": 3, "reason": "r"},
        {"name": "b*", "output": 0, "where_zero": "input.1", "reason": "s"},
    ]
    assert to_data(parse_overrides({"dont_care": entries}))["dont_care"] == entries


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"op_type": "A", "behind": "input.0", "reason": ""}, "compare/map-text"),
        ({"op_type": "A", "behind": "input.0", "reason": None}, "compare/map-text"),
        ({"behind": "input.0"}, "compare/map-whom"),
        ({"op_type": "A"}, "compare/map-region"),
        ({"op_type": "A", "behind": "input.0", "where_zero": "input.1"}, "compare/map-region"),
        ({"op_type": "A", "where_zero": "input.1", "axis": 1}, "compare/map-region"),
        ({"op_type": "A", "behind": "x.0"}, "compare/map-slot"),
        ({"op_type": "A", "behind": 1}, "compare/map-slot"),
        ({"op_type": "A", "behind": "input.0", "axis": -1}, "compare/map-number"),
        ({"op_type": "A", "behind": "input.0", "output": True}, "compare/map-number"),
        ({"op_type": "A", "beyond": "input.0"}, "compare/map-keys"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(entry, code):
    with pytest.raises(FormatError) as caught:
        said(entry)
    assert caught.value.code == code


def test_an_entry_needs_a_reason():
    with pytest.raises(FormatError) as caught:
        parse_overrides({"dont_care": [{"op_type": "A", "behind": "input.0"}]})
    assert caught.value.code == "compare/map-dont-care-reason"


def test_replay_leaves_out_the_same_and_weighs_nothing_of_it():
    right = np.tanh(TOKENS)
    wrong = garbage(right, 1, slice(1, 4), value=1e30)
    wrong[0, 0, 0] += np.float32(1e-3)
    pair = [one_operator("Tanh", [TOKENS, LENGTHS], [one]) for one in (wrong, right)]
    found = wb.compare(*pair, map_file=said({"op_type": "Tanh", "behind": "input.1", "axis": 1}))
    row = row_of(found, "Tanh", "output", 0)
    kept = np.concatenate([right[0, :3], right[1, :1]])
    expected = 1e-3 / np.linalg.norm(kept.astype(np.float64))
    assert (row.own_error, row.error) == pytest.approx((expected, expected), rel=1e-3)
    assert found.verdict == "fail"


# --- nothing is hidden ------------------------------------------------------------------------


def two_layers(first, second, fault=None):
    """Two attentions and what follows; ``fault`` changes one element of one output, by number of shot and index."""
    run = layer(Flash(first, mask=PADDED), key=2, wrong=second)
    run.then("Reshape", flat).then("MatMul", np.matmul, W).then("Tanh", np.tanh)
    if fault is not None:
        number, place = fault
        shot = run.shots[number]
        run.shots[number] = shot._replace(
            data=garbage(shot.data, *place, value=shot.data[place] * 3 + 1)
        )
    return run


def is_undefined(place, axes):
    """Whether an element lies in a padded row: (batch, row, …), (batch, head, row, …) or (batch · row, …)."""
    if axes == 2:
        return place[0] >= 6
    return place[0] == 1 and place[axes - 2] >= 2


def test_faults_are_found_in_just_the_elements_that_count():
    rng = np.random.default_rng(11)
    rubbish = garbage(OUT, *ROWS), lambda array: garbage(array, *ROWS)
    golden = two_layers(OUT, None).dump()
    assert wb.compare(two_layers(*rubbish).dump(), golden).verdict == "pass"
    shots = two_layers(*rubbish).shots
    outputs = [n for n, one in enumerate(shots) if one.io == "output" and one.slot != 2]
    for _ in range(60):
        number = int(rng.choice(outputs))
        data, name = shots[number].data, shots[number].name
        place = tuple(int(rng.integers(size)) for size in data.shape)
        found = wb.compare(two_layers(*rubbish, (number, place)).dump(), golden)
        if is_undefined(place, data.ndim):
            assert found.verdict == "pass", (name, place)
        else:
            assert found.verdict == "fail", (name, place)
            assert file_name(found.findings[0].op_name) == name, (name, place)
