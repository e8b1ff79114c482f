"""Scripts are followed in one way, whichever surface reads them."""

import ast

import pytest

from workbench.config import read
from workbench.config.form.settings import RuntimeValue
from workbench.config.script.bindings import (
    assignments,
    attribute_set,
    variable_assigned,
    variables_set,
)
from workbench.config.script.literals import source_of
from workbench.config.script.statements import apart, calls_in, outward, statements
from workbench.config.script.write import double_quoted, expression

BRANCHES = """
if a:
    one()
    if b:
        two()
    else:
        three()
elif c:
    four()
match d:
    case 1:
        five()
    case _:
        six()
def inner():
    for e in f:
        seven()
class Outer:
    def inner(self):
        try:
            eight()
        except ValueError:
            nine()
"""


@pytest.fixture(scope="module")
def places():
    """The statement of each call, by the name that is called."""
    found = {}
    for place in statements(ast.parse(BRANCHES)):
        for call in calls_in(place.node):
            found[source_of(call.func)] = place
    return found


def test_statements_are_met_in_the_order_of_the_text(places):
    assert list(places) == ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.mark.parametrize(("name", "conditions"), [
    ("one", ["a"]),
    ("two", ["b", "a"]),
    ("three", ["not b", "a"]),
    ("four", ["c", "not a"]),
    ("five", ["d matches 1"]),
    ("six", ["d matches _"]),
    ("seven", []),
])  # fmt: skip
def test_a_statement_knows_the_branches_around_it(places, name, conditions):
    said = [f"{'' if g.holds else 'not '}{g.condition}" for g in outward(places[name].guard)]
    assert said == conditions


@pytest.mark.parametrize(("one", "two", "never_both"), [
    ("one", "two", False),
    ("two", "three", True),
    ("two", "four", True),
    ("three", "four", True),
    ("five", "six", True),
    ("one", "five", False),
    ("one", "seven", False),
    ("one", "one", False),
])  # fmt: skip
def test_branches_that_no_run_takes_together(places, one, two, never_both):
    guards = places[one].guard, places[two].guard
    assert apart(*guards) == apart(*reversed(guards)) == never_both


def test_a_statement_knows_its_function(places):
    scopes = {name: places[name].scope for name in ("six", "seven", "eight")}
    assert scopes == {"six": "", "seven": ".inner", "eight": ".Outer.inner"}


@pytest.mark.parametrize(("line", "pairs"), [
    ("a = 1", ["a: 1"]),
    ("a = b = 1", ["a: 1", "b: 1"]),
    ("a.b, c[0] = 1, 2", ["a.b: 1", "c[0]: 2"]),
    ("a, [b, c] = [1, (2, 3)]", ["a: 1", "b: 2", "c: 3"]),
    ("a, b = f()", ["(a, b): f()"]),
    ("a, b = 1, 2, 3", ["(a, b): (1, 2, 3)"]),
    ("a: int = 1", ["a: 1"]),
    ("a: int", []),
    ("a.b += 1", ["a.b: a.b + 1"]),
    ("f(a)", []),
])  # fmt: skip
def test_what_a_statement_assigns(line, pairs):
    (statement,) = ast.parse(line).body
    found = [f"{source_of(target)}: {source_of(value)}" for target, value in assignments(statement)]
    assert found == pairs


@pytest.mark.parametrize(("line", "variables"), [
    ("os.environ['A'] = '1'", ["A: '1'"]),
    ("environ['A'] = f()", ["A: f()"]),
    ("os.environ[name] = '1'", ["B: '1'"]),
    ("other['A'] = '1'", []),
    ("os.environ.setdefault('A', '1')", ["A: '1'"]),
    ("os.putenv('A', '1')", ["A: '1'"]),
    ("cache.setdefault('A', '1')", []),
    ("putenv('A')", []),
    ("os.environ.update({'A': '1', name: '2'}, C='3', **more)", ["A: '1'", "B: '2'", "C: '3'"]),
    ("os.environ.update(others)", []),
    ("os.environ.pop('A')", []),
])  # fmt: skip
def test_what_is_set_in_the_environment(line, variables):
    names, (statement,) = {"name": "B"}, ast.parse(line).body
    found = [v for pair in assignments(statement) for v in variable_assigned(*pair, names)]
    found += [v for call in calls_in(statement) for v in variables_set(call, names)]
    assert [f"{v.name}: {source_of(v.value)}" for v in found] == variables
    assert {v.line for v in found} <= {1}


