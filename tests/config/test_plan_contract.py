"""What every surface promises of forms and plans: whatever is drawn, there and back."""

import ast
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.cases import examples
from workbench.config import SURFACES, Config, Context, get, read
from workbench.config.form.settings import Setting
from workbench.core.errors import ConfigError
from workbench.core.plan import BOTH, CATEGORIES, DumpPlan, Exclusion, Iterations, Selector

NAMES = list(SURFACES)
WORDS = st.sampled_from(
    ["a", "net/conv", "Conv2D-op1", "m", "x y", "name-regex([a)", "\0", '"', ""]
)
NUMBERS = st.integers(0, 12) | st.integers(0, 2**70)
RANGES = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4).map(tuple)
MANY = st.just(tuple((n, n) for n in range(0, 300, 2)))
SLOTS = st.lists(st.sampled_from(["input0", "output12", "bad"]), max_size=3).map(tuple)
KINDS = ["regex", "name", "type", "marked", "range", "all", "call"]

PLANS = st.builds(
    DumpPlan,
    path=st.sampled_from(
        ["", "/d", "out", "./", "/x.y", "a b", "10.0.0.1:/d", "10.0.0.1:", "$HOME"]
    ),
    net_name=st.sampled_from(["Net", "a.b c", ""]),
    kind=st.sampled_from(["data", "data", "overflow", "exception", "watch"]),
    iterations=st.builds(Iterations, st.none() | RANGES | MANY),
    initial_iteration=st.integers(0, 2**33),
    io=st.sampled_from([BOTH, frozenset(["input"]), frozenset(["output"]), frozenset()]),
    select=st.lists(
        st.builds(Selector, st.sampled_from(KINDS), WORDS, WORDS, WORDS), max_size=4
    ).map(tuple),
    omit=st.lists(
        st.builds(Exclusion, st.sampled_from(["name", "type"]), WORDS, SLOTS, WORDS), max_size=4
    ).map(tuple),
    watched=st.lists(WORDS, max_size=3).map(tuple),
    saved=st.sampled_from(["tensor", "statistic", "full"]),
    statistics=st.lists(st.sampled_from((*CATEGORIES, "sha1", "xor")), max_size=5).map(tuple),
    statistics_on=st.sampled_from(["host", "device"]),
    statistics_precision=st.sampled_from(["high", "low"]),
    sample=st.none() | st.integers(0, 2**33),
    kernel_args=st.booleans(),
    files=st.sampled_from(["npy", "bin", "pt"]),
    host_format=st.booleans(),
    limit=st.integers(0, 2**33),
    detail=st.sampled_from(["", "brief", "norm", "detail"]),
    overflow=st.sampled_from(["all", "aicore_overflow", "atomic_overflow"]),
    devices=st.none() | st.lists(st.integers(0, 9), max_size=3).map(tuple),
    ranks=st.none() | st.lists(st.integers(0, 9), max_size=2).map(tuple),
    level=st.sampled_from(["all", "op", "kernel"]),
    single_op=st.booleans(),
    before_quantisation=st.booleans(),
)


NEWEST = {"mindspore": Context("2.10.0")}
"""A plan is of no release: what the newest one can, a form may say. Elsewhere the default has all."""


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(60), deadline=None)
@given(wanted=PLANS)
def test_a_plan_becomes_a_form_that_is_taken_and_says_the_same_again(name, wanted):
    surface, context = get(name), NEWEST.get(name.partition("-")[0], Context())
    first = Config(surface, surface.from_plan(wanted).data)
    assert [str(p) for p in first.check(context) if p.severity == "error"] == []
    assert read(first.to_text(), name).data == first.data
    plan = first.plan(context)
    assert Config(surface, surface.from_plan(plan).data).plan(context) == plan


