"""Bad input at every control: one clear line beside it, nothing lost, and the next action works.

`TABLE` has a line for every control of every panel; one that has none fails the first test.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import workbench as wb
from kit.cases import ONE_OF_A_KIND, nightly
from kit.face.screen import Said, alerts_beside, alerts_in, is_control, label, walk
from kit.words import refused
from workbench.scale.job import JobResult
from workbench.scale.summary import UnitSummary
from workbench.session.comparison import Comparison
from workbench.show.look.look import look_data
from workbench.ui.bench.session import session_data
from workbench.ui.shell import PARTS

REAL = Path(__file__).parents[2] / "sample_dumps" / "real_pair"
LONG = "x" * 100_000
HUGE = str(10**30)
NO_WORDS = ("", "   ")
NO_PATHS = ("a\0b", "a\nb", LONG, "ROOT/text.txt/below")
NO_FILES = ("ROOT/missing", "ROOT/missing/f.json", "ROOT", "../../etc/passwd", "ROOT/circle", "a\0b", LONG)  # fmt: skip
NO_NUMBERS = ("", "two", "-1", "1.5", "nan", "inf", "1e3", "\0", "1\n2", HUGE, LONG, "0x10")
NO_GRAPHS = (
    "ROOT/empty.onnx", "ROOT/broken.onnx", "ROOT/broken.py:Net", "ROOT/raises.py:Net", "ROOT/leaves.py:Net",
    "ROOT/wrong.py:Net", "ROOT/wrong.py:Gone", f"{LONG}.py:Net", f"{LONG}.onnx", "a\0b.onnx", "a\0b.py:Net",
)  # fmt: skip


class Typed(NamedTuple):
    """Text of the user: what is refused, what is right, and the code of the button that takes it, if there is one."""

    bad: tuple[str, ...]
    good: str
    button: str = ""


class Free(NamedTuple):
    """Text that cannot be wrong."""


class Chosen(NamedTuple):
    """One or some of what is offered."""


class Pressed(NamedTuple):
    """A button; ``alone`` is the code of what it says where it lacks something, with and without a comparison.

    ``said``: it says something then, which others have words for.
    """

    alone: str = ""
    said: bool = False


class Sent(NamedTuple):
    """A module of our own; what the browser may send to it has tests of its own below."""


OUT = (*NO_WORDS, *NO_PATHS)
KINDS = ("html", "csv", "json")
CHOOSER = {"ui/browse": Chosen(), "ui/entries": Chosen(), "ui/use-folder": Pressed()}
CODE = {"ui/copy-as-code": Sent()}

TABLE = {
    "configure": CHOOSER | CODE | {
        "ui/format": Chosen(), "ui/new": Chosen(), "Tab": Chosen(),
        "ui/open-configuration": Typed(
            (*NO_FILES, "ROOT/text.txt", "ROOT/broken.json", "ROOT/other.json", "ROOT/empty.onnx", "ROOT/raises.py"),
            "ROOT/form.json",
        ),
        "ui/save-as": Typed((*OUT, "ROOT"), "ROOT/new/form.json", "ui/save"),
        "ui/save": Pressed("ui/path-empty"),
    },
    "run": CHOOSER | CODE | {
        "ui/mode": Chosen(), "ui/verdict-profile": Chosen(), "ui/from-notebook": Chosen(),
        "ui/network": Typed((*NO_WORDS, "lenet9", "-1", *NO_FILES, *NO_GRAPHS), "mlp"),
        "ui/device": Chosen(), "ui/precision-mode": Chosen(),
        "ui/iterations": Typed((*NO_NUMBERS, "0"), "2"),
        "ui/ranks": Typed((*NO_NUMBERS, "0", "1025"), "2"),
        "ui/seed": Typed(NO_NUMBERS, "7"),
        "ui/faults": Typed(("x", "\0", "nan-output", "no-such-kind:x", "nan-output:x:colour=3", LONG), "nan-output:*"),
        "ui/marks": Typed(("nowhere", "\0", LONG), "*MatMul*"),
        "ui/model-file": Typed((*NO_FILES, *NO_GRAPHS), "ROOT/net.py:Net"),
        "ui/fault": Chosen(), "ui/other-networks": Chosen(), "ui/inject-fault": Chosen(),
        "ui/graphs-and-models": Chosen(),
        "ui/operator": Typed((*NO_WORDS,), "*MatMul*", "ui/add-fault"),
        "ui/parameters": Typed(("colour=3", "much:more", "\0", HUGE + "=1", LONG), "1.5", "ui/add-fault"),
        "ui/add-fault": Pressed(said=True),
        "ui/run-comparison": Pressed(), "ui/cancel-run": Pressed(),
    },
    "job": CHOOSER | CODE | {
        "ui/job-folder": Typed((*NO_FILES, "ROOT/text.txt", "ROOT/broken.json", "ROOT/form.json"), "ROOT/job"),
        "ui/job-read-again": Pressed(), "ui/cancel-run": Pressed(),
    },
    "trees": {
        "ui/target-dump": Typed((*NO_FILES, "ROOT/text.txt"), "TREE"),
        "ui/golden-dump": Typed((*NO_FILES, "ROOT/text.txt"), "TREE"),
        "ui/target-graph": Typed((*NO_FILES, "ROOT/text.txt", "ROOT/empty.onnx", "ROOT/broken.onnx"), ""),
        "ui/golden-graph": Typed((*NO_FILES, "ROOT/text.txt", "ROOT/empty.onnx", "ROOT/broken.onnx"), ""),
        "ui/repeat-dump": Typed((*NO_FILES, "ROOT/text.txt"), ""),
        "ui/target-model": Free(), "ui/golden-model": Free(),
        "ui/make-golden": Chosen(),
        "ui/golden-onnx": Typed((*NO_FILES, "ROOT/text.txt", "ROOT/empty.onnx", "ROOT/broken.onnx"), ""),
        "ui/golden-inputs": Typed(
            ("x", "=", "=a.npy", "x=", "x=a.npy\nx=b.npy", "=1,2", "x=1,,2", "x=,", f"x={HUGE}", "\0", LONG),
            "x=a.npy\ny=1,3\nn=2",
        ),
        "ui/golden-folder": Typed(("ROOT", "ROOT/text.txt"), ""),
        "ui/make-golden-data": Pressed(said=True), "ui/cancel-golden": Pressed(),
        "ui/rank": Typed((*NO_NUMBERS[1:], "0:1:2", "0:", ":1"), "0:1"),
        "ui/iteration": Typed((*NO_NUMBERS[1:], "0:1:2", "0:", ":1"), "0"),
    },
    "align": CODE | {
        "ui/filter": Free(), "ui/rule": Chosen(), "ui/show": Chosen(), "ui/list": Chosen(), "Pieces": Sent(),
        "ui/previous-page": Pressed(), "ui/next-page": Pressed(), "ui/copy-view": Sent(),
        "ui/target": Chosen(), "ui/golden": Chosen(), "ui/manual": Chosen(),
        "ui/reason": Typed((*NO_WORDS, LONG), "known", "ui/tolerate"),
        "ui/relative-error": Typed(
            ("", "two", "-1", "nan", "inf", "-inf", "0", "1e999", "\0", LONG), "0.1", "ui/tolerate",
        ),
        "ui/match": Pressed("ui/nothing-to-match"),
        "ui/ignore": Pressed("ui/nothing-to-ignore"),
        "ui/tolerate": Pressed("ui/nothing-to-tolerate"),
        "ui/remove": Pressed("ui/nothing-to-remove"),
        "ui/undo": Pressed(), "ui/redo": Pressed(),
        "ui/compare-again": Pressed(),
        "ui/map-file": Typed(
            (*NO_WORDS, *NO_PATHS, *NO_FILES, "ROOT/text.txt", "ROOT/broken.json", "ROOT/form.json"),
            "ROOT/pairs.json", "ui/open-map",
        ),
        "ui/save-map": Pressed(), "ui/open-map": Pressed(),
    },
    "divergence": CODE | {
        "ui/first-divergence": Pressed(), "ui/largest-jump": Pressed(), "ui/worst-error": Pressed(), "Explorer": Sent(),
    },
    "operator": CODE | {
        "ui/previous-failing": Pressed(said=True), "ui/next-failing": Pressed(), "ui/pin": Pressed(),
        "ui/error": Chosen(), "ui/rows": Chosen(), "ui/columns": Chosen(), "ui/worst-elements": Chosen(),
        "Slider": Sent(), "Pieces": Sent(),
        "ui/folder": Typed((*OUT, "ROOT"), "ROOT/case", "ui/write-minimal-case"),
        "ui/write-minimal-case": Pressed(),
    },
    "source": {"Pieces": Sent()},
    "report": {
        "ui/title": Free(), "ui/notes": Free(), "ui/filter": Free(), "ui/sections": Chosen(), "ui/pins": Chosen(),
        **{f"ui/{kind}": Typed((*OUT, "ROOT"), f"ROOT/new/r.{kind}", f"ui/write-{kind}") for kind in KINDS},
        **{f"ui/write-{kind}": Pressed() for kind in KINDS},
        "ui/session": Typed((*OUT, "ROOT"), "ROOT/new/s.json", "ui/save-session"),
        "ui/save-session": Pressed(), "ui/copy-all": Sent(),
    },
}  # fmt: skip
TABLE["trees"] |= {key: line for key, line in TABLE["run"].items() if not isinstance(line, Typed)}
TABLE["trees"] |= {key: Chosen() for key in TABLE["run"] if key not in TABLE["trees"]}
TABLE["run"] |= {key: Chosen() for key in TABLE["trees"] if key not in TABLE["run"]}
TYPED = [
    (panel, name) for panel, lines in TABLE.items() for name, line in lines.items() if isinstance(line, Typed)
]  # fmt: skip


@pytest.fixture(scope="module")
def compared():
    return wb.compare(REAL / "dump_b", REAL / "dump_a")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    texts = {
        "text.txt": "nothing of this is a form", "broken.json": '{"a": [1, ', "other.json": '{"some": "thing"}',
        "empty.onnx": "", "broken.onnx": "\x08\x07broken", "broken.py": "def net(:\n",
        "raises.py": "raise ValueError('mine')\n", "leaves.py": "import sys\nsys.exit(3)\n",
        "wrong.py": "INPUTS = (1,)\nclass Net:\n  def __init__(self):\n    raise KeyError('own')\n",
        "net.py": "import numpy as np\nfrom workbench import nn\nINPUTS = np.ones((2, 2), np.float32)\n"
        "class Net(nn.Cell):\n    def construct(self, x):\n        return x * x\n",
        "pairs.json": json.dumps({"pairs": [{"target": "a", "golden": "b"}]}),
        "form.json": wb.config.new("mindspore-o2").to_text(),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "circle").symlink_to("circle")
    (folder / "job").mkdir()
    JobResult("t", "g", (UnitSummary(0, 0, "done", "pass"),)).to_json(folder / "job" / "job.json")
    return folder


@pytest.fixture
def bench(compared, root, monkeypatch):
    monkeypatch.chdir(root)
    made = wb.Workbench(graph="mlp")
    made.comparison = Comparison(compared.result, compared._flow)
    return made


@pytest.fixture
def opened(bench):
    """Opens a panel of the bench; `trees` is that of the run for trees."""
    shown = []

    def make(name, of=bench):
        of.rehearsing = name != "trees"
        if name in ("run", "trees"):  # marks are asked for where they are dumped
            of.config = of.config.set("common_dump_settings.dump_mode", 2)
        shown.append(of.form("run" if name == "trees" else name))
        return shown[-1]

    yield make
    for one in shown:
        one.close()


def name_of(control):
    """What a control is called on the screen; sliders of axes and what has no words by their kind."""
    kind = type(control).__name__
    words = getattr(control, "description", "") or getattr(control, "label", "") or kind
    return kind if kind == "Slider" else words.replace(label("ui/unpin"), label("ui/pin"))


def on_screen(code):
    """The name on screen of a line of the table: kinds of controls without words stand there as they are."""
    return label(code) if "/" in code else code


def controls(panel):
    """Every control of a panel with its name, but those of the form's own fields."""
    fields = panel.form.fields.values() if panel.name == "configure" else ()
    inside = [widget for field in fields for widget in walk(field.widget)]
    return [(name_of(one), one) for one in walk(panel.view) if is_control(one) and one not in inside]  # fmt: skip


