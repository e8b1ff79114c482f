"""Previews beside the files that MindSpore 2.10 wrote on a CPU, of networks of `conformance/run_mindspore_names.py`."""

import json
from collections import Counter
from pathlib import Path

import pytest

from kit.words import refused
from workbench import config
from workbench.config.context import Context
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.forecast.preview import preview
from workbench.forecast.sources import version_of
from workbench.graph_files.mindspore.silent_tensors import handed_over
from workbench.network.models import load_graph
from workbench.network.models.load import read_network
from workbench.simulation.events import NOTHING
from workbench.simulation.simulate import simulate

ROOT = Path(__file__).parents[1]
RECORD = json.loads((ROOT / "data/conformance/names_2.10.0_cpu.json").read_text())
CASES = {case["case"]: case for case in RECORD["cases"]}
DENSE = CASES["two shapes"]["graphs"]["ms_output_trace_code_graph_0.ir"]
SEVERAL = {
    "alternating": (0, 1, 2, 0, 1, 2),
    "training twice": (0, 0, 1, 0, 1),
    "second first": (0, 0, 1),  # graphs are numbered as they first run
    "one iteration": (0, 1, 0, 1),
    "two shapes": (0, 1, 0, 1),
    "three shapes": (0, 1, 2, 0),
}
RAN_BY_TURNS = {"branches": "/Net/8/", "sides": "/Net/3/"}
"""Cases with control flow, and the side of a choice that no run takes."""
GONE = ("handed over", "views of views")
FAILS = ("exceptions",)


def dump(tmp_path, name):
    """The folder of graphs that a case left; those with other variables left the graph of another one."""
    folder = tmp_path / "rank_0" / "graphs"
    folder.mkdir(parents=True)
    graphs = CASES[name]["graphs"] or {"ms_output_trace_code_graph_0.ir": DENSE}
    for file, text in graphs.items():
        (folder / file).write_text(RECORD["graphs"][text])
    for file in CASES[name]["files"]:
        if "/ms_global_execution_order" in file:  # tells which graphs others call
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).touch()
    return tmp_path


def asked(name, version="2.10.0", **more):
    case = CASES[name]
    form = config.of("mindspore-cpu", case["form"])
    runs = {"schedule": SEVERAL[name]} if name in SEVERAL else {"iterations": len(case["order"])}
    return form, {"context": Context(version, case["env"])} | runs | more


def foreseen(tmp_path, name, version="2.10.0", **more):
    form, more = asked(name, version, **more)
    return preview(form, dump(tmp_path, name), **more)


def written(name):
    """Files of a case, without the graphs as protobuf, which a preview of text does not tell."""
    return Counter(CASES[name]["files"])


def timeless(found):
    return Counter(
        ".".join("*" if part.isdecimal() and len(part) == 16 else part for part in path.split("."))
        for path in found.names
    )


@pytest.mark.parametrize("name", CASES)
def test_the_files_of_a_real_run_are_foretold(tmp_path, name):
    found = foreseen(tmp_path, name)
    told, real = timeless(found), written(name)
    if name in RAN_BY_TURNS:  # a loop of two turns, and one side of a choice
        taken = {path for path in told if RAN_BY_TURNS[name] not in path}
        assert set(real) == taken
    else:
        assert told == real
    exact = name not in (*RAN_BY_TURNS, *GONE, *FAILS)
    assert (found.exact, found.to_dict()["exact"]) == (exact, exact)


def test_there_is_one_case_of_each_kind():
    assert {*SEVERAL, *RAN_BY_TURNS, *GONE, *FAILS} <= CASES.keys()
    assert sum(1 for name in CASES if not written(name)) == 1


def test_operators_of_one_scope_and_type_are_counted_anew(tmp_path):
    """Read off the record by eye: the graph has TopK-op2 and -op3, the files TopK-op0 and -op1."""
    found = foreseen(tmp_path, "mixed")
    topk = [name for name in found.selection.operators if "TopK" in name]
    assert topk == ["Default/TopK-op0", "Default/TopK-op1"]
    order = next(e for e in found.forecast.files if "ms_execution_order" in e.path)
    folder = dump(tmp_path / "again", "mixed") / "rank_0/graphs"
    graph = read_network(folder / "ms_output_trace_code_graph_0.ir")
    names = [op.name for op in graph.ops]
    assert [name for name in names if "TopK" in name] == ["Default/TopK-op2", "Default/TopK-op3"]
    assert order.size == len("\n".join(["NodeExecutionOrder-FullNameWithScope", *names])) + 1


@pytest.mark.parametrize(("name", "met", "unmet", "notes"), [
    ("name of the graph", (), [Message("simulation/entry-of-graph", near="Default/TopK-op1")], []),
    ("name of the files", ("Default/TopK-op0",), [],
     [Message("simulation/entry-renamed", entry="Default/TopK-op0", own="Default/TopK-op2")]),
])  # fmt: skip
def test_an_entry_means_the_number_of_the_files(tmp_path, name, met, unmet, notes):
    found = foreseen(tmp_path, name)
    assert found.selection.operators == met
    assert [one.reason for one in found.selection.unmatched] == unmet
    assert [note for note in found.notes if note.code == "simulation/entry-renamed"] == notes
    assert all(str(one) in str(found) for one in (*notes, *unmet))


