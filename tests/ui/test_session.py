"""The session file: what it keeps comes back, what is none is refused with its place."""

import json
from contextlib import suppress

import pytest

import workbench as wb
from workbench.core.errors import FormatError
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
    return made


def test_what_is_saved_comes_back(tmp_path):
    one = bench()
    other = wb.Workbench.open(one.save(tmp_path / "s.json"))
    assert session_data(other) == session_data(one)
    assert other.config == one.config
    assert other.trees == one.trees
    assert other.map_file.overrides == one.map_file.overrides


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        ("[]", "session file must be as it was saved"),
        ('{"schema": "workbench.session/9"}', "got 'workbench.session/9'"),
        ('{"schema": "workbench.session/1"}', "surface must be as it was saved"),
    ],
)
def test_what_is_no_session_is_refused_with_its_file(tmp_path, text, words):
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=words) as caught:
        wb.Workbench.open(path)
    assert str(path) in str(caught.value)


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
