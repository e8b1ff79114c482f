"""Which tensor is compared with which; every tensor is counted once, whatever happens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.build import small_dumps as small
from kit.build.small_dumps import START, Net, chain, in_memory, shoot
from kit.cases import examples
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.engine import compare_dumps
from workbench.comparison.map_file import Ignore, Match, Overrides
from workbench.comparison.pair.exclusions import override_uses
from workbench.comparison.pair.pair import PAIR_RULES, pair_tensors
from workbench.comparison.pair.pairing import Selection
from workbench.comparison.results.coverage import ledger
from workbench.dump.index import join
from workbench.dump.reader import load

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
SHOTS = shoot(GRAPH, VALUES)
SECOND = 1_000_000


def pairing(target, golden, **choice):
    pairs = tuple(Match((t,), (g,)) for t, g in choice.pop("pairs", {}).items())
    overrides = Overrides(pairs, tuple(map(Ignore, choice.pop("ignore", ()))))
    return pair_tensors(*bind_both(target, golden), Selection(**choice, overrides=overrides))


def partners(found) -> set[tuple[str, str]]:
    return {(p.op_name, p.golden_run.op_name) for p in found.pairs if p.run is not None}


def tensors(pair_side) -> tuple[str, str, int]:
    """What a tensor is called, whatever dump, rank or iteration it is of."""
    return pair_side.key.op_name, pair_side.key.io, pair_side.key.slot


def alike(found, records) -> bool:
    """Whether every one of the records, and nothing else, was paired with the tensor of its name."""
    pairs = [(tensors(pair.target), tensors(pair.golden)) for pair in found.pairs]
    return sorted(pairs) == sorted((tensors(one), tensors(one)) for one in records)


def skipped(found, side: str) -> set[tuple[str, str]]:
    return {(s.name, s.reason) for s in found.skips.of(side)}


def steps(numbers, graph=GRAPH, values=VALUES, **more):
    """The same execution under several iterations."""
    return [
        shot
        for n in numbers
        for shot in shoot(graph, values, iteration=n, start=START + 1000 * n, **more)
    ]


def test_equal_dumps_pair_every_tensor():
    found = pairing(in_memory(SHOTS, GRAPH), in_memory(SHOTS, GRAPH))
    assert len(found.pairs) == len(SHOTS)
    assert all(pair.target.key == pair.golden.key for pair in found.pairs)


def test_without_a_graph_file_names_pair():
    found = pairing(in_memory(SHOTS), in_memory(SHOTS))
    assert len(found.pairs) == len(SHOTS)
    assert {pair.rule for pair in found.pairs} == {"file-name", "name"}


def test_a_side_without_graphs_borrows_them_and_names_its_operators_fully():
    found = pairing(in_memory(SHOTS), in_memory(SHOTS, GRAPH))
    assert partners(found) == {(op.name, op.name) for op in GRAPH.ops}


def test_old_names_without_scope_pair_by_their_last_part():
    old = [s._replace(name=s.name.removeprefix("Default_")) for s in SHOTS]
    found = pairing(in_memory(old), in_memory(SHOTS))
    assert ("MatMul-op1", "Default_MatMul-op1") in partners(found)
    assert len(found.pairs) == len(SHOTS)


# --- iterations and ranks --------------------------------------------------------------------


def iterations(*numbers):
    return in_memory(steps(numbers), GRAPH)


def ranks(*numbers):
    dumps = [in_memory(shoot(GRAPH, VALUES, rank=n), GRAPH, rank=n) for n in numbers]
    graphs = {key: graph for dump in dumps for key, graph in dump.graphs.items()}
    return replace(dumps[0], index=join([one.index for one in dumps]), graphs=graphs)


def numbers(kind, found):
    """Iterations, ranks or whatever else a key holds, of every pair."""
    return [(getattr(p.target.key, kind), getattr(p.golden.key, kind)) for p in found.pairs]


KINDS = {"iteration": iterations, "rank": ranks}
NUMBERS = [
    ((1, 2), (2, 3), {(2, 2)}),
    ((1,), (5,), {(1, 5)}),  # the only ones pair whatever their numbers
    ((1, 2), (5, 6), set()),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("target", "golden", "pairs"), NUMBERS)
def test_common_numbers_pair_and_the_others_stay_alone(kind, target, golden, pairs):
    found = pairing(KINDS[kind](*target), KINDS[kind](*golden))
    assert sorted(numbers(kind, found)) == sorted([*pairs] * len(SHOTS))
    assert all(tensors(pair.target) == tensors(pair.golden) for pair in found.pairs)
    for n, alone in enumerate((found.only_target, found.only_golden)):
        left = {*(target, golden)[n]} - {pair[n] for pair in pairs}
        assert {getattr(lone.record.key, kind) for lone in alone} == left


@pytest.mark.parametrize(("kind", "wanted"), [("iteration", (2, 0)), ("rank", (1, 0))])
def test_a_selected_number_leaves_the_others_out_by_name(kind, wanted):
    found = pairing(KINDS[kind](0, 1, 2), KINDS[kind](0, 1, 2), **{kind: wanted})
    assert {*numbers(kind, found)} == {wanted}
    for side in ("target", "golden"):
        assert {reason for _, reason in skipped(found, side)} == {"not-selected"}
        assert len(found.skips.of(side)) == 2 * len(SHOTS)


def test_the_only_ranks_pair_where_one_side_has_no_graph():
    bare = replace(ranks(3), graphs={})
    for dumps, pair in (((bare, ranks(0)), (3, 0)), ((ranks(0), bare), (0, 3))):
        found = pairing(*dumps)
        assert alike(found, bare.records)
        assert {*numbers("rank", found)} == {pair}


# --- graphs ----------------------------------------------------------------------------------


def numbered(graph, number):
    return replace(graph, graph_id=number, name=f"kernel_graph{number}")


OTHER = chain("Exp", "Sigmoid", "Neg")
RELATIVE = chain("MatMul", "ReLU", "MatMul", "Tanh", "Exp", "Neg")


def two_graphs(first: int, second: int, other=OTHER):
    """Two different graphs in one dump under the given ids."""
    one, two = numbered(GRAPH, first), numbered(other, second)
    shots = shoot(one, VALUES) + shoot(two, small.given(two), start=START + 500)
    return in_memory(shots, one, two)


@pytest.mark.parametrize("other", [OTHER, RELATIVE], ids=["other", "relative"])
def test_graphs_pair_by_content_where_their_ids_differ(other):
    """As evaluation and training do, which share most of their operators."""
    found = pairing(two_graphs(0, 1, other), two_graphs(1, 0, other))
    assert {*numbers("graph_id", found)} == {(0, 1), (1, 0)}
    assert not found.only_target
    assert not found.only_golden


def test_files_of_a_graph_without_an_ir_are_compared_by_name():
    """The IR of graph 1 is missing on one side, then on both; its tensors are no leftovers."""
    full = two_graphs(0, 1)
    half = replace(full, graphs={(0, 0): full.graphs[0, 0]})
    for target, golden in ((half, full), (full, half), (half, half)):
        found = pairing(target, golden)
        assert alike(found, full.records)
        assert {ours - theirs for ours, theirs in numbers("graph_id", found)} == {0}
        assert not found.skips.target
        assert not found.skips.golden


def test_an_ir_of_another_network_on_one_side_is_replaced_by_the_other_sides():
    wrong = in_memory(SHOTS, chain("Exp", "Sigmoid", "Neg", "Exp", "Exp"))
    right = in_memory(SHOTS, GRAPH)
    for target, golden in ((wrong, right), (right, wrong)):
        found = pairing(target, golden)
        assert partners(found) == {(op.name, op.name) for op in GRAPH.ops}


def test_irs_of_another_network_on_both_sides_leave_the_file_names():
    wrong = in_memory(SHOTS, chain("Exp", "Sigmoid", "Neg", "Exp", "Exp"))
    assert alike(pairing(wrong, wrong), wrong.records)


# --- turns and runs --------------------------------------------------------------------------


def loop(count: int, step: int = 100, start: int = START):
    return [
        shot
        for turn in range(count)
        for shot in shoot(GRAPH, VALUES, start=start + step * turn, parameters=not turn)
    ]


def test_turns_of_a_loop_pair_one_by_one_and_extra_ones_stay_alone():
    found = pairing(in_memory(loop(3), GRAPH), in_memory(loop(2), GRAPH))
    assert {*numbers("turn", found)} == {(0, 0), (1, 1)}
    assert {lone.record.key.turn for lone in found.only_target} == {2}


@pytest.mark.parametrize("swapped", [False, True])
def test_an_older_run_in_the_same_folder_is_skipped_with_its_parameters(swapped):
    old = shoot(GRAPH, small.given(GRAPH, 9), start=START - 5 * SECOND)
    dumps = [in_memory(old + SHOTS, GRAPH), in_memory(SHOTS, GRAPH)]
    found = pairing(*(reversed(dumps) if swapped else dumps))
    side = "golden" if swapped else "target"
    assert {reason for _, reason in skipped(found, side)} == {"older-run"}
    assert len(found.pairs) == len(found.skips.of(side)) == len(SHOTS)
    assert [note.kind for _, note in found.notes] == ["several-runs"]
    newest = [getattr(p, side).timestamp_us for p in found.pairs]
    assert min(newest) >= START


def test_an_older_run_that_dumped_less_leaves_nothing_in_the_newer_one():
    old = [
        s for s in shoot(GRAPH, small.given(GRAPH, 9), start=START - 5 * SECOND) if "ReLU" in s.name
    ]
    found = pairing(in_memory(old + SHOTS, GRAPH), in_memory(SHOTS, GRAPH))
    assert len(found.pairs) == len(SHOTS)
    assert skipped(found, "target") == {("Default/ReLU-op0", "older-run")}


def test_two_runs_on_both_sides_pair_run_by_run():
    two = SHOTS + shoot(GRAPH, small.given(GRAPH, 9), start=START + 5 * SECOND)
    found = pairing(in_memory(two, GRAPH), in_memory(two, GRAPH))
    assert len(found.pairs) == len(two)
    assert {p.target.timestamp_us - p.golden.timestamp_us for p in found.pairs} == {0}
    assert [note.kind for _, note in found.notes] == ["several-runs", "several-runs"]


@pytest.mark.parametrize("name", ["Aaa", "Zzz"])
def test_another_net_in_the_same_tree_does_not_stand_in_for_the_common_one(name):
    other = shoot(GRAPH, small.given(GRAPH, 9), net_name=name)
    found = pairing(in_memory(other + SHOTS, GRAPH), in_memory(SHOTS, GRAPH))
    assert {pair.target.key.net_name for pair in found.pairs} == {"Net"}
    assert {lone.record.key.net_name for lone in found.only_target} == {name}


def test_nets_of_different_names_pair_where_no_name_is_common():
    other = in_memory(shoot(GRAPH, VALUES, net_name="Renamed"), GRAPH)
    found = pairing(other, in_memory(SHOTS, GRAPH))
    assert alike(found, other.records)
    assert {*numbers("net_name", found)} == {("Renamed", "Net")}


# --- map file --------------------------------------------------------------------------------


def test_a_forced_pair_takes_its_golden_from_everyone_else():
    names = "Default_MatMul-op0", "Default_MatMul-op1"
    found = pairing(in_memory(SHOTS), in_memory(SHOTS), pairs={names[0]: names[1]})
    assert names in partners(found)
    assert sum(golden == names[1] for _, golden in partners(found)) == 1
    assert ledger(found).unmatched_golden == 3


def test_two_targets_forced_to_one_golden_share_nothing():
    pairs = {"Default_MatMul-op0": "Default_Tanh-op0", "Default_ReLU-op0": "Default_Tanh-op0"}
    found = pairing(in_memory(SHOTS), in_memory(SHOTS), pairs=pairs)
    assert sum(golden == "Default_Tanh-op0" for _, golden in partners(found)) == 1
    ledger(found)


@pytest.mark.parametrize("graphs", [(), (GRAPH,)])
def test_ignored_operators_are_skipped_by_name_on_both_sides(graphs):
    name = "Default/Tanh-op0" if graphs else "Default_Tanh-op0"
    found = pairing(in_memory(SHOTS, *graphs), in_memory(SHOTS, *graphs), ignore=[name])
    assert skipped(found, "target") == skipped(found, "golden") == {(name, "ignored")}
    (use,) = override_uses(found, ())
    assert (use.operators, use.tensors) == (2, 4)


def contents(binding):
    """What a binding holds, down to every record."""
    runs = {
        b: {n: dict(run.tensors) for n, run in some.items()} for b, some in binding.runs.items()
    }
    return runs, {block: dict(some) for block, some in binding.parameters.items()}


@pytest.mark.parametrize(
    ("shots", "choice"),
    [(SHOTS, {"ignore": ["*Tanh*", "fc0*"]}), (SHOTS + shoot(GRAPH, VALUES, start=START + 60 * SECOND), {})],
    ids=["ignored", "older-run"],
)  # fmt: skip
def test_a_binding_stays_whole_whatever_its_pairing_leaves_out(shots, choice):
    bound = bind_both(in_memory(shots, GRAPH), in_memory(SHOTS, GRAPH))
    whole = [contents(binding) for binding in bound]
    overrides = Overrides((), tuple(map(Ignore, choice.get("ignore", ()))))
    first = pair_tensors(*bound, Selection(overrides=overrides))
    assert first.skips.target
    assert [contents(binding) for binding in bound] == whole
    again = pair_tensors(*bound, Selection(overrides=overrides))
    assert (again.skips, alike(again, [p.target for p in first.pairs])) == (first.skips, True)


def test_what_pairing_gives_cannot_be_changed():
    found = pairing(in_memory(SHOTS, GRAPH), in_memory(SHOTS, GRAPH))
    for value in (found, found.pairs[0]):
        with pytest.raises(AttributeError):
            value.target = None
    for mapping in (found.alignments, found.blocks):
        with pytest.raises(TypeError):
            mapping[next(iter(mapping))] = None


def test_a_name_of_the_map_file_that_nothing_has_is_told():
    dumps = in_memory(SHOTS, GRAPH), in_memory(SHOTS, GRAPH)
    found = pairing(*dumps, pairs={"Default/Nope-op0": "Default/Tanh-op0"}, ignore=["typo"])
    told = {(side, note.name) for side, note in found.notes if note.kind == "map-file"}
    assert told == {("target", "Default/Nope-op0"), ("target", "typo")}


# --- parameters and constants ----------------------------------------------------------------


def constant(name: str, data, **more):
    return small.Shot("Parameter", name, "output", 0, np.float32(data), iteration=-1, **more)


def test_parameters_pair_by_name_and_behind_a_wrapper_by_the_graph():
    def wrapped(graph):
        parameters = tuple(
            replace(p, name=f"_backbone.{p.name}") if p.is_weight else p for p in graph.parameters
        )
        return replace(graph, parameters=parameters)

    other = wrapped(GRAPH)
    shots = shoot(other, {f"_backbone.{k}": v for k, v in VALUES.items()} | {"x": VALUES["x"]})
    found = pairing(in_memory(shots, other), in_memory(SHOTS, GRAPH))
    assert {(p.op_name, p.golden.key.op_name) for p in found.pairs if p.run is None} == {
        ("_backbone_fc0_weight", "fc0_weight"),
        ("_backbone_fc2_weight", "fc2_weight"),
    }


def test_constants_pair_by_value_and_not_by_their_changing_names(tmp_path):
    ours = [constant("data-1", [1, 2]), constant("data-2", [3, 4]), constant("data-3", [3, 4])]
    theirs = [constant("data-1", [3, 4]), constant("data-8", [1, 2]), constant("data-9", [7, 7])]
    for side in (ours, theirs):
        side.append(constant("data-broken", [5, 6]))
    roots = []
    for name, shots in (("a", ours), ("b", theirs)):
        root = small.on_disk(
            tmp_path / name, SHOTS + [s._replace(iteration=0, graph_id=9) for s in shots]
        )
        folder = (root / "rank_0/Net/9/0").rename(root / "rank_0/Net/0/constants")
        roots.append(load(root))
        (broken,) = folder.glob("*data-broken*")
        broken.write_bytes(b"no array")
    found = pairing(*roots)
    same = {(p.op_name, p.golden.key.op_name) for p in found.pairs if p.op_name.startswith("data")}
    assert same == {("data-1", "data-8"), ("data-2", "data-1")}
    assert [lone.op_name for lone in found.only_target] == ["data-3", "data-broken"]
    assert [lone.op_name for lone in found.only_golden] == ["data-9", "data-broken"]


def test_parameter_files_of_several_slots_are_all_counted():
    extra = [SHOTS[-1]._replace(slot=1), SHOTS[-1]._replace(io="input")]
    dump = in_memory(SHOTS + extra, GRAPH)
    assert ledger(pairing(dump, dump)).matched == len(SHOTS) + 2


# --- groups ----------------------------------------------------------------------------------


def fused_and_plain():
    """The same computation with a fused operator on one side: what is left forms a group."""
    nets = Net(), Net()
    x, w = [net.feed("x") for net in nets], [net.weight("w") for net in nets]
    nets[0].op("Tanh", nets[0].op("ReLU", nets[0].op("MatMul", x[0], w[0])))
    nets[1].op("Tanh", nets[1].op("MatMulRelu", x[1], w[1]))
    graphs = [net.graph() for net in nets]
    return [in_memory(shoot(graph, small.given(graph)), graph) for graph in graphs]


def test_a_fusion_pairs_its_outer_value_and_skips_what_lies_inside():
    found = pairing(*fused_and_plain())
    assert {
        (p.op_name, p.golden_run.op_name, p.rule) for p in found.pairs if p.rule == "group"
    } == {("Default/ReLU-op0", "Default/MatMulRelu-op0", "group")}
    assert ("Default/MatMul-op0", "inside-group") in skipped(found, "target")
    ledger(found)


def test_a_group_far_behind_its_neighbours_claims_no_tensor_twice():
    """Thousands of pairs lie between an aligned output and the group whose edge it is."""
    width = 2200

    def graph(ends: bool):
        net = Net()
        x = net.feed("x", (1,))
        first = net.op("Neg", x, name="Default/first", shape=(1,))
        value = first
        for n in range(width):
            value = net.op("Tanh", value, name=f"Default/t{n}", shape=(1,))
        if ends:
            left = net.op("Exp", value, name="Default/left", shape=(1,))
            right = net.op("Sign", first, name="Default/right", shape=(1,))
        else:
            left, right = net.op("Sigmoid", value, name="Default/left", shape=(1,)), first
        net.op("Add", left, right, name="Default/end", shape=(1,))
        return net.graph()

    ours, theirs = graph(True), graph(False)
    values = {"x": np.float32([0.5])}
    found = pairing(in_memory(shoot(ours, values), ours), in_memory(shoot(theirs, values), theirs))
    ledger(found)


# --- constants that a compiler has computed ------------------------------------------------------

MATRIX = np.zeros((4, 4), np.float32)


def ge_node(name, op_type, *inputs, names=None, types=()):
    """An operator of a graph of GE that stands for the network's operators of these names and types."""
    said = {"_datadump_original_op_names": names, "_datadump_original_op_types": types or None}
    attrs = " ".join(
        small.ge_attr(key, list(value)) for key, value in said.items() if value is not None
    )
    desc = 'dtype: DT_FLOAT shape { dim: 4 dim: 4 } layout: "ND"'
    edges = "".join(f'input: "{one}" ' for one in inputs) + f"input_desc {{ {desc} }} " * len(
        inputs
    )
    return f'op {{ name: "{name}" type: "{op_type}" {edges} {attrs} output_desc {{ {desc} }} }}'


