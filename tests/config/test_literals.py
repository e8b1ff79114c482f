"""Values read out of Python source that is never run."""

import ast
import re

import pytest

from kit.words import refused
from workbench.config.form.settings import RuntimeValue
from workbench.config.script.literals import (
    bound_literals,
    bound_once,
    dotted,
    literal,
    parse_python,
    source_of,
)
from workbench.core.errors import FormatError


def value(text, **names):
    return literal(ast.parse(text, mode="eval").body, names)


@pytest.mark.parametrize(("text", "expected"), [
    ("1", 1),
    ("-1.5", -1.5),
    ("True", True),
    ("not False", True),
    ("not three", False),
    ("not ''", True),
    ("not None", True),
    ("None", None),
    ("'a' 'b' + 'c'", "abc"),
    ("b'/d'", "/d"),
    ("tf.compat.as_bytes('/d')", "/d"),
    ("compat.as_text(b'/d')", "/d"),
    ("bytes('/d', 'utf-8')", "/d"),
    ("bytes(b'/d')", "/d"),
    ("str('/d')", "/d"),
    ("str(b'/d', 'utf-8')", "/d"),
    ("str(3)", "3"),
    ("str(three)", "3"),
    ("'0|' + str(three)", "0|3"),
    ("f'/d'", "/d"),
    ("f'{{d}}' 'e'", "{d}e"),
    ("(d := '/d')", "/d"),
    ("'/d'.encode()", "/d"),
    ("['a', ('b', 1)]", ["a", ["b", 1]]),
    ("name", "x"),
    ("name + '/d'", "x/d"),
    ("tf.compat.as_text(b'a') + 'b'", "ab"),
    ("b'a' + 'b'.encode()", "ab"),
    ("f'/d/{name}/{three}'", "/d/x/3"),
    ("f'{name!s}{{}}'", "x{}"),
    ("'%s' % name", "x"),
    ("'/%s/100%%/%s' % (name, three)", "/x/100%/3"),
    ("'%%' % ()", "%"),
    ("'{}'.format(name)", "x"),
    ("'/{}/{{}}/{}'.format(name, 3)", "/x/{}/3"),
    ("'{}'.format(name, 'unused')", "x"),
    ("os.path.join('/a', name, 'b')", "/a/x/b"),
    ("os.path.join('/a', '/b')", "/b"),
    ("os.path.join(name)", "x"),
    ("tf.compat.as_bytes(os.path.join('/a', '%s' % name))", "/a/x"),
])  # fmt: skip
def test_literals_have_their_value(text, expected):
    found = value(text, name="x", three=3)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("text", [
    "other", "a.b", "f(1)", "f'{x}'", "'%s' % x", "1 + 1", "-True", "not x", "not [1]", "[1, x]", "{'a': 1}",
    "{1, 2}", "lambda: 1", "1 if x else 2", "...", "2j", "1e309", "x.encode()", "3 .encode()", "bytes(3)",
    "bytes(['a'])", "str(['a'])", "str(True)", "str(0.1)", "'a' + 1",
    "'%s' % 0.1", "'%s' % True", "'%s' % None", "'%s' % ['a']", "'%s' % b'a'", "'%s%s' % 'a'", "'a' % 'b'",
    "'%d' % 3", "'%5s' % 'a'", "'%(a)s' % 'a'", "'%r' % 'a'", "'%' % ()", "b'%s' % b'a'", "3 % 'a'", "'%s' % (x, 'a')",
    "f'{three:5}'", "f'{name!r}'", "f'{raw}'", "f'{0.1}'",
    "'{}'.format()", "'{0}'.format('a')", "'{:>5}'.format('a')", "'{a}'.format(a='a')", "'{}'.format(b'a')",
    "'{'.format()", "'{}'.format(*x)", "'{!r}'.format('a')", "x.format('a')", "b'a'.format()",
    "os.path.join('a', 3)", "os.path.join(b'a', 'b')", "os.path.join('a', x)", "os.path.join(['a'])", "os.path.join()",
    "', '.join('ab')", "path.join('a', 'b')",
    "str(b'a')", "str('a', 'utf-8')", "b'a' + 'b'", "'a' + b'b'", "b'a'.encode()",
])  # fmt: skip
def test_other_expressions_stay_expressions(text):
    found = value(text, name="x", three=3)
    assert isinstance(found, RuntimeValue)
    assert found == text


def test_what_no_form_can_hold_stays_an_expression():
    assert isinstance(value("0x" + "f" * 5000), RuntimeValue)
    assert isinstance(value("'\\ud800'"), RuntimeValue)
    assert value("0x" + "f" * 8) == 0xFFFFFFFF


