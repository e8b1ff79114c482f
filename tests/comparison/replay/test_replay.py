"""Own errors of whole dumps: planted by hand, of simulated devices, and of real MindSpore."""

from __future__ import annotations

import math
import random
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from clearing.other_device import computing_otherwise

from kit.build import small_dumps as small
from kit.build.runs import by_name, dumped, on_device, on_reference, paired, reasons, replayed
from kit.build.small_dumps import Net, Shot, chain, in_memory, shoot
from workbench.comparison.engine import compare_dumps
from workbench.comparison.limits import LIMITS
from workbench.comparison.replay.floors import Floor
from workbench.comparison.replay.own_error import OwnError
from workbench.comparison.replay.replay import replay
from workbench.core.long_work import stoppable
from workbench.core.words import Message
from workbench.dump.reader import load
from workbench.network.models import load_graph
from workbench.npu.faults import Fault
from workbench.npu.target import Target
from workbench.run.executor import feeds_at
from workbench.simulation.process import prepare

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)
SHOTS = shoot(GRAPH, VALUES)
GOLDEN = in_memory(SHOTS, GRAPH)
NAMES = [op.name for op in GRAPH.ops]
TANH = "Default/Tanh-op0"


def spoilt(name, change, golden=GOLDEN):
    return replayed(in_memory(shoot(GRAPH, VALUES, alter={name: change}), GRAPH), golden)


# --- own errors ------------------------------------------------------------------------------------


def test_a_clean_dump_has_own_errors_of_rounding_alone():
    found = replayed(GOLDEN)
    own = by_name(found)
    assert [name for name, _ in own] == NAMES
    assert max(one.error for one in own.values()) < 3e-7
    assert (found.suspects, found.reasons, found.coverage, found.titles) == ([], {}, 1.0, ())


def test_nothing_of_a_replay_is_written_later():
    found = replayed(GOLDEN)
    place = next(iter(found.own_errors))
    with pytest.raises(FrozenInstanceError):
        found.own_errors = {}
    for table in (found.own_errors, found.reasons, found.models):
        with pytest.raises(TypeError):
            table[place] = None


@pytest.mark.parametrize("name", NAMES)
def test_an_error_belongs_to_the_operator_that_made_it(name):
    found = spoilt(name, lambda a: a * 1.01)
    own = by_name(found)
    wrong = {n for (n, _), one in own.items() if one.suspect}
    assert wrong == {name}
    assert own[name, 0].error == pytest.approx(0.01, rel=1e-3)
    assert own[name, 0].suspect > LIMITS.suspect_factor


# --- orders of summation ---------------------------------------------------------------------------


def summing_otherwise(noise, **more):
    """A transformer on a device that sums in another order; ``None``: on one whose order is known."""
    graph = load_graph("transformer")
    with computing_otherwise(noise, 5):
        return graph, on_device(graph, "a2", "must_keep_origin_dtype", **more)


def scaled(graph, by):
    """A fault of one product in the middle, and the product."""
    name = [op.name for op in graph.ops if op.op_type == "MatMul"][4]
    return name, [Fault("scaled-output", name, 1.0 + by)]


@pytest.mark.parametrize("noise", [0.0, 1e-6, 2e-6, 4e-6])
def test_kernels_that_sum_in_another_order_are_not_suspect(noise, references):
    _, target = summing_otherwise(noise)
    assert replayed(target, references["transformer"]).suspects == []


@pytest.mark.parametrize(
    ("noise", "by"),
    [(2e-6, 3e-5), (None, 5e-6)],
    ids=["beyond any order", "where other sums are right to the bit"],
)
def test_what_no_order_excuses_is_suspect(noise, by, references):
    name, faults = scaled(load_graph("transformer"), by)
    graph, target = summing_otherwise(noise, faults=faults)
    found = replayed(target, references["transformer"])
    assert [graph.ops[number].name for _, number in found.suspects] == [name]
    own = found.own_errors[found.suspects[0]]
    within = own.error < LIMITS.suspect_factor * own.floor.of_any_order.rounding
    assert within == (noise is None)


def rounding_inputs(noise, references):
    """A product off by 3e-5 where rounding of inputs to float16 costs 3e-4: what is found, and of the product."""
    graph = load_graph("transformer")
    name, faults = scaled(graph, 3e-5)
    with computing_otherwise(noise, 5):
        target = on_device(graph, "a2", "cube_fp16in_fp32out", faults=faults)
    found = replayed(target, references["transformer"])
    own = by_name(found)[name, 0]
    assert LIMITS.suspect_factor * own.floor.rounding < own.error < own.floor.model
    return name, found, own


