"""Planted faults: what each kind does, that it is deterministic, and how it is written."""

import math

import numpy as np
import pytest

from kit.arrays import by_operator
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network import nn
from workbench.network.models import load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.cube import CUBE
from workbench.npu.faults import (
    FAULTS,
    LINKS,
    Fault,
    OpExecution,
    apply_faults,
    check_faults,
    parse_fault,
    with_compile_faults,
)
from workbench.npu.runner import run_npu

LENET, ALEXNET = load_graph("lenet"), load_graph("alexnet")
CONV3 = "Default/conv3-Conv2d/Conv2D-op0"


def outputs(graph, *faults, **settings):
    return by_operator(run_npu(graph, faults=faults, **settings))


def changed(graph, *faults, **settings):
    """Names of the operators whose output a fault changes, in order."""
    clean, faulty = outputs(graph), outputs(graph, *faults, **settings)
    return [op.name for op in graph.ops if not np.array_equal(clean[op.name], faulty[op.name])]


def test_a_wrong_padding_mode_shows_first_at_its_operator_and_in_the_graph():
    fault = parse_fault(f"wrong-attribute:{CONV3}:pad_mode=pad,pad=1")
    assert changed(ALEXNET, fault)[0] == CONV3
    wrong = with_compile_faults(ALEXNET, [fault]).op(CONV3)
    assert ALEXNET.op(CONV3).attrs["pad_list"] == (0, 1, 0, 1)
    assert {k: wrong.attrs[k] for k in ("pad_mode", "pad", "pad_list")} == {
        "pad_mode": "pad",
        "pad": (1, 1, 1, 1),
        "pad_list": (1, 1, 1, 1),
    }


def test_wrong_attributes_compute_what_a_network_with_these_attributes_computes():
    def network(pad_mode, padding):
        return nn.Conv2d(3, 4, 3, stride=2, pad_mode=pad_mode, padding=padding)

    x = np.random.default_rng(0).random((1, 3, 8, 8), dtype=np.float32)
    asked, other = trace(network("same", 0), x), trace(network("pad", 1), x)
    fault = parse_fault("wrong-attribute:Conv2D:pad_mode=pad,pad=1")
    got = outputs(asked, fault)["Default/Conv2D-op0"]
    np.testing.assert_array_equal(got, outputs(other)["Default/Conv2D-op0"])
    assert with_compile_faults(asked, [fault]).ops[0].attrs == other.ops[0].attrs


def test_constant_arguments_can_be_wrong_too():
    x = np.random.default_rng(0).random((3, 4), dtype=np.float32)
    norm = trace(lambda x: F.layer_norm(x, np.ones(4, "f"), np.zeros(4, "f")), x)
    wrong = with_compile_faults(norm, [parse_fault("wrong-attribute:LayerNorm:epsilon=0.01")]).ops[
        0
    ]
    assert wrong.inputs[5].value == 0.01
    assert wrong.inputs[5].dtype == "float32"
    soft = trace(lambda x: F.softmax(x, -1), x)
    wrong = with_compile_faults(soft, [parse_fault("wrong-attribute:Softmax:axis=0")]).ops[0]
    assert wrong.inputs[1].value == (0,)
    pool = trace(lambda x: F.avg_pool2d(x, 1, 1), np.zeros((1, 1, 4, 4), np.float32))
    wrong = with_compile_faults(pool, [parse_fault("wrong-attribute:AvgPool:pad_mode=same")]).ops[0]
    assert wrong.inputs[3].value == 1


def test_strides_are_written_as_the_graph_writes_them():
    x = np.zeros((1, 3, 2, 2), np.float32)
    graph = trace(nn.Conv2d(3, 4, 3, stride=2, pad_mode="same"), x)
    fault = parse_fault("wrong-attribute:Conv2D:stride=3")
    assert with_compile_faults(graph, [fault]).ops[0].attrs["stride"] == (1, 1, 3, 3)


def test_a_scaled_output_is_scaled_exactly_and_by_one_percent_if_nothing_is_said():
    name = "Default/conv2-Conv2d/Conv2D-op0"
    clean = outputs(LENET)[name].astype(np.float64)
    half = outputs(LENET, Fault("scaled-output", name, 0.5))[name]
    np.testing.assert_array_equal(half, clean * 0.5)
    little = outputs(LENET, Fault("scaled-output", name))[name]
    np.testing.assert_array_equal(little, (clean * 1.01).astype(np.float32))