def line_of(panel, words):
    """Line of the table of a control, by its name on screen."""
    return next(line for code, line in TABLE[panel].items() if on_screen(code) == words)


def find(panel, name):
    return next(control for words, control in controls(panel) if words == on_screen(name))


def state(bench):
    look = bench.comparison.look if bench.comparison is not None else None
    return session_data(bench), look and look_data(look), bench.refused


def is_one_clear_line(alert):
    """Whether an alert is a line of ours: it has a code, and names no type of Python but that of the user's script."""
    types = r"\b(Traceback|TypeError|ValueError|OSError|\w+Exception|NoneType)\b"
    named = re.search(types, alert)
    own = "mine" in alert or "own" in alert
    coded = alert.code and not re.fullmatch(r"\w*(Error|Exception|Exit|Interrupt)", alert.code)
    return "\n" not in alert and 10 < len(alert) < 1000 and coded and (own or not named)


@pytest.mark.parametrize("panel", TABLE)
def test_every_control_has_a_line_in_the_table(opened, panel):
    assert {name for name, _ in controls(opened(panel))} == set(map(on_screen, TABLE[panel]))


def test_every_panel_is_in_the_table():
    assert set(TABLE) == {*PARTS, "trees"}


@pytest.mark.parametrize(("panel", "name"), TYPED)
def test_what_is_refused_is_said_beside_it_and_the_next_action_works(
    opened, bench, root, panel, name
):
    shown, line = opened(panel), TABLE[panel][name]
    control = find(shown, name)
    press = find(shown, line.button).click if line.button else lambda: None
    prepare(shown, name)
    for bad in line.bad:
        text = bad.replace("ROOT", str(root))
        before = state(bench)
        control.value = text
        press()
        found = alerts_beside(shown.view, control)
        assert len(found) == 1, (text[:60], found)
        assert is_one_clear_line(found[0]), found
        assert alerts_in(shown) == found
        assert state(bench) == before
        assert control.value == text
    control.value = line.good.replace("ROOT", str(root)).replace("TREE", str(REAL / "dump_a"))
    press()
    assert alerts_in(shown) == []


