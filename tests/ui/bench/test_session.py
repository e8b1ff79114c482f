"""The session file: what it keeps comes back, what is none is refused with its place."""

import errno
import json
import math
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import workbench as wb
from kit.face.screen import codes_in, label, said_in
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.network.models import load_graph
from workbench.show.look.look import look_data
from workbench.ui.bench.export import Export
from workbench.ui.bench.session import session_data, session_path
from workbench.ui.shell import PARTS


def bench():
    made = wb.Workbench(
        wb.config.new("mindspore-o2"), "mlp", device="950", faults=["nan-output:*MatMul*"],
        precision_mode="force_fp16", inputs=["x=1,3", "caf\udce9=a.npy"], set_dump=["*MatMul*"], seed=3, iterations=2,
        profile="noise-floor", language="zh",
    )  # fmt: skip
    made.trees = wb.Trees("/t", "/g", rank=(0, 1), iteration=2)
    made.export = Export(title="<b>", pins=("a",))
    made.map_file.match(["a", "b"], "c")
    made.panel = "operator"
    return made


LINEAR = "Default/head-Dense/MatMul-op0"


def looked_at(path):
    """A workbench whose comparison somebody looked around in, and the session that it keeps."""
    made = wb.Workbench.resume(path)
    made.graph, made.faults = "mlp", (f"scaled-output:{LINEAR}:2",)
    look = made.run().look
    row = next(r for r in made.comparison.rows if r.op_type == "MatMul" and r.io == "input")
    made.comparison.selected = row
    look.query, look.statuses, look.choices = "dense", ("fail", "pass"), {"op_type": "MatMul"}
    look.sort, look.factor, look.limit = ("error", True), 3.0, 1e-3
    look.figure, look.element_error, look.worst = "inherited", "relative", 7
    made.panel = "source"
    return made


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """The folder of a notebook called lenet, which workbenches are made in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", "lenet.ipynb")
    monkeypatch.delenv("WORKBENCH_SESSION")
    return tmp_path


def kept(folder):
    return sorted(path.name for path in folder.iterdir())


def test_every_workbench_keeps_its_session_at_every_change(notebook):
    made = wb.Workbench("mindspore-o2", "mlp")
    assert kept(notebook) == []  # what nobody changed is worth no file
    made.device = "950"
    path = notebook / "lenet.session.json"
    assert kept(notebook) == [path.name]
    assert session_data(wb.Workbench.open(path)) == session_data(made)
    made.map_file.match("a", "b")
    made.run()
    assert session_data(wb.Workbench.open(path)) == session_data(made)
    assert made.unsaved == ""


def test_of_two_workbenches_the_one_changed_last_is_kept_and_a_place_of_its_own_keeps_both(
    notebook,
):
    one, other, apart = wb.Workbench(), wb.Workbench(), wb.Workbench(session="mine.json")
    one.device, other.device, apart.device = "a3", "950", "310p"
    assert wb.Workbench.open("lenet.session.json").device == "950"
    one.seed = 4
    found = wb.Workbench.open("lenet.session.json")
    assert (found.device, found.seed) == ("a3", 4)
    assert wb.Workbench.open("mine.json").device == "310p"
    assert kept(notebook) == ["lenet.session.json", "mine.json"]


def test_the_file_stays_where_it_was_when_the_notebook_changes_its_folder(notebook, monkeypatch):
    made = wb.Workbench()
    (notebook / "else").mkdir()
    monkeypatch.chdir(notebook / "else")
    made.device = "950"
    assert kept(notebook) == ["else", "lenet.session.json"]
    assert kept(notebook / "else") == []


@pytest.mark.parametrize("off", [{"session": ""}, {}])
def test_none_is_kept_where_none_is_wanted(notebook, monkeypatch, off):
    if not off:
        monkeypatch.setenv("WORKBENCH_SESSION", "off")
    wb.Workbench(**off).device = "950"
    assert kept(notebook) == []


def test_a_file_of_somebody_else_is_never_written_over(notebook):
    path = notebook / "lenet.session.json"
    path.write_text("mine")
    made = wb.Workbench()
    made.device = "950"
    assert path.read_text() == "mine"
    assert made.unsaved.code == "ui/session-json"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_disk_that_refuses_costs_one_line_and_leaves_the_last_session_whole(
    notebook, monkeypatch, number
):
    made = wb.Workbench()
    made.device = "950"
    before = (notebook / "lenet.session.json").read_text()

    whole = Path.open

    def refuse(self, *given, **named):
        if self.suffix != ".partial":
            return whole(self, *given, **named)
        with whole(self, *given, **named) as file:
            file.write(b"some bytes")
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "open", refuse)
    made.device = "a3"
    assert os.strerror(number) in str(made.unsaved)
    assert len(str(made.unsaved).splitlines()) == 1
    assert kept(notebook) == ["lenet.session.json"]
    assert (notebook / "lenet.session.json").read_text() == before
    monkeypatch.undo()
    monkeypatch.chdir(notebook)
    made.device = "310p"
    assert made.unsaved == ""


def test_two_processes_that_write_at_once_leave_one_whole_session(tmp_path):
    """Each writes under a name of its own first."""
    made = [wb.Workbench(session=tmp_path / "s.json", device=device) for device in ("a3", "950")]

    def change(bench):
        for seed in range(1, 60):
            bench.seed = seed

    threads = [threading.Thread(target=change, args=(bench,)) for bench in made]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if (tmp_path / "s.json").exists():
            wb.Workbench.open(tmp_path / "s.json")
    for thread in threads:
        thread.join()
    assert [bench.unsaved for bench in made] == ["", ""]
    assert kept(tmp_path) == ["s.json"]


def resumed(path=None):
    """A workbench and what was said when it was resumed."""
    said = []
    return wb.Workbench.resume(path, say=said.append), said


def test_resuming_says_what_was_resumed_or_that_nothing_was_kept(notebook):
    one, said = resumed()
    assert said == [label("ui/resumed-nothing", path="lenet.session.json")]
    one.graph, one.device = "mlp", "950"
    other, said = resumed()
    assert (other.graph, other.device) == ("mlp", "950")
    what = "mindspore-o0o1, mlp on 950"
    assert said == [label("ui/resumed", path="lenet.session.json", what=what)]


def test_a_network_of_the_notebook_is_not_kept_and_resuming_says_so(notebook):
    one = wb.Workbench(graph=load_graph("mlp"))
    one.device = "950"
    other, said = resumed()
    assert (other.graph, other.device) == ("lenet", "950")
    what = "mindspore-o0o1, lenet on 950"
    assert said == [label("ui/resumed-without-network", path="lenet.session.json", what=what)]


def test_what_is_saved_comes_back(tmp_path):
    one = bench()
    other = wb.Workbench.open(one.save(tmp_path / "s.json"))
    assert session_data(other) == session_data(one)
    assert other.config == one.config
    assert other.trees == one.trees
    assert other.map_file.overrides == one.map_file.overrides


def saved(**other):
    """Text of a session file, some of its values changed."""
    return json.dumps(session_data(wb.Workbench()) | other)


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("{", "ui/session-json", {}),
        ("[" * 100_000, "ui/session-json", {}),
        ("[]", "config/not-an-object", {"got": "array"}),
        (saved(look={"worst": 0}), "ui/session-value", {"key": "look.worst"}),
        (saved(look={"limit": math.nan}), "ui/session-value", {"key": "look.limit"}),
        (saved(look={"sort": ["error", 1]}), "ui/session-value", {"key": "look.sort"}),
        (saved(panel="x"), "core/choice", {"subject": "panel", "got": "x"}),
        (
            '{"schema": "workbench.session/9"}',
            "ui/session-value",
            {"key": "schema"},
        ),
        ('{"schema": "workbench.session/1"}', "ui/session-value", {"key": "surface"}),
    ],
)
def test_what_is_no_session_is_refused_with_its_file(tmp_path, text, code, values):
    path = tmp_path / "s.json"
    path.write_text(text)
    with refused(code, FormatError, place=str(path), **values):
        wb.Workbench.open(path)


@pytest.mark.parametrize("key", [key for key in session_data(wb.Workbench()) if key != "schema"])
@pytest.mark.parametrize("value", [[[1]], {"x": 1}, -1, "?"])
def test_a_wrong_value_anywhere_is_refused_or_harmless(tmp_path, key, value):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(session_data(wb.Workbench()) | {key: value}))
    with suppress(FormatError):
        wb.Workbench.open(path).reason()


def test_a_restarted_kernel_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", "lenet.ipynb")
    one = wb.Workbench.resume()
    assert not (tmp_path / "lenet.session.json").exists()
    panel = one.form()
    panel.parts["run"].rehearsal.inputs["device"].value = "950"
    panel.parts["configure"].form.fields["common_dump_settings.iteration"].input.value = "7"
    one.map_file.match("a", "b")
    panel.close()
    other = wb.Workbench.resume()
    assert session_data(other) == session_data(one)
    assert (other.device, other.map_file.overrides.pairs) == ("950", {"a": "b"})
    other.device = "a3"
    assert wb.Workbench.resume().device == "a3"


def test_the_view_comes_back_with_the_next_comparison_and_once(tmp_path):
    path = tmp_path / "s.json"
    one = looked_at(path)
    other = wb.Workbench.resume(path)
    assert (other.panel, other.comparison) == ("source", None)
    assert session_data(other) == session_data(one)  # kept while there is no comparison
    other.seed = other.seed
    assert other.run().look.trait_values() == one.comparison.look.trait_values()
    assert other.comparison.selected.op_name == one.comparison.selected.op_name
    assert other.lost == ()
    assert wb.Workbench.open(path).kept_look == one.kept_look
    other.run()
    assert other.comparison.look.query == ""


def test_a_file_of_before_there_were_looks_opens(tmp_path):
    data = session_data(wb.Workbench())
    del data["look"], data["panel"]
    (tmp_path / "s.json").write_text(json.dumps(data))
    made = wb.Workbench.open(tmp_path / "s.json")
    assert (made.kept_look, made.panel) == (None, "")


def test_an_operator_that_is_no_more_is_said_and_the_first_divergence_selected(tmp_path):
    path = tmp_path / "s.json"
    looked_at(path)
    name = "<b>" + chr(0x202E) + "gone"
    data = json.loads(path.read_text())
    data["look"]["selected"] |= {"op_name": name, "golden_op_name": name}
    path.write_text(json.dumps(data))
    other = wb.Workbench.resume(path)
    panel = other.form("divergence")
    assert label("ui/restored-later") in panel.answer.value
    other.run()
    assert other.comparison.selected is other.comparison.first_divergence
    assert other.comparison.look.query == "dense"
    said = panel.answer.value
    assert said_in(said) == ["show/lost-selected"]
    assert "&lt;b&gt;" in said
    assert chr(0x202E) not in said
    other.run()
    assert said_in(panel.answer.value) == []
    panel.close()


def test_panels_show_the_view_that_came_back(tmp_path):
    path = tmp_path / "s.json"
    one = looked_at(path)
    shell = wb.Workbench.resume(path).form()
    assert shell.tabs.titles[shell.tabs.selected_index] == label("ui/source")
    assert label("ui/restored-later") in shell.parts["source"].hint.value
    shell.bench.run()
    shell.tabs.selected_index = list(PARTS).index("divergence")
    assert shell.parts["divergence"].explorer.state == look_data(one.comparison.look)
    shell.tabs.selected_index = list(PARTS).index("operator")
    assert shell.bench.panel == "operator"
    assert shell.parts["operator"].view_of.row.slot == one.comparison.selected.slot
    assert wb.Workbench.open(path).panel == "operator"
    shell.close()


def test_a_session_that_cannot_be_written_is_said_and_stops_nothing(tmp_path, monkeypatch):
    bench = looked_at(tmp_path / "s.json")
    shell = bench.form()
    full = OSError(28, "No space left <here>")
    monkeypatch.setattr(
        "workbench.ui.bench.session.save_session", lambda *_: (_ for _ in ()).throw(full)
    )
    bench.comparison.look.query = "x"
    assert bench.comparison.look.query == "x"
    assert codes_in(shell.unsaved) == ["ui/unsaved"]
    assert "No space left &lt;here&gt;" in shell.unsaved.value
    monkeypatch.undo()
    bench.comparison.look.query = "y"
    assert shell.unsaved.value == ""
    shell.close()


def test_what_is_no_session_is_not_written_over(tmp_path):
    path = tmp_path / "s.json"
    path.write_text("mine")
    with pytest.raises(FormatError):
        wb.Workbench.resume(path)
    assert path.read_text() == "mine"


def test_the_session_lies_beside_its_notebook(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "/somewhere/lenet.ipynb")
    assert str(session_path()) == "lenet.session.json"
    monkeypatch.delenv("JPY_SESSION_NAME")
    assert str(session_path()) == "workbench.session.json"
