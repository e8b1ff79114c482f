"""The source of a network as a heat map: lines, what they made, and what cannot be shown."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build.compared import spoiled
from kit.build.small_dumps import Net, given, in_memory, shoot
from kit.face.screen import label
from workbench.core.words import Message
from workbench.graph.graph import SourceFrame
from workbench.views.render import source_html
from workbench.views.source_lines import find_source, in_context
from workbench.views.source_map import WHOLE, SourceMap

SAMPLES = Path(__file__).parents[2] / "sample_dumps"


@pytest.fixture(scope="module")
def real():
    return wb.compare(SAMPLES / "real_pair/dump_a", SAMPLES / "real_pair/dump_b").source_map()


def written(tmp_path, lines=5, name="net.py"):
    path = tmp_path / name
    path.write_text("".join(f"x = line_{n}(x)\n" for n in range(1, lines + 1)))
    return path


def found_in(frames, spoil=(), by=lambda x: x + 1):
    """Compare a chain of Neg operators of which each comes from a frame; those in ``spoil`` are spoiled by ``by``."""
    net = Net()
    value = net.feed("x")
    for _ in frames:
        value = net.op("Neg", value)
    net.ops = [replace(op, frames=(frame,)) for op, frame in zip(net.ops, frames, strict=True)]
    alter = {f"Default/Neg-op{n}": by for n in spoil}
    return spoiled(net.graph(), alter).source_map()


def frames(path, *numbers):
    return [SourceFrame(str(path), n, f"x = line_{n}(x)") for n in numbers]


def test_the_guilty_line_stands_out(real):
    (file,) = real.files
    assert file.name == "/srv/train/alexnet_padmode/script.py"
    born = [line for line in file.made if line.worst.originates]
    assert [(line.number, line.text.strip()) for line in born] == [(41, "x = self.conv3(x)")]
    assert born[0].own == pytest.approx(0.99166, rel=1e-4)
    assert 5.9 < born[0].worst.log_ratio <= 6.0
    others = [line.own for line in file.made if line not in born]
    assert max(others) < 1e-6


def test_a_line_that_made_many_operators_has_them_all(real):
    relu = real.operators("script.py", 52)
    assert [one.name for one in relu] == [f"Default/relu-ReLU/ReLU-op{n}" for n in range(7)]
    rows = real.compared.rows
    assert all(rows[one.index].op_name == one.name for one in relu)
    assert all(rows[one.index].io == "output" for one in relu)
    assert real.operators("script.py", 1) == ()


def test_its_table_has_one_row_for_each_operator(real):
    table = real.frame()
    named = {row.op_name for row in real.compared.rows if row.source is not None}
    assert set(table["NPUDump"]) == named
    assert len(table) == len(named)
    assert list(table[table["Born"]]["Line"]) == [41]


def test_parameters_are_no_operators_without_a_line(real):
    assert real.without_line == 0


def test_a_file_of_this_machine_is_shown_whole(tmp_path):
    path = written(tmp_path)
    (file,) = found_in(frames(path, 2, 4), spoil=[1]).files
    assert (file.origin, file.note) == ("file", None)
    assert [line.text for line in file.lines] == path.read_text().splitlines()
    assert [line.number for line in file.made] == [2, 4]
    assert [line.worst.originates for line in file.made] == [False, True]


def test_of_a_long_file_the_lines_around_are_shown_and_the_gaps_counted(tmp_path):
    path = written(tmp_path, WHOLE + 20)
    (file,) = found_in(frames(path, 10, 12, 60)).files
    assert [line.number for line in file.lines] == [*range(8, 15), *range(58, 63)]
    assert [line.gap for line in file.lines if line.gap] == [7, 43]
    assert sum(line.gap for line in file.lines) + file.gap + len(file.lines) == WHOLE + 20


def test_of_very_many_lines_the_worst_are_kept_and_the_others_counted(tmp_path):
    path = written(tmp_path, 30)
    (file,) = found_in(frames(path, *range(1, 31)), spoil=[17]).files
    cut = file.cut(10)
    assert 18 in [line.number for line in cut.lines if line.worst.originates]
    assert len(cut.lines) == 10
    assert sum(line.gap for line in cut.lines) + cut.gap + len(cut.lines) == 30
    assert file.cut(30) is file


def test_a_file_that_has_changed_is_not_shown(tmp_path):
    path = written(tmp_path)
    some = frames(path, 2, 4)
    path.write_text(path.read_text().replace("line_4", "secret"))
    (file,) = found_in(some).files
    assert (file.origin, file.note) == ("dump", Message("views/lines-differ", line=4))
    assert [line.text for line in file.lines] == ["x = line_2(x)", "x = line_4(x)"]
    assert "secret" not in source_html(found_in(some))


def test_a_file_shorter_than_the_dump_says_is_not_shown(tmp_path):
    path = written(tmp_path, 3)
    (file,) = found_in(frames(path, 2, 9)).files
    assert file.origin == "dump"


@pytest.mark.parametrize("name", ["notes.txt", "data.csv", "passwd"])
def test_only_python_files_are_opened(tmp_path, name):
    path = written(tmp_path, name=name)
    context = in_context(*frames(path, 2))
    assert (context.origin, len(context.lines)) == ("dump", 1)
    assert context.note == Message("views/not-python")


@pytest.mark.parametrize(
    "name", ["//host/share/net.py", "\\\\host\\share\\net.py", "nul\0.py", "", "."]
)
def test_names_that_are_no_files_of_this_machine_are_left_alone(name):
    context = in_context(SourceFrame(name, 1, "x = 1"))
    assert context.origin == "dump"
    assert context.note


def test_a_line_that_the_dump_does_not_state_proves_nothing(tmp_path):
    context = in_context(SourceFrame(str(written(tmp_path)), 2, ""))
    assert context.origin == "dump"
    assert context.note == Message("views/line-unknown")


def test_a_line_is_shown_in_its_surroundings(tmp_path):
    context = in_context(*frames(written(tmp_path, 20), 2))
    assert [line.number for line in context.lines] == [1, 2, 3, 4, 5, 6]
    assert [line.number for line in context.lines if line.here] == [2]


def test_a_named_pipe_does_not_block(tmp_path):
    import os

    os.mkfifo(tmp_path / "net.py")
    assert in_context(*frames(tmp_path / "net.py", 1)).origin == "dump"


def test_the_file_is_read_anew_after_a_change(tmp_path):
    path = written(tmp_path)
    assert find_source(str(path))[0][0] == "x = line_1(x)"
    path.write_text("y = 2  # longer\n")
    assert find_source(str(path))[0] == ("y = 2  # longer",)


def test_files_of_the_workbench_are_found_wherever_it_is_installed():
    lines, origin, _ = find_source("workbench/network/models/networks.py")
    assert origin == "file"
    assert lines[0].startswith('"""')