def prepare(shown, name):
    """Fill in what else a control's button needs."""
    if name in ("ui/reason", "ui/relative-error"):
        shown.hand.which.value = "all"
        shown.hand.names["target"].value = shown.hand.names["target"].options[0][1:]
        shown.hand.error.value, shown.hand.reason.value = "0.1", "known"
    if name == "ui/parameters":
        shown.rehearsal.kind.value, shown.rehearsal.operator.value = "scaled-output", "*MatMul*"


@pytest.mark.parametrize("panel", ["trees", "align", "report"])
def test_text_that_cannot_be_wrong_is_taken_whatever_it_is(opened, root, panel):
    shown = opened(panel)
    for name, control in controls(shown):
        for text in ("\0", LONG, "<b>", "\ud800", "../../etc/passwd", "nan\ninf", ""):
            if isinstance(line_of(panel, name), Free):
                control.value = text
    assert alerts_in(shown) == []


STARTING = ("ui/run-comparison", "ui/cancel-run", "ui/compare-again")
"""Buttons that begin or end a run, which has tests of its own."""


@pytest.mark.parametrize("panel", TABLE)
@pytest.mark.parametrize("run", [False, True])
def test_a_button_alone_says_what_it_lacks_or_does_nothing(opened, bench, panel, run):
    if not run:
        bench.comparison = None
    shown = opened(panel)
    for name, button in controls(shown):
        line = line_of(panel, name)
        if isinstance(line, Pressed) and name not in map(label, STARTING):
            button.click()
            button.click()
            found = alerts_beside(shown.view, button)
            assert all(map(is_one_clear_line, found)), found
            assert line.alone in ("", *(alert.code for alert in found)), (name, found)
            assert found or not line.said, name


