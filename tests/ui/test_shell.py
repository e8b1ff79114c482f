"""All panels together: they follow the bench and one another through it, in either language."""

import pytest

import workbench as wb
from workbench.show.labels import CHINESE
from workbench.ui.shell import PARTS


@pytest.fixture
def shell():
    shown = wb.Workbench(graph="mlp").form()
    yield shown
    assert shown.alert.widget.value == ""
    shown.close()


def test_every_panel_has_a_tab_and_a_chip(shell):
    assert list(shell.tabs.titles) == [part.title for part in PARTS.values()]
    assert all(part.title in shell.strip.value for part in PARTS.values())


def test_a_setting_made_in_a_cell_reaches_the_panels(shell):
    shell.bench.device = "950"
    shell.bench.faults = ("nan-output:*MatMul*",)
    assert shell.parts["run"].rehearsal.inputs["device"].value == "950"
    assert shell.parts["run"].rehearsal.inputs["faults"].value == "nan-output:*MatMul*"


def test_a_wrong_form_stops_the_run_until_it_is_right(shell):
    field = shell.parts["configure"].form.fields["common_dump_settings.iteration"]
    field.input.value = "1,x"
    assert shell.parts["run"].run.disabled
    field.input.value = "0"
    assert not shell.parts["run"].run.disabled


def test_a_bench_that_has_run_opens_at_its_result(shell):
    assert shell.tabs.selected_index == 0
    shell.bench.run()
    assert shell.tabs.selected_index == 0  # nobody is taken away from where he is
    again = shell.bench.form()
    assert again.tabs.titles[again.tabs.selected_index] == "Divergence"
    again.close()


def test_the_language_changes_every_panel_and_goes_back(shell):
    shell.language.value = "zh"
    assert shell.bench.language == "zh"
    assert list(shell.tabs.titles) == [CHINESE[part.title] for part in PARTS.values()]
    assert shell.parts["run"].run.description == CHINESE["Run comparison"]
    shell.bench.language = "en"
    assert shell.language.value == "en"
    assert shell.parts["run"].run.description == "Run comparison"


def test_a_run_fills_the_panels_behind_it(shell):
    shell.parts["run"].run.click()
    assert shell.bench.runner.job.wait(60)
    sentence = shell.bench.comparison.sentence
    assert sentence[:40] in shell.parts["divergence"].answer.value
    assert shell.bench.comparison.verdict in shell.strip.value


@pytest.mark.parametrize("name", PARTS)
def test_every_panel_also_stands_alone(name):
    panel = wb.Workbench(graph="mlp").form(name)
    assert panel.name == name
    panel.close()


def test_an_unknown_panel_is_refused():
    with pytest.raises(wb.WorkbenchError, match=r"panel must be one of \['configure'.*got 'x'"):
        wb.Workbench().form("x")


def test_turning_to_a_panel_leaves_it_as_it_was(shell):
    calls = []
    for name in ("configure", "run", "align", "divergence"):
        shell.parts[name].refresh = lambda name=name: calls.append(name)
    for number in (1, 2, 3, 4, 0):
        shell.tabs.selected_index = number
    assert calls == []
    assert [part.shown for part in shell.parts.values()] == [True, *[False] * (len(PARTS) - 1)]
