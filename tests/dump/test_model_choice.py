"""Which of several models is the network, and where the others go."""

from __future__ import annotations

import pytest

from kit.build.small_dumps import TIME, ge_dump, ge_network, ge_text
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.reader import load

NET, INIT = "ge_default_1_31", "ge_default_1_1"


@pytest.fixture
def tree(tmp_path):
    """A network of four operators in two copies, and a model of two operators with most steps."""
    ge_dump(tmp_path, ge_network(), f"{TIME}/0/{NET}/11/0")
    ge_dump(tmp_path, ge_network(), f"{TIME}/0/{NET}/7/0")
    for step in range(3):
        ge_dump(tmp_path, ge_network()[:2], f"{TIME}/0/{INIT}/3/{step}")
    return tmp_path


def nets(found):
    return {(record.key.net_name, record.key.graph_id) for record in found.records}


def told(found):
    ((kind, name, detail),) = [(n.kind, n.name, n.detail) for n in found.notes]
    assert kind == "model"
    return name, detail


def how(found):
    """How the network was found among the models."""
    _, detail = told(found)
    check_said(detail, "dump/model-chosen")
    return detail.values["how"]


def test_without_a_graph_the_model_with_most_files_is_taken(tree):
    found = load(tree)
    assert nets(found) == {(NET, 0), (NET, 1)}
    name, detail = told(found)
    how = Message("dump/model-largest", files=4)
    assert (name, detail) == (NET, Message("dump/model-chosen", how=how, others=[INIT]))
    assert {(s.reason, s.name.split("/")[0]) for s in found.skipped} == {("other-model", INIT)}
    assert len(found.skipped) == 6


def test_copies_of_a_model_are_graphs_in_order_of_their_ids(tree):
    paths = {r.key.graph_id: r.path.split("/")[-3] for r in load(tree).records}
    assert paths == {0: "7", 1: "11"}


ONE, TWO = "ge_proto_00001_Build.txt", "ge_proto_00002_Build.txt"
BOTH = {ONE: ge_text(NET), TWO: ge_text(INIT).replace("layer1/Relu", "save/Relu")}
CHOSEN = {
    "the only graph": ({ONE: ge_text(INIT)}, None, INIT, "only-graph", {"graph": ONE}),
    "the first graph has an iterator": (
        {ONE: ge_text(NET, iterator=True), TWO: ge_text(INIT)}, None, NET, "graph", {"graph": ONE},
    ),
    "the second graph has an iterator": (
        {ONE: ge_text(NET), TWO: ge_text(INIT, iterator=True)}, None, INIT, "graph", {"graph": TWO},
    ),
    "no graph has an iterator": (BOTH, None, NET, "largest-several", {"files": 4}),
    "its name": ({}, INIT, INIT, "asked", {}),
    "an operator of its graph": (BOTH, "save/Relu", INIT, "graph", {"graph": TWO}),
    "an operator of the other graph": (BOTH, "layer1/Relu", NET, "graph", {"graph": ONE}),
    "an operator of its files": ({}, "loss/Tanh", NET, "operator", {"operator": "loss/Tanh"}),
}  # fmt: skip
"""What says which model is meant: graph files, what is asked for; the model, and how it was found."""


def load_with(tree, graphs, model):
    for name, text in graphs.items():
        (tree / name).write_text(text)
    return load(tree, model=model)


@pytest.mark.parametrize(("graphs", "model", "net", "code", "values"), CHOSEN.values(), ids=CHOSEN)
def test_a_model_is_told_by_what_there_is(tree, graphs, model, net, code, values):
    found = load_with(tree, graphs, model)
    assert {name for name, _ in nets(found)} == {net}
    check_said(how(found), f"dump/model-{code}", **values)
    assert {graph.name for graph in found.graphs.values()} == ({net} if graphs else set())


@pytest.mark.parametrize(
    ("graphs", "model", "code", "values"),
    [
        ({}, "other", "unknown", {"known": [INIT, NET]}),
        (BOTH, "layer1", "unknown", {}),
        ({}, "layer1/Relu", "several", {"models": [INIT, NET]}),
    ],
)
def test_a_name_of_no_model_or_of_several_is_refused(tree, graphs, model, code, values):
    with refused(f"dump/model-{code}", FormatError, got=model, **values):
        load_with(tree, graphs, model)


def test_the_graph_that_is_given_says_which_model_is_meant(tree):
    (tree / "ge_proto_00001_Build.txt").write_text(ge_text(NET, iterator=True))
    (tree / "given").mkdir()
    (tree / "given/mine.txt").write_text(ge_text(INIT))
    found = load(tree, graph=tree / "given/mine.txt")
    assert {net for net, _ in nets(found)} == {INIT}


def test_a_model_is_taken_by_its_folder(tree):
    found = load(tree / TIME / "0" / INIT)
    assert (nets(found), found.notes, found.skipped) == ({(INIT, 0)}, (), ())


