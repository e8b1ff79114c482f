"""Setting, running, cancelling and failing in a real JupyterLab: what the panels promise of each."""

import pytest

from kit.face.jupyter_lab import RUN_CODE, Guest, python
from kit.face.pages import (
    GUILTY,
    OUTPUT,
    alert,
    button,
    copied,
    field,
    fill,
    real_bench,
    rule_of,
    status,
    tab,
)
from kit.face.screen import count_in, label, says

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    "import time, workbench as wb\nfrom workbench.comparison.measure import measure as measuring\n"
    "measure = measuring.measure_pair",
    f"{real_bench('dump_b', 'dump_a')}\npanel = bench.form()\npanel",
)
SLOW = """def slow(*arguments, **named):
    time.sleep(0.2)  # 74 pairs: some fifteen seconds
    return measure(*arguments, **named)

measuring.measure_pair = slow"""


@pytest.fixture(scope="module")
def user(chromium, lab):
    """One person, whose page the tests use in their order."""
    permissions = ["clipboard-read", "clipboard-write"]
    reader = Guest(chromium, lab, lab.write("flows/flows.ipynb", CELLS), permissions=permissions)
    assert lab.run_all(reader.page) == []
    yield reader
    reader.leave()


class TestSettings:
    """A form that somebody fills in, and the object behind it."""

    @pytest.mark.criterion(3)
    def test_a_setting_of_the_form_shows_in_object_json_and_python(self, user):
        page = user.page
        tab(page, "ui/configure")
        field(page, "saved_data").select_option("statistic")
        field(page, "iteration").fill("0|3-5")
        field(page, "iteration").press("Enter")
        page.locator(f"{OUTPUT} pre").filter(has_text='"iteration": "0|3-5"').first.wait_for()
        text = page.locator(f"{OUTPUT} pre").filter(has_text='"saved_data": "statistic"')
        assert text.first.is_visible()
        settings = "bench.config.data['common_dump_settings']"
        said = python(page, f"print([{settings}[name] for name in ('saved_data', 'iteration')])")
        assert said == "['statistic', '0|3-5']"
        tab(page, "ui/code")
        code = (
            page.locator(f"{OUTPUT} pre")
            .filter(has_text="form = wb.config")
            .locator("visible=true")
        )
        assert "'0|3-5'" in code.first.inner_text()
        assert "'statistic'" in code.first.inner_text()

    @pytest.mark.criterion(3)
    def test_the_copied_python_evaluates_to_the_object(self, user):
        page = user.page
        button(page, "ui/copy-as-code").click()
        copied(page)
        code = page.evaluate("() => navigator.clipboard.readText()")
        given = code.partition("form = ")[2]
        assert given
        assert python(page, f"print(bool(eval({given!r}) == bench.config))") == "True"
        page.evaluate(
            RUN_CODE, "bench.config = bench.config.set('common_dump_settings.iteration', '7')"
        )
        assert python(page, f"print(bool(eval({given!r}) == bench.config))") == "False"

    @pytest.mark.criterion(3)
    def test_what_a_cell_changes_shows_in_the_form(self, user):
        page = user.page
        expect(field(page, "iteration")).to_have_value("7")
        page.evaluate(
            RUN_CODE, "bench.config = bench.config.set('common_dump_settings.saved_data', 'tensor')"
        )
        expect(field(page, "saved_data")).to_have_value("tensor")

    @pytest.mark.criterion(4)
    def test_wrong_input_is_named_and_changes_nothing(self, user):
        page = user.page
        before = python(page, "print(bench.config.to_text())")
        python(page, "bench.rehearsing = True")
        field(page, "iteration").fill("1,x")
        field(page, "iteration").press("Enter")
        beside = alert(page, rule_of("1,x"))
        beside.locator("visible=true").first.wait_for()
        assert python(page, "print(bench.config.to_text())") == before
        tab(page, "ui/run")
        status(page, "ui/not-ready")
        expect(button(page, "ui/run-comparison")).to_be_disabled()
        tab(page, "ui/configure")
        field(page, "iteration").fill("0")
        field(page, "iteration").press("Enter")
        beside.first.wait_for(state="detached")
        python(page, "bench.rehearsing = False")
        tab(page, "ui/run")
        expect(button(page, "ui/run-comparison")).to_be_enabled()


