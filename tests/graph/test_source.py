"""Source frames: file, line, range, columns and text, as MindSpore's IR lists them."""

import subprocess
import sys
import textwrap

import nbclient
import nbformat
import numpy as np
import pytest

from workbench.graph.graph import SourceFrame
from workbench.graph.source import FrameReader
from workbench.network import nn
from workbench.network.models import load_graph
from workbench.network.tracer import trace

NET = """\
import numpy as np
from workbench.network import nn
from workbench.network.nn import functional as F

INPUTS = np.ones((2, 3, 8, 8), np.float32)


class Net(nn.Cell):
    def __init__(self):
        self.conv = nn.Conv2d(3, 4, 3)

    def construct(self, x):
        x = self.conv(x)
        y = F.relu(
            x
        ) + x * 2.0
        return helper(y)


def helper(y):
    return [F.exp(one) for one in (y,)][0]
"""


def net(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(NET, encoding="utf-8")
    return load_graph(f"{path}:Net"), str(path)


def test_every_function_gives_its_definition_and_its_line_outermost_first(tmp_path):
    graph, path = net(tmp_path)
    frames = graph.ops[0].frames
    assert frames[:2] == (
        SourceFrame(path, 12, "    def construct(self, x):", 17, 4, 24),
        SourceFrame(path, 13, "        x = self.conv(x)", 0, 12, 24),
    )
    inner = [(f.file.rpartition("workbench/network/nn/")[2], f.code.strip()) for f in frames[2:]]
    assert inner == [
        ("layers.py", "def construct(self, x: Operators) -> Tensor:"),
        ("layers.py", "output = functional.conv2d(x, self.weight, *self.settings)"),
        ("functional.py", "def conv2d("),
        ("functional.py", "return record("),
    ]
    assert [f.library for f in frames] == [False, False, True, True, True, True]


def test_a_file_is_named_as_it_was_typed_and_our_own_files_from_the_package(tmp_path, monkeypatch):
    """So a dump says nothing about the machine that it was simulated on."""
    net(tmp_path)
    monkeypatch.chdir(tmp_path)
    frames = load_graph("net.py:Net").ops[0].frames
    layers = ["workbench/network/nn/layers.py"] * 2 + ["workbench/network/nn/functional.py"] * 2
    assert [f.file for f in frames] == ["net.py", "net.py", *layers]
    assert frames[1].code == "        x = self.conv(x)"
    assert [f.library for f in frames] == [False, False, True, True, True, True]
    assert load_graph("lenet").ops[0].frame.file == "workbench/network/models/networks.py"


def test_the_line_of_an_operator_is_the_users_own(tmp_path):
    graph, path = net(tmp_path)
    lines = [(op.op_type, op.frame.file, op.frame.line) for op in graph.ops]
    assert lines == [
        ("Conv2D", path, 13),
        ("ReLU", path, 14),
        ("Mul", path, 16),
        ("Add", path, 14),
        ("Exp", path, 21),
    ]


def test_an_expression_over_several_lines_keeps_its_whole_range(tmp_path):
    graph, path = net(tmp_path)
    relu, product, total = (graph.op(f"Default/{kind}-op0") for kind in ("ReLU", "Mul", "Add"))
    assert relu.frame == SourceFrame(path, 14, "        y = F.relu(", 16, 12, 9)
    assert product.frame == SourceFrame(path, 16, "        ) + x * 2.0", 0, 12, 19)
    assert total.frame == SourceFrame(path, 14, "        y = F.relu(", 16, 12, 19)


def test_helper_functions_and_comprehensions_are_listed_on_the_way(tmp_path):
    graph, path = net(tmp_path)
    lines = [f.line for f in graph.ops[-1].frames if f.file == path]
    assert lines == [12, 17, 20, 21]  # a comprehension shows the line inside it alone


def test_layers_are_library_code_in_a_source_checkout_too():
    layer = SourceFrame("/home/me/src/workbench/network/nn/layers.py", 3)
    network = SourceFrame("/usr/lib/python3/site-packages/workbench/network/models/networks.py", 3)
    other = SourceFrame("C:\\env\\Lib\\site-packages\\numpy\\core.py", 3)
    own = SourceFrame("/home/me/net.py", 3)
    assert [f.library for f in (layer, network, other, own)] == [True, False, True, False]


def test_equal_code_in_two_files_keeps_its_own_file(tmp_path):
    text = "def twice(x):\n    return x + x\n"
    spaces = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        space = {}
        exec(compile(text, str(path), "exec"), space)
        spaces.append(space["twice"])
    graph = trace(lambda x: spaces[1](spaces[0](x)), np.ones(2, np.float32))
    assert [op.frame.file.rpartition("/")[2] for op in graph.ops] == ["one.py", "two.py"]
    assert [op.frames[-2].file for op in graph.ops] == [op.frame.file for op in graph.ops]


def test_an_edited_file_shows_its_new_text(tmp_path):
    graph, path = net(tmp_path)
    assert graph.ops[0].frame.code == "        x = self.conv(x)"
    text = NET.replace("x = self.conv(x)", "x = self.conv(x)  # edited")
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    assert load_graph(f"{path}:Net").ops[0].frame.code == "        x = self.conv(x)  # edited"


def test_a_decorator_line_is_not_the_definition():
    def plain(function):
        return function

    @plain
    @plain
    def network(x):
        return x + x

    graph = trace(network, np.ones(2, np.float32))
    assert graph.ops[0].frames[0].code == "    def network(x):"


def test_code_without_a_file_has_lines_but_no_text():
    space = {}
    exec(compile("def network(x):\n    return x + x\n", "<made up>", "exec"), space)
    frame = trace(space["network"], np.ones(2, np.float32)).ops[0].frame
    assert (frame.file, frame.line, frame.code) == ("<made up>", 2, "")


def test_capture_ends_at_its_boundary():
    def outer():
        return inner()

    def inner():
        return FrameReader().capture(outer.__code__)

    assert [f.code.strip() for f in outer()] == [
        "def inner():",
        "return FrameReader().capture(outer.__code__)",
    ]


def test_a_function_on_one_line_has_no_last_line_and_a_longer_one_has(tmp_path):
    path = tmp_path / "lines.py"
    path.write_text(
        "def network(x): return further(x)\n\n\ndef further(x):\n    return (\n        x + x\n    )\n"
    )
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    frames = trace(space["network"], np.ones(2, np.float32)).ops[0].frames
    assert [(f.line, f.line_end, f.column, f.column_end) for f in frames if f.file == str(path)] == [
        (1, 0, 0, 33),
        (1, 0, 23, 33),
        (4, 7, 0, 5),
        (6, 0, 8, 13),
    ]  # fmt: skip


CELLS = textwrap.dedent(
    """
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    for text in (
        "import numpy as np; from workbench.network import nn, tracer",
        "class Net(nn.Cell):\\n    def construct(self, x):\\n        y = x + x\\n        return -y",
        "graph = tracer.trace(Net(), np.ones(3, np.float32))",
    ):
        shell.run_cell(text, store_history=True).raise_error()
    for op in shell.user_ns["graph"].ops:
        print(op.frame, op.frame.column, op.frame.column_end, op.frame.library)
    """
)


def test_a_notebook_cell_gives_its_own_text_line_and_number():
    """A real shell, in a process of its own because it replaces builtins and hooks."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CELLS], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "cell In[2]:3  y = x + x 12 17 False",
        "cell In[2]:4  return -y 15 17 False",
    ]


@pytest.mark.slow
def test_a_notebook_kernel_gives_the_same():
    """A real kernel names its cells by temporary files; the number is shown all the same."""
    texts = [
        "import numpy as np; from workbench.network import nn, tracer",
        "class Net(nn.Cell):\n    def construct(self, x):\n        return x * x",
        "print(tracer.trace(Net(), np.ones(3, np.float32)).ops[0].frame)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3").execute()
    assert book.cells[2].outputs[0].text == "cell In[2]:3  return x * x\n"


def test_a_layer_called_by_nobody_else_still_has_a_line():
    graph = trace(nn.ReLU(), np.ones(3, np.float32))
    assert graph.ops[0].frame.library
    assert graph.ops[0].frame.code.strip() == 'return record("ReLU", x)'
