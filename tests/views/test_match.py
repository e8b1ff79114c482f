"""What stands around a match: both graphs three levels far, who corresponds to whom, their lines of IR."""

from pathlib import Path

import pytest

import workbench as wb
from kit.build.compared import two_graphs
from kit.build.small_dumps import Net, chain, given, in_memory, shoot
from kit.face.screen import label
from workbench.comparison.align.rules import MATCH_RULES
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.session.comparison import Comparison
from workbench.views.partners import MatchGroup, merge_groups
from workbench.views.render import context_html
from workbench.views.walk import TOGETHER, surroundings

REAL = Path(__file__).parents[2] / "sample_dumps/real_pair"


@pytest.fixture(scope="module")
def real():
    return wb.compare(REAL / "dump_a", REAL / "dump_b")


@pytest.fixture(scope="module")
def bench():
    """A rehearsal whose kernels stand for several operators of the golden; it keeps its dumps."""
    made = wb.Workbench(wb.config.new("torchair"), "mlp")
    made.run()
    return made


def inserted():
    """A chain of the golden into which the target puts one operator more."""
    golden = chain("ReLU", "Tanh", "Exp", "Sigmoid")
    target = chain("ReLU", "Tanh", "Neg", "Exp", "Sigmoid")
    return two_graphs(target, golden)


def names(around):
    return {node.name: node.level for node in around.found.nodes if node.kind == "operator"}


def test_both_sides_show_three_operators_before_and_behind(real):
    context = real.context()
    for side in ("target", "golden"):
        around = context.sides[side]
        assert around.operators == ("Default/conv3-Conv2d/Conv2D-op0",)
        assert sorted(names(around).values()) == [-3, -2, -1, 0, 1, 2, 3]
    assert (context.rule, context.score) == ("name", 1.0)
    assert context.why == MATCH_RULES["name"].meaning


def test_what_corresponds_has_one_number_on_both_sides(real):
    context = real.context()
    numbers = [
        {node.name: context.link(side, node).number for node in context.sides[side].found.nodes}
        for side in ("target", "golden")
    ]
    assert numbers[0] == numbers[1]  # of this pair both sides have the same names
    assert sorted(numbers[0].values()) == list(range(1, len(numbers[0]) + 1))


def test_the_lines_of_both_graph_files_are_quoted(real):
    for side, folder in (("target", "dump_a"), ("golden", "dump_b")):
        (text,) = real.context().sides[side].ir
        assert folder in text.path
        assert any("conv3-Conv2d/Conv2D-op0" in text.lines[n] for n in text.here)


def test_a_group_stands_together_and_its_members_have_one_number(bench):
    comparison = bench.comparison
    row = next(row for row in comparison.rows if row.match_rule == "fusion")
    context = comparison.context(row)
    golden = context.sides["golden"]
    ends = [name.rpartition("/")[2] for name in golden.operators]
    assert ends == ["MatMul-op0", "BiasAdd-op0", "ReLU-op0"]
    assert len(context.sides["target"].operators) == 1
    centre = [node for node in golden.found.nodes if node.key in golden.found.centre]
    assert [node.level for node in sorted(centre, key=lambda one: one.level)] == [0, 1, 2]
    links = {context.link("golden", node) for node in centre}
    assert len(links) == 1
    assert links.pop().level == 0


def test_data_operators_correspond_to_the_parameters_of_the_other_graph(bench):
    comparison = bench.comparison
    row = next(row for row in comparison.rows if row.match_rule == "fusion")
    found = {one.golden: one for one in comparison.context(row).lines if one.number}
    assert found[("x",)].target == ("x",)
    assert found[("x",)].drawn == ("target", "golden")


def test_what_one_side_alone_dumped_is_told_from_what_it_alone_has(bench):
    comparison = bench.comparison
    context = comparison.context("body_1_weight")
    only = Message("views/tensor-only", why=context.row.reason)
    names = {"target": "body.1.weight", "golden": "body.1.weight"}
    assert context.words == str(Message("views/match-pair-plain", **names, why=only))
    assert context.sides["target"].found.nodes


