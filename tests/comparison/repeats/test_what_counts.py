"""Which other runs of the target count, and for which operators: a run on other data would excuse every difference.

Networks of a few operators on known data. The target's first product is off by 1e-4, which nothing but another run
explains; every case says whether a run that is off there by as much explains it, and why not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.build.small_dumps import Net, given, in_memory, on_disk, shoot
from workbench.comparison.engine import compare_dumps
from workbench.comparison.follow.judge import BETWEEN_RUNS
from workbench.comparison.repeats.counting import CountFacts, count_reason
from workbench.dump.statistics.compute import statistics_of

NOISE = 1e-4
SHAPE = (32, 32)


def network():
    net = Net()
    x, first, second = net.feed("x", SHAPE), net.weight("a", SHAPE), net.weight("b", SHAPE)
    product = net.op("MatMul", x, first, name="Default/First-op0", shape=SHAPE)
    bent = net.op("Tanh", product, name="Default/Bend-op0", shape=SHAPE)
    net.op("MatMul", bent, second, name="Default/Second-op0", shape=SHAPE)
    return net.graph()


GRAPH = network()
FIRST, BEND, SECOND = (op.name for op in GRAPH.ops)


def noise(seed, size=NOISE):
    """A result off by a relative error of each element's own."""
    rng = np.random.default_rng(seed)
    return lambda out: out * (1 + size * rng.standard_normal(out.shape))


def run(seed=None, data=0, at=FIRST, **more):
    """Tensors of a run with noise of a seed at an operator, on data of a number."""
    alter = {} if seed is None else {at: noise(seed)}
    return shoot(GRAPH, given(GRAPH, data), alter=alter, **more)


def held(shots, graph=True, **more):
    return in_memory(shots, *([GRAPH] if graph else []), **more)


def outputs(shots):
    return [one for one in shots if one.io == "output"]


def inputs(shots):
    return [one for one in shots if one.io == "input"]


def without(name, io="", slot=None):
    """Leave out the tensors of an operator."""
    end = name.rpartition("/")[2]

    def rest(shots):
        return [
            one
            for one in shots
            if not (one.name.endswith(end) and io in ("", one.io) and slot in (None, one.slot))
        ]

    return rest


def no_parameters(shots):
    return [one for one in shots if one.op_type != "Parameter"]


def both(*steps):
    def done(shots):
        for step in steps:
            shots = step(shots)
        return shots

    return done


def same(shots):
    return shots


def other_input(name, slot):
    """Another value of one input of an operator, which its producer did not give."""
    end = name.rpartition("/")[2]

    def changed(shots):
        return [
            one._replace(data=one.data * np.float32(1.5))
            if one.name.endswith(end) and (one.io, one.slot) == ("input", slot)
            else one
            for one in shots
        ]

    return changed


def explained(found):
    """Operators and directions of rows that other runs alone explain."""
    return {
        (row.op_name.rpartition("/")[2], row.io) for row in found.rows if row.reason == BETWEEN_RUNS
    }


def why(found):
    """Whether each repeat is used, and the code of what is said of it."""
    return [(one.used, one.reason.code if one.reason else "") for one in found.repeats]


def compared(cut=same, *, graph=True, at=FIRST, again=None, golden=None):
    """Compare a target that is off at an operator with the golden, beside a repeat."""
    target = held(cut(run(1, at=at)), graph)
    golden = held(cut(golden or run()), graph)
    repeat = again if again is not None else held(cut(run(2, at=at)), graph)
    return compare_dumps(target, golden, repeats=[repeat]).result