PROGRESS = """() => {
  const bar = [...document.querySelectorAll('.progress-bar, .widget-hprogress .progress > div')]
    .find((one) => one.checkVisibility());
  return parseFloat(bar.style.width);
}"""


class TestRuns:
    """A run that takes its time."""

    @pytest.mark.criterion(5)
    def test_it_moves_and_a_cell_answers_while_it_runs(self, user):
        page = user.page
        python(page, SLOW)
        button(page, "ui/run-comparison").click()
        status(page, "ui/run-state-tensors")
        seen = [page.evaluate(PROGRESS)]
        while len(seen) < 4:
            page.wait_for_function(f"(last) => ({PROGRESS})() > last", arg=seen[-1])
            seen.append(page.evaluate(PROGRESS))
        answers = [
            python(page, "print(1 + 1, bench.runner.busy, bench.runner.progress[0])").split()
            for _ in range(2)
        ]
        assert [answer[:2] for answer in answers] == [["2", "True"]] * 2
        assert 0 < int(answers[0][2]) <= int(answers[1][2]) < 74
        expect(button(page, "ui/run-comparison")).to_be_disabled()

    @pytest.mark.criterion(6)
    def test_cancelled_it_keeps_what_it_has_and_calls_it_partial(self, user, lab):
        page = user.page
        button(page, "ui/cancel-run").click()
        said = status(page, "ui/run-cancelled")
        done, left = (count_in(said, code) for code in ("show/summary", "show/not-reached"))
        assert done > 0
        assert done + left == 74
        page.screenshot(path=lab.root / "cancelled.png")
        tab(page, "ui/divergence")
        sentence = page.locator(".wb-sentence:visible").first
        expect(sentence).to_contain_text(str(left))
        page.get_by_text(label("show/partial")).locator("visible=true").first.wait_for()
        row = page.locator(".wbx:visible tr[data-row]").nth(1)
        row.locator("td").first.click()
        page.wait_for_timeout(500)
        number = int(row.get_attribute("data-row"))
        told = python(
            page, "print(bench.comparison.look.selected, bench.comparison.result.partial)"
        )
        assert told == f"{number} True"
        said = python(
            page, "print(sum(r.reason_code == 'compare/cancelled' for r in bench.comparison.rows))"
        )
        assert int(said) == left

    @pytest.mark.criterion(5)
    @pytest.mark.criterion(6)
    def test_the_next_run_ends_with_what_was_compared(self, user):
        page = user.page
        python(page, "measuring.measure_pair = measure")
        tab(page, "ui/run")
        button(page, "ui/run-comparison").click()
        said = status(page, "ui/run-done")
        assert count_in(said, "show/summary") == 74
        assert says(said, "ui/run-done")
        tab(page, "ui/divergence")
        sentence = page.locator(".wb-sentence:visible").first
        expect(sentence).to_contain_text(GUILTY)
        assert page.get_by_text(label("show/partial")).locator("visible=true").count() == 0