@pytest.mark.parametrize(("name", "met", "hint"), [
    ("name of the graph", ("Default/TopK-op3",), None),
    ("name of the files", (), Message("simulation/entry-of-file", near="Default/TopK-op2")),
])  # fmt: skip
def test_releases_that_were_not_seen_keep_the_graphs_numbers_with_a_doubt(
    tmp_path, name, met, hint
):
    found = foreseen(tmp_path, name, "2.6.0")
    assert found.selection.operators == met
    assert [one.reason for one in found.selection.unmatched] == ([hint] if hint else [])
    assert [doubt.code for doubt in found.inexact_because] == ["dump/numbers"]
    assert "Default/TopK-op" in str(found)


def test_other_devices_have_a_doubt(tmp_path):
    form = config.of("mindspore-o0o1", CASES["mixed"]["form"])
    found = preview(form, dump(tmp_path, "mixed"), context=Context("2.10.0"))
    assert "dump/numbers" in {doubt.code for doubt in found.inexact_because}


def test_graphs_before_the_given_one_count_too(tmp_path):
    folder = dump(tmp_path, "alternating") / "rank_0/graphs"
    form, more = asked("mixed")
    second = preview(form, folder / "ms_output_trace_code_graph_1.ir", **more)
    assert [doubt.code for doubt in second.inexact_because] == ["dump/numbers-before"]
    assert str(second.inexact_because[0]) in str(second)
    assert preview(form, folder / "ms_output_trace_code_graph_0.ir", **more).exact


def test_without_a_schedule_networks_run_in_turn_with_a_doubt(tmp_path):
    found = foreseen(tmp_path, "alternating", schedule=None, iterations=2)
    assert timeless(found) == written("alternating")
    assert [doubt.code for doubt in found.inexact_because] == ["forecast/in-turn"]
    assert str(found.inexact_because[0]) in str(found)
    with refused("simulation/schedule", GraphError, got=3, last=2):
        foreseen(tmp_path / "again", "alternating", schedule=(0, 3))


def test_several_traced_networks_are_foretold_as_they_are_simulated(tmp_path):
    form = config.new("mindspore-cpu").set("common_dump_settings.iteration", "all")
    schedule = (0, 1, 1, 0)
    found = preview(form, ["mlp", "lenet"], schedule=schedule)
    simulate([load_graph("mlp"), load_graph("lenet")], None, form, tmp_path, schedule=schedule)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert set(found.names) == files
    assert found.exact
    with refused("simulation/several-networks", GraphError):
        preview(config.new("acl"), ["mlp", "lenet"])


def test_what_lies_in_memory_that_is_gone_is_told(tmp_path):
    """By hand: a view that is computed and returned; who reads it has no file of that input."""
    graphs = dump(tmp_path, "views of views") / "rank_0/graphs/ms_output_trace_code_graph_0.ir"
    assert set(handed_over(read_network(graphs))) == {
        ("Default/ExpandDims-op0", "input", 0),
        ("Default/ExpandDims-op0", "output", 0),
        ("Default/Squeeze-op0", "input", 0),
        ("Default/Squeeze-op0", "output", 0),
        ("Default/Argmax-op0", "input", 0),
    }


def test_a_graph_as_protobuf_has_a_doubt(tmp_path):
    form = config.new("mindspore-cpu").set("common_dump_settings.iteration", "0")
    simulate(load_graph("mlp"), None, form, tmp_path)
    graph = tmp_path / "rank_0/graphs/ms_output_trace_code_graph_0.pb"
    told = preview(form, graph, context=Context("2.10.0"))
    assert "dump/from-pb" in {doubt.code for doubt in told.inexact_because}
    assert ".ir" in str(told)


@pytest.mark.parametrize(("name", "files"), [("level 0", False), ("level 1", True)])
def test_a_process_that_only_compiles_writes_nothing(tmp_path, name, files):
    form, more = asked(name)
    told, graph = [], load_graph("mlp")
    options = {"env": CASES[name]["env"], "version": "2.10.0", "report": told.append}
    simulate(graph, None, form, tmp_path / "out", **options)
    assert (tmp_path / "out").exists() == files
    assert (NOTHING & {one.code for one in told} != set()) == (not files)
    found = preview(form, graph, **more)
    assert bool(found.files) == files
    assert ("simulation/only-compiles" in {one.code for one in found.notes}) == (not files)


@pytest.mark.parametrize(("told", "version"), [
    ('{"device_target":"CPU","ms_version":"2.10.0"}', "2.10.0"),
    ('{"ms_version":"2.0.0"}', "2.6.0"),  # no such dumps are written
    ('{"ms_version":5}', "2.6.0"),
    ("[", "2.6.0"),
    ("", "2.6.0"),
])  # fmt: skip
def test_a_dump_tells_its_release(tmp_path, told, version):
    root = dump(tmp_path, "mixed")
    form, _ = asked("mixed")
    (root / "rank_0/.dump_metadata").mkdir()
    (root / "rank_0/.dump_metadata/config.json").write_text(told)
    found = preview(form, root)
    assert (found.version, found.exact) == (version, version == "2.10.0")
    for same in ([str(root)], root / "rank_0", [*root.glob("rank_0/graphs/*.ir")]):
        assert preview(form, same).version == version
    assert preview(form, root, context=Context("2.7.0")).version == "2.7.0"
    assert preview(form, root / "rank_0", context=Context("2.8")).version == "2.8"


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "", "net.py:Net"])
def test_a_name_that_is_no_place_tells_no_release(name):
    assert version_of(name) == ""