NO_SETTINGS = (
    "\0", LONG, HUGE, "-1", "nan", "[1,", "[" * 100_000, "[" * 450 + "]" * 450, '{"a": [{}]}', "a\nb", "a,\n" * 9_000,
    "\u0663", "\ud800", "<b>",
)  # fmt: skip


@pytest.mark.parametrize("surface", nightly(wb.config.SURFACES, ONE_OF_A_KIND))
def test_every_field_of_a_form_takes_anything_or_says_beside_it_why_not(surface):
    form = wb.config.new(surface).form()
    for path, field in form.fields.items():
        if not hasattr(field.input, "placeholder"):
            continue  # a list of choices
        right, before = field.input.value, form.config
        for text in NO_SETTINGS:
            field.input.value = text
            found = [*alerts_in(field.note), *alerts_in(field.alert.widget)]
            assert field.alert.text == "", path
            assert all(map(is_one_clear_line, found)), (path, text[:20], found)
            if found:
                assert form.config == before
            before = form.config
            assert field.input.value == text
        field.input.value = right
        assert alerts_in(form) == [], path
    form.close()


NO_STATES = (
    {}, {"selected": 10**9}, {"selected": -2}, {"selected": "1"}, {"selected": True}, {"selected": None},
    {"query": 3}, {"statuses": ["worst"]}, {"statuses": "fail"}, {"choices": {"colour": 1}}, {"choices": []},
    {"choices": {"io": {"a": 1}}}, {"positions": [1]}, {"positions": ["a", "b"]}, {"positions": 3},
    {"sort": ["error"]}, {"sort": ["error", 1]}, {"sort": ["colour", True]}, {"sort": None},
    {"factor": -1}, {"factor": "x"}, {"factor": float("nan")}, {"limit": float("inf")}, {"limit": True},
    {"figure": "colour"}, {"figure": 3}, {"statuses": ["fail"], "factor": -1},
)  # fmt: skip