def test_less_than_the_formats_of_the_device_cost_is_no_defect(references):
    """Where nothing shows how the device computes, a tenth of what its formats cost accuses nobody."""
    _, found, _ = rounding_inputs(1e-6, references)
    assert found.suspects == []


def test_but_where_its_like_show_what_they_cost_it_is_an_outlier(references):
    """All other products are reproduced to the bit: rounding of inputs is in the model, and excuses nobody."""
    name, found, own = rounding_inputs(None, references)
    names = [op.name for op in load_graph("transformer").ops]
    assert [names[number] for _, number in found.suspects] == [name]
    assert (own.suspect, own.is_outlier) == (LIMITS.outlier_factor, True)
    assert own.error >= own.explained


def test_the_size_of_an_own_error_by_hand():
    def change(a):
        a = a.copy()
        a[1, 2] += 0.5
        return a

    own = by_name(spoilt(TANH, change))[TANH, 0]
    x = VALUES["x"].astype(np.float64) @ VALUES["fc0.weight"]
    y = np.tanh(np.maximum(x, 0) @ VALUES["fc2.weight"])
    assert own.error == pytest.approx(0.5 / np.linalg.norm(y), rel=1e-4)
    assert (own.slot, own.share_unequal >= 1 / 16, own.rule) == (0, True, "table")


def test_two_operators_that_are_wrong_are_both_suspect():
    """The first one's error hides nothing behind it."""
    alter = {NAMES[0]: lambda a: a + 1, TANH: lambda a: a * 1.001}
    found = replayed(in_memory(shoot(GRAPH, VALUES, alter=alter), GRAPH), GOLDEN)
    assert [number for _, number in found.suspects] == [0, 3]


def test_what_is_not_a_number_is_infinitely_wrong():
    def poison(a):
        a = a.copy()
        a[0, 0] = np.nan
        return a

    own = by_name(spoilt(TANH, poison))
    assert own[TANH, 0].error == math.inf
    assert own[TANH, 0].suspect
    assert not own["Default/Softmax-op0", 0].suspect  # it has NaN where NaN came in


def test_an_error_that_the_golden_has_too_is_the_references():
    both = in_memory(shoot(GRAPH, VALUES, alter={TANH: lambda a: a * 1.1}), GRAPH)
    found = replayed(both, both)
    assert found.suspects == []
    assert reasons(found) == {(TANH, 0): Message("compare/golden-deviates")}


def test_outputs_alone_are_enough_and_what_lies_between_is_looked_up():
    outputs = in_memory([s for s in SHOTS if s.io == "output"], GRAPH)
    found = replayed(outputs, GOLDEN)
    assert found.coverage == 1.0
    assert by_name(found)[NAMES[0], 0].assumed == (Message("compare/assumed-golden", slot=0),)


def test_what_has_no_output_in_the_dump_counts_nowhere():
    inputs = in_memory([s for s in SHOTS if s.io == "input"], GRAPH)
    found = replayed(inputs, GOLDEN)
    assert (found.own_errors, found.reasons, found.coverage) == ({}, {}, 0.0)


def test_reasons_come_most_frequent_first():
    net = Net()
    x = net.feed("x")
    for name in ("Pair", "Pair", "Quux"):
        net.op(name, x)
    graph = net.graph()
    shots = [
        Shot(op.op_type, small.file_name(op.name), "output", 0, np.ones((4, 4), np.float32))
        for op in graph.ops
    ]
    found = replayed(in_memory(shots, graph))
    assert found.why_not() == [
        (Message("compare/no-kernel", op_type="Pair"), 2),
        (Message("compare/no-kernel", op_type="Quux"), 1),
    ]
    assert found.coverage == 0.0


def test_a_replay_that_is_cancelled_stops():
    pairing = paired(GOLDEN, GOLDEN)
    with stoppable(lambda: True):
        assert replay(pairing, npu=False).own_errors == {}


# --- clearing ----------------------------------------------------------------------------------------


def place(found, name):
    return next(p for p in found.own_errors if GRAPH.ops[p[1]].name == name)


def test_who_gave_what_its_inputs_make_it_give_is_cleared():
    found = spoilt(NAMES[0], lambda a: a * 1.1)
    cleared = [name for name in NAMES if found.reproduces(*place(found, name))]
    assert cleared == NAMES[1:]
    block, _ = place(found, TANH)
    assert not found.reproduces(block._replace(iteration=9), 3)


def test_who_is_computed_with_the_goldens_inputs_is_not_cleared():
    outputs = in_memory([s for s in SHOTS if s.io == "output"], GRAPH)
    found = replayed(outputs, GOLDEN)
    assert not found.reproduces(*place(found, NAMES[0]))
    assert found.reproduces(*place(found, NAMES[1]))


