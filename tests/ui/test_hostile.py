"""Names that a dump may hold although nobody would choose them, in every panel: text, and nothing else."""

import ast
import json
from itertools import islice

import ipywidgets as W
import pytest

import workbench as wb
from kit import hostile
from kit.hostile import GUILTY, NAMES, Page, controls, shown
from workbench.core.errors import FormatError
from workbench.ui.bench.export import Export
from workbench.ui.bench.map_file import MapFile
from workbench.ui.bench.trees import Trees
from workbench.ui.widgets.chooser import Chooser

SHORT = {key: name for key, name in NAMES.items() if key not in ("long", "wide")}


@pytest.fixture(scope="module")
def comparison():
    return hostile.comparison()


@pytest.fixture
def bench(comparison):
    made = wb.Workbench(graph=hostile.graph(), map_file=MapFile(hostile.map_file()))
    made.comparison = comparison
    comparison.selected = next(row for row in comparison.rows if NAMES[GUILTY] in row.op_name)
    return made


def under(widget):
    """A widget and all that it is made of."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from under(child)


def sent(widget):
    """What goes to the browser of a widget, by trait: it must be valid JSON of valid Unicode."""
    return {
        name: value
        for name, value in widget.get_state().items()
        if isinstance(value, str | list | tuple | dict)
        and not name.startswith("_model")
        and name not in ("_esm", "_css")
    }


def judged(widget):
    """What of a widget would be more than text; its HTML is read as a browser reads it."""
    for name, value in sent(widget).items():
        text = json.dumps(value, ensure_ascii=False)
        text.encode("utf-8")  # else the message is lost
        if (isinstance(widget, W.HTML) and name == "value") or name == "html":
            html = value.partition("</style>")[2] or value
            yield from ((name, wrong) for wrong in Page(html).wrong)
        elif name in (
            "_options_labels",
            "description",
            "tooltip",
            "titles",
            "label",
        ):
            yield from (
                (name, wrong)
                for wrong in controls(
                    "".join(value) if isinstance(value, list | tuple) else value or ""
                )
            )
        if name in ("description_allow_html", "tooltip_allow_html"):
            yield name, "HTML is allowed in a label"


@pytest.fixture
def shown_as(bench):
    """Opens panels of the bench; all are closed in the end."""
    opened = []

    def form(panel=""):
        opened.append(bench.form(panel))
        return opened[-1]

    yield form
    for view in opened:
        view.close()


def wrong_of(view):
    """The first things that would be more than text."""
    return list(islice(((type(w).__name__, *wrong) for w in under(view) for wrong in judged(w)), 5))


@pytest.mark.criterion(29)
@pytest.mark.usefixtures("pictures")
def test_no_panel_takes_a_name_for_anything_but_text(shown_as):
    shell = shown_as()
    for number, part in enumerate(shell.parts.values()):
        shell.tabs.selected_index = number
        assert wrong_of(part.view) == []
        assert Page(part.still().partition("</style>")[2]).wrong == []
        assert controls(repr(part)) == []
    assert wrong_of(shell.view) == []


def test_the_frame_without_anywidget_is_no_other(comparison):
    framed = comparison.explore(fallback=True)
    controls_of_it = [w for w in under(framed) if not isinstance(w, W.HTML)]
    assert [wrong for w in controls_of_it for wrong in judged(w)] == []
    last = comparison.rows[-1]
    framed.operator.value = last.op_name
    assert comparison.selected.op_name == last.op_name
    framed.close()


def text_of(view):
    """All that a panel shows."""
    pages = [w.value for w in under(view) if isinstance(w, W.HTML)]
    pages += [w.html for w in under(view) if hasattr(w, "html")]
    labels = [label for w in under(view) for label in getattr(w, "_options_labels", ())]
    return "\n".join(
        [*(Page(page.partition("</style>")[2] or page).text for page in pages), *labels]
    )


@pytest.mark.parametrize("panel", ["align", "source", "report"])
def test_panels_show_every_name(shown_as, panel):
    view = shown_as(panel)
    text = text_of(view.view)
    assert [key for key, name in SHORT.items() if shown(name) not in text] == []
    assert "more]…" in text
    assert NAMES["long"] not in text


def test_the_operator_panel_shows_each_that_is_selected(shown_as, comparison):
    view = shown_as("operator")
    for key in ("script", "long", "surrogate", "line", "member"):
        comparison.selected = next(row for row in comparison.rows if NAMES[key] in row.op_name)
        assert view.alert.widget.value == ""
        assert (shown(NAMES[key]) if key in SHORT else "more]…") in text_of(view.view)
        assert wrong_of(view.view) == []


def test_every_name_can_be_chosen_in_the_lists(bench, shown_as):
    view = shown_as("align")
    view.hand.which.value = "all"
    box = view.hand.names["target"]
    names = [row.op_name for row in bench.comparison.rows if row.io == "output"]
    chosen = [value for _, value in box.options]
    assert set(names) <= set(chosen)
    for number, name in enumerate(chosen):
        box.index = (number,)
        assert box.value == (name,)
    box.value, view.hand.reason.value = (names[3],), NAMES["script"]
    view.hand.buttons["ignore"].click()
    assert bench.map_file.overrides.ignore[-1].name == names[3]
    assert wrong_of(view.view) == []
    assert ast.parse(view.hand.code.text)


def test_every_name_can_be_pinned(bench, shown_as):
    view = shown_as("report")
    pins = view.inputs["pins"]
    for number, (_, name) in enumerate(list(pins.options)):
        pins.index = (number,)
        assert bench.export.pins == (name,)


def test_the_copied_code_makes_the_same_map_file(bench, shown_as):
    view = shown_as("align")
    other = wb.Workbench()
    exec(view.hand.code.text, {"bench": other})
    assert other.map_file.overrides == bench.map_file.overrides


def test_the_copied_code_of_trees_holds_every_name():
    trees = Trees(*(f"/x/{name}" for name in list(NAMES.values())[:2]))
    for name in NAMES.values():
        trees = Trees(
            f"/x/{name}", name, target_graph=name, golden_model=name, repeats=(f"/x/{name}", "/y")
        )
        bench = wb.Workbench(trees=trees)
        code = bench.to_code()
        assert controls(code) == []
        names = {"wb": wb}
        exec(code.partition("comparison")[0], names)
        assert names["bench"].trees == trees


@pytest.mark.parametrize("key", NAMES)
def test_the_session_file_keeps_every_name(tmp_path, key):
    name = NAMES[key]
    bench = wb.Workbench(
        trees=Trees(f"/x/{name}", name),
        export=Export(name, name, pins=(name,)),
    )
    if len(name) < 4000:
        bench.map_file.ignore(f"n{name}", reason=name)
    path = bench.save(tmp_path / "a.session.json")
    again = wb.Workbench.open(path)
    assert (again.trees, again.export) == (bench.trees, bench.export)
    assert again.map_file.overrides == bench.map_file.overrides


FILES = {key: name.replace("/", "∕").replace("\0", "0") for key, name in SHORT.items()}


@pytest.mark.parametrize("key", FILES)
def test_folders_of_any_name_can_be_chosen(tmp_path, monkeypatch, key):
    folder = tmp_path / FILES[key].replace("\ud800", "")
    (folder / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    chooser = Chooser("tree")
    chooser.browse.value = True
    assert [label for label in chooser.list._options_labels if label.startswith(shown(folder.name))]
    chooser.list.index = 1
    assert chooser.list._options_labels[1] == "below/"
    chooser.use.click()
    assert chooser.value == str(folder)
    assert wrong_of(chooser.view) == []
    chooser.text.value = str(tmp_path)
    assert chooser.value == str(tmp_path)
    chooser.close()


ESCAPES = {
    r"\ud800\ud800": True, r"\u0000d800": True, r"a\\ud800": True, r"\u0000\u0000ud800": True, r"\ud83d\ude00": True,
    r"\ud8zz": False, r"\udc0": False,
}  # fmt: skip
"""Text of a JSON string → whether it is one."""


@pytest.mark.parametrize("title", ESCAPES)
def test_a_session_with_odd_escapes_is_read_or_refused(tmp_path, title):
    path = wb.Workbench().save(tmp_path / "a.session.json")
    text = path.read_text(encoding="utf-8").replace('"title": ""', f'"title": "{title}"')
    path.write_text(text, encoding="utf-8")
    if ESCAPES[title]:
        assert wb.Workbench.open(path).export.title == json.loads(f'"{title}"')
    else:
        with pytest.raises(FormatError):
            wb.Workbench.open(path)