@pytest.mark.parametrize(
    "name", ["cell in[3]", "cell In[3]", "<ipython-input-3-abcdef>", "/tmp/ipykernel_77/123.py"]
)
def test_a_cell_is_read_from_the_notebook_that_runs_here(monkeypatch, name):
    import linecache
    import sys
    from types import SimpleNamespace

    shell = SimpleNamespace(user_ns={"In": ["", "a", "b", "import x\ny = net(x)"]})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    cached = (20, None, ["import x\n", "y = net(x)\n"], "/tmp/ipykernel_77/123.py")
    monkeypatch.setitem(linecache.cache, "/tmp/ipykernel_77/123.py", cached)
    context = in_context(SourceFrame(name, 2, "y = net(x)"))
    assert context.origin == "notebook"
    assert [line.text for line in context.lines] == ["import x", "y = net(x)"]


def test_a_cell_of_another_notebook_is_as_the_dump_has_it(monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    for name in ("cell In[3]", "/tmp/ipykernel_77/999.py"):
        context = in_context(SourceFrame(name, 2, "y = net(x)"))
        assert (context.origin, context.lines[0].text) == ("dump", "y = net(x)")
        assert context.note == Message("views/cell-gone")


def test_library_files_stand_last_and_folded(tmp_path):
    own = frames(written(tmp_path), 2)
    library = SourceFrame("/usr/lib/python3/site-packages/layers.py", 7, "return op(x)")
    shown = found_in([library, *own])
    assert [file.library for file in shown.files] == [False, True]


def test_without_a_graph_it_says_so():
    net = Net()
    net.op("Neg", net.feed("x"))
    graph = net.graph()
    shots = shoot(graph, given(graph))
    shown = wb.compare(in_memory(shots), in_memory(shots)).source_map()
    assert shown.files == ()
    text = source_html(shown)
    assert label("show/no-source") in text
    assert shown.without_line == 1


HOSTILE = [
    "</td><script>alert(1)</script>.py",
    "a\x1b[31m\u202e.py",
    "n" * 10_000 + ".py",
    "'\"&.py",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_lines_are_shown_as_text(name):
    text = source_html(found_in([SourceFrame(name, 1, f"x = '{name}'")], spoil=[0]))
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_an_infinite_own_error_has_the_longest_bar():
    frame = SourceFrame("net.py", 3, "y = -x")
    shown = found_in([frame], spoil=[0], by=lambda x: np.full_like(x, np.nan))
    ((line,),) = [file.made for file in shown.files]
    assert line.worst.log_ratio == 6.0
    assert line.worst.originates
    assert not math.isnan(line.own or 0.0)


def test_it_shows_itself_and_always_the_same(real):
    assert repr(real) == "<SourceMap of 1 file, 11 lines>"
    text = real._repr_html_()
    assert "<style>" in text
    assert text == SourceMap(real.compared)._repr_html_()
    guilty = real.compared.findings[0].op_name
    rows = [n for n, row in enumerate(real.compared.rows) if row.op_name == guilty]
    assert any(f'data-row="{n}"' in text for n in rows)