@pytest.mark.parametrize("count", [1, 5])
def test_an_overrun_overwrites_neighbors_and_nothing_else(count):
    name = "Default/fc1-Dense/MatMul-op0"
    clean = outputs(LENET)[name].ravel()
    fault = Fault("overwritten-element", name, count, value=-7.5)
    got = outputs(LENET, fault)[name].ravel()
    (places,) = np.nonzero(got != clean)
    assert len(places) == count
    assert places[-1] - places[0] == count - 1
    assert set(got[places].tolist()) == {-7.5}


def test_the_seed_moves_the_overrun_and_the_default_value_stands_out():
    name = "Default/fc1-Dense/MatMul-op0"
    clean = outputs(LENET)[name]
    places = set()
    for seed in range(4):
        got = outputs(LENET, Fault("overwritten-element", name, seed=seed))[name]
        (place,) = np.nonzero((got != clean).ravel())[0]
        assert got.ravel()[place] == pytest.approx(10 * np.abs(clean).max())
        places.add(place)
    assert len(places) > 1
    shifted = outputs(LENET, Fault("overwritten-element", name), seed=3)[name]
    np.testing.assert_array_equal(
        shifted, outputs(LENET, Fault("overwritten-element", name, seed=3))[name]
    )


def test_a_clean_buffer_is_copied_before_it_is_overwritten():
    """`Reshape` shares memory with its producer, whose record must stay clean."""
    graph = trace(lambda x: F.exp(x).reshape(-1), np.ones((2, 2), np.float32))
    got = outputs(graph, Fault("overwritten-element", "Reshape", value=9))
    assert 9 in got["Default/Reshape-op0"]
    assert 9 not in got["Default/Exp-op0"]


def test_faults_of_one_operator_add_up_in_order():
    name = "Default/fc1-Dense/MatMul-op0"
    both = outputs(LENET, Fault("scaled-output", name, 2.0), Fault("scaled-output", name, 4.0))
    np.testing.assert_array_equal(both[name], outputs(LENET)[name] * 8)


def test_a_fault_that_is_not_there_leaves_the_site_alone():
    execution = OpExecution(LENET.ops[0], outputs=(np.ones(3),))
    assert apply_faults([Fault("scaled-output", "*fc1*")], execution, "store") is execution
    assert with_compile_faults(LENET, ()) is LENET


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("scaled-output:*fc1*", Fault("scaled-output", "*fc1*")),
        ("scaled-output:*fc1*:1.5", Fault("scaled-output", "*fc1*", 1.5)),
        (
            "overwritten-element:MatMul:strength=3,seed=4,value=-inf",
            Fault("overwritten-element", "MatMul", 3, 4, -math.inf),
        ),
        ("scaled-output:F0::If/Conv:1.5", Fault("scaled-output", "F0::If/Conv", 1.5)),
        (
            "wrong-attribute:a/b:pad_mode=pad,pad=(1,0,1,0),flag=True",
            Fault(
                "wrong-attribute",
                "a/b",
                value={"pad_mode": "pad", "pad": (1, 0, 1, 0), "flag": True},
            ),
        ),
    ],
)
def test_faults_are_read_from_text(text, fault):
    assert parse_fault(text) == fault


OWN = ["strength", "seed", "iteration"]


KINDS = sorted([*FAULTS, *LINKS])


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("broken-cable:Conv2D", "core/choice", {"subject": "fault", "got": "broken-cable", "known": KINDS}),
        ("scaled-output", "run/fault-form", {"got": "scaled-output"}),
        ("scaled-output:a:strength=much", "run/fault-number", {"name": "strength", "got": "much"}),
        ("overwritten-element:a:seed=1.5", "run/fault-number", {"name": "seed", "got": 1.5}),
        ("scaled-output:a:true", "run/fault-number", {"name": "strength", "fault": "scaled-output:a:true"}),
        ("scaled-output:a:nan", "run/fault-finite", {"fault": "scaled-output"}),
        ("scaled-output:a:1,2", "run/fault-twice", {"name": "strength", "fault": "scaled-output:a:1,2"}),
        ("scaled-output:a:seed=1,seed=2", "run/fault-twice", {"name": "seed"}),
        ("scaled-output:a:factor=2", "run/fault-choice",
         {"name": "setting", "fault": "scaled-output", "got": "factor", "known": OWN}),
        ("wrong-sign:a:5", "run/fault-choice", {"got": "strength", "known": ["seed", "iteration"]}),
        ("nan-output:a:value=3", "run/fault-choice", {"got": "value", "known": OWN}),
        ("wrong-attribute:a:3", "run/fault-attributes-only", {"got": "strength"}),
        ("wrong-attribute:a:value=3,pad=1", "run/fault-value-and-attributes", {}),
    ],
)  # fmt: skip
def test_text_that_is_no_fault_is_refused(text, code, values):
    with refused(code, GraphError, **values):
        parse_fault(text)