def test_what_a_format_cannot_hold_is_no_reason_to_clear():
    net = Net()
    net.op("Mul", net.feed("x", dtype="float16"), net.feed("y", dtype="float16"), dtype="float16")
    graph = net.graph()
    high = np.full((4, 4), 300, np.float16)
    target = in_memory(shoot(graph, {"x": high, "y": high}), graph)
    found = replayed(target)
    (where,) = found.own_errors
    assert not found.own_errors[where].suspect  # 90,000 is infinite in float16
    assert not found.reproduces(*where)


def test_an_error_is_carried_as_the_data_magnify_it():
    net = Net()
    net.op("Exp", net.feed("x", (4096,)), shape=(4096,))
    graph = net.graph()
    found = replayed(in_memory(shoot(graph, {"x": np.full(4096, 8.0, np.float32)}), graph))
    (where,) = found.own_errors
    assert found.propagated_error(*where, 0, 1e-3) == pytest.approx(8e-3, rel=0.1)
    assert found.propagated_error(where[0], where[1], 5, 1e-3) == pytest.approx(1e-3)


def test_the_goldens_own_error():
    wrong = in_memory(shoot(GRAPH, VALUES, alter={TANH: lambda a: a * 1.1}), GRAPH)
    found = replayed(GOLDEN, wrong)
    assert found.golden(*place(found, TANH)).error == pytest.approx(0.1, rel=1e-3)
    assert not found.golden(*place(found, NAMES[0])).suspect


# --- odd dumps -----------------------------------------------------------------------------------------

