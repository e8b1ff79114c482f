"""The shape of the package, checked: layers, sizes, complete tables, cheap imports."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import workbench
from kit.syntax import gc_frozen, nodes_of
from workbench.core.writers import WRITERS

PACKAGE = Path(workbench.__file__).parent
LAYERS = (
    "_doors _values",
    "_faces core",
    "proto",
    "graph",
    "ops",
    "graph_files",
    "config run",
    "network",
    "npu",
    "dump",
    "comparison golden_data",
    "show",
    "views",
    "simulation",
    "ascendcl forecast session",
    "scale",
    "ui cli",
    "__main__",
)
ROOMS = (
    "stages one_thread threads columns rows limits trust finding_kinds result map_file graphs bind align pair measure"
    " repeats replay follow explain findings results agreeing differing packed_walk engine"
)
"""Rooms of `workbench.comparison`, in order of import."""
LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row.split()}
MAX_CODE_LINES = 600
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def area(path: Path) -> str:
    """Part of the package that a file belongs to: ``core/plan.py`` → ``core``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


COMPARISON = [path for path in MODULES if area(path) == "comparison"]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """Syntax trees of all modules; they take much memory and go with this file."""
    with gc_frozen():
        return {path: parse(path) for path in MODULES}


def imported_areas(tree: ast.Module):
    """Areas that a file imports from, nested and type-checking imports included."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [[*node.module.split("."), alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1] for name in names if name[0] == "workbench" and len(name) > 1)


def test_every_module_belongs_to_a_layer():
    assert {area(path) for path in MODULES} <= LEVEL.keys()


def test_imports_go_down_only(trees):
    wrong = [
        f"{path.relative_to(PACKAGE)} (layer {LEVEL[area(path)]}) imports {other} (layer {LEVEL[other]})"
        for path, tree in trees.items()
        for other in imported_areas(tree)
        if other in LEVEL and other != area(path) and LEVEL[other] >= LEVEL[area(path)]
    ]
    assert not wrong, "\n".join(wrong)


def test_a_dump_is_read_without_what_runs_networks(trees):
    reading = [p for p in MODULES if area(p) == "dump" and p.parent.name != "write"]
    assert not [path for path in reading if "run" in imported_areas(trees[path])]


def imported_rooms(tree: ast.Module):
    """Rooms of the comparison that a file imports from."""
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "workbench.comparison"
        ):
            yield from ([*node.module.split("."), alias.name][2] for alias in node.names)


def test_rooms_of_the_comparison_import_from_earlier_ones_only(trees):
    level = {name: number for number, name in enumerate(ROOMS.split())}
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {room}"
        for path in COMPARISON
        if path != PACKAGE / "comparison/__init__.py"
        for room in imported_rooms(trees[path])
        if level[room] > level[path.relative_to(PACKAGE).parts[1].removesuffix(".py")]
    }
    assert not wrong


REBUILT = ("core", "proto", "graph_files", "dump", "comparison")
"""Areas whose rooms have faces, sizes that a reader can hold, and values that are frozen."""

HOUSED = (
    *REBUILT,
    "config",
    "graph",
    "ops",
    "network",
    "run",
    "npu",
    "golden_data",
    "simulation",
    "ascendcl",
    "forecast",
    "show",
    "views",
    "session",
    "scale",
    "ui",
)
"""Areas whose rooms have faces and sizes that a reader can hold."""


def test_folders_of_the_rebuilt_areas_hold_at_most_fifteen_modules():
    folders = [path.parent for path in MODULES if area(path) in HOUSED]
    folders = [folder for folder in folders if folder.name != "words"]  # a table an area
    assert max(Counter(folders).values()) <= 15 + 1  # __init__ is the face


def test_faces_of_the_rebuilt_areas_say_what_comes_in_what_goes_out_and_what_is_added_where():
    faces = [path for path in MODULES if path.stem == "__init__" and area(path) in HOUSED]
    for path in faces:
        if path.parent.name in ("core", "words", "comparison", "hypotheses", "in_time", "tables"):
            continue
        said = ast.get_docstring(parse(path)) or ""
        assert 4 <= len(said.splitlines()) <= 8, path
        assert re.search(r"\b(In|Comes in): ", said), path
        assert re.search(r"\b(Out|Goes out):", said), path


def test_every_room_of_the_comparison_is_listed_in_order_of_import():
    faces = [path for path in COMPARISON if path.stem == "__init__" and "tables" not in path.parts]
    rooms = {path.parent.name for path in faces} - {
        "comparison",
        "hypotheses",
        "in_time",
        "undefined",
    }
    assert rooms == {name for name in ROOMS.split() if (PACKAGE / "comparison" / name).is_dir()}


def test_modules_of_the_rebuilt_areas_have_six_hundred_lines_at_most():
    rebuilt = [path for path in MODULES if area(path) in REBUILT]
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in rebuilt}
    assert not {path: count for path, count in lines.items() if count > MAX_CODE_LINES}


GROWS = {
    "BoundedCache": "cache of arrays, by bytes",
    "CompiledKernel": "sums of the pieces by now, and buffer of the slices, as wide as the data",
    "Carry": "what the walk knows by now; made and dropped by `follow`",
    "Claims": "pairs while they grow; `pairing()` gives the frozen value",
    "PackedWalk": "cache: the walk, as long as somebody holds it",
    "_ExecutionForecast": "cache: readers of a golden's value that may have a file",
    "_EachPair": "rows of the table by now",
    "_Opened": "parts of what was put away that are read by now",
    "_Packer": "parts of what is put away that are packed by now",
    "_SaidCopies": "goldens that are compared, or repeat such, by the group of copies that they are of",
    "_Known": "goldens that are compared, or repeat such, while one execution is looked through",
    "Components": "sets that are joined while groups are made",
    "DumpedInputs": "cache: who reads a value",
    "Elements": "cache: errors of the kind that was asked last",
    "Evaluation": "cache: elements of the tensors that were read",
    "FigureTable": "rows while they are added; `to_array()` is read-only",
    "ForecastFit": "part of Carry: how well the forecast fits by now",
    "Gatherer": "sums of the slices by now",
    "Matching": "matches while they grow; `align` gives the frozen `Alignment`",
    "Memory": "cache: where outputs lie",
    "NameTables": "cache: what operators of the graphs that were asked for last are called",
    "NumpyKernel": "sums of the pieces by now",
    "Parts": "cache: parts of a step",
    "Reach": "what regions reach by now; `find_dont_care` gives the frozen `Regions`",
    "ReplayCache": "cache: what an operator computes",
    "StandIns": "cache: operators as their files tell them, and what their rounding explains",
    "Stages": "whether it was asked to stop by now",
    "Grace": "since when it has been asked to stop",
    "Stretch": "cuts of a group while they are looked for",
    "Row": "where it stands among the rows that it was read from",
    "Rows": "cache: rows as values while somebody holds them",
    "TimeMemory": "what the walk in time knows by now",
    "Budget": "operations that are left",
    "_Threads": "items that threads have taken up by now",
    "_Apart": "inputs of one kernel while they are numbered",
    "_Build": "operators of one kernel while they are put together",
    "_Draft": "a binding while it grows; `binding()` gives the frozen value",
    "_GraphReplay": "own errors of one graph while it is replayed",
    "_Inliner": "blocks while calls are replaced",
    "_Network": "operators of a network while they are taken over",
    "_Once": "cache of one forecast: what several models share",
    "_Rerun": "values of one execution while it is computed with disturbed inputs",
    "_Run": "values of one execution while one model computes it",
    "_Segments": "results of threads while they work",
    "_Growing": "sums of the rows or tiles seen by now",
    "_Side": "sums of one side by now",
    "_Texts": "texts of a table while it is filled",
    "_Walk": "assessments while the walk goes on; `follow` gives the frozen `Trace`",
}
"""What may change after it was made, why, and what is handed on instead: builders, carries, caches."""
FILES_GROW = {
    "AddressMap": "room that the device has given out by now",
    "Block": "nodes of a graph's text while it is read",
    "Choice": "cache: what the plan says of a name",
    "ChunkReader": "place in a file, by now",
    "Clock": "the time of a simulated run",
    "_Blocks": "cache of blocks of files elsewhere, by bytes",
    "RemoteFile": "place in a file elsewhere, by now",
    "FileBytes": "page of a file that is looked at",
    "FileReader": "place in a file, by now",
    "FormCache": "cache: what headers said that differ in addresses and names alone",
    "GraphCache": "cache of graphs, by size",
    "LazyMap": "cache: entries that were read",
    "NewFolder": "lines of tables that are written last",
    "Node": "one node of a graph's text while its comments are read",
    "Numbers": "values that have a number by now",
    "NpySource": "cache: the header, once somebody asks",
    "PickleError": "the byte, where it is known",
    "Records": "cache: rows as values, as long as somebody reads them",
    "TableReader": "line of a table, by now",
    "TextReader": "lines that nobody knows, counted",
    "TreeLeaf": "names and rows of a folder while it is written",
    "_Block": "nodes of a graph while its text is written",
    "_Budget": "bytes of a header that are left",
    "_Growing": "leaves of a tree while it is written",
    "_GrowingFolder": "folders that were made by now",
    "_Lowering": "operators of a graph while it is lowered",
    "_Names": "names of the values of a graph while it is read",
    "_Parser": "nodes of a file while it is read",
    "_Splicing": "nodes of a model while branches are put into it",
    "_Reader": "fields that may still be read; those that nobody knows",
    "_Run": "what was converted by now",
    "_Sums": "sums of the pieces by now",
    "_Tree": "graphs and orders met by now, while a tree is written",
    "_Tuples": "tuples while a graph's text is resolved",
    "_Unpickler": "stack of the machine that a pickle is a program for",
    "_Walk": "folders met by now; `survey` gives the frozen `Survey`",
    "_Ways": "steps of a match that are left",
    "_Window": "piece of a file that is looked at",
    "_Writer": "the message while it is filled",
}
"""The same of `core`, `proto`, `graph_files` and `dump`; messages of protobuf are filled by whoever writes them."""
COMPILER_GROWS = {
    "GraphBuilder": "operators of a graph while it is written; `build` gives the frozen graph",
    "TransBuilder": "conversions that were inserted by now",
    "_FoldingBuilder": "constants that are computed by now",
    "RowBuilder": "operators of several kernels while they are put in a row, each once",
    "_KernelBuilder": "operators of one kernel while they are put together",
    "_Marks": "operators while they are marked",
    "_QuantizingBuilder": "constants of a network while it is quantized",
}
"""The same of the compiler of the simulated device and of `workbench.graph.rewrite`."""
RUN_GROWS = {
    "Links": "what collectives have received an iteration earlier",
    "Accumulator": "sums of the blocks of a product by now",
    "Arena": "memory of the simulated device",
    "Cell": "a network of the user's: set_train and to_float change it, as they do MindSpore's",
    "CellList": "layers of a network, appended",
    "Device": "what its registers say by now, and what was reported",
    "Folder": "operations that are left to fold",
    "RoleFinder": "what golden files repeat, by now",
    "FrameReader": "cache: lines of source files",
    "GoldenFiles": "names of files that are taken by now; what was lost",
    "OnnxRuntime": "nodes that another one computed, counted",
    "OnnxTrace": "operators while a model is traced",
    "Parameter": "a weight of a network of the user's, which set_data fills",
    "Parts": "operators that one is expanded into, while they are added",
    "RefCountedStorage": "values that somebody reads yet",
    "Reference": "nodes that the evaluator computed, counted",
    "Regions": "blocks of a network while it is traced",
    "Rendezvous": "what ranks have handed over by now",
    "Status": "causes of an overflow by now",
    "Trace": "operators while a network is traced",
    "_Flow": "gradients of a value by now",
    "_Free": "memory that is free by now",
    "_Iteration": "values of one iteration by now",
    "_Lowering": "values of a model while it is lowered",
    "_Plan": "places of values while memory is planned",
    "_Step": "weights and predicates of one iteration by now",
    "_Tensor": "a value's life while memory is planned",
    "_Values": "values that are held by now, and how many bytes",
}
"""The same of networks, their execution, the simulated device and golden data; messages of ONNX are filled."""
CONFIG_GROWS = {
    "Call": "arguments of a call while they are gathered",
    "ConfigObject": "settings of a CompilerConfig while a script is followed",
    "OptimizerBlock": "parameters of an optimizer while a script is followed",
    "Reader": "problems of a form while it is read",
    "ScriptFacts": "what a script does, by now",
    "ScriptReading": "settings of a script that count, by now",
    "Walk": "settings that are not read, by now",
    "_Decoder": "place in a text, by now",
    "_Reader": "place in an expression, by now",
    "_Scan": "names of a script, by now",
}
"""The same of configurations: what is read grows while it is read."""
OTHERS_GROW = {
    "GraphWalk": "nodes of a picture while a graph is walked",
    "Model": "a handle of pyACL: its device and number once it is loaded, executions by now",
    "ActiveDump": "whether the program has ended its dump by now",
    "Drawn": "pieces of a panel's operator that are drawn by now",
}
"""The same of views, of panels, and of AscendCL, whose calls change what the process holds."""
CHANGES = re.compile(
    "add|append|appendleft|clear|discard|extend|fill|insert|move_to_end|pop|popitem|put|remove"
    "|reverse|setdefault|setflags|sort|update"
)
"""Methods that change what they belong to."""
MAKES = ("__init__", "__post_init__", "__new__")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def changed(node: ast.AST):
    """Expressions whose value a statement or call changes; a plain name is a variable, not a value."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from targets
        case ast.AugAssign(target=target) | ast.NamedExpr(target=target) | ast.For(target=target):
            yield target
        case ast.AnnAssign(target=target, value=ast.expr()):
            yield target
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[first, *_]):
            yield ast.Attribute(first, "?")
        case ast.Call(func=ast.Attribute(attr="__setattr__" | "__delattr__"), args=[first, *_]):
            yield ast.Attribute(first, "?")
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if CHANGES.fullmatch(method):
            yield value