# (what of the dumps is there, with a graph, where noise is, is it explained there, what is said of the repeat)
SAME_DATA = [
    ("all", same, True, FIRST, True, (True, "")),
    ("all, no graph", same, False, FIRST, True, (True, "")),
    ("outputs: nobody knows what the first one read", outputs, True, FIRST, False,
     (False, "compare/repeat-nothing")),
    ("outputs: what the second one reads is known", outputs, True, BEND, True, (True, "")),
    ("outputs, no graph: nobody knows who reads what", outputs, False, BEND, False,
     (False, "compare/repeat-nothing")),
    ("outputs: weights by their Parameter files", outputs, True, SECOND, True, (True, "")),
    ("outputs, no weights", both(outputs, no_parameters), True, SECOND, False,
     (False, "compare/repeat-nothing")),
    ("the feed is not there", without(FIRST, "input", 0), True, FIRST, False,
     (False, "compare/repeat-nothing")),
    ("the weight is there as a Parameter file", without(FIRST, "input", 1), True, FIRST, True,
     (True, "")),
    ("no tensor of what lies between", without(BEND), True, FIRST, True, (True, "")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cut", "graph", "at", "counts", "said"), [case[1:] for case in SAME_DATA],
    ids=[case[0] for case in SAME_DATA],
)  # fmt: skip
def test_noise_counts_where_all_inputs_are_known_and_agree(cut, graph, at, counts, said):
    found = compared(cut, graph=graph, at=at)
    end = at.rpartition("/")[2]
    names = {one.replace("Default_", "") for one, io in explained(found) if io == "output"}
    assert (end in names) == counts
    assert why(found) == [said]
    assert bool(found.not_deterministic) == counts
    if not counts:
        assert not explained(found)


@pytest.mark.parametrize("graph", [True, False])
@pytest.mark.parametrize("cut", [same, outputs, inputs], ids=["all", "outputs", "inputs"])
def test_another_batch_excuses_nothing(cut, graph):
    again = held(cut(run(2, data=5)), graph)
    found = compared(cut, graph=graph, again=again)
    (other,) = found.repeats
    assert not other.used
    assert not explained(found)
    assert not found.not_deterministic
    alone = compare_dumps(held(cut(run(1)), graph), held(cut(run()), graph)).result
    assert (found.verdict, found.findings) == (alone.verdict, alone.findings)


@pytest.mark.parametrize("graph", [True, False])
def test_a_batch_that_differs_in_one_element_excuses_nothing(graph):
    values = given(GRAPH)
    values["x"] = values["x"].copy()
    values["x"][3, 4] += np.float32(0.5)
    again = held(shoot(GRAPH, values, alter={FIRST: noise(2)}), graph)
    found = compared(graph=graph, again=again)
    code = "compare/repeat-input" if graph else "compare/repeat-nothing"
    assert why(found) == [(False, code)]
    assert not explained(found)


def test_what_a_producer_did_not_write_is_no_noise_of_it():
    again = held(other_input(SECOND, 0)(run(2)))
    found = compared(again=again)
    assert ("First-op0", "output") in explained(found)
    assert not {name for name, _ in explained(found)} & {"Second-op0"}
    assert why(found) == [(True, "compare/repeat-uncounted")]
    assert found.repeats[0].uncounted == 2  # an input and the output of the second product


def test_statistics_prove_no_equal_inputs_and_digests_do():
    def of(digest):
        def cut(dump):
            wanted = ["max", "min", "avg", "l2norm", *(["md5"] if digest else [])]
            return replace(
                dump,
                records=tuple(
                    replace(one, source=None, statistics=statistics_of(one.source.array(), wanted))
                    for one in dump.records
                ),
            )

        return cut

    for digest, counts in ((False, False), (True, True)):
        cut = of(digest)
        target, golden, again = (cut(held(run(seed))) for seed in (1, None, 2))
        (one,) = compare_dumps(target, golden, repeats=[again]).result.repeats
        assert one.used == counts, digest


def test_the_target_is_no_repeat_of_itself(tmp_path):
    path = on_disk(tmp_path / "target", run(1), GRAPH)
    copy = on_disk(tmp_path / "copy", run(1), GRAPH)
    link = tmp_path / "link"
    link.symlink_to(path)
    golden = held(run())
    target = wb.load(path)
    for again, code in (
        (target, "compare/repeat-target"),
        (wb.load(link), "compare/repeat-target"),
        (wb.load(copy), "compare/repeat-equal"),
    ):
        found = compare_dumps(target, golden, repeats=[again]).result
        assert why(found) == [(False, code)]
        assert not found.not_deterministic
        assert not explained(found)


def test_the_golden_is_no_repeat_of_the_target(tmp_path):
    golden = wb.load(on_disk(tmp_path / "golden", run(), GRAPH))
    copy = wb.load(on_disk(tmp_path / "copy", run(), GRAPH))
    target = held(run(1))
    for again, code in ((golden, "compare/repeat-golden"), (copy, "compare/repeat-golden")):
        found = compare_dumps(target, golden, repeats=[again]).result
        assert why(found) == [(False, code)]
        assert not found.not_deterministic
        assert not explained(found)


def test_one_run_given_twice_counts_once(tmp_path):
    path = on_disk(tmp_path / "again", run(2), GRAPH)
    again = [wb.load(path), wb.load(path)]
    found = compare_dumps(held(run(1)), held(run()), repeats=again).result
    assert why(found) == [(True, ""), (False, "compare/repeat-twice")]


def test_a_run_of_another_device_is_no_repeat():
    again = held(run(2), info={"device_target": "Ascend"})
    found = compared(again=again)
    assert why(found) == [(False, "compare/repeat-device")]
    assert not explained(found)


def test_tensors_of_another_type_are_no_noise():
    shots = [one._replace(data=one.data.astype(np.float16)) for one in run(2, data=0)]
    found = compared(again=held(shots))
    assert not found.repeats[0].used
    assert not explained(found)


def test_a_run_as_near_to_the_golden_as_the_golden_excuses_nothing():
    """Another run of the golden: its difference from the target is the target's error, not noise."""
    alter = {FIRST: noise(2, 1e-7)}
    found = compared(again=held(shoot(GRAPH, given(GRAPH), alter=alter)))
    assert not explained(found)
    assert found.verdict == "fail"
    codes = [part.code for part in found.facts["repeats"].values["parts"]]
    assert "compare/repeat-alone" in codes


SPOILS = {
    "one element": lambda out: np.where(np.arange(out.size).reshape(out.shape) == 37, 50.0, out),
    "a row of zeros": lambda out: np.where(np.arange(len(out))[:, None] == 5, 0.0, out),
    "a factor": lambda out: out * 1.01,
    "a sign": lambda out: -out,
    "what it gave before": lambda out: np.roll(out, 1, axis=0),
}


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("runs", [1, 3])
def test_what_the_target_alone_has_is_no_noise(spoil, runs):
    """A defect of one run differs between runs, too; the others agree with the golden."""
    spoiled = {FIRST: lambda out: SPOILS[spoil](noise(1)(out))}
    target = held(shoot(GRAPH, given(GRAPH), alter=spoiled))
    others = [held(run(seed)) for seed in range(2, 2 + runs)]
    found = compare_dumps(target, held(run()), repeats=others).result
    assert found.verdict == "fail"
    assert [one.op_name.rpartition("/")[2] for one in found.findings if one.defect] == ["First-op0"]


def test_weights_that_noise_has_moved_are_explained_by_the_step_before():
    found, late = trained((0, 1)), trained((1,))
    assert why(found) == [(True, "")]
    assert {row.iteration for row in found.rows if row.reason == BETWEEN_RUNS} == {0, 1}
    assert not late.repeats[0].used


def trained(iterations):
    """A result of two steps of training with noise in the gradient; only some iterations are dumped."""
    net = Net()
    x, w = net.feed("x", SHAPE), net.weight("w", SHAPE)
    product = net.op("MatMul", x, w, name="Default/Forward-op0", shape=SHAPE)
    grad = net.op("Tanh", product, name="Gradients/Back-op0", shape=SHAPE)
    net.op("AssignAdd", w, grad, name="Default/Step-op0", shape=SHAPE)
    graph = net.graph()

    def steps(seed):
        shots, values = [], given(graph)
        feed = given(graph, 9)["x"]
        for iteration in (0, 1):
            spoil = {} if seed is None else {"Gradients/Back-op0": noise(seed + 10 * iteration)}
            step = shoot(graph, values, alter=spoil, iteration=iteration, parameters=False,
                         start=1_700_000_000_000_000 + iteration * 1000)  # fmt: skip
            after = next(o.data for o in step if o.name.endswith("Step-op0") and o.io == "output")
            values = {"w": after, "x": feed}
            shots += step if iteration in iterations else []
        return in_memory(shots, graph)

    return compare_dumps(steps(1), steps(None), repeats=[steps(2)]).result


def test_what_ranks_give_each_other_does_not_count():
    net = Net()
    x, w = net.feed("x", SHAPE), net.weight("w", SHAPE)
    product = net.op("MatMul", x, w, name="Default/First-op0", shape=SHAPE)
    net.op("AllReduce", product, name="Default/Meet-op0", shape=SHAPE, attrs={"op": "sum"})
    graph = net.graph()

    def dump(seed):
        shots = shoot(net_without_last(graph), given(graph))
        read = next(o for o in shots if o.op_type == "MatMul" and o.io == "output").data
        met = read if seed is None else noise(seed, 0.1)(read).astype(np.float32)
        like = next(o for o in shots if o.op_type == "MatMul")
        meeting = [
            like._replace(op_type="AllReduce", name="Default_Meet-op0", io=io, slot=0, data=data)
            for io, data in (("input", read), ("output", met))
        ]
        return in_memory([*shots, *meeting], graph)

    found = compare_dumps(dump(1), dump(None), repeats=[dump(2)]).result
    assert not found.repeats[0].used
    assert found.repeats[0].reason.values["why"].code == "compare/repeat-ranks"
    assert not explained(found)


def net_without_last(graph):
    return replace(graph, ops=graph.ops[:-1], outputs=())


NEIGHBORS = [
    (CountFacts("AllReduce", ("equal",), same_types=False), "compare/repeat-ranks"),
    (CountFacts("MatMul", ("other",), same_types=False), "compare/repeat-types"),
    (CountFacts("MatMul", ("unknown", "other")), "compare/repeat-changed"),
    (CountFacts("MatMul", ("equal", "unknown")), "compare/repeat-undumped"),
    (CountFacts("Reader", ()), "compare/repeat-undumped"),
    (CountFacts("MatMul", ("equal", "explained")), ""),
]


@pytest.mark.parametrize(("facts", "code"), NEIGHBORS)
def test_the_first_reason_not_to_count_is_said(facts, code):
    assert count_reason(facts) == code


def test_the_first_reason_not_to_use_a_run_is_said():
    npu = {"device_target": "Ascend"}
    few = [one for one in run(2) if one.name.endswith("Bend-op0")]
    cases = [
        (same, held(few, info=npu), "compare/repeat-other"),  # and another device
        (same, held(run(2, data=5), info=npu), "compare/repeat-device"),  # and other data
        (outputs, held(outputs(run())), "compare/repeat-golden"),  # and nobody knows what it read
    ]
    for cut, again, code in cases:
        assert why(compared(cut, again=again)) == [(False, code)]