def send(widget, **state):
    """What a browser may send to a widget."""
    message = {"method": "update", "state": state, "buffer_paths": []}
    widget._handle_msg({"content": {"data": message}, "buffers": []})


@pytest.mark.parametrize("wrong", [*NO_STATES, "text", 3, None, [1]], ids=str)
def test_a_state_that_no_browser_sends_is_answered_with_what_is(opened, bench, monkeypatch, wrong):
    shown = opened("divergence")
    explorer, answers = shown.explorer, []
    before = look_data(bench.comparison.look)
    monkeypatch.setattr(explorer, "send_state", lambda key=None: answers.append(key))
    send(explorer, state={**before, **wrong} if isinstance(wrong, dict) and wrong else wrong)
    assert look_data(bench.comparison.look) == before == explorer.state
    assert any("state" in keys for keys in answers)
    send(explorer, state={**before, "selected": 3})
    assert bench.comparison.look.selected == 3
    assert alerts_in(shown) == []


def test_a_browser_changes_nothing_but_what_is_its_to_change(opened, bench):
    shown = opened("operator")
    slider, pieces = shown.planes.sliders.children[0], shown.above
    before = slider.max, slider.label, pieces.html
    for value in ("x", None, 2**70, -3, [1]):
        send(slider, value=value, max=10**9, label="<b>")
        assert 0 <= slider.value <= slider.max
    send(pieces, html="<script>")
    send(shown.code, text="rm -rf")
    assert (slider.max, slider.label, pieces.html) == before
    assert shown.code.text.startswith("operator = ")
    send(slider, value=1)
    assert slider.value == 1
    assert bench.comparison.look.plane[slider.axis] == 1
    assert alerts_in(shown) == []