def root(node: ast.AST) -> tuple[str, bool]:
    """The name that an expression begins with, and whether it leads through an attribute of that."""
    through = False
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=value):
                node, through = value, True
            case ast.Subscript(value=value) | ast.Starred(value=value):
                node = value
            case ast.Call(func=ast.Attribute(value=value, attr="setdefault" | "get" | "of")):
                node = value
            case _:
                return "", False
    return node.id, through


def owner(name: str, inside: list[ast.AST]) -> str:
    """The type of a name as far as the code says it: its class, its annotation or what it is made by."""
    if name == "self":
        return next(one.name for one in reversed(inside) if isinstance(one, ast.ClassDef))
    for function in reversed(inside):
        for node in ast.walk(function):
            match node:
                case ast.arg(arg=arg, annotation=ast.expr() as kind) if arg == name:
                    return ast.unparse(kind).removesuffix(" | None")
                case ast.Assign(targets=[ast.Name(id=to)], value=ast.Call(func=by)) if to == name:
                    return ast.unparse(by)
    return name


def breaches(tree: ast.Module):
    """Changes of values after their construction: whose they are, in which function, what changes."""

    def visit(node: ast.AST, inside: list[ast.AST]):
        for one in changed(node):
            for part in one.elts if isinstance(one, ast.Tuple | ast.List) else [one]:
                name, through = root(part)
                places = [each for each in inside if isinstance(each, FUNCTION)]
                made = name == "self" and any(each.name in MAKES for each in places)
                if through and places and not made:
                    yield owner(name, inside), places[-1].name, ast.unparse(part)
        for child in ast.iter_child_nodes(node):
            nested = isinstance(child, FUNCTION | ast.ClassDef)
            yield from visit(child, [*inside, child] if nested else inside)

    return visit(tree, [])