@pytest.mark.parametrize(
    ("fault", "code", "values"),
    [
        (Fault("melting", "*"), "core/choice", {"subject": "fault", "got": "melting", "known": sorted(FAULTS)}),
        (Fault("scaled-output", "Default/conv3-Conv2d/Conv2D-op1"), "run/fault-nowhere", {"graph": "AlexNet"}),
        (Fault("half-accumulation", "ReLU"), "run/fault-type", {"type": "ReLU", "known": sorted(CUBE)}),
        (Fault("half-accumulation", "*relu*"), "run/fault-type", {"type": "ReLU"}),
        (Fault("wrong-weight-element", "*relu*"), "run/fault-no-weight", {"fault": "wrong-weight-element"}),
        (Fault("scaled-output", CONV3, value=2), "run/fault-choice", {"got": "value", "known": OWN}),
        (Fault("wrong-attribute", CONV3), "run/fault-attributes", {"op": CONV3, "got": None}),
        (Fault("wrong-attribute", CONV3, value={"padmode": "pad"}), "run/fault-attribute",
         {"op": CONV3, "type": "Conv2D", "got": "padmode"}),
        (Fault("wrong-attribute", CONV3, value={"pad_mode": "valid"}), "run/fault-shapes",
         {"expected": ((2, 48, 6, 6),), "got": ((2, 48, 5, 5),)}),
    ],
)  # fmt: skip
def test_faults_that_cannot_be_are_refused_before_the_run(fault, code, values):
    with refused(code, GraphError, **values):
        run_npu(ALEXNET, faults=[fault])


@pytest.mark.parametrize(
    ("kind", "pattern", "struck"),
    [
        ("half-accumulation", "*fc1*", "Default/fc1-Dense/MatMul-op0"),
        ("dropped-k-tail", "*fc1*", "Default/fc1-Dense/MatMul-op0"),
        ("stale-output", "*fl*", ""),
        ("wrong-weight-element", "*conv5*", "Default/conv5-Conv2d/Conv2D-op0"),
    ],
)
def test_a_pattern_means_those_operators_that_can_have_the_fault(kind, pattern, struck):
    """``*fc1*`` meets a BiasAdd, too, which has no sums."""
    if not struck:
        with refused("run/fault-renames", GraphError, fault=kind):
            list(run_npu(ALEXNET, faults=[Fault(kind, pattern)]))
        return
    by_pattern, by_name = (
        {str(r.key): r.source.array() for r in run_npu(ALEXNET, faults=[Fault(kind, op)])}
        for op in (pattern, struck)
    )
    assert by_pattern.keys() == by_name.keys()
    for key, array in by_name.items():
        np.testing.assert_array_equal(by_pattern[key], array)


def test_a_misspelt_operator_gets_close_names():
    with refused("run/fault-nowhere", GraphError) as caught:
        check_faults(
            [Fault("scaled-output", "Default/conv3-Conv2d/Conv2D-op1")], ALEXNET.ops, ALEXNET.name
        )
    assert caught.value.values["close"][0] == "Default/conv3-Conv2d/Conv2D-op0"
    settings = parse_fault("scaled-output:Default/conv3-Conv2d/Conv2D-op0,iteration=1")
    with refused("run/fault-colon", GraphError, got=settings.op_name):
        check_faults([settings], ALEXNET.ops, ALEXNET.name)


@pytest.mark.parametrize(
    "kind", ["half-accumulation", "dropped-k-tail", "wrong-sign", "stale-output"]
)
def test_a_fault_of_one_iteration_strikes_in_that_one_alone(kind):
    fault = parse_fault(f"{kind}:Default/fc1-Dense/MatMul-op0:iteration=3")
    always = parse_fault(f"{kind}:Default/fc1-Dense/MatMul-op0")
    clean, faulty = outputs(LENET), outputs(LENET, always)
    assert any(not np.array_equal(clean[name], faulty[name]) for name in clean)
    for iteration, wanted in ((2, clean), (3, faulty), (4, clean)):
        found = outputs(LENET, fault, iteration=iteration)
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"{name} in {iteration}")


@pytest.mark.parametrize(
    ("text", "code", "got"),
    [
        (f"wrong-attribute:{CONV3}:pad_mode=pad,pad=1,iteration=3", "run/fault-iteration", 3),
        (f"wrong-weight-element:{CONV3}:iteration=0", "run/fault-iteration", 0),
        (f"wrong-sign:{CONV3}:iteration=-1", "run/fault-least", -1),
        (f"wrong-sign:{CONV3}:iteration=1.5", "run/fault-number", 1.5),
    ],
)
def test_an_iteration_in_which_a_fault_cannot_strike_is_refused(text, code, got):
    with refused(code, GraphError, got=got):
        parse_fault(text)
