"""All panels together: they follow the bench and one another through it, in either language."""

import pytest
from comm.base_comm import BaseComm

import workbench as wb
from kit.face.screen import alerts_in, label
from kit.words import refused
from workbench.core.words.translate import LANGUAGES
from workbench.ui.shell import PARTS

QUEUE = 1000
"""Messages that ZeroMQ keeps for whoever does not take them, unless told otherwise; more are lost."""


@pytest.fixture
def shell():
    shown = wb.Workbench(graph="mlp").form()
    yield shown
    assert alerts_in(shown) == []
    shown.close()


def test_every_panel_has_a_tab_and_a_chip(shell):
    assert list(shell.tabs.titles) == [label(part.title) for part in PARTS.values()]
    assert all(label(part.title) in shell.strip.value for part in PARTS.values())


def test_a_setting_made_in_a_cell_reaches_the_panels(shell):
    shell.bench.device = "950"
    shell.bench.faults = ("nan-output:*MatMul*",)
    assert shell.parts["run"].rehearsal.inputs["device"].value == "950"
    assert shell.parts["run"].rehearsal.inputs["faults"].value == "nan-output:*MatMul*"


def test_a_wrong_form_stops_the_run_until_it_is_right(shell):
    field = shell.parts["configure"].form.fields["common_dump_settings.iteration"]
    field.input.value = "1,x"
    shell.tabs.selected_index = list(PARTS).index("run")
    assert shell.parts["run"].run.disabled
    field.input.value = "0"
    assert not shell.parts["run"].run.disabled


@pytest.fixture
def sent(monkeypatch):
    """Messages to the browser."""
    messages = []

    class Comm(BaseComm):
        def publish_msg(self, msg_type, **content):
            messages.append(msg_type)

    monkeypatch.setattr("comm.create_comm", Comm)
    return messages


def test_a_face_can_be_opened_and_closed_while_the_server_is_busy(sent):
    wb.Workbench(graph="mlp").form().close()
    assert sent.count("comm_open") > 100
    assert sent.count("comm_open") == sent.count("comm_close")
    assert len(sent) < QUEUE


def test_every_panel_can_be_opened_while_the_server_is_busy(shell, sent):
    for number in (*range(1, len(PARTS)), 0):
        shell.tabs.selected_index = number
        assert len(sent) < QUEUE / 2
        sent.clear()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_panel_that_is_not_there_yet_says_that_it_comes(language):
    shown = wb.Workbench(graph="mlp", language=language).form()
    wait = label("ui/loading", language)
    box = shown.parts.boxes["source"]
    assert [child.value for child in box.children] == [f'<p role="status">{wait}</p>']
    shown.tabs.selected_index = list(PARTS).index("source")
    assert list(box.children) == [shown.parts["source"].view]
    shown.close()


def test_a_bench_that_has_run_opens_at_its_result(shell):
    assert shell.tabs.selected_index == 0
    shell.bench.run()
    assert shell.tabs.selected_index == 0  # nobody is taken away from where he is
    again = shell.bench.form()
    assert again.tabs.titles[again.tabs.selected_index] == label("ui/divergence")
    again.close()


def test_the_language_changes_every_panel_and_goes_back(shell):
    shell.language.value = "zh"
    assert shell.bench.language == "zh"
    assert list(shell.tabs.titles) == [label(part.title, "zh") for part in PARTS.values()]
    assert shell.parts["run"].run.description == label("ui/run-comparison", "zh")
    shell.bench.language = "en"
    assert shell.language.value == "en"
    assert shell.parts["run"].run.description == label("ui/run-comparison")


def test_a_run_fills_the_panels_behind_it(shell):
    shell.parts["run"].run.click()
    assert shell.bench.runner.job.wait(60)
    shell.tabs.selected_index = list(PARTS).index("divergence")
    sentence = shell.bench.comparison.sentence
    assert sentence[:40] in shell.parts["divergence"].answer.value
    assert shell.bench.comparison.verdict in shell.strip.value


@pytest.mark.parametrize("name", PARTS)
def test_every_panel_also_stands_alone(name):
    panel = wb.Workbench(graph="mlp").form(name)
    assert panel.name == name
    panel.close()


def test_an_unknown_panel_is_refused():
    with refused("core/choice", subject="panel", got="x", known=list(PARTS)):
        wb.Workbench().form("x")


def test_turning_to_a_panel_leaves_it_as_it_was(shell):
    calls = []
    for number in (1, 2, 3, 4, 0):
        shell.tabs.selected_index = number
    for name in ("configure", "run", "align", "divergence"):
        shell.parts[name].refresh = lambda name=name: calls.append(name)
    for number in (1, 2, 3, 4, 0):
        shell.tabs.selected_index = number
    assert calls == []
    assert [part.shown for part in shell.parts.values()] == [True, *[False] * (len(PARTS) - 1)]


HEAVY = ("align", "divergence", "operator", "source", "report")


def drawn(shell):
    """Panels that show something of a comparison."""
    align, divergence, operator, source, report = (shell.parts[name] for name in HEAVY)
    shown = {
        "align": align.table.html or align.hand.names["target"].options,
        "divergence": divergence.explorer,
        "operator": operator.view_of,
        "source": source.lines.html,
        "report": report.inputs["pins"].options,
    }
    return {name for name, value in shown.items() if value}


def test_a_panel_waits_with_its_work_until_it_is_seen(shell):
    shell.bench.run().selected = 0
    assert drawn(shell) == set()
    seen = set()
    for name in HEAVY:
        shell.tabs.selected_index = list(PARTS).index(name)
        seen.add(name)
        assert drawn(shell) == seen


def test_the_face_of_a_bench_that_has_run_shows_one_panel(shell):
    shell.bench.run()
    again = shell.bench.form()
    assert drawn(again) == {"divergence"}
    again.bench.language = "zh"
    assert drawn(again) == {"divergence"}
    again.close()


def test_what_changed_behind_a_panel_is_there_when_it_is_seen_again(shell):
    shell.bench.run()
    for name in HEAVY:
        shell.tabs.selected_index = list(PARTS).index(name)
    shell.tabs.selected_index = 0
    shell.bench.run()
    found = shell.bench.comparison
    assert shell.parts["divergence"].told is not found
    found.selected = 3
    for name in HEAVY:
        shell.tabs.selected_index = list(PARTS).index(name)
    assert shell.parts["divergence"].told is found
    assert shell.parts["operator"].view_of.row is found.rows[3]
    assert shell.parts["source"].map_of.compared is found.compared
