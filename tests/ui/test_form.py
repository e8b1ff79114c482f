"""The form of a configuration: inputs ↔ object, problems beside their field, code that runs."""

import json

import pytest

import workbench as wb
from kit.face.screen import label, said_in
from workbench.config.explain import iterations_words
from workbench.core.plan import Iterations
from workbench.core.text import escape
from workbench.ui.form import ConfigForm
from workbench.ui.widgets.alerts import close_tree
from workbench.ui.widgets.fields import UNSET, fields_of

O0O1 = "mindspore-o0o1"
ITERATION = "common_dump_settings.iteration"


@pytest.fixture
def form():
    shown = ConfigForm(wb.config.new(O0O1))
    yield shown
    assert all(field.alert.text == "" for field in shown.fields.values())
    shown.close()


@pytest.mark.parametrize("surface", wb.config.SURFACES)
def test_every_surface_has_a_form_that_starts_accepted(surface):
    form = ConfigForm(wb.config.new(surface))
    assert form.refused is None
    assert form.config == wb.config.new(surface)
    form.close()


@pytest.mark.parametrize("surface", wb.config.SURFACES)
def test_every_setting_has_an_input_with_its_name_and_help(surface):
    for field in fields_of(wb.config.get(surface).model):
        assert field.input.description == field.path.rpartition(".")[2]
        assert field.input.tooltip
        close_tree(field.widget)


@pytest.mark.parametrize("surface", wb.config.SURFACES)
def test_showing_a_form_and_reading_it_back_changes_nothing(surface):
    """Every value goes into its input and comes out the same."""
    form = ConfigForm(wb.config.new(surface))
    for path, field in form.fields.items():
        shown = field.value
        field.show(shown)
        assert field.value == shown, path
    assert form.draft == wb.config.new(surface)
    form.close()


def test_what_is_typed_reaches_object_and_text(form):
    form.fields[ITERATION].input.value = "0|5-8"
    assert form.config.settings.common_dump_settings.iteration == "0|5-8"
    assert "0|5-8" in form.text.value
    assert str(iterations_words(Iterations.parse("0|5-8"))) in form.meaning.value


def test_a_wrong_value_is_marked_beside_its_field_and_changes_no_object(form):
    before = form.config
    form.fields[ITERATION].input.value = "1,x"
    note = form.fields[ITERATION].note.value
    assert said_in(note) == [form.refused.id]
    assert 'role="alert"' in note
    assert form.refused.message.code == "config/value"
    assert escape(str(form.refused)) in note
    assert form.config == before
    assert form.refused.path == ITERATION
    form.fields[ITERATION].input.value = "1"
    assert "alert" not in form.fields[ITERATION].note.value
    assert escape(form.fields[ITERATION].input.tooltip) in form.fields[ITERATION].note.value
    assert form.refused is None
    assert form.config.data["common_dump_settings"]["iteration"] == "1"


def test_a_list_takes_json_lines_or_commas(form):
    field = form.fields["common_dump_settings.support_device"]
    for text in ("[0, 3]", "0\n3", "0, 3"):
        field.input.value = text
        assert form.draft.data["common_dump_settings"]["support_device"] == [0, 3]
    kernels = form.fields["common_dump_settings.kernels"]
    kernels.input.value = "Conv2D\nname-regex(Default/.+)"
    names = form.draft.data["common_dump_settings"]["kernels"]
    assert names == ["Conv2D", "name-regex(Default/.+)"]


def test_an_object_is_typed_as_json():
    form = ConfigForm(wb.config.new("torchair"))
    field = form.fields["options"]
    field.input.value = '{"debug.run_eagerly": true}'
    assert form.draft.data["options"] == {"debug.run_eagerly": True}
    assert form.refused is None
    field.show(field.value)
    assert form.draft.data["options"] == {"debug.run_eagerly": True}
    form.close()


def test_an_emptied_input_leaves_the_setting_out(form):
    field = form.fields["common_dump_settings.initial_iteration"]
    field.input.value = "3"
    assert form.draft.data["common_dump_settings"]["initial_iteration"] == 3
    field.input.value = ""
    assert "initial_iteration" not in form.draft.data["common_dump_settings"]


def test_a_new_object_moves_the_inputs(form):
    form.config = wb.config.new(O0O1).set(ITERATION, "7")
    assert form.fields[ITERATION].input.value == "7"
    assert form.draft.data["common_dump_settings"]["iteration"] == "7"


def test_a_wrong_object_is_shown_with_its_wrong_values(form):
    path = "common_dump_settings.saved_data"
    form.config = wb.config.new(O0O1).set(path, "sTatistic")
    assert form.fields[path].value == "sTatistic"
    assert 'role="alert"' in form.fields[path].note.value


def test_unknown_keys_are_kept_and_reported_below(form):
    form.config = wb.config.new(O0O1).set("common_dump_settings.saved_date", "x")
    assert "saved_date" in form.others.value
    form.fields[ITERATION].input.value = "4"
    assert form.config.data["common_dump_settings"]["saved_date"] == "x"


def test_the_code_makes_the_same_form(form):
    form.fields[ITERATION].input.value = "0|2"
    names = {}
    exec(form.to_code(), names)
    assert names["form"] == form.config
    assert form.code.text == form.to_code()


def test_names_of_the_user_are_escaped(form):
    form.config = wb.config.new(O0O1).set("common_dump_settings.kernels", ["<script>alert(1)"])
    assert "<script" not in form.text.value + form.meaning.value + form.listing.value


def test_the_preview_follows_form_and_graph(form):
    assert said_in(form.preview.value) == ["ui/no-network"]
    form.graph = wb.models.load_graph("mlp")
    whole = form.preview.value
    form.fields["common_dump_settings.input_output"].show(2)
    assert form.preview.value != whole
    form.fields[ITERATION].input.value = "x"
    assert said_in(form.preview.value) == ["ui/no-preview"]


def test_listeners_are_told_of_every_change():
    told = []
    form = ConfigForm(wb.config.new(O0O1), changed=lambda form: told.append(form.refused))
    form.fields[ITERATION].input.value = "x"
    form.fields[ITERATION].input.value = "2"
    assert [bool(refused) for refused in told] == [False, True, False]
    form.close()


def test_without_widgets_the_form_is_static_html(form):
    bundle = form._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/plain"] == f"<ConfigForm mindspore-o0o1: {label('ui/accepted')}>"
    assert (
        json.dumps(form.config.data["common_dump_settings"]["net_name"])[1:-1] in data["text/html"]
    )
    assert "widget-view" in "".join(data)


def test_an_error_in_a_handler_is_shown_and_the_form_still_works(monkeypatch):
    form = ConfigForm(wb.config.new(O0O1))
    good = form.refresh

    def broken():
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(form, "refresh", broken)
    form.fields[ITERATION].input.value = "3"
    alert = form.fields[ITERATION].alert
    assert 'role="alert"' in alert.widget.value
    assert "ZeroDivisionError: planted" in alert.text
    monkeypatch.setattr(form, "refresh", good)
    form.fields[ITERATION].input.value = "4"
    assert alert.text == ""
    assert form.config.data["common_dump_settings"]["iteration"] == "4"
    form.close()


def test_unset_is_no_value_of_json():
    assert UNSET not in ("", None)