def drawn(setting: Setting):
    """Values of a setting: those of a choice, its default, and some that mean something somewhere."""
    kind, default = setting.kind, setting.default
    own = [list(default) if isinstance(default, tuple) else default, *kind.options]
    texts = st.sampled_from(["0", "0|5-8", "9-3", "5|", "a", "a b", "/d", "x", "7"])
    others = {
        "list": st.lists(
            texts | st.integers(0, 9) | st.sampled_from(["Max", "max", "md5"]), max_size=3
        ),
        "text": texts,
        "choice": st.nothing(),
        "value": st.integers(0, 9) | st.integers(0, 2**33) | st.booleans(),
    }
    return st.sampled_from([one for one in own if one is not None] or [None]) | others[kind.input]


@cache
def sections(model, depth=0):
    """Objects of a section with some of its settings."""
    fields = {}
    for key, one in model.fields.items():
        if isinstance(one, Setting):
            fields[key] = drawn(one)
        elif depth < 3:
            inner = sections(one.model, depth + 1)
            fields[key] = st.lists(inner, max_size=2) if one.many else inner
    return st.fixed_dictionaries({}, optional=fields)


def merged(one, two):
    """The first object with what the second says."""
    if not (isinstance(one, dict) and isinstance(two, dict)):
        return two
    return one | {key: merged(one.get(key), value) for key, value in two.items()}


def forms(name):
    """The form to start with, with some settings changed: most are accepted."""
    return sections(get(name).model).map(lambda change: merged(get(name).template(), change))


RELEASES = {
    "mindspore": ["", "2.2", "2.5", "2.6", "2.7"],
    "acl": ["", "9.2"],
    "torchair": ["", "7.0", "7.3"],
}
"""Releases that take the forms which are made of plans."""
ENVIRONMENTS = [{}, {"ASCEND_WORK_PATH": "/w"}, {"RANK_SIZE": "8"}, {"NPU_COLLECT_PATH": "/c"}]


def contexts(name, *older):
    versions = RELEASES.get(name.partition("-")[0], [""])
    return st.builds(Context, st.sampled_from([*versions, *older]), st.sampled_from(ENVIRONMENTS))


def told(config, context):
    """Everything that can be asked of a form; errors are those of the check, whoever asks."""
    problems = config.check(context)
    assert config.explain(context)
    assert config.code(context, "f")
    errors = [problem for problem in problems if problem.severity == "error"]
    assert config.accepted(context) == (not errors)
    if not errors:
        return config.plan(context)
    with pytest.raises(ConfigError) as caught:
        config.plan(context)
    assert list(caught.value.problems) == errors
    return None


def meant(plan):
    """A plan with the first iterations in place of their ranges, which a surface may merge."""
    return replace(plan, iterations=[n for n in range(13) if n in plan.iterations])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_an_accepted_form_becomes_itself(name, data):
    """Its plan becomes a form with that plan."""
    surface, context = get(name), data.draw(contexts(name))
    plan = told(config := Config(surface, data.draw(forms(name))), context)
    if plan is not None:
        again = Config(surface, surface.from_plan(plan).data).plan(context)
        assert meant(again) == meant(plan), config.data


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def garbage(name):
    """Anything under keys that mean something, and under others, in a form that may be right otherwise."""
    model = get(name).model
    keys = {key for part in model.parts().values() for key in part.model.fields}
    inside = st.dictionaries(st.sampled_from(sorted(keys or model.fields)), JSON, max_size=5)
    whole = st.dictionaries(
        st.sampled_from([*model.fields, "other", ""]), JSON | inside, max_size=4
    )
    return whole.flatmap(lambda form: st.sampled_from([form, merged(get(name).template(), form)]))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_anything_is_judged_written_and_converted(name, data):
    surface, context = get(name), data.draw(contexts(name, "0.1", "8.0"))
    config = Config(surface, data.draw(garbage(name)))
    plan = told(config, data.draw(st.sampled_from([context, replace(context, here=True)])))
    text = config.to_text()
    if surface.language == "json":
        assert read(text, name).data == config.data
    else:
        ast.parse(text)
        ast.parse(config.code(context))
    if plan is not None and config.accepted(context):
        config.convert(data.draw(st.sampled_from(NAMES)), context)