def test_a_folder_is_called_like_its_graph_with_underscores(tmp_path):
    ge_dump(tmp_path, ge_network(), f"{TIME}/0/a_b_c/1/0")
    ge_dump(tmp_path, ge_network(), f"{TIME}/0/other/2/0")
    (tmp_path / "ge_proto_1_Build.txt").write_text(ge_text("a/b.c"))
    assert {net for net, _ in nets(load(tmp_path))} == {"a_b_c"}


def test_every_run_has_its_own_network(tmp_path):
    for number, time in enumerate(("20240101000000", "20240102000000")):
        ge_dump(tmp_path, ge_network(), f"{time}/0/net_{number}/1/0", start=number * 10**9)
        ge_dump(tmp_path, ge_network()[:1], f"{time}/0/init_{number}/1/0", start=number * 10**9)
    assert {net for net, _ in nets(load(tmp_path))} == {"net_0", "net_1"}


def test_a_graph_that_cannot_be_read_is_a_note(tmp_path):
    ge_dump(tmp_path, ge_network(), f"{TIME}/0/net/1/0")
    (tmp_path / "ge_proto_1_Build.txt").write_text('graph { name: "net"\n  op {\n')
    found = load(tmp_path)
    assert [note.kind for note in found.notes] == ["graph"]
    assert found.graphs == {}


OLD, NEW = "20240101000000", "20240102000000"


@pytest.fixture
def sessions(tmp_path):
    """The network in one timestamp folder, in another one a model with more files."""
    ge_dump(tmp_path, ge_network()[:2], f"{NEW}/0/{NET}/11/0", start=10**15)
    ge_dump(tmp_path, ge_network(), f"{OLD}/0/{INIT}/3/0")
    return tmp_path


def graph_of(tree, name, **more):
    (tree / f"ge_proto_0_{name}_Build.txt").write_text(ge_text(name, **more))


def test_models_that_all_have_an_iterator_are_networks_of_one_session(tree):
    """The one with the larger graph file is graph 0; the other model is left out."""
    third = "ge_default_1_41"
    ge_dump(tree, ge_network()[:1], f"{TIME}/0/{third}/12/0")
    for name, more in ((NET, ""), (INIT, "  " * 9), (third, "")):
        text = ge_text(name, iterator=name != third)
        (tree / f"ge_proto_0_{name}_Build.txt").write_text(text + more)
    found = load(tree)
    assert nets(found) == {(INIT, 0), (NET, 1), (NET, 2)}
    assert {key[1]: graph.name for key, graph in found.graphs.items()} == {0: INIT, 1: NET, 2: NET}
    assert {s.name.split("/")[0] for s in found.skipped} == {third}
    name, detail = told(found)
    assert (name, detail.values["others"]) == (INIT, [third])
    check_said(detail.values["how"], "dump/model-networks", models=[INIT, NET])
    alone = load(tree, model=NET)
    assert nets(alone) == {(NET, 0), (NET, 1)}


def test_a_session_without_the_network_is_left_out(sessions):
    graph_of(sessions, NET, iterator=True)
    graph_of(sessions, INIT)
    found = load(sessions)
    assert nets(found) == {(NET, 0)}
    assert {(s.reason, s.name.split("/")[0]) for s in found.skipped} == {("other-model", INIT)}
    name, detail = told(found)
    assert name == NET
    check_said(detail, "dump/model-idle", folders=[OLD], models=(INIT,), network=NET)


@pytest.mark.parametrize("known", [(), (NET,), (INIT,), (NET, INIT)])
def test_a_session_is_kept_where_no_graph_tells_that_it_lacks_the_network(sessions, known):
    for name in known:
        graph_of(sessions, name, iterator=known == (NET,))
    assert {net for net, _ in nets(load(sessions))} == {NET, INIT}


def test_two_sessions_that_both_have_an_iterator_are_two_runs(sessions):
    for name in (NET, INIT):
        graph_of(sessions, name, iterator=True)
    assert {net for net, _ in nets(load(sessions))} == {NET, INIT}


def test_sessions_of_other_devices_are_not_disturbed(sessions):
    ge_dump(sessions, ge_network()[:1], f"{OLD}/1/ge_default_1_11/4/0")
    for name in (NET, INIT, "ge_default_1_11"):
        graph_of(sessions, name, iterator=name == NET)
    assert nets(load(sessions)) == {(NET, 0), ("ge_default_1_11", 0)}


def test_a_model_that_is_named_leaves_other_sessions_out(sessions):
    found = load(sessions, model=INIT)
    assert nets(found) == {(INIT, 0)}
    assert {s.name.split("/")[0] for s in found.skipped} == {NET}
    check_said(told(found)[1], "dump/model-idle", folders=[NEW], models=(NET,), network=INIT)
