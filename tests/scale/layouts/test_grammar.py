"""Layouts as text, and files of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.scale.layouts import parse_layout
from workbench.scale.layouts.files import layouts_of, parse_layouts, read_layouts
from workbench.scale.layouts.grammar import Cut, Dim, FlatPart, TensorLayout

PARTS = (FlatPart("w", (2, 3)), FlatPart("b", ()))
READ = [
    ("", TensorLayout(())),
    ("b", TensorLayout((Dim(("b",)),))),
    ("b h[tp]", TensorLayout((Dim(("b",)), Dim(("h",), (Cut("tp"),))))),
    ("s[cp:zigzag,sp]", TensorLayout((Dim(("s",), (Cut("cp", "zigzag"), Cut("sp"))),))),
    ("s[cp:natural]", TensorLayout((Dim(("s",), (Cut("cp"),)),))),
    ("h[tp:sharded]", TensorLayout((Dim(("h",), (Cut("tp"),)),))),
    ("h[tp:partial]", TensorLayout((Dim(("h",), (Cut("tp", partial=True),)),))),
    ("h[tp+partial]", TensorLayout((Dim(("h",), (Cut("tp", partial=True),)),))),
    ("h[dp:mean]", TensorLayout((Dim(("h",), (Cut("dp", partial=True, mean=True),)),))),
    ("b[dp:scaled]", TensorLayout((Dim(("b",), (Cut("dp", mean=True),)),))),
    ("s[cp:zigzag+scaled]", TensorLayout((Dim(("s",), (Cut("cp", "zigzag", mean=True),)),))),
    ("(b*s)[cp:zigzag+each8]", TensorLayout((Dim(("b", "s"), (Cut("cp", "zigzag", each=8),)),))),
    ("# dp:mean", TensorLayout((), reduced=(Cut("dp", partial=True, mean=True),))),
    ("# tp:partial", TensorLayout((), reduced=(Cut("tp", partial=True),))),
    ("(a*b)[tp] 1", TensorLayout((Dim(("a", "b"), (Cut("tp"),)), Dim(("1",))))),
    ("a*b[tp]", TensorLayout((Dim(("a", "b"), (Cut("tp"),)),))),
    ("h # tp:replicated dp:=moe_dp", TensorLayout((Dim(("h",)),), ("tp",), "edp")),
    ("f[dp] # flat:w(2,3),b() align:4", TensorLayout((Dim(("f",), (Cut("dp"),)),), flat=PARTS, align=4)),
]  # fmt: skip

REFUSED = [
    ("h(tp)", "layouts/dim", {"got": "h(tp)"}),
    ("h[tp", "layouts/dim", {"got": "h[tp"}),
    ("2h", "layouts/dim", {"got": "2h"}),
    ("(a)", "layouts/dim", {"got": "(a)"}),
    ("h[up]", "layouts/axis", {"got": "up", "where": "h[up]"}),
    ("h[]", "layouts/axis", {"got": ""}),
    ("h[tp:zigzog]", "layouts/modifier", {"got": "zigzog"}),
    ("h[tp:zigzag+partial]", "layouts/modifiers", {}),
    ("h[tp:zigzag+natural]", "layouts/modifiers", {}),
    ("h[cp:zigzag+mean]", "layouts/modifiers", {}),
    ("h[dp:mean+partial]", "layouts/modifiers", {}),
    ("h[cp:each2+each3]", "layouts/modifiers", {}),
    ("h[cp:each2+partial]", "layouts/modifiers", {}),
    ("h[cp:each0]", "layouts/modifier", {"got": "each0"}),
    ("h[dp:]", "layouts/modifier", {"got": ""}),
    ("h[dp] # dp:mean", "layouts/twice", {"got": ["dp"]}),
    ("h # dp:scaled", "layouts/declaration", {"got": "dp:scaled"}),
    ("h h", "layouts/twice", {"subject": "dimension", "got": ["h"]}),
    ("(h*d) d", "layouts/twice", {"got": ["d"]}),
    ("h[tp] d[tp]", "layouts/twice", {"subject": "axis", "got": ["tp"]}),
    ("h[tp] # tp:replicated", "layouts/twice", {"got": ["tp"]}),
    ("h # tp:same", "layouts/declaration", {"got": "tp:same"}),
    ("h # dp:=nobody", "layouts/declaration", {"got": "dp:=nobody"}),
    ("f # flat:w", "layouts/part", {"got": "w"}),
    ("f g # flat:w(2)", "layouts/flat-dims", {"got": 2}),
    ("h" * 70000, "layouts/long", {"got": 70000}),
]


@pytest.mark.parametrize(("text", "layout"), READ)
def test_a_layout_is_read(text, layout):
    assert parse_layout(text) == layout
    assert parse_layout(str(layout)) == layout


@pytest.mark.parametrize(("text", "code", "values"), REFUSED)
def test_what_is_no_layout_is_refused(text, code, values):
    with refused(code, FormatError, **values):
        parse_layout(text)


@given(st.text("abh1[](),*:+#=tpcszigzagpartialmean ", max_size=40))
def test_any_text_is_a_layout_that_comes_back_or_refused(text):
    try:
        layout = parse_layout(text)
    except FormatError:
        return
    assert parse_layout(str(layout)) == layout


TEXT = """
# a job
parallel: tp=2,pp=2
numbered layer{}-: pp 2 3
*Dense/MatMul*:output.0: b h[tp]
*: b h
"""
JSON = """{"parallel": "tp=2,pp=2", "numbered": {"layer{}-": "pp 2 3"},
 "layouts": {"*Dense/MatMul*:output.0": "b h[tp]", "*": "b h"}}"""
TOML = """parallel = "tp=2,pp=2"
[numbered]
"layer{}-" = "pp 2 3"
[layouts]
"*Dense/MatMul*:output.0" = "b h[tp]"
"*" = "b h"
"""


@pytest.mark.parametrize(("name", "text"), [("a.txt", TEXT), ("a.json", JSON), ("a.toml", TOML)])
def test_a_file_is_read_in_each_of_its_forms(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    table = read_layouts(path)
    assert str(table.parallel) == "tp=2,pp=2"
    assert str(table.find("x-Dense/MatMul-op0", "output.0").layout) == "b h[tp]"
    assert str(table.find("x-Dense/MatMul-op0", "input.0").layout) == "b h"
    assert [table.whole_name(f"layer{n}-q", rank, table.parallel) for rank in (1, 2) for n in (0, 1)] == [
        "layer0-q", "layer1-q", "layer2-q", "layer3-q",
    ]  # fmt: skip
    assert parse_layouts(str(table)) == table


def test_chunks_of_an_interleaved_pipeline_count_on():
    table = layouts_of({"numbered l{}": "pp 1 1 1 1", "parallel": "pp=2"})
    names = [table.whole_name(f"l{n}", rank, table.parallel) for rank in (0, 1) for n in (0, 1)]
    assert names == ["l0", "l2", "l1", "l3"]


BROKEN = [
    ("a.txt", "x\n", "layouts/file-line", ":1"),
    ("a.txt", "\n*: b\n*: h[up]\n", "layouts/axis", ":3"),
    ("a.txt", "parallel: tp=0\n", "graph/integer", ":1"),
    ("a.txt", "numbered x: pp 1\n", "layouts/numbered", ":1"),
    ("a.txt", "numbered x{}: pp\n", "layouts/numbered", ":1"),
    ("a.json", "{", "layouts/file-json", ""),
    ("a.json", "[]", "layouts/file-value", ""),
    ("a.json", '{"layout": {}}', "layouts/file-keys", ""),
    ("a.json", '{"layouts": {"a": 1}}', "layouts/file-value", ""),
    ("a.json", '{"layouts": {"a": "h[up]"}}', "layouts/axis", ": a"),
    ("a.toml", "x = = 1", "layouts/file-json", ""),
    ("a.txt", b"\xff\xfe", "core/unreadable", ""),
]


@pytest.mark.parametrize(("name", "text", "code", "place"), BROKEN)
def test_a_broken_file_is_refused_at_its_place(tmp_path, name, text, code, place):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with refused(code, FormatError, place=f"{path}{place}"):
        read_layouts(path)


def test_counts_that_do_not_fit_the_axis_are_refused():
    with refused("layouts/numbered-counts", FormatError, count=3, size=2):
        layouts_of({"parallel": "pp=2", "numbered l{}": "pp 1 1 1"})