class TestTrouble:
    """What a handler does not expect, and work that reports without pause."""

    @pytest.mark.criterion(7)
    def test_an_error_in_a_handler_is_shown_and_the_panel_goes_on(self, user, lab):
        page = user.page
        tab(page, "ui/run")
        python(page, "def broken(*_): raise ZeroDivisionError('<b>by zero</b>')\n"
                     "bench.runner.start = broken")  # fmt: skip
        button(page, "ui/run-comparison").click()
        failed = page.get_by_role("alert").filter(has_text="ZeroDivisionError: <b>by zero</b>")
        failed.locator("visible=true").first.wait_for()
        page.screenshot(path=lab.root / "handler.png")
        python(page, "del bench.runner.start; bench.comparison = None")
        button(page, "ui/run-comparison").click()
        expect(failed.locator("visible=true")).to_have_count(0)
        tab(page, "ui/divergence")
        expect(page.locator(".wb-sentence:visible").first).to_contain_text(GUILTY)

    @pytest.mark.criterion(8)
    def test_twenty_thousand_reports_are_few_messages(self, user, lab):
        page = user.page
        tab(page, "ui/run")
        page.evaluate("""() => {
          window.heard = [];
          const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
          kernel.iopubMessage.connect((_, message) => window.heard.push(JSON.stringify(message.content)));
        }""")
        python(page, """def work(job):
    for step in range(20_000):
        job.note(step + 1, 20_000, f'operator {step}')
        time.sleep(1e-4)
    raise wb.WorkbenchError('core/missing', got='twenty thousand')

bench.runner.start(work)""")  # fmt: skip
        failed = page.get_by_role("alert").filter(has_text="twenty thousand")
        failed.locator("visible=true").first.wait_for()
        heard = page.evaluate("window.heard")
        seconds = float(python(page, "print(bench.runner.job.seconds)"))
        assert seconds > 2
        assert python(page, "print(bench.runner.progress[0])") == "20000"
        assert 20 < len(heard) < 10 * 12 * (seconds + 1)  # ten times a second, a dozen each time
        assert "rate exceeded" not in "".join(heard)
        assert "rate exceeded" not in page.locator(".jp-NotebookPanel").first.inner_text()


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []


MODEL = """from onnx import TensorProto, helper

feed = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])
end = helper.make_empty_tensor_value_info("y")
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "act")], "net", [feed], [end])
with open("net.onnx", "wb") as file:
    _ = file.write(helper.make_model(graph).SerializeToString())
bench.rehearsing = True"""


class TestModels:
    """A model that does not say all of its sizes."""

    def test_it_runs_as_soon_as_its_inputs_are_given(self, user, lab):
        page = user.page
        python(page, MODEL)
        tab(page, "ui/run")
        assert field(page, "ui/golden-inputs").count() == 0
        fill(page, "ui/network", "net.onnx")
        refused = alert(page, "graph/onnx-open-shape").locator("visible=true")
        refused.first.wait_for()
        expect(button(page, "ui/run-comparison")).to_be_disabled()
        field(page, "ui/golden-inputs").fill("batch=2")
        field(page, "ui/golden-inputs").press("Tab")
        expect(refused).to_have_count(0)
        page.screenshot(path=lab.root / "inputs.png")
        button(page, "ui/run-comparison").click()
        assert says(status(page, "ui/run-done"), "ui/run-done")
        told = python(page, "print(bench.inputs, bench.network.parameters[0].spec.shape)")
        assert told == "('batch=2',) (2, 3)"


@pytest.mark.exhaustive  # every run does so with an explorer, test_explorer_lab.py, and closes every panel in tests/ui
@pytest.mark.criterion(18)
def test_run_twice_there_is_one_shell_and_closed_it_leaves_nothing(user, lab):
    """In another notebook beside the first, whose tests have ended."""
    page = user.page
    lab.show(page, lab.write("flows/twice.ipynb", CELLS))
    for _ in range(2):
        assert lab.run_all(page) == []
    shells = page.get_by_role("tab", name=label("ui/divergence"), exact=True)
    shells.locator("visible=true").first.wait_for()
    assert shells.count() == 1
    page.evaluate(RUN_CODE, "bench.run(); panel.close()")
    count = "from ipywidgets.widgets import widget; print(len(widget._instances))"
    left = python(page, count)
    assert lab.run_all(page) == []  # the last cells close it again
    assert python(page, count) == left
    assert shells.count() == 0
    assert user.trouble == []