def all_breaches(trees, areas: Sequence[str]) -> list[tuple[str, str]]:
    """Every breach in some areas: what changes, and where."""
    return [
        (kind, f"{path.relative_to(PACKAGE)}: {function} changes {what} ({kind})")
        for path in MODULES
        if area(path) in areas
        for kind, function, what in breaches(trees[path])
    ]


@pytest.fixture(scope="module")
def in_comparison(trees):
    return all_breaches(trees, ("comparison",))


def own_breaches(trees, areas: Sequence[str]) -> list[tuple[str, str]]:
    """Breaches whose owner is one of our types: what else changes is a message or a list of the function."""
    ours = {
        node.name
        for path in MODULES
        for node in nodes_of(trees[path])
        if isinstance(node, ast.ClassDef)
    }
    return [(kind, said) for kind, said in all_breaches(trees, areas) if kind in ours]


@pytest.fixture(scope="module")
def in_files(trees):
    return own_breaches(trees, ("core", "proto", "graph_files", "dump"))


@pytest.fixture(scope="module")
def in_config(trees):
    return own_breaches(trees, ("config",))


@pytest.fixture(scope="module")
def in_runs(trees):
    return own_breaches(trees, ("graph", "ops", "network", "run", "npu", "golden_data"))


def is_compiler(path: Path) -> bool:
    """Whether a module makes programs of graphs."""
    place = path.relative_to(PACKAGE).as_posix()
    return place.startswith("npu/compile/") or place in (
        "graph/rewrite.py",
        "npu/compile/program.py",
        "npu/target.py",
    )


