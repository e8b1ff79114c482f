"""The notebooks: they run from top to bottom in a copy of the tree, and their answers are right."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import bs4
import ipykernel_launcher
import nbclient
import nbconvert
import nbformat
import papermill
import pytest

import workbench as wb
from kit.cases import is_nightly, nightly
from kit.face.screen import label
from kit.served import IN_KERNELS, served
from kit.trees import listed
from workbench.config.explain import iterations_words, part_name, part_words, selector_words
from workbench.core.plan import Iterations, Selector
from workbench.core.words import Message

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
DASHBOARD = ROOT / "notebooks" / "dashboard.ipynb"
ALLOWED = {"workbench", "numpy", "pandas", "matplotlib", "json", "onnx", "pathlib", "runpy"}
LINES, SECONDS = 12, 60
LONGER = {"10_job_of_64_ranks": 240}
"""Seconds of a notebook that takes more: two cores, which other tests may take. It is for the nightly run."""

DAILY = [path for path in NOTEBOOKS if path.stem not in LONGER]

CONV3 = "Default/conv3-Conv2d/Conv2D-op0"
FC = "Default/fc-Dense/MatMul-op0"
GRADIENT = "Gradients/Default/network-WithLossCell/_backbone-Net/fc2-Dense/Grad_MatMul/MatMul-op1"
SECOND = "Gradients/Default/network-WithLossCell/_backbone-Net/fc2-Dense/Grad_MatMul/MatMul-op1"
FUSED = "features/3/Convfeatures/4/Relu"
ATTENTION = "Default/layer1-EncoderLayer/attention-Attention/output-Dense"

# notebook → names, numbers and kinds that its outputs must hold, in order
ANSWERS = {
    "01_compare_two_dumps": [
        CONV3,
        "pad_mode",
        label("show/equation", tensors=74, matched=74, unmatched=0, skipped=0),
        "image/svg+xml",
        "widget-view",
        f"<OperatorView {CONV3} output.0: ",
        "script.py:41  x = self.conv3(x)",
        f"| 0 | {CONV3} | output:0 | fail |",
        "| 1 | Default/conv2-Conv2d/Conv2D-op0 | equal | 0.000000 | 0.000000 |",
        f"| 2 | {CONV3} | fail |",
        "<SourceMap",
        "dump_b/rank_0/AlexNet/0/0/Conv2D.Default_conv3-Conv2d_Conv2D-op0.0.0.1795198324263757",
        "input:1 differs by at most 0.0",
        "output:0 differs by at most 1.90",
    ],
    "02_simulate_and_compare": [
        f"{FC}         cell In[3]:11  return self.fc(self.flatten(x))",
        "0 problems",
        "<Comparison warn: ",
        "<Comparison fail: ",
        FC,
        "cell In[3]:11",
        "image/svg+xml",
        "typical factor: 1.020",
    ],
    "03_dump_configurations": [
        "error | overflow-number | ",
        str(Message("config/near-key", near="saved_data")),
        str(Message("config/version-advice", since="2.6")),
        str(iterations_words(Iterations.parse("0|2-3"))),
        str(selector_words(Selector("type", "Conv2D"))),
        "5 of 21 operators match",
        '"dump_step": "0|2-3"',
        str(
            Message(
                "config/lost-part",
                part=part_name("net_name"),
                here=part_words("net_name", "AlexNet"),
                there=part_words("net_name", "Net"),
            )
        ),
        "export MINDSPORE_DUMP_CONFIG=",
        "widget-view",
        "bench = wb.Workbench(",
        f"Conv2D {CONV3}",
    ],
    "04_training": [
        "ReluGrad                            cell In[2]:7  return self.fc2(self.fc1(x))",
        "760",
        "<Comparison fail: ",
        GRADIENT,
        "cell In[2]:7",
        label("show/iteration", iteration=3),
        "| 3 | forward | 11 | 0 |",
        "| 3 | backward | 11 | 2 | fail |",
        "image/svg+xml",
        "fc2-Dense/Grad_MatMul/MatMul-op1 output.0: ",
        "underflow Gradients/Default/network-WithLossCell/_loss_fn",
        "256",
    ],
    "05_diagnose": [
        "89 operators",
        ATTENTION,
        '"saved_data": "tensor"',
        "<Comparison fail: ",
        label("compare/fault-k-tail", count=1, blocks=2, size=16),
        "16",
        "11 files",
        "32 terms: 1.096 off",
        "16 terms: 0.000 off",
    ],
    "06_report": [
        "Conv2D Default/conv1-Conv2d/Conv2D-op0",
        "<Comparison fail: ",
        CONV3,
        "float16, agreed upon",
        "msaccucmp",
        f"74 rows; own-error at {CONV3}",
        "the same bytes: True",
    ],
    "07_offline_model": [
        "'features_0_Conv'",
        '"dump_path": "./"',
        "<Comparison fail: ",
        FUSED,
        "producer",
    ],
    "10_job_of_64_ranks": [
        "'inconclusive': ",
        "'waiting': ",
        "<JobResult fail: ",
        f"rank 37, iteration 1: MatMul {SECOND} (cell In[2]:7)",
        "ranks 0-36, 38-63 received it in iteration 1",
        "192 units: | 2 | fail, | 64 | pass, | 126 | warn",
        "brought by rank 37",
        "image/svg+xml",
        "widget-view",
        "rank 37 iteration 1",
        f"<Comparison fail: First divergent operator: MatMul {SECOND}",
        f"<OperatorView {SECOND} output.0: origin>",
        "| fail | 1 | 5.000000e-01 | warn | 63 |",
        "| 113 | 37 | 2 |",
    ],
}


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def nodes(path: Path):
    """Every node of every cell's syntax tree; magics would not parse."""
    for cell in code_cells(path):
        yield from ast.walk(ast.parse(cell.source))


