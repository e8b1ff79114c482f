"""An envelope in a comparison: what columns, files and the sentence say, and what broken files are told."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build.runs import on_device, on_reference
from workbench.comparison.results.envelope import FACT
from workbench.core.errors import FormatError, GraphError
from workbench.core.plan import DumpPlan
from workbench.dump.dump import Dump
from workbench.dump.index import index_of
from workbench.run.envelope import Envelope, Place, Spread
from workbench.session.envelope import read_envelope, write_envelope
from workbench.show.json_result import from_json

GRAPH = wb.models.load_graph("transformer", 0)
SOFTMAX = [op.name for op in GRAPH.ops if op.op_type == "Softmax"][1]


@pytest.fixture(scope="module")
def envelope():
    return wb.envelope(GRAPH)


@pytest.fixture(scope="module")
def golden():
    return on_reference(GRAPH)


def target(*faults):
    return on_device(GRAPH, "a2", "must_keep_origin_dtype", faults=faults)


def fault(strength):
    from workbench.npu.faults import parse_fault

    return parse_fault(f"scaled-output:{SOFTMAX}:strength={strength}")


@pytest.fixture(scope="module")
def plain(golden):
    """A comparison that finds a fault, without an envelope."""
    return wb.compare(target(fault(1.01)), golden)


@pytest.fixture(scope="module")
def held(golden, envelope):
    """The same, held against one."""
    return wb.compare(target(fault(1.01)), golden, envelope=envelope)


def codes(comparison):
    return [part.code for part in comparison.result.facts[FACT].values["parts"]]


@pytest.mark.parametrize("in_file", [False, True])
def test_a_healthy_device_stays_below(envelope, golden, tmp_path, in_file):
    given = write_envelope(tmp_path / "envelope.json", envelope) if in_file else envelope
    found = wb.compare(target(), golden, envelope=given)
    ratios = [row.envelope for row in found.rows if row.envelope is not None]
    assert len(ratios) > 150
    assert max(ratios) < 2
    assert codes(found) == ["compare/envelope-below"]


def test_a_fault_below_every_threshold_of_norms_is_beyond(envelope, golden):
    found = wb.compare(target(fault(1.0001)), golden, envelope=envelope)
    beyond, below = found.result.facts[FACT].values["parts"]
    assert beyond.values["op_name"] == SOFTMAX
    assert beyond.values["io"] == "output"
    assert beyond.values["times"] > 50
    assert below.code == "compare/envelope-below"


def test_the_verdict_does_not_change(plain, held):
    assert (plain.verdict, plain.sentence, plain.findings) == (
        held.verdict,
        held.sentence,
        held.findings,
    )
    assert [row.status for row in plain.rows] == [row.status for row in held.rows]
    assert FACT not in plain.result.facts


def test_tables_have_the_columns_only_where_an_envelope_was_given(plain, held, tmp_path):
    asked = {"Envelope", "EnvelopeSlice"}
    assert not asked & {*plain.frame().columns}
    assert asked < {*held.frame().columns}
    assert asked < {
        *held.to_csv(tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    }
    assert not any("envelope" in one for one in plain.to_json()["operators"])
    again = from_json(held.to_json())
    kept = [row for row in held.rows if row.match_rule]
    assert [row.envelope for row in again.rows] == [row.envelope for row in kept]
    assert [row.envelope_slice for row in again.rows] == [row.envelope_slice for row in kept]


def test_the_json_fits_the_published_schema(held):
    from jsonschema import Draft202012Validator

    schema = json.loads(Path("docs/reference/comparison.schema.json").read_text(encoding="utf-8"))
    assert not [*Draft202012Validator(schema).iter_errors(held.to_json())]


def test_parquet_keeps_the_columns_and_reads_files_without_them(held, tmp_path):
    pytest.importorskip("pyarrow")
    again = wb.Comparison.from_parquet(held.to_parquet(tmp_path / "rows.parquet"))
    assert [row.envelope_slice for row in again.rows] == [row.envelope_slice for row in held.rows]


def test_the_explorer_shows_them(held):
    from workbench.show.payload import explorer_data

    assert {"envelope", "envelope_slice"} < {
        one["key"] for one in explorer_data(held.result)["columns"]
    }


def test_one_wrong_row_is_far_beyond_as_a_slice(golden):
    """What a norm hides: one row of 24 in float32 is 1e-3 off, in a tensor of which another row is large."""
    still = np.ones((24, 16), np.float32)
    still[0] = 1e4
    moved = still.copy()
    moved[5] *= np.float32(1.001)
    place = Place(0, 0, "Default/A-op0", "output", 0)
    allowed = Envelope({place: Spread((24, 16), 1e-7, (1e-7, 1e-7))})
    found = compare_arrays(moved, still, allowed)
    assert found.envelope < 10
    assert found.envelope_slice == pytest.approx(1e-3 / 1e-7, rel=1e-2)


def compare_arrays(moved, still, allowed):
    from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec

    def dump(array):
        key = TensorKey("A", "Default/A-op0", "output", 0)
        record = TensorRecord(key, TensorSpec("float32", array.shape), ArraySource(array))
        return Dump("memory", "mindspore", index_of([record]))

    (row,) = wb.compare(dump(moved), dump(still), envelope=allowed).rows
    return row


SILENT = {
    "another place": (
        Place(0, 0, "Default/B-op0", "output", 0),
        Spread((16,), 1e-7, (1e-7,)),
        (None, None),
    ),
    "the reference is no number": (
        Place(0, 0, "Default/A-op0", "output", 0),
        Spread((16,), math.inf, (math.inf,)),
        (None, None),
    ),
    "another shape": (
        Place(0, 0, "Default/A-op0", "output", 0),
        Spread((4, 4), 1e-3, (1e-7, 1e-7)),
        (None, None),
    ),
    "slices of one element": (
        Place(0, 0, "Default/A-op0", "output", 0),
        Spread((16,), 1e-3, (1e-7,)),
        (1.0, None),
    ),
}


@pytest.mark.parametrize("case", SILENT)
def test_where_nothing_is_known_nothing_is_said(case):
    place, allowed, expected = SILENT[case]
    still = np.ones(16, np.float32)
    row = compare_arrays(still * np.float32(1.001), still, Envelope({place: allowed}))
    told = [None if one is None else pytest.approx(one, rel=1e-3) for one in expected]
    assert [row.envelope, row.envelope_slice] == told


def test_a_dump_with_its_graph_gives_the_same_envelope_as_the_network(envelope, tmp_path):
    tree = wb.simulate(GRAPH, None, DumpPlan("/dump"), tmp_path / "golden")
    found = wb.envelope(tree)
    shared = found.spreads.keys() & envelope.spreads.keys()
    assert len(shared) > 0.8 * len(envelope.spreads)
    for place in shared:
        assert found.spreads[place].norm == pytest.approx(envelope.spreads[place].norm, rel=1e-6)


def test_a_dump_without_a_graph_gives_none(golden):
    with pytest.raises(GraphError) as error:
        wb.envelope(replace(golden, graphs={}))
    assert error.value.code == "run/envelope-dump"


def test_behind_an_operator_that_cannot_be_computed_nothing_is_said(golden):
    """Its own result is dumped, but in the place of what would have been computed it makes everything too narrow."""
    number = [op.name for op in GRAPH.ops].index(SOFTMAX)
    ops = list(GRAPH.ops)
    ops[number] = replace(ops[number], op_type="CustomSoftmax")
    dump = replace(golden, graphs={key: replace(GRAPH, ops=tuple(ops)) for key in golden.graphs})
    names = {place.op_name for place in wb.envelope(dump).spreads}
    assert ops[number - 1].name in names
    assert ops[number].name not in names
    assert ops[number + 1].name not in names


def test_a_file_gives_the_envelope_again(envelope, tmp_path):
    odd = {
        Place(0, 1, 'a "b"\n', "input", 2, 3, 4): Spread(
            (1, 2, 3), math.inf, (None, math.inf, 1e-300)
        )
    }
    for one in (envelope, Envelope(odd, 2, 9, "float16", "net")):
        again = read_envelope(write_envelope(tmp_path / "envelope.json", one))
        assert dict(again.spreads) == dict(one.spreads)
        assert (again.runs, again.seed, again.dtype, again.network) == (
            one.runs,
            one.seed,
            one.dtype,
            one.network,
        )


GOOD = [0, 0, "Default/A-op0", "output", 0, 0, 0, [4, 1], 1e-7, [1e-7, None]]
BROKEN = {
    "another schema": {"schema": "workbench.envelope/2"},
    "no list": {"tensors": {}},
    "runs": {"runs": 9},
    "runs are text": {"runs": "1"},
    "seed": {"seed": None},
    "network": {"network": 3},
    "a short entry": {"tensors": [GOOD[:-1]]},
    "no entry": {"tensors": [7]},
    "a name that is a number": {"tensors": [[0, 0, 5, *GOOD[3:]]]},
    "a slot that is true": {"tensors": [[*GOOD[:4], True, *GOOD[5:]]]},
    "a negative norm": {"tensors": [[*GOOD[:8], -1.0, [1.0, 1.0]]]},
    "a norm of zero": {"tensors": [[*GOOD[:8], 0, [1.0, 1.0]]]},
    "no norm": {"tensors": [[*GOOD[:8], None, [1.0, 1.0]]]},
    "a slice that is text": {"tensors": [[*GOOD[:9], ["x", 1.0]]]},
    "too many axes": {"tensors": [[*GOOD[:7], [1] * 99, 1.0, [1.0] * 99]]},
    "slices of other axes": {"tensors": [[*GOOD[:9], [1.0]]]},
    "a shape of text": {"tensors": [[*GOOD[:7], ["4", 1], *GOOD[8:]]]},
    "slices that are none": {"tensors": [[*GOOD[:9], 3]]},
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_refused_with_its_name(case, tmp_path):
    data = {
        "schema": "workbench.envelope/1",
        "network": "",
        "runs": 1,
        "seed": 0,
        "dtype": "",
        "tensors": [GOOD],
    }
    path = tmp_path / "envelope.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert len(read_envelope(path)) == 1
    path.write_text(json.dumps(data | BROKEN[case]), encoding="utf-8")
    with pytest.raises(FormatError) as error:
        read_envelope(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "NaN"])
def test_what_is_no_file_of_an_envelope_is_refused(text, tmp_path):
    path = tmp_path / "envelope.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError):
        read_envelope(path)