@pytest.fixture(scope="module")
def in_compiler(trees):
    return [
        (kind, f"{path.relative_to(PACKAGE)}: {function} changes {what} ({kind})")
        for path in filter(is_compiler, MODULES)
        for kind, function, what in breaches(trees[path])
    ]


def test_nothing_that_is_compiled_changes_after_it_was_made(in_compiler):
    assert [said for kind, said in in_compiler if kind not in COMPILER_GROWS] == []
    assert COMPILER_GROWS.keys() <= {kind for kind, _ in in_compiler}


def test_constructors_of_the_compiler_compile_nothing(trees):
    """What works over a graph is a loop that can be read, not a constructor with an effect."""
    made = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in filter(is_compiler, MODULES)
        for one in nodes_of(trees[path])
        if isinstance(one, ast.FunctionDef) and one.name == "__init__"
        for node in ast.walk(one)
        if isinstance(node, ast.For | ast.While)
    ]
    assert made == []


def test_nothing_in_the_comparison_changes_after_it_was_made(in_comparison):
    assert [said for kind, said in in_comparison if kind not in GROWS] == []


def test_nothing_that_files_are_read_as_changes_after_it_was_made(in_files):
    assert [said for kind, said in in_files if kind not in FILES_GROW] == []


def test_nothing_of_a_configuration_changes_after_it_was_read(in_config):
    assert [said for kind, said in in_config if kind not in CONFIG_GROWS] == []