def folded(*types, weights=1):
    """A kernel of two operators that reads a constant of the compiler's, and both operators with their weights."""
    target = small.ge_graph(
        ge_node("x", "Data"),
        ge_node("k", "Const", names=[]),
        ge_node("conv", "Conv2D", "x:0", "k:0", names=["conv", "next"], types=types),
    )
    net = Net()
    held = [net.weight(f"w{number}") for number in range(weights)]
    net.op("ReLU", net.op("Conv2D", net.feed("x"), *held, name="conv"), name="next")
    dumps = []
    for graph in (target, net.graph()):
        shots = [
            small.Shot(op.op_type, op.name, io, slot, MATRIX)
            for op in graph.ops
            if op.op_type not in ("Data", "Const")
            for io, tensors in (("input", op.inputs), ("output", op.outputs))
            for slot in range(len(tensors))
        ]
        dumps.append(in_memory(shots, graph))
    return dumps


FOLDED = {
    "converted": (folded("Conv2D", "ReLU"), {(1, 1)}, [], []),
    "converted, one of two": (folded("Conv2D", "ReLU", weights=2), {(1, 1)}, [], []),
    "normalized": (folded("Conv2D", "BatchNorm"), set(), ["conv"], ["conv"]),
    "normalized, of two": (
        folded("Conv2D", "BNInference", weights=2),
        set(),
        ["conv"],
        ["conv"] * 2,
    ),
}
"""What a constant is → dumps, slots of it and of the weight it is, and operators of whom constants are left out."""