def texts(cell: nbformat.NotebookNode):
    """What a cell put out, as text: streams, plain and HTML, and the names of the formats."""
    for output in cell.outputs:
        yield output.get("text", "")
        for kind, value in output.get("data", {}).items():
            yield kind
            if isinstance(value, str):
                plain = re.sub(r"</?bdi[^>]*>", "", value)  # parts of a name
                yield re.sub(r"(\s*<[^>]*>\s*)+", " | ", plain) if kind == "text/html" else value


def run(path: Path, tree: Path) -> nbformat.NotebookNode:
    """Execute a notebook as if it lay in ``tree``, without the user's own IPython settings."""
    book = read(path)
    place = {"metadata": {"path": str(tree / "notebooks")}}
    limit = LONGER.get(path.stem, SECONDS)
    client = nbclient.NotebookClient(book, timeout=limit, kernel_name="python3", resources=place)
    client.execute(env=os.environ | {"IPYTHONDIR": str(tree.with_name(f"{tree.name}-ipython"))})
    return book


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    """Kernels whose imports are done once for all; each night kernels as Jupyter starts them."""
    if is_nightly() or sys.platform != "linux":
        yield
        return
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "MPLBACKEND", "module://matplotlib_inline.backend_inline"
        )  # as a kernel has it
        with served(folder, ipykernel_launcher.__file__, *IN_KERNELS) as program:
            spec = folder / "kernels/python3/kernel.json"
            spec.parent.mkdir(parents=True)
            argv = [str(program), "-f", "{connection_file}"]
            spec.write_text(
                json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"})
            )
            patch.setenv("JUPYTER_PATH", str(folder))
            yield


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Run a notebook once in a copy of the tree; give its cells, the copy and the seconds."""
    done = {}

    def execute(path: Path):
        if path not in done:
            copy = tmp_path_factory.mktemp(path.stem)
            shutil.copytree(ROOT / "sample_dumps", copy / "sample_dumps")
            (copy / "notebooks").mkdir()
            shutil.copy(path, copy / "notebooks")
            before, start = set(listed(copy)), time.monotonic()
            book = run(path, copy)
            done[path] = book, copy, set(listed(copy)) - before, time.monotonic() - start
        return done[path]

    return execute


def test_every_notebook_has_its_answers():
    assert {path.stem for path in NOTEBOOKS} == ANSWERS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("path", nightly(NOTEBOOKS, DAILY), ids=lambda path: path.stem)
def test_a_notebook_gives_its_answers_in_order(executed, path):
    book, _, _, seconds = executed(path)
    said = "\n".join(text for cell in book.cells if "outputs" in cell for text in texts(cell))
    place = 0
    for answer in ANSWERS[path.stem]:
        assert answer in said[place:], answer
        place = said.index(answer, place)
    assert seconds < LONGER.get(path.stem, SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("path", nightly(NOTEBOOKS, DAILY), ids=lambda path: path.stem)
def test_a_notebook_ends_with_the_report_and_writes_nowhere_else(executed, path):
    book, copy, new, _ = executed(path)
    report = f"build/{path.stem}.html"
    assert re.fullmatch(
        rf'(comparison|job)\.to_html\("{report}"(, \*\*about)?\)', book.cells[-1].source
    )
    text = (copy / "notebooks" / report).read_text(encoding="utf-8")
    assert "Content-Security-Policy" in text
    assert 'class="wb-verdict wb-fail"' in text
    assert {name for name in new if not name.startswith("notebooks/build/")} == set()
    assert "notebooks/build/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


EXPORTED = ("01_compare_two_dumps", "03_dump_configurations", "04_training")
"""One with panels, plots and tables, one with forms, one of a training; the others have the same outputs."""


@pytest.mark.slow
@pytest.mark.criterion(30)
@pytest.mark.parametrize(
    "path",
    nightly(NOTEBOOKS, [path for path in NOTEBOOKS if path.stem in EXPORTED]),
    ids=[path.stem for path in NOTEBOOKS],
)
def test_an_exported_notebook_shows_something_below_every_cell(executed, path):
    check_export(executed(path)[0])


def check_export(book):
    """As `jupyter nbconvert` exports without options; what needs a script or the network does not count."""
    html, _ = nbconvert.HTMLExporter().from_notebook_node(book)
    page = bs4.BeautifulSoup(html, "html.parser")
    for hidden in page.select("script, style"):
        hidden.decompose()
    shown = page.select(".jp-Cell-outputArea")
    assert len(shown) == sum(bool(cell.get("outputs")) for cell in book.cells)
    assert [
        str(area)[:300] for area in shown if not area.text.strip() and not area.find("svg")
    ] == []


CONV2 = "Default/conv2-Conv2d/Conv2D-op0"
DENSE = "Default/layer2-EncoderLayer/dense1-Dense/MatMul-op0"


OTHERWISE = [
    ("02_simulate_and_compare", {"FACTOR": 1.125}, "typical factor: 1.125"),
    ("05_diagnose", {"FAULT": f"scaled-output:{DENSE}:1.5"}, f"MatMul {DENSE}"),
    ("06_report", {"NEW": f"nan-output:{CONV2}"}, f"at {CONV2}"),
    ("dashboard", {"FAULTS": [f"scaled-output:{CONV2}:1.5"]}, f"Conv2D {CONV2}"),
]


@pytest.mark.slow
@pytest.mark.criterion(30)
@pytest.mark.parametrize("name", nightly([name for name, *_ in OTHERWISE[1:]], []))
def test_other_parameters_give_another_answer(tmp_path, name):
    """As papermill would in a nightly job; what it leaves can be exported."""
    shutil.copytree(ROOT / "sample_dumps", tmp_path / "sample_dumps")
    (tmp_path / "notebooks").mkdir()
    check_export(check_other_parameters(name, tmp_path))


@pytest.mark.slow
@pytest.mark.criterion(30)
def test_a_notebook_can_run_twice_with_other_parameters(executed):
    """In the same tree; its dumps must not meet those of the run before."""
    name = "02_simulate_and_compare"
    _, copy, _, _ = executed(ROOT / "notebooks" / f"{name}.ipynb")
    time.sleep(1)  # folders of dumps are named by the second
    check_export(check_other_parameters(name, copy))


def check_other_parameters(name, tree):
    """A notebook gives the answer of other parameters in a tree, and did not give it before; it as it was executed."""
    _, parameters, answer = next(row for row in OTHERWISE if row[0] == name)
    done = papermill.execute_notebook(
        ROOT / f"notebooks/{name}.ipynb", tree / "done.ipynb", parameters=parameters,
        cwd=tree / "notebooks", progress_bar=False, kernel_name="python3",
    )  # fmt: skip
    said = "\n".join(text for cell in done.cells if "outputs" in cell for text in texts(cell))
    assert answer in said
    assert not any(answer in known for known in ANSWERS.get(name, ()))
    return done


def test_parameters_are_plain_literals_in_one_cell():
    tagged = {
        path.stem: [c for c in code_cells(path) if "parameters" in c.metadata.get("tags", ())]
        for path in [*NOTEBOOKS, DASHBOARD]
    }
    assert {len(cells) for cells in tagged.values()} <= {0, 1}
    assert sum(map(len, tagged.values())) >= 5
    for (cell,) in filter(None, tagged.values()):
        for statement in ast.parse(cell.source).body:
            ast.literal_eval(statement.value)


def test_every_notebook_tells_a_story_but_the_dashboard():
    assert {*NOTEBOOKS, DASHBOARD} == set((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", [*NOTEBOOKS, DASHBOARD], ids=lambda path: path.stem)
def test_outputs_are_stripped_and_cells_short(path):
    for cell in code_cells(path):
        assert cell.outputs == []
        assert cell.execution_count is None
        assert len(cell.source.splitlines()) <= LINES
    assert read(path).metadata.keys() == {"kernelspec", "language_info"}


@pytest.mark.parametrize("path", [*NOTEBOOKS, DASHBOARD], ids=lambda path: path.stem)
def test_only_the_public_face_and_the_usual_packages_are_used(path):
    imported, used = set(), set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            imported.add(node.module)
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "wb":
            used.add(node.attr)
    assert {name.partition(".")[0] for name in imported} <= ALLOWED
    assert not [name for name in imported if name.startswith("workbench.")]
    assert used
    assert used <= set(wb.__all__)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_path_is_absolute(path):
    for cell in code_cells(path):
        assert re.findall(r"""["'](?:/|~|[A-Za-z]:[\\/])""", cell.source) == []
    links = re.findall(r"\]\(([^)]*)\)", "\n".join(cell.source for cell in read(path).cells))
    for link in links:
        assert not link.startswith(("/", "http", "file:"))
        made = link == f"build/{path.stem}.html"
        assert made or (path.parent / link).is_file()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_says_what_will_be_seen_and_the_story_has_three_to_six_steps(path):
    cells = read(path).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert "**You will see**" in cells[0].source
    headings = re.findall(r"^## (.*)$", "\n".join(cell.source for cell in cells), re.M)
    *steps, answer = headings
    assert [step.partition(".")[0] for step in steps] == [str(n + 1) for n in range(len(steps))]
    assert 3 <= len(steps) <= 6
    assert answer == "The answer"