@pytest.mark.parametrize("panel", ["align", "operator", "source"])
def test_a_click_on_no_row_is_refused_beside_it(opened, bench, panel):
    shown = opened(panel)
    for pieces in [control for name, control in controls(shown) if name == "Pieces"]:
        if pieces is getattr(getattr(shown, "planes", None), "picture", None):
            continue  # nothing in it can be chosen
        selected = bench.comparison.look.selected
        for row in ("", "x", "-1", "1.0", "9" * 40, "\u0663", str(len(bench.comparison.rows))):
            pieces._handle_custom_msg({"row": row}, [])
            assert len(alerts_in(shown)) == 1
            assert is_one_clear_line(alerts_in(shown)[0])
        pieces._handle_custom_msg({"row": 3, "more": None}, [])
        assert bench.comparison.look.selected == selected
        pieces._handle_custom_msg({"row": str(selected)}, [])
        assert alerts_in(shown) == []


SETTINGS = [
    ("config", 42), ("config", "acl"), ("graph", 42), ("graph", None), ("trees", ("a", "b")), ("rehearsing", "no"),
    ("device", 3), ("faults", "nan-output:x"), ("faults", [3]), ("faults", ["x"]), ("faults", 7), ("seed", -1),
    ("seed", 1.0), ("seed", "1"), ("seed", True), ("seed", 2**64), ("iterations", 10**9), ("iterations", None),
    ("ranks", 10**6), ("ranks", "2"), ("profile", None), ("export", {}), ("language", ["en"]), ("panel", "x"),
    ("comparison", "x"), ("refused", 3), ("set_dump", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), SETTINGS, ids=str)
def test_a_setting_from_a_cell_is_refused_in_our_words_and_changes_nothing(bench, name, value):
    before = getattr(bench, name)
    with pytest.raises(wb.WorkbenchError) as caught:
        setattr(bench, name, value)
    assert is_one_clear_line(Said(caught.value, caught.value.code))
    assert getattr(bench, name) is before
    setattr(bench, name, before)


@pytest.mark.parametrize(("name", "value"), [
    *((name, value) for state in NO_STATES if len(state) == 1 for name, value in state.items()),
    ("worst", 0), ("worst", 10_001), ("worst", "x"), ("axes", (1,)), ("axes", "ab"), ("plane", 3),
    ("element_error", "x"),
], ids=str)  # fmt: skip
def test_what_is_looked_at_is_refused_from_a_cell_in_our_words(bench, name, value):
    look = bench.comparison.look
    before = getattr(look, name)
    with pytest.raises(wb.WorkbenchError) as caught:
        setattr(look, name, value)
    assert caught.value.code in ("show/setting", "core/choice")
    assert name in (caught.value.values.get("name"), caught.value.values.get("subject"))
    assert getattr(look, name) == before


@pytest.mark.parametrize("values", [
    {"target": 3}, {"target_graph": None}, {"rank": "x"}, {"rank": -1}, {"rank": (1, 2, 3)}, {"iteration": (0, True)},
], ids=str)  # fmt: skip
def test_trees_that_cannot_be_are_refused(values):
    (name,) = values
    with refused("show/setting", name=name):
        wb.Trees(**values)


@pytest.mark.parametrize("values", [
    {"title": 3}, {"notes": None}, {"pins": "a"}, {"pins": (3,)}, {"sections": ("x",)}, {"sections": "findings"},
], ids=str)  # fmt: skip
def test_what_no_report_can_hold_is_refused(values):
    (name,) = values
    with refused("show/setting", name=name):
        type(wb.Workbench().export)(**values)
