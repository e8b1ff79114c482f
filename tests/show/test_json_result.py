"""The comparison JSON against its published schema."""

import json
import math
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.sample_results import (
    NASTY,
    make_finding,
    make_result,
    make_row,
    make_step,
    network_result,
)
from kit.words import refused
from workbench.comparison.result import OverrideUse
from workbench.core.errors import FormatError
from workbench.graph.graph import SourceFrame
from workbench.session.comparison import Comparison
from workbench.show.json_result import dumps, from_json, pieces, to_json

FILE = Path(__file__).parents[2] / "docs" / "reference" / "comparison.schema.json"
PUBLISHED = json.loads(FILE.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(PUBLISHED)


def breaches(value):
    """Places where a value departs from the published schema."""
    return [error.json_path for error in VALIDATOR.iter_errors(value)]


def in_order(value, schema):
    """Whether every object has its keys in the order of the schema."""
    schema = next((one for one in schema.get("anyOf", ()) if "properties" in one), schema)
    if isinstance(value, list):
        return all(in_order(item, schema["items"]) for item in value)
    if not isinstance(value, dict) or "properties" not in schema:
        return True
    known = schema["properties"]
    return list(value) == [key for key in known if key in value] and all(
        in_order(item, known[key]) for key, item in value.items()
    )


@pytest.mark.parametrize("result", [make_result(), make_result(rows=()), network_result(334, 2)])
def test_json_has_the_keys_and_types_of_the_contract_and_no_more(result):
    data = json.loads(dumps(result))
    assert breaches(data) == []
    assert in_order(data, PUBLISHED)


def test_iterations_stand_behind_the_contract_and_are_read_again():
    steps = (
        make_step(part="parameters", inherited_error=None),
        make_step(error=math.inf, status="fail", failed=3),
    )
    result = make_result(iterations=steps)
    data = json.loads(dumps(result))
    assert breaches(data) == []
    assert in_order(data, PUBLISHED)
    assert [step["part"] for step in data["iterations"]] == ["parameters", steps[1].part]
    assert from_json(data).iterations == steps


def test_ranks_stand_behind_the_contract_where_there_are_several_and_are_read_again():
    result = make_result(
        rows=(make_row(rank=0), make_row(rank=2)),
        findings=(make_finding(rank=2, iteration=3), make_finding(kind="info", rank=0)),
    )
    data = json.loads(dumps(result))
    assert breaches(data) == []
    assert in_order(data, PUBLISHED)
    assert [one["rank"] for one in data["findings"]] == [2, 0]
    again = from_json(data)
    assert [row.rank for row in again.rows] == [0, 2]
    assert [(one.rank, one.iteration) for one in again.findings] == [(2, 3), (0, 0)]


def test_a_finding_on_the_other_rank_than_every_row_says_so():
    result = make_result(rows=(make_row(rank=0),), findings=(make_finding(rank=1),))
    data = json.loads(dumps(result))
    assert breaches(data) == []
    assert [data["operators"][0]["rank"], data["findings"][0]["rank"]] == [0, 1]


def test_what_became_of_a_map_file_stands_behind_the_contract_and_is_read_again():
    uses = (OverrideUse("ignore", NASTY[1], "random", 0, 0), OverrideUse("pair", "a ↔ b", "", 2, 9))
    result = make_result(overrides=uses)
    data = json.loads(dumps(result))
    assert breaches(data) == []
    assert in_order(data, PUBLISHED)
    assert len(data["overrides"]) == 2
    assert from_json(data).overrides == uses


def test_the_check_itself_notices_a_breach():
    data = json.loads(dumps(network_result(20, 1)))
    data["operators"][3]["status"] = "fine"
    data["findings"][0]["extra"] = 1
    data["target"]["tensors"] = "7"
    del data["operators"][4]["io"]
    places = ["$.findings[0]", "$.operators[3].status", "$.operators[4]", "$.target.tensors"]
    assert sorted(breaches(data)) == places
    swapped = dict(reversed(data.items()))
    assert not in_order(swapped, PUBLISHED)


def objects(schema):
    """Every schema of an object with known keys."""
    if isinstance(schema, list):
        return [found for one in schema for found in objects(one)]
    if not isinstance(schema, dict):
        return []
    found = [one for value in schema.values() for one in objects(value)]
    return [schema, *found] if "properties" in schema else found


def test_the_schema_allows_no_unknown_key_and_describes_every_known_one():
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    for one in objects(PUBLISHED):
        assert one["additionalProperties"] is False
        assert set(one["required"]) <= one["properties"].keys()
        assert all(key["description"] for key in one["properties"].values())


@pytest.mark.parametrize(
    ("value", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_not_finite_figures_are_strings_everywhere(value, text):
    row = make_row(metrics={"MaxAbsoluteError": value}, match_score=value)
    finding = make_finding(own_error=value, inherited_error=value, noise_floor=value, score=value)
    data = to_json(make_result(rows=(row,), findings=(finding,)))
    operator, found = data["operators"][0], data["findings"][0]
    assert operator["metrics"]["MaxAbsoluteError"] == operator["match"]["score"] == text
    assert [found[k] for k in ("own_error", "inherited_error", "noise_floor", "score")] == [
        text
    ] * 4


def test_source_says_whether_the_line_is_a_library_s():
    own = SourceFrame("/srv/net.py", 3, "x = f(x)")
    library = SourceFrame("/venv/lib/python3.11/site-packages/mindspore/nn.py", 9, "return x")
    rows = (make_row(source=own), make_row(source=library), make_row(source=None))
    sources = [operator["source"] for operator in to_json(make_result(rows=rows))["operators"]]
    assert sources == [
        {"file": "/srv/net.py", "line": 3, "code": "x = f(x)", "library": False},
        {**sources[1], "library": True},
        None,
    ]


def test_reading_back_and_writing_again_gives_the_same_text():
    text = dumps(network_result(334, 2))
    assert dumps(from_json(json.loads(text))) == text


@given(st.text(), st.floats(), st.lists(st.text(), max_size=3))
def test_any_text_and_figure_survives_the_round_trip(name, figure, evidence):
    row = make_row(op_name=name, metrics={"MaxAbsoluteError": figure})
    finding = make_finding(op_name=name, own_error=figure, evidence=tuple(evidence))
    text = dumps(make_result(rows=(row,), findings=(finding,)))
    back = from_json(json.loads(text))
    assert (back.rows[0].op_name, back.findings[0].evidence) == (name, tuple(evidence))
    assert repr(back.rows[0].metrics["MaxAbsoluteError"]) == repr(figure)


def test_names_that_are_no_utf8_can_be_written_and_read():
    text = dumps(make_result(rows=(make_row(op_name="a\udcffb"),)))
    assert json.loads(text.encode("utf-8"))["operators"][0]["op_name"] == "a\udcffb"


def test_error_of_a_row_is_read_from_its_relative_distance():
    back = from_json(to_json(make_result(rows=(make_row(), make_row(metrics={})))))
    assert [(row.error, row.order) for row in back.rows] == [(2e-4, 0), (None, 1)]


def broken(path, value):
    data = to_json(network_result(20, 1))
    *parents, last = path
    node = data
    for key in parents:
        node = node[key]
    if value is KeyError:
        del node[last]
    else:
        node[last] = value
    return data


CHOICE, TYPE = "show/json-choice", "show/json-type"
ROW, LINE = "comparison.operators[2]", "comparison.findings[0].source"


@pytest.mark.parametrize(
    ("path", "value", "code", "place", "values"),
    [
        (["schema"], "workbench.comparison/9", CHOICE, "comparison", {"key": "schema"}),
        (["verdict"], "good", CHOICE, "comparison", {"key": "verdict", "got": "good"}),
        (["target"], 7, TYPE, "comparison", {"key": "target", "expected": ["dict"], "got": 7}),
        (["coverage", "matched"], "all", TYPE, "comparison.coverage", {"expected": ["int"]}),
        (["coverage", "matched"], True, TYPE, "comparison.coverage", {"got": True}),
        (["operators", 2, "status"], "odd", CHOICE, ROW, {"key": "status"}),
        (["operators", 2, "match", "score"], "1", TYPE, f"{ROW}.match", {"key": "score"}),
        (["operators", 2], [], TYPE, ROW, {"expected": ["object"], "got": []}),
        (["operators", 2, "io"], KeyError, "show/json-key", ROW, {"key": "io"}),
        (["findings", 0, "kind"], "whim", CHOICE, "comparison.findings[0]", {"key": "kind"}),
        (["findings", 0, "source", "line"], None, TYPE, LINE, {"key": "line", "got": None}),
        (["anomalies", 0, "side"], "left", CHOICE, "comparison.anomalies[0]", {"key": "side"}),
    ],
)
def test_a_broken_file_is_refused_with_the_place_of_the_first_breach(
    path, value, code, place, values
):
    with refused(code, FormatError, place=place, **values):
        from_json(broken(path, value))


def test_what_is_no_object_is_refused_shortly():
    with refused(TYPE, FormatError, place="comparison", expected=["object"]) as caught:
        from_json([0] * 500)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("key", ["slot", "graph_id", "iteration"])
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_whole_numbers_of_more_than_64_bits_are_refused(key, value):
    values = to_json(make_result())
    values["operators"][0][key] = value
    with refused("show/json-type", key=key, expected=["int64"]):
        from_json(values)
    values["operators"][0][key] = 2**63 - 1
    assert getattr(from_json(values).rows[0], key) == 2**63 - 1


def test_the_first_schema_stays_readable():
    data = to_json(make_result())
    assert dumps(from_json({**data, "schema": "workbench.comparison/1"})) == dumps(from_json(data))


FRAMES = tuple(
    SourceFrame("/srv/net.py", line, "x = f(x)", group=group)
    for line, group in ((3, "candidate"), (9, "candidate"), (7, "forward"))
)


def with_frames(frames):
    return to_json(make_result(findings=(make_finding(frames=frames),)))


def test_the_source_of_a_finding_is_the_first_of_its_frames():
    (found,) = with_frames(FRAMES)["findings"]
    assert [one["certainty"] for one in found["frames"]] == ["candidate", "candidate", "forward"]
    assert found["source"] == {k: v for k, v in found["frames"][0].items() if k != "certainty"}
    assert from_json(with_frames(FRAMES)).findings[0].frames == FRAMES


@pytest.mark.parametrize("schema", ["workbench.comparison/1", "workbench.comparison/2"])
def test_a_finding_without_frames_keeps_its_source(schema):
    data = with_frames(FRAMES) | {"schema": schema}
    del data["findings"][0]["frames"]
    assert from_json(data).findings[0].frames == (SourceFrame("/srv/net.py", 3, "x = f(x)"),)
    data["findings"][0]["source"] = None
    assert from_json(data).findings[0].source is None


def test_a_certainty_that_does_not_exist_is_refused():
    data = with_frames(FRAMES)
    data["findings"][0]["frames"][0]["certainty"] = "sure"
    with refused("show/json-choice", key="certainty", got="sure"):
        from_json(data)


@pytest.mark.parametrize("rows", [0, 1, 1000, 1001, 2500])
def test_a_file_has_the_text_of_all_values_at_once(tmp_path, rows):
    left = [make_row(op_name=f"Default/op{n}\u200b", match_rule="name" if n % 3 else "")
            for n in range(rows)]  # fmt: skip
    comparison = Comparison(make_result(rows=left))
    path = comparison.write_json(tmp_path / "result.json")
    text = path.read_text(encoding="utf-8")
    assert text == dumps(comparison.result)
    assert json.loads(text) == comparison.to_json()
    assert len(comparison.to_json()["operators"]) == sum(bool(row.match_rule) for row in left)


def test_the_text_is_made_in_pieces():
    many = list(pieces(make_result(rows=[make_row()] * 5000)))
    assert max(map(len, many)) < len("".join(many)) / 4


def test_the_line_of_an_operator_is_what_the_standard_encoder_writes():
    odd = [
        {"own_error": math.nan, "metrics": {"TargetNaN": 3, "100 % \"off\"": math.inf}},
        {"own_error": None, "metrics": {"TargetNaN": 3, "100 % \"off\"": -0.0}},
        {"metrics": {}, "source": SourceFrame("a%s.py", 3, "x = '%d' % 1\u200b")},
        {"op_name": NASTY[2], "rank": 1, "error": -math.inf, "dont_care": 2},
    ]  # fmt: skip
    result = make_result(rows=[make_row(**one) for one in odd] + [*network_result(334, 2).rows])
    lines = dumps(result).split('"operators": [\n')[1].split("\n]")[0].split(",\n")
    said = to_json(result)["operators"]
    assert lines == [
        " " + json.dumps(one, ensure_ascii=False).replace("\u200b", "\\u200b") for one in said
    ]