@pytest.mark.parametrize("case", FOLDED)
def test_a_constant_of_the_compiler_is_a_weight_unless_a_normalization_went_into_it(case):
    dumps, slots, *skips = FOLDED[case]
    found = pairing(*dumps)
    pairs = {(p.slot, p.golden.key.slot) for p in found.pairs if p.io == "input" and p.slot}
    assert pairs == slots
    for side, names in zip(("target", "golden"), skips, strict=True):
        assert [s.name for s in found.skips.of(side) if s.reason == "folded"] == names
    ledger(found)


# --- order -----------------------------------------------------------------------------------


def test_without_a_graph_rows_come_in_order_of_time():
    """The names run against the alphabet and against time."""
    net = Net()
    value = net.feed("x")
    for op_type in ("Tanh", "ReLU", "Neg", "Exp"):
        value = net.op(op_type, value)
    graph = net.graph()
    shots = shoot(graph, small.given(graph))
    by_name = sorted(shots, key=lambda shot: shot.name)
    rows = compare_dumps(in_memory(by_name), in_memory(by_name)).result.rows
    assert [row.op_type for row in sorted(rows, key=lambda row: row.order)][::2] == [
        "Tanh", "ReLU", "Neg", "Exp",
    ]  # fmt: skip


# --- the ledger ------------------------------------------------------------------------------