@pytest.mark.parametrize(("line", "given"), [
    ("setattr(a.b, 'c', 1)", ("a.b", "c", "1")),
    ("setattr(a, name, 1)", ("a", "B", "1")),
    ("setattr(a, other, 1)", None),
    ("setattr(a, 'b')", None),
    ("setattr(a, 5, 1)", None),
    ("getattr(a, 'b', 1)", None),
])  # fmt: skip
def test_attributes_that_are_set_by_name(line, given):
    call = ast.parse(line, mode="eval").body
    found = attribute_set(call, {"name": "B"})
    assert (found and (source_of(found[0]), found[1], source_of(found[2]))) == given


@pytest.mark.parametrize(("value", "plain", "quoted"), [
    ("a", "'a'", '"a"'),
    ('a"b', "'a\"b'", "'a\"b'"),
    ("a\nb", "'a\\nb'", "'a\\nb'"),
    (["a"], "['a']", "['a']"),
    (True, "True", "True"),
    (None, "None", "None"),
    (RuntimeValue("f(x)"), "f(x)", "f(x)"),
    (RuntimeValue("f(\nx)"), "(f(\nx))", "(f(\nx))"),
    (RuntimeValue("f("), "'f('", '"f("'),
])  # fmt: skip
def test_values_as_source(value, plain, quoted):
    assert expression(value) == plain
    assert expression(value, double_quoted) == quoted


NAMED = """
op = config.graph_options.rewrite_options.custom_optimizers.add()
op.name = "NpuOptimizer"
op.parameter_map["dump_path"].s = b"/d"
"""
SETS = {
    "tensorflow": (NAMED + "op.parameter_map['{key}'].{member} = {value}\n", "dump"),
    "torchair": ("config.dump_config.{key} = {value}\n", "dump_config"),
}


def line(surface, key, value, member="s"):
    return SETS[surface][0].format(key=key, value=value, member=member)


@pytest.mark.parametrize("surface", SETS)
def test_every_script_is_followed_through_the_environment(surface):
    text = "os.environ.update({'DUMP_GE_GRAPH': '2'}, DUMP_GRAPH_PATH='/g')\n"
    value = "b'all'" if surface == "tensorflow" else "'all'"
    form = read(text + line(surface, "dump_mode", value), surface)
    assert form.data["environment"] == {"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_PATH": "/g"}


@pytest.mark.parametrize("surface", SETS)
def test_what_is_added_to_a_setting_is_known_to_a_run_alone(surface):
    head, sets = SETS[surface][0].rpartition("\n")[0].rpartition("\n")[::2]
    given = sets.format(key="dump_step", member="s", value="b'0'")
    section = SETS[surface][1]
    form = read(f"{head}\n{given}\n{given.replace(' = ', ' += ')}\n", surface)
    assert isinstance(form.data[section]["dump_step"], RuntimeValue)
    assert "unresolved" in [p.id for p in form.check() if p.path == f"{section}.dump_step"]


def test_cases_of_a_match_are_branches_of_either_surface():
    case = "match mode:\n    case 1:\n        {}    case _:\n        {}"
    torchair = case.format(*[line("torchair", "enable_dump", value) for value in (True, False)])
    assert [p.id for p in read(torchair, "torchair").check()][:1] == ["branches"]
    keys = ("enable_dump", "enable_dump_debug")
    switches = [f"op.parameter_map['{key}'].b = True\n" for key in keys]
    found = {p.id: p for p in read(NAMED + case.format(*switches), "tensorflow").check()}
    assert found["other-branch"].path == "dump.enable_dump_debug"
    assert str(found["conditional"].message) == "dump.enable_dump is set only if mode matches 1"
