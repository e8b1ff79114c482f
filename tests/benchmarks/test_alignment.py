"""The measuring instrument of the alignment: what it changes, hides and counts."""

import numpy as np
import pytest
from aligning.cases import HINTS, ROWS, Case, draw, make, network, used_twice
from aligning.changes import CHANGES
from aligning.document import document, every_table
from aligning.measuring import measure_seed
from aligning.scoring import Score, components, score
from aligning.twin import Twin

from workbench.graph.graph import Value

SMALL = ("lenet", "mlp", "mlp_train", "lstm")


def twin_of(name, change, share=1.0):
    twin = Twin(network(name))
    assert CHANGES[change](twin, np.random.default_rng(3), share)
    return twin


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", SMALL)
def test_a_change_leaves_a_graph_in_order_and_knows_what_every_operator_stands_for(name, change):
    twin = Twin(network(name))
    CHANGES[change](twin, np.random.default_rng(3), 0.5)
    graph, truth = twin.graph(), twin.truth()
    original = {op.name for op in network(name).ops}
    assert truth.keys() == {op.name for op in graph.ops}
    assert len(truth) == len(graph.ops)
    assert set().union(*truth.values()) <= original
    for number, op in enumerate(graph.ops):
        assert all(one.op < number for one in op.flat_inputs() if isinstance(one, Value))


def test_decomposed_operators_stand_for_one_and_fused_ones_for_several():
    decomposed = twin_of("transformer", "decomposed").truth()
    parts = [name for name, stands in decomposed.items() if any("LayerNorm-" in s for s in stands)]
    assert len(parts) == 9 * 4
    fused = twin_of("lenet", "fused").truth()
    assert {len(stands) for stands in fused.values()} >= {2, 3}
    every = [name for stands in fused.values() for name in stands]
    assert sorted(every) == sorted(op.name for op in network("lenet").ops)


def test_inserted_operators_stand_for_nothing_and_left_out_ones_for_no_one():
    before = {op.name for op in network("lenet").ops}
    for change in ("TransData", "Reshape", "added"):
        truth = twin_of("lenet", change).truth()
        assert [stands for stands in truth.values() if not stands]
        assert set().union(*truth.values()) == before
    assert set().union(*twin_of("lenet", "removed").truth().values()) < before


def test_a_part_used_twice_reads_the_same_weights():
    graph = network("lstm")
    twice = used_twice(graph, np.random.default_rng(1))
    assert len(twice.ops) > len(graph.ops)
    assert twice.parameters == graph.parameters
    assert len({op.name for op in twice.ops}) == len(twice.ops)


def test_hints_are_hidden_on_one_side():
    for name, hints in HINTS.items():
        case = make(0, "mlp", "nothing", name)
        target, golden = case.target, case.golden
        assert ({op.name for op in target.ops} == {op.name for op in golden.ops}) == (
            hints.names == "kept"
        )
        both = all(op.frames for graph in (target, golden) for op in graph.ops)
        assert both == hints.lines
        assert (target.parameters == golden.parameters) == hints.parameters
        assert all(len(stands) == 1 for stands in case.truth.values())


def test_pairs_of_a_seed_are_always_the_same():
    one, other = (list(draw(4, ("mlp",))) for _ in range(2))
    assert one == other
    assert {case.row for case in one} <= set(ROWS)
    assert [case.target for case in draw(5, ("mlp",))] != [case.target for case in one]


def test_what_stands_for_the_same_operators_belongs_together():
    truth = {"a": frozenset("x"), "b": frozenset("xy"), "c": frozenset("z"), "d": frozenset()}
    parts = {(frozenset("ab"), frozenset("xy")), (frozenset("c"), frozenset("z"))}
    assert set(components(truth)) == parts


def test_false_claims_cost_precision_and_missed_ones_recall():
    graph = network("mlp")
    names = [op.name for op in graph.ops]
    truth = {name: frozenset((name,)) for name in names}
    found, wrong = score(Case("mlp", "", "", graph, graph, truth))
    assert (found.claimed, found.right, found.true, wrong) == (8, 8, 8, [])
    shifted = truth | {names[0]: frozenset(), names[1]: frozenset((names[1], names[0]))}
    found, wrong = score(Case("mlp", "", "", graph, graph, shifted))
    assert (found.claimed, found.right, found.true) == (8, 7, 8)
    assert (found.groups, found.whole) == (1, 0)
    assert found.rules == {"name": [8, 7]}
    assert wrong == [
        f"name: {names[0]} is not {names[0]}",
        f"missed: {names[1]} is {names[0]}",
    ]


def test_small_networks_are_aligned_nearly_without_mistakes():
    records = measure_seed(0, ("lenet", "mlp", "mlp_train"))
    for hints in HINTS:
        total = Score()
        for record in records:
            if record["hints"] == hints:
                total.add(Score(*(record[key] for key in ("claimed", "right", "true"))))
        assert total.true > 900
        assert total.right >= 0.97 * total.claimed
        assert total.right >= 0.96 * total.true


def test_tables_add_up_what_was_counted():
    records = measure_seed(1, ("mlp",))
    more = [record | {"right": 0, "rules": {}} for record in records]
    total, precision, *_ = every_table([*records, *more])
    assert total.rows[-1][0:2] == ["all", str(2 * len(records))]
    right, claimed = (sum(r[key] for r in records) for key in ("right", "claimed"))
    assert total.rows[-1][3] == f"{100 * right / (2 * claimed):.1f}%"
    assert [row[0] for row in precision.rows] == [*ROWS, "all"]
    text = document(records, "python benchmarks/alignment.py --seeds 1")
    assert text.startswith("# Measured quality of alignment")
    assert "{" not in text