MIXED = [*steps([0, 1]), *loop(2, start=START + 20 * SECOND)]
GRAPHS = st.sampled_from(["both", "target", "golden", "none"])
KEEP = st.lists(st.booleans(), min_size=len(MIXED), max_size=len(MIXED))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(KEEP, KEEP, GRAPHS)
def test_the_ledger_adds_up_whatever_files_are_missing(keep_t, keep_g, graphs):
    sides = []
    for keep, names in ((keep_t, "target both"), (keep_g, "golden both")):
        shots = [shot for shot, wanted in zip(MIXED, keep, strict=True) if wanted]
        sides.append(in_memory(shots, *([GRAPH] if graphs in names.split() else [])))
    there, back = pairing(*sides), pairing(*reversed(sides))
    one, other = ledger(there), ledger(back)
    assert one.matched + one.unmatched_target + sum(
        n for key, n in one.skipped.items() if key.startswith("target")
    ) == len(sides[0].records)
    assert (one.matched, one.unmatched_target) == (other.matched, other.unmatched_golden)
    assert len({id(p.target) for p in there.pairs}) == len({id(p.golden) for p in there.pairs})


def test_the_only_graph_of_each_side_is_the_same_whatever_its_id():
    """Nothing but the id tells them apart, as where a user points at two folders of files."""
    one, other = (
        [
            shot._replace(graph_id=number)
            for shot in shoot(chain("ReLU"), small.given(chain("ReLU")))
        ]
        for number in (1, 5)
    )
    pairing = pair_tensors(*bind_both(in_memory(one), in_memory(other)))
    assert (len(pairing.pairs), pairing.only_target, pairing.only_golden) == (2, (), ())