ODD = {
    "scalar": np.float32(1).reshape(()),
    "empty": np.zeros((0, 4), np.float32),
    "nan": np.full((4, 4), np.nan, np.float32),
    "infinite": np.full((4, 4), -np.inf, np.float32),
    "huge": np.full((4, 4), 3e38, np.float32),
    "tiny": np.full((4, 4), 1e-45, np.float32),
    "bools": np.ones((4, 4), bool),
    "integers": np.full((4, 4), 2**62),
    "flat": np.ones(3, np.float32),
    "deep": np.ones((1,) * 12, np.float32),
    "complex": np.ones((4, 4), np.complex64),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("io", ["input", "output"])
def test_nothing_raises_on_odd_tensors(odd, io):
    shots = [s._replace(data=ODD[odd]) if s.io == io else s for s in SHOTS]
    for found in (
        replayed(in_memory(shots, GRAPH), GOLDEN),
        replayed(GOLDEN, in_memory(shots, GRAPH)),
    ):
        assert len(found.own_errors.keys() | found.reasons.keys()) <= len(NAMES)
        for where in found.own_errors:
            assert isinstance(found.reproduces(*where), bool)
            found.golden(*where)


@pytest.mark.parametrize("size", [0, 1, 60, 130, 150])
def test_nothing_raises_on_files_that_were_cut(tmp_path, size):
    root = small.on_disk(tmp_path, SHOTS, GRAPH)
    for path in sorted(root.rglob("*.npy"))[::2]:
        path.write_bytes(path.read_bytes()[:size])
    found = replayed(load(root), GOLDEN)
    assert len(found.own_errors.keys() | found.reasons.keys()) <= len(NAMES)
    assert found.suspects == []


@pytest.mark.parametrize("seed", range(40))
def test_a_whole_comparison_of_odd_tensors_is_silent(seed, capfd):
    """Neither exceptions, nor warnings, nor words of a library on the terminal."""
    rng = random.Random(seed)
    more = [*ODD.values(), np.full((4, 4), 6e4, np.float16), np.full((4, 4), 1e300)]
    whole = [one for one in more if one.dtype.kind != "c"]
    sides = [
        in_memory(
            [s._replace(data=rng.choice(whole)) if rng.random() < 0.15 else s for s in SHOTS],
            GRAPH,
            info={"device_target": rng.choice(["CPU", "Ascend"])},
        )
        for _ in range(2)
    ]
    compare_dumps(*sides)
    assert "".join(capfd.readouterr()) == ""


# --- devices ---------------------------------------------------------------------------------------------

DEVICES = [
    ("910a", "allow_fp32_to_fp16"), ("910a", "force_fp16"), ("a2", "must_keep_origin_dtype"),
    ("a2", "allow_mix_precision"), ("a2", "allow_fp32_to_bf16"), ("950", "cube_hif8"),
    ("950", "allow_mix_precision_bf16"),
]  # fmt: skip


@pytest.fixture(scope="module")
def references():
    return {name: on_reference(load_graph(name)) for name in ("lenet", "mlp", "transformer")}


@pytest.mark.parametrize(("profile", "mode"), DEVICES)
@pytest.mark.parametrize("model", ["lenet", "mlp", "transformer"])
def test_a_healthy_device_has_no_suspects(references, model, profile, mode):
    found = replayed(on_device(load_graph(model), profile, mode), references[model])
    assert (found.coverage, found.suspects) == (1.0, [])


@pytest.mark.parametrize(("profile", "mode"), DEVICES)
def test_one_operator_of_a_device_that_is_wrong_is_the_only_suspect(references, profile, mode):
    graph = load_graph("lenet")
    name = next(op.name for op in graph.ops if op.op_type == "MatMul")
    fault = Fault("scaled-output", name, 1.5)
    found = replayed(on_device(graph, profile, mode, faults=[fault]), references["lenet"])
    assert {graph.ops[number].name for _, number in found.suspects} == {name}


def test_an_operator_that_is_not_like_its_like_is_an_outlier(references):
    """Wrong by less than formats may be off; but all others are reproduced to the bit."""
    graph = load_graph("transformer")
    target = on_device(graph, "910a", "allow_fp32_to_fp16")
    products = [op.name for op in graph.ops if op.op_type == "MatMul"]
    rng = np.random.default_rng(2)
    clean = replayed(target, references["transformer"])
    assert clean.suspects == []
    for record in target.records:
        if record.key.op_name == small.file_name(products[2]) and record.key.io == "output":
            array = record.source.array()
            noise = 2.0**-11 * rng.uniform(-1, 1, array.shape)
            array[...] = (array * (1 + noise)).astype(np.float16).astype(array.dtype)
    found = replayed(target, references["transformer"])
    own = by_name(found)[products[2], 0]
    assert (own.suspect >= LIMITS.outlier_factor, own.error < 1e-3) == (True, True)


def compiled(model, mode, device, *faults):
    """Dump of a run that was compiled by GE: biases and activations are inside of the products' kernels."""
    graph = load_graph(model)
    ready = prepare(graph, Target("torchair", device, mode, faults=faults))
    run = ready.run(feeds_at(graph, None, 0), iteration=0, state={})
    return dumped(run, ready.graphs[0], {"device_target": "Ascend"})


@pytest.mark.parametrize(
    ("model", "device", "mode", "name"),
    [
        # not the head: how BLAS orders its few sums decides on some machines
        (
            "mlp",
            "310p",
            "allow_fp32_to_lowprecision",
            "Default/body-SequentialCell/1-Dense/MatMul-op0",
        ),
        ("alexnet", "a3", "allow_mix_precision_bf16", "Default/fc3-Dense/MatMul-op0"),
    ],
)
def test_a_kernel_that_rounds_inside_where_others_do_not_is_suspect(model, device, mode, name):
    """A bias that is added in 16 bits would explain it; but elsewhere it is added in float32, to the bit."""
    golden = on_reference(load_graph(model))
    clean = replayed(compiled(model, mode, device), golden)
    found = replayed(compiled(model, mode, device, Fault("missing-cast", name)), golden)
    assert clean.suspects == []
    assert {place for place, own in by_name(found).items() if own.suspect} == {(name, 0)}


# --- real dumps --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(real_pairs):
    return {
        name: replayed(load(pair.target), load(pair.golden)) for name, pair in real_pairs.items()
    }


def test_real_dumps_are_computed_again_but_for_one_that_dumps_few_kernels(real):
    low = {name: found.coverage for name, found in real.items() if found.coverage < 0.95}
    assert len(real) == 8
    assert low.keys() == {"kernels_partial"}
    assert set(real["kernels_partial"].reasons.values()) == {
        Message("compare/input-not-dumped", slot=0)
    }


def test_real_kernels_do_what_their_own_settings_ask_for(real):
    """What was altered in the real pairs are settings and weights; no kernel of MindSpore is wrong."""
    assert {name: found.suspects for name, found in real.items() if found.suspects} == {}


@pytest.mark.parametrize(
    ("error", "suspect", "explained"),
    [(1.0, 1000.0, 1e-3), (math.inf, math.inf, 1e-3), (6e-4, 3.0, 2e-4), (5e-4, 0.0, 1e-3)],
)
def test_what_is_explained_is_a_number_even_of_an_infinite_error(error, suspect, explained):
    own = OwnError(0, error, Floor(1e-4, 1e-3), 1.0, suspect=suspect)
    assert own.explained == pytest.approx(explained)
