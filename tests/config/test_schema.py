"""The JSON Schema of a form refuses what the check refuses, judged by another implementation."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kit.words import misconfigured
from workbench import config as surfaces
from workbench.config.form.kinds import integer_from, optional, text_like, unsigned
from workbench.config.form.settings import (
    Section,
    always,
    choice,
    declared,
    integer,
    section,
    sections,
    setting,
    text,
)
from workbench.config.schema import json_schema, section_schema

JSON = [name for name in surfaces.SURFACES if surfaces.get(name).language == "json"]
SETTINGS = [(name, path) for name in JSON for path, _ in declared(surfaces.get(name).model)]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.integers()
    | st.sampled_from(["", "on", "off", "all", "0", "0|5-8", "tensor", "npy", "max", "input", "x"])
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: number % 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("a"), inner, max_size=1),
    max_leaves=3,
)


@cache
def validator(name):
    return Draft202012Validator(json_schema(surfaces.get(name)))


def place(path):
    """Path of a setting with the first element of every list."""
    return path.replace("[]", "[0]")


def schema_refuses(name, form, path):
    """Whether the schema has something against a value or a part of it."""
    return any(
        error.json_path.removeprefix("$.").startswith(path)
        for error in validator(name).iter_errors(form)
    )


def check_refuses(form, path):
    ids = ("value", "value-unread")
    return any(p.path.startswith(path) for p in form.check() if p.id in ids)


@pytest.mark.parametrize("name", JSON)
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(json_schema(surfaces.get(name)))


@pytest.mark.parametrize("name", JSON)
def test_the_form_to_start_with_keeps_its_schema(name):
    assert list(validator(name).iter_errors(surfaces.new(name).data)) == []


@pytest.mark.parametrize("name", JSON)
def test_every_setting_is_described_with_its_default(name):
    for path, one in declared(surfaces.get(name).model):
        entry = json_schema(surfaces.get(name))
        for step in path.replace("[]", ".[]").split("."):
            entry = entry["items"] if step == "[]" else entry["properties"][step]
        assert one.help in entry["description"]
        if "default" in entry:
            default = one.default
            plain = list(default) if isinstance(default, tuple) else default
            assert entry["default"] == plain


@pytest.mark.parametrize(("name", "path"), SETTINGS)
def test_the_bad_value_of_a_setting_is_refused_by_both(name, path):
    (setting,) = [s for p, s in declared(surfaces.get(name).model) if p == path]
    form = surfaces.of(name, {}).set(place(path), setting.misfit)
    assert check_refuses(form, place(path))
    assert schema_refuses(name, form.data, place(path))


@given(st.sampled_from(SETTINGS), VALUES)
def test_any_value_is_refused_by_both_or_by_none(setting, value):
    name, path = setting
    form = surfaces.of(name, {}).set(place(path), value)
    assert schema_refuses(name, form.data, place(path)) == check_refuses(form, place(path))


@pytest.mark.parametrize("name", [name for name in surfaces.SURFACES if name not in JSON])
def test_a_script_has_no_schema(name):
    with misconfigured("schema", "config/schema", surface=name):
        json_schema(surfaces.get(name))


class Inner(Section):
    unknown = "error"

    size: int = integer(0, "How large.", least=0)


class Outer(Section):
    name: str = text("", "Its name.", required=always)
    mode: str = choice("a", "a b", "Its mode.")
    note: str | None = setting(optional(text_like()), None, "A note.")
    bits: int = setting(unsigned(integer_from(1)), 1, "Kept in 32 bits.")
    one: Inner = section(Inner)
    many: tuple = sections(Inner)


@pytest.mark.parametrize(("form", "fits"), [
    ({"name": "x"}, True),
    ({}, False),
    ({"name": "x", "mode": "b", "note": None, "bits": 2**32}, True),
    ({"name": "x", "mode": "c"}, False),
    ({"name": "x", "bits": 2**64 - 1}, True),
    ({"name": "x", "bits": 2**64}, False),
    ({"name": "x", "bits": 0}, False),
    ({"name": "x", "unknown": 1}, True),
    ({"name": "x", "one": {"size": 1}}, True),
    ({"name": "x", "one": {"unknown": 1}}, False),
    ({"name": "x", "many": [{"size": 1}, {}]}, True),
    ({"name": "x", "many": [{"size": -1}]}, False),
    ({"name": "x", "many": {}}, False),
])  # fmt: skip
def test_a_schema_says_what_is_needed_known_and_nested(form, fits):
    assert Draft202012Validator(section_schema(Outer)).is_valid(form) is fits


def test_a_schema_has_the_defaults_of_what_may_be_left_out():
    properties = section_schema(Outer)["properties"]
    assert {key for key, one in properties.items() if "default" in one} == {"mode", "bits"}
    assert (properties["mode"]["default"], properties["bits"]["default"]) == ("a", 1)
