"""The session file: what it keeps comes back, what is none is refused with its place."""

import json
import math
from contextlib import suppress

import pytest

import workbench as wb
from kit.face.screen import codes_in, label, said_in
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.show.look import look_data
from workbench.ui.export import Export
from workbench.ui.session import session_data, session_path


def bench():
    made = wb.Workbench(
        wb.config.new("mindspore-o2"), "mlp", device="950", faults=["nan-output:*MatMul*"],
        precision_mode="force_fp16", seed=3, iterations=2, profile="noise-floor", language="zh",
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
        ("[]", "ui/session-value", {"key": "session", "got": "[]"}),
        (saved(look={"worst": 0}), "ui/session-value", {"key": "look.worst", "got": "0"}),
        (saved(look={"limit": math.nan}), "ui/session-value", {"key": "look.limit"}),
        (saved(look={"sort": ["error", 1]}), "ui/session-value", {"key": "look.sort.1"}),
        (saved(panel="x"), "core/choice", {"subject": "panel", "got": "x"}),
        (
            '{"schema": "workbench.session/9"}',
            "ui/session-value",
            {"key": "schema", "got": "workbench.session/9"},
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
    shell.tabs.selected_index = 3
    assert shell.parts["divergence"].explorer.state == look_data(one.comparison.look)
    shell.tabs.selected_index = 4
    assert shell.bench.panel == "operator"
    assert shell.parts["operator"].view_of.row.slot == one.comparison.selected.slot
    assert wb.Workbench.open(path).panel == "operator"
    shell.close()


def test_a_session_that_cannot_be_written_is_said_and_stops_nothing(tmp_path, monkeypatch):
    bench = looked_at(tmp_path / "s.json")
    shell = bench.form()
    full = OSError(28, "No space left <here>")
    monkeypatch.setattr("workbench.ui.session.save_session", lambda *_: (_ for _ in ()).throw(full))
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