# --- the table of rules ----------------------------------------------------------------------


def without_scope():
    return in_memory([s._replace(name=s.name.removeprefix("Default_")) for s in SHOTS]), in_memory(
        SHOTS
    )


def plain(*graphs):
    return in_memory(SHOTS, *graphs), in_memory(SHOTS, *graphs)


BY_HAND = Match(("Default_MatMul-op0",), ("Default_MatMul-op1",))
BY_GROUP = Match(*(("Default_MatMul-op0", "Default_ReLU-op0"),) * 2)
DECIDED = {
    "file names": (plain, ()),
    "short names": (without_scope, ()),
    "pairs of the user": (plain, (BY_HAND,)),
    "groups of the user": (plain, (BY_GROUP,)),
    "matches": (lambda: plain(GRAPH), ()),
    "groups": (fused_and_plain, ()),
}
"""Rule → dumps and entries of the map file whose pairs are others without it."""


@pytest.mark.parametrize("name", DECIDED)
def test_a_rule_decides_what_no_other_does(monkeypatch, name):
    dumps, matches = DECIDED[name]
    selection = Selection(overrides=Overrides(matches))
    bound = bind_both(*dumps())
    found = {
        (p.op_name, p.io, p.slot, p.golden.key.op_name)
        for p in pair_tensors(*bound, selection).pairs
    }
    others = tuple(rule for rule in PAIR_RULES if rule.name != name)
    assert len(others) == len(PAIR_RULES) - 1
    monkeypatch.setattr("workbench.comparison.pair.pair.PAIR_RULES", others)
    rest = pair_tensors(*bound, selection)
    assert {(p.op_name, p.io, p.slot, p.golden.key.op_name) for p in rest.pairs} != found
    ledger(rest)


def test_every_rule_says_why_it_stands_where_it_does():
    names = [rule.name for rule in PAIR_RULES]
    assert len({*names}) == len(names)
    assert all(rule.pairs and rule.why for rule in PAIR_RULES)
    assert all(0 < rule.score <= 1 for rule in PAIR_RULES if not rule.pairs.startswith("nothing"))
