"""ATC's model as JSON: GE's own text of the same model is the oracle; what is no model is refused with its field."""

from __future__ import annotations

import json

import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, given, settings

from kit.build.ge_random import models
from kit.cases import examples
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.graph_files.ge.model_json import parse_model_json
from workbench.graph_files.ge.text import parse_ge_text


def as_json(message):
    """A message as ATC writes it, told by protobuf's descriptors."""
    found = {}
    for row, value in message.ListFields():
        if row.message_type is not None and row.message_type.GetOptions().map_entry:
            found[row.name] = [{"key": key, "value": as_json(one)} for key, one in value.items()]
        elif row.is_repeated:
            found[row.name] = [scalar(row, one) for one in value]
        else:
            found[row.name] = scalar(row, value)
    return found


def scalar(row, value):
    if row.message_type is not None:
        return as_json(value)
    if row.enum_type is not None:
        word = row.enum_type.values_by_number.get(value)
        return value if word is None else word.name
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return repr(value) if isinstance(value, float) else value


@settings(deadline=None, max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(models(4))
def test_json_says_what_the_text_of_the_same_model_says(model):
    read = parse_model_json(json.dumps(as_json(model)))
    text = parse_ge_text(text_format.MessageToString(model))
    for mine, theirs in zip((read, *read.subgraphs), (text, *text.subgraphs), strict=True):
        assert (mine.name, len(mine.ops)) == (theirs.name, len(theirs.ops))
        for one, other in zip(mine.ops, theirs.ops, strict=True):
            assert (one.name, one.op_type, one.inputs) == (other.name, other.op_type, other.inputs)
            assert repr(one.outputs + one.device_inputs) == repr(
                other.outputs + other.device_inputs
            )
            assert set(one.attrs) == set(other.attrs)


def model(**op) -> str:
    return json.dumps({"graph": [{"name": "g", "op": [{"name": "a", **op}]}]})


WRONG = {
    "no list": ({"attr": {}}, "attr", "graph_files/json-list"),
    "no entry": ({"attr": [3]}, "attr[0]", "graph_files/json-entry"),
    "a number for a name": ({"name": 3}, "name", "proto/string"),
    "a text for a number": ({"id": "x"}, "id", "proto/int64"),
    "a fraction for a number": ({"id": 1.5}, "id", "proto/int64"),
    "a number of 65 bits": ({"id": 1 << 64}, "id", "proto/int64"),
    "true for a number": ({"id": True}, "id", "proto/int64"),
    "a word for true": ({"has_out_attr": "yes"}, "has_out_attr", "proto/bool"),
    "a block for a word": ({"output_desc": [{"dtype": {}}]}, "output_desc[0].dtype", "proto/word"),
    "a list for a block": ({"output_desc": [[]]}, "output_desc[0]", "proto/block"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_value_of_another_kind_is_refused_with_its_field(case):
    op, field, expected = WRONG[case]
    place = f"m: model.graph[0].op[0].{field}"
    with refused("graph_files/json-value", FormatError, place=place, expected=Message(expected)):
        parse_model_json(model(**op), "m")


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("[1]", "json-value", "m: model"),
        ('{\n"graph": [\n{]', "json", "m:3"),
        ("[" * 100_000, "json-deep", "m"),
        ('{"name": "model"}', "json-without-graph", "m"),
    ],
)
def test_what_is_no_model_is_refused(text, code, place):
    with refused(f"graph_files/{code}", FormatError, place=place):
        parse_model_json(text, "m")


def test_deep_models_are_refused():
    value = {}
    for _ in range(150):
        value = {"func": {"attr": [{"key": "k", "value": value}]}}
    text = json.dumps({"graph": [{"attr": [{"key": "k", "value": value}]}]})
    with refused("graph_files/json-deep", FormatError, most=100):
        parse_model_json(text, "m")


def test_new_fields_are_counted_and_nothing_is_lost_beside_them():
    graph = parse_model_json(model(type="Add", new=[1, {"x": 2}], attr_groups={"any": 1}, id=None))
    assert (graph.unknown_lines, graph.ops[0].op_type) == (1, "Add")