def test_text_does_not_grow_without_bound():
    lines = ["a0 = 'x' * 1", "b0 = 'abcdefgh'"]
    lines += [f"b{n + 1} = b{n} + b{n}" for n in range(80)]
    lines += ["c0 = [1, 2]", *(f"c{n + 1} = [c{n}, c{n}]" for n in range(80))]
    for kind, double in {
        "f": "f'{%s}{%s}'",
        "p": "'%%s%%s' %% (%s, %s)",
        "g": "'{}{}'.format(%s, %s)",
    }.items():
        lines += [f"{kind}0 = 'abcdefgh'"]
        lines += [f"{kind}{n + 1} = " + double % (f"{kind}{n}", f"{kind}{n}") for n in range(80)]
    lines += ["j0 = 'abcdefgh'", *(f"j{n + 1} = os.path.join(j{n}, j{n})" for n in range(80))]
    names = bound_literals(ast.parse("\n".join(lines)))
    assert all(names[f"{kind}5"] == "abcdefgh" * 32 for kind in "fpg")
    assert {"f80", "p80", "g80", "j80"}.isdisjoint(names)
    assert names["b5"] == "abcdefgh" * 32
    assert max(len(text) for text in names.values() if isinstance(text, str)) <= 1 << 16
    assert "b80" not in names
    assert names["c0"] == [1, 2]
    assert "c1" not in names


@pytest.mark.parametrize(("text", "bound"), [
    ("x = 1", True),
    ("x: int = 1", True),
    ("if a:\n    x = 1", True),
    ("def f():\n    x = 1", True),
    ("x = 1\nx = 1", False),
    ("x = 1\nx += 1", False),
    ("x = y = 1", False),
    ("x = 1\ndef f(x): pass", False),
    ("x = 1\nfor x in y: pass", False),
    ("x = 1\nimport x.y", False),
    ("x = 1\nimport y as x", False),
    ("x = 1\nfrom y import x", False),
    ("x = 1\ndef x(): pass", False),
    ("x = 1\nclass x: pass", False),
    ("x = 1\nwith y as x: pass", False),
    ("x = 1\ntry:\n    pass\nexcept E as x:\n    pass", False),
    ("x = 1\nmatch y:\n    case [x]: pass", False),
    ("x = 1\nmatch y:\n    case [*x]: pass", False),
    ("x = 1\nmatch y:\n    case {**x}: pass", False),
    ("x = 1\ndel x", False),
    ("x = 1\n(x := 2)", False),
    ("x = 1\n[0 for x in y]", False),
    ("x = 1\nlambda x: x", False),
    ("x, y = 1, 2", False),
    ("x: int", False),
])  # fmt: skip
def test_only_names_bound_once_count(text, bound):
    tree = ast.parse(text)
    assert ("x" in bound_once(tree)) == bound
    assert ("x" in bound_literals(tree)) == bound


@pytest.mark.parametrize("text", [
    "f'{raw}'", "'%s' % raw", "'{}'.format(raw)", "os.path.join('/d', raw)", "raw + '/d'", "'%s' % items", "str(raw)",
])  # fmt: skip
def test_a_name_bound_to_bytes_or_items_is_put_into_no_text(text):
    names = bound_literals(ast.parse("raw = b'/d'\nitems = ('a',)"))
    assert value("raw", **names) == "/d"
    assert type(value("raw", **names)) is type(value("[raw]", **names)[0]) is str
    assert isinstance(value(text, **names), RuntimeValue)


def test_names_follow_names():
    names = bound_literals(ast.parse("root = '/d'\npath = root + '/x'\nother = g(root)"))
    assert names == {"root": "/d", "path": "/d/x"}


def test_dotted_names():
    for text, expected in (("a.b.c", "a.b.c"), ("a", "a"), ("f().b", ""), ("a[0].b", "")):
        assert dotted(ast.parse(text, mode="eval").body) == expected


def test_source_of_what_cannot_be_written():
    node = ast.Constant(1)
    for _ in range(5000):
        node = ast.UnaryOp(ast.Not(), node)
    assert source_of(node) == "an expression"
    assert literal(node) == "an expression"


@pytest.mark.parametrize(("text", "line", "caret"), [
    ("x = (1,\ny = 2\n", 1, "x = (1,\n    ^"),
    ("x = 1\n\n\nif x\n    y = 1\n", 4, "if x\n    ^"),
    ("x = 'a\r\ny = 1\r\n", 1, "x = 'a\n    ^"),
    ("ä = (1 2)\n", 1, "ä = (1 2)\n     ^"),
])  # fmt: skip
def test_bad_text_names_its_place(text, line, caret):
    with refused("config/python", FormatError, place=f"net.py:{line}", excerpt=f"\n{caret}"):
        parse_python(text, "net.py")


@pytest.mark.parametrize(("text", "code"), [
    ("(" * 300 + ")" * 300, "config/python"),
    ("x = " + "-" * 200_000 + "1", "config/python-deep"),
    ("x = " + "a." * 200_000 + "b", "config/python-deep"),
    ("\x00", ("config/python", "config/python-text")),
    ("x = '\ud800'", "config/python-text"),
    ("if a:\n" + "".join(" " * n + "if a:\n" for n in range(1, 200)) + " " * 200 + "pass", "config/python"),
    ("x" * 1_000_001, "config/script-long"),
])  # fmt: skip
def test_hostile_text_is_refused(text, code):
    with refused(code, FormatError) as caught:
        parse_python(text, "net.py")
    assert re.fullmatch(r"net\.py:\d+", caught.value.place)


def test_invalid_escapes_are_taken_without_a_word():
    assert isinstance(parse_python("x = '\\d'"), ast.Module)
    assert isinstance(parse_python("\ufeffx = 1"), ast.Module)