def test_a_tensor_that_one_side_of_a_match_lacks_is_said():
    graph = chain("ReLU", "Neg")
    shots = shoot(graph, given(graph))
    few = [shot for shot in shots if (shot.op_type, shot.io) != ("Neg", "input")]
    comparison = wb.compare(in_memory(shots, graph), in_memory(few, graph))
    lone = [(row.op_type, row.io) for row in comparison.rows if not row.match_rule]
    assert lone == [("Neg", "input")]
    context = comparison.context(next(row for row in comparison.rows if not row.match_rule))
    why = context.row.reason
    meaning = MATCH_RULES[context.match.rule].meaning
    assert context.why == str(Message("views/tensor-unmatched", meaning=meaning, why=why))


def test_around_an_operator_without_a_partner_stand_the_partners_of_its_neighbours():
    comparison = inserted()
    alone = next(n for n, row in enumerate(comparison.rows) if row.op_type == "Neg")
    context = comparison.context(alone)
    assert context.match is None
    said = Message("views/match-alone", name="Default/Neg-op0", why=context.row.reason)
    assert context.words == str(said)
    assert names(context.sides["target"])["Default/Neg-op0"] == 0
    golden = names(context.sides["golden"])
    assert golden["Default/Tanh-op0"] == -1
    assert golden["Default/Exp-op0"] == 1
    assert str(Message("views/side-nothing", side="golden")) in context._repr_html_()
    (own,) = [one for one in context.lines if "Default/Neg-op0" in one.target]
    assert (own.number, own.golden) == (0, ())


def test_levels_in_words_count_from_the_match(bench):
    comparison = bench.comparison
    row = next(row for row in comparison.rows if row.match_rule == "fusion")
    frame = comparison.context(row).frame()
    assert list(frame["Level"]) == sorted(frame["Level"])
    behind = frame[frame["Level"] == 1]
    assert behind["Golden"].str.contains("1-Dense/MatMul").any()


def test_as_many_as_a_picture_bears_are_drawn_and_the_others_are_counted():
    reader = Net()
    value = reader.feed("x")
    first = reader.op("Tanh", value)
    read = [reader.op("ReLU", first) for _ in range(9)]
    graph = reader.graph(*read)
    dump = in_memory(shoot(graph, given(graph)), graph)
    found = wb.compare(dump, dump)
    context = found.context("Default/Tanh-op0")
    assert context.sides["target"].found.hidden == {1: 7}
    assert label("show/more", n=7) in context._repr_html_()


def test_names_are_text_whatever_is_in_them():
    name = "Default/<script>alert(1)</script>\u202e/ReLU-op0"
    net = Net()
    net.op("ReLU", net.feed("x"), name=name)
    graph = net.graph(Value(0))
    dump = in_memory(shoot(graph, given(graph)), graph)
    html = context_html(wb.compare(dump, dump).context(0))
    assert "<script" not in html
    assert "\u202e" not in html
    assert "&lt;script&gt;" in html


def test_a_result_without_dumps_says_that_no_graph_tells(real):
    context = Comparison(real.result).context(0)
    assert context.lines == ()
    assert context.sides["target"].note == Message("views/side-unknown", side="target")
    assert str(context.sides["target"].note) in context._repr_html_()


def test_matches_with_an_operator_in_common_are_one():
    parts = [
        MatchGroup((1,), (2,), "name", 1.0),
        MatchGroup((3,), (2,), "again", 0.9),
        MatchGroup((5,), (5,), "map", 1.0),
    ]
    found = merge_groups(parts)
    whole = found.of("target", 1)
    assert (whole.target, whole.golden, whole.rule) == ((1, 3), (2,), "name")
    assert found.of("golden", 2) == found.of("target", 3) == whole
    assert found.of("target", 5).golden == (5,)
    assert found.of("target", 2) is None


def test_members_of_a_large_match_are_counted_beyond_what_is_drawn():
    graph = chain(*["Tanh"] * (TOGETHER + 5))
    dump = in_memory(shoot(graph, given(graph)), graph)
    row_index = wb.compare(dump, dump).row_index
    (block,) = row_index.flow.pairing.block_order
    found = surroundings(row_index, "target", block, [f"op {n}" for n in range(TOGETHER + 5)])
    assert (len(found.centre), found.hidden[0], found.depth) == (TOGETHER, 5, TOGETHER - 1)