def test_nothing_that_is_run_changes_after_it_was_made(in_runs):
    may = RUN_GROWS.keys() | COMPILER_GROWS.keys()
    assert [said for kind, said in in_runs if kind not in may] == []


def test_whatever_may_change_does(in_comparison, in_files, in_runs, in_config):
    assert CONFIG_GROWS.keys() - {"ConfigObject"} <= {kind for kind, _ in in_config}
    assert GROWS.keys() <= {kind for kind, _ in in_comparison}
    assert RUN_GROWS.keys() - {"_Tensor"} <= {kind for kind, _ in in_runs}
    assert FILES_GROW.keys() <= {kind for kind, _ in in_files}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("value.shape = ()", "Value"),
        ("value.count += 1", "Value"),
        ("value.count: int = 1", "Value"),
        ("del value.count", "Value"),
        ("a, value.count = 1, 2", "Value"),
        ("for value.count in ():\n        pass", "Value"),
        ("setattr(value, 'count', 1)", "Value"),
        ("object.__setattr__(value, 'count', 1)", "Value"),
        ("value.rows.append(1)", "Value"),
        ("value.rows[0].more.update({})", "Value"),
        ("value.rows['a'] = 1", "Value"),
        ("value.rows.get(1)[2] = 3", "Value"),
        ("for one in value.rows:\n        one.count = 1", "one"),
        ("other = Other()\n    other.count = 1", "Other"),
    ],
)
def test_a_change_of_a_value_is_seen(line, kind):
    tree = ast.parse(f"def change(value: Value | None):\n    {line}\n")
    assert [found for found, _, _ in breaches(tree)] == [kind]


