"""What one reader does to the page of JupyterLab that the next one takes: nothing of it is left.

Pages that are not taken, which load a JupyterLab each, are for the nightly run.
"""

import pytest

from kit.face import jupyter_lab
from kit.face.jupyter_lab import SIZE, Guest

pytest.importorskip("playwright.sync_api")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALLOWED = ("clipboard-read", "clipboard-write")
STATE = """async () => {
  const { shell } = window.jupyterapp;
  const asked = await navigator.permissions.query({ name: 'clipboard-read' });
  return {
    open: [...shell.widgets('main')].map((one) => one.context?.path).filter(Boolean),
    collapsed: shell.leftCollapsed,
    light: document.body.dataset.jpThemeLight,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    size: { width: innerWidth, height: innerHeight },
    granted: asked.state === 'granted', // to write is granted to all
    dialogs: document.querySelectorAll('.jp-Dialog').length,
  };
}"""


def arrive(chromium, lab, name, **options):
    return Guest(chromium, lab, lab.write(f"guests/{name}.ipynb", ["1 + 1"]), **options)


@pytest.fixture
def another(chromium, lab):
    """The state of a guest's page, and the guest, who leaves at the end."""
    guests = []

    def another(name, **options):
        guests.append(arrive(chromium, lab, name, **options))
        return guests[-1], guests[-1].page.evaluate(STATE)

    yield another
    for guest in guests:
        guest.leave()


def clean(name):
    return {
        "open": [f"guests/{name}.ipynb"], "collapsed": False, "light": "true", "dark": False, "size": SIZE,
        "granted": False, "dialogs": 0,
    }  # fmt: skip


def test_the_next_takes_the_page_and_finds_nothing_of_the_one_before(chromium, lab, another):
    before = arrive(chromium, lab, "before", permissions=ALLOWED, color_scheme="dark")
    page = before.page
    page.evaluate("() => navigator.clipboard.writeText('of the one before')")
    lab.command(page, "application:toggle-left-area")
    page.set_viewport_size({"width": 800, "height": 600})
    before.leave()
    after, state = another("after")
    assert after.page is page
    assert state == clean("after")
    after.page.evaluate("() => console.error('heard by the one who sits here')")
    after.page.wait_for_timeout(100)
    assert before.trouble == []
    assert after.trouble.pop() == "heard by the one who sits here"


def test_a_copied_text_is_not_there_for_the_next(chromium, lab, another):
    before = arrive(chromium, lab, "copies", permissions=ALLOWED)
    before.page.evaluate("() => navigator.clipboard.writeText('of the one before')")
    before.leave()
    after, _ = another("pastes", permissions=ALLOWED)
    assert after.page.evaluate("() => navigator.clipboard.readText()") == ""


@pytest.mark.exhaustive
def test_a_page_of_trouble_or_another_theme_is_not_taken(chromium, lab, another):
    """A theme is a setting of the server, too: whoever changes it changes it back."""
    before = arrive(chromium, lab, "trouble")
    before.page.evaluate("() => console.error('something')")
    before.page.wait_for_function("() => true")
    before.trouble.append("something")
    before.leave()
    assert before.page.is_closed()
    assert before.page not in lab.left
    after, state = another("untroubled")
    assert after.page is not before.page
    assert state == clean("untroubled")


@pytest.mark.exhaustive
def test_a_page_that_shows_nothing_any_more_is_not_taken(
    chromium, lab, another, monkeypatch, capfd
):
    before = arrive(chromium, lab, "stuck")
    before.leave()
    before.page.evaluate("() => { window.jupyterapp.commands.execute = async () => {}; }")
    monkeypatch.setattr(jupyter_lab, "PATIENCE", 0.5)
    after, state = another("moves")
    assert before.page.is_closed()
    assert after.page is not before.page
    assert state == clean("moves")
    assert 'nothing came in 0.5 s: {"' in capfd.readouterr().err