@pytest.mark.parametrize(
    "code",
    [
        "class A:\n    def __init__(self):\n        self.a = 1\n        self.b.append(2)",
        "def f(value):\n    rows = []\n    rows.append(value.a)\n    rows[0] = 1\n    rows += [2]",
        "def f(value):\n    a = value.b.get(1)\n    return replace(value, a=a)",
        "class A:\n    a: int = 1",
    ],
)
def test_making_a_value_is_no_change(code):
    assert list(breaches(ast.parse(code))) == []


def test_dataclasses_of_the_rebuilt_areas_are_frozen(trees):
    loose = {
        node.name
        for path in MODULES
        if area(path) in HOUSED
        for node in nodes_of(trees[path])
        if isinstance(node, ast.ClassDef)
        for made in node.decorator_list
        if "dataclass" in ast.unparse(made) and "frozen=True" not in ast.unparse(made)
    }
    tables = (GROWS, FILES_GROW, RUN_GROWS, CONFIG_GROWS, OTHERS_GROW)
    assert loose <= {name for table in tables for name in table}


def test_named_tuples_are_made_cheaply(trees):
    """`typing` compiles the annotation of every field; only a class that is generic as well needs that."""
    of_typing = {
        path
        for path, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "typing"
        if any(one.name == "NamedTuple" for one in node.names)
    }
    generic = {
        path
        for path, tree in trees.items()
        for node in nodes_of(tree)
        if isinstance(node, ast.ClassDef)
        if {"NamedTuple", "Generic"} <= {ast.unparse(one).partition("[")[0] for one in node.bases}
    }
    assert of_typing - generic == set()
    assert generic <= of_typing


def test_no_relative_imports_hide_a_layer(trees):
    relative = [
        path
        for path, tree in trees.items()
        for node in nodes_of(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


def code_lines(path: Path) -> int:
    return sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip(" #"))


def test_modules_fit_in_the_head():
    large = {str(p.relative_to(PACKAGE)): code_lines(p) for p in MODULES}
    assert not {name: count for name, count in large.items() if count > MAX_CODE_LINES}


def function_lengths(trees: dict[Path, ast.Module]) -> list[tuple[int, str]]:
    """Lines of every function without its docstring."""
    found = []
    for path, tree in trees.items():
        for node in nodes_of(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                doc = ast.get_docstring(node) is not None
                start = node.body[1].lineno if doc and len(node.body) > 1 else first.lineno
                length = node.end_lineno - (start if doc else node.lineno) + 1
                found.append((length, f"{path.relative_to(PACKAGE)}:{node.name}"))
    return sorted(found)


def test_functions_are_short(trees):
    lengths = function_lengths(trees)
    ninety = lengths[int(len(lengths) * 0.9)][0]
    assert ninety <= 30
    assert [name for length, name in lengths if length > 50] == []


def test_every_public_name_exists_and_nothing_else_is_exported():
    assert sorted(workbench.__all__) == sorted(set(workbench.__all__))
    assert all(getattr(workbench, name) is not None for name in workbench.__all__)
    with pytest.raises(AttributeError, match="known:"):
        _ = workbench.no_such_name


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}; import sys; print(' '.join({{m.partition('.')[0] for m in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_core_needs_numpy_and_ml_dtypes_alone():
    names = [p.stem for p in (PACKAGE / "core").glob("*.py") if p.stem != "__init__"]
    bare = loaded_by("import numpy, ml_dtypes")
    core = loaded_by("import " + ", ".join(f"workbench.core.{name}" for name in names))
    extra = {m for m in core - bare if m not in sys.stdlib_module_names and not m.startswith("_")}
    assert extra == {"workbench"}


def test_starting_the_command_loads_nothing_heavy():
    loaded = loaded_by("import workbench.cli, workbench.session.compare")
    assert not loaded & {
        "pandas",
        "matplotlib",
        "jinja2",
        "ipywidgets",
        "IPython",
        "google",
    }


LOADED = """
import sys
from workbench.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    status = end.code
print(status, *(name for name in sys.modules if name.partition(".")[0] == "workbench"))
"""
PAIR = "sample_dumps/simulated_pair/{}"


def modules_of(code: str, *arguments: str) -> list[str]:
    """Modules of ours that a program has loaded when it ends, and in front of them what it said of itself."""
    command = [sys.executable, "-c", code, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    return run.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(("target", "status", "most"), [("golden", "0", 148), ("target", "1", 263)])
def test_a_comparison_loads_what_it_needs(target, status, most):
    """The bounds are what was reached; raise them for a reason alone: each module is a third of a millisecond."""
    ended, *loaded = modules_of(LOADED, "compare", PAIR.format(target), PAIR.format("golden"))
    assert ended == status
    assert len(loaded) <= most
    rooms = {name.split(".")[2] for name in loaded if re.match(r"workbench\.comparison\.", name)}
    assert "agreeing" in rooms
    needed = {"replay", "explain", "differing"}
    assert rooms & needed == (needed if target == "target" else set())


def test_two_equal_dumps_load_no_reader_of_what_they_do_not_hold():
    _, *loaded = modules_of(LOADED, "compare", PAIR.format("golden"), PAIR.format("golden"))
    unread = ("container", "archives", "opdebug", "exception", "parse", "onnx.model", "ge.text")
    assert not [name for name in loaded if name.endswith(unread)]


def test_importing_the_package_loads_nine_modules_at_most():
    code = "import sys, workbench; print(*(m for m in sys.modules if m.startswith('workbench')))"
    assert len(modules_of(code)) <= 9


DOORS = [path for path in MODULES if "make_door(" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "path", [path for path in DOORS if path.stem == "__init__"], ids=lambda path: path.parent.name
)
def test_a_door_names_what_is_there(path, trees):
    """Its table, its ``__all__`` and what type checkers see are one; each name is found and stays."""
    package = importlib.import_module(
        ".".join(("workbench", *path.relative_to(PACKAGE).parent.parts))
    )
    seen = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for one in trees[path].body
        if isinstance(one, ast.If)
        for node in one.body
        for alias in node.names
    }
    assert seen == package.PLACES
    assert sorted(package.__all__) == sorted(package.PLACES)
    assert set(package.PLACES) <= set(dir(package))
    for name in package.PLACES:
        assert getattr(package, name) is vars(package)[name]
    with pytest.raises(AttributeError, match="known:"):
        _ = package.no_such_name


def surface_choices(tree: ast.Module):
    """What decides by a surface's name: a comparison, how it begins, a table by it, a table of such names."""

    def names_surface(node: ast.AST) -> bool:
        return bool(re.fullmatch(r"(.*\W)?surface(\.name)?", ast.unparse(node), re.DOTALL))

    def is_fixed(node: ast.AST) -> bool:
        kinds = ast.Constant | ast.Tuple | ast.List | ast.Set | ast.Dict
        return isinstance(node, kinds) or ast.unparse(node).rpartition(".")[2].isupper()

    for node in nodes_of(tree):
        match node:
            case ast.Compare(left=left, comparators=[*others]):
                sides = [left, *others]
                found = any(map(names_surface, sides)) and any(map(is_fixed, sides))
                found &= not any(ast.unparse(side) == "None" for side in others)
            case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith")):
                found = names_surface(value)
            case ast.Subscript(value=ast.Name(id=table), slice=key):
                found = table.isupper() and table != "WRITERS" and names_surface(key)
            case ast.Dict(keys=keys):
                found = len({ast.literal_eval(k) for k in keys if is_text(k)} & WRITERS.keys()) > 1
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                found = len({e.value for e in elts if is_text(e)} & WRITERS.keys()) > 1
            case ast.match_case(pattern=ast.MatchValue(value=ast.Constant(value=value))):
                found = value in WRITERS
            case _:
                continue
        if found:
            yield ast.unparse(node)


def is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_what_a_surface_is_stands_in_its_row(trees):
    """Outside the configurations nothing decides by the name of a surface: its row is asked."""
    rows = [PACKAGE / "core/writers.py", PACKAGE / "dump/layouts.py"]  # there, names of layouts
    found = {
        f"{path.relative_to(PACKAGE)}: {said}"
        for path in MODULES
        if area(path) != "config" and path not in rows
        for said in surface_choices(trees[path])
    }
    assert not found, "\n".join(sorted(found))


@pytest.mark.parametrize(
    "code",
    [
        "surface == 'acl'",
        "'acl' != self.surface",
        "config.surface.name in TABLE",
        "surface not in ('acl',)",
        "target.surface in tables.TABLE",
        "surface.startswith('mindspore')",
        "TABLE[target.surface]",
        "{'acl': 1, 'torchair': 2}",
        "('acl', 'torchair')",
        "match name:\n    case 'acl':\n        pass",
    ],
)
def test_a_choice_by_surface_is_seen(code):
    assert list(surface_choices(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "surface is None",
        "name == bench.surface.name",
        "WRITERS[surface].by_step",
        "x == 'acl'",
        "('acl', 1)",
    ],
)
def test_asking_the_row_is_no_choice_by_surface(code):
    assert not list(surface_choices(ast.parse(code)))


EXITS = {
    r"\bescape\b.*html|html\.escape": {
        "core/text.py",
        "ui/widgets/framed.py",
    },  # there a whole page, not a name
    r"click\.echo|\bprint\(|sys\.stdout\.write": {
        "__main__.py",
        "cli/terminal.py",
        "views/extract.py",
    },  # an interruption before the terminal is there, which names nothing; a script's own
}
"""What puts text before a reader → the modules that do it for all others."""


@pytest.mark.parametrize("exit_", EXITS)
def test_names_go_out_in_one_place(exit_):
    found = set()
    for path in MODULES:
        code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        if re.search(exit_, code):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found <= EXITS[exit_]


TABLES = re.compile(r"`([A-Z][A-Z_]+)` in `(workbench/comparison/[\w/]+\.py)`")


def test_documents_name_tables_of_the_comparison_that_exist_and_agree():
    root = PACKAGE.parent
    guide, flow = (
        {*TABLES.findall((root / name).read_text(encoding="utf-8"))}
        for name in ("CONTRIBUTING.md", "docs/architecture.md")
    )
    assert guide == flow
    assert len(flow) >= 10
    for table, path in flow:
        assert re.search(rf"^{table}\b", (root / path).read_text(encoding="utf-8"), re.MULTILINE)
