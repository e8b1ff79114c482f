"""What a run should have given where only its statistics were dumped, and who is blamed then."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.runs import on_device, on_reference, paired
from kit.build.small_dumps import chain, in_memory, shoot
from kit.evidence import defects
from kit.words import check_said
from workbench.comparison.engine import compare_dumps
from workbench.comparison.measure.measure import distance_from
from workbench.comparison.replay.forecast import forecast
from workbench.comparison.replay.inputs import DumpedInputs
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource
from workbench.core.words import Message
from workbench.dump.index import index_of
from workbench.dump.statistics.compute import statistics_of
from workbench.network.models import load_graph
from workbench.npu.faults import Fault

WANTED = ("max", "min", "avg", "l2norm")


def summed(dump):
    """The same dump with statistics in place of tensors."""
    records = []
    for record in dump.records:
        array = record.source.array()
        label = record.label._replace(dtype=array.dtype.name, shape=array.shape)
        figures = statistics_of(array, WANTED)
        records.append(replace(record, source=None, path="", label=label, statistics=figures))
    return replace(dump, index=index_of(records))


def told(target, golden):
    return forecast(paired(target, golden), distance_from, npu=True)


def seen(target, golden):
    return compare_dumps(summed(target), golden).result


def operators(result):
    return list(dict.fromkeys(one.op_name for one in defects(result)))


LENET = load_graph("lenet", 0)
REFERENCE = on_reference(LENET)


@pytest.mark.parametrize("mode", ["allow_fp32_to_fp16", "must_keep_origin_dtype"])
def test_the_believed_model_gives_the_very_statistics_of_the_device(mode):
    found = told(summed(on_device(LENET, "910a", mode)), REFERENCE)
    assert len(found.errors) > 20
    assert max(found.errors.values()) == 0.0
    (model,) = found.facts["statistics forecast"].values["models"]
    check_said(model, "compare/model", device="Ascend 910A")


def test_the_golden_is_farther_off_than_the_forecast():
    target = summed(on_device(LENET, "910a", "allow_fp32_to_fp16"))
    pairing = paired(target, REFERENCE)
    found = forecast(pairing, distance_from, npu=True)
    golden = [
        distance_from(p, p.golden.source.array()) for p in pairing.pairs if id(p) in found.errors
    ]
    assert max(golden) > 1e-4


def test_how_far_the_forecast_is_from_the_golden_is_known_of_every_element():
    """By loops over elements: far more than statistics show where formats are coarse, next to nothing where not."""
    largest = {}
    for mode in ("allow_fp32_to_fp16", "must_keep_origin_dtype"):
        device = on_device(LENET, "910a", mode)
        pairing = paired(summed(device), REFERENCE)
        found = forecast(pairing, distance_from, npu=True)
        arrays = {record.key: record.source.array() for record in device.records}
        assert found.spreads.keys() == found.errors.keys()
        for pair in pairing.pairs:
            if id(pair) not in found.spreads:
                continue
            golden = pair.golden.source.array().astype(float).ravel()
            given = arrays[pair.target.key].astype(float).ravel()
            off = math.sqrt(sum((a - b) ** 2 for a, b in zip(given, golden, strict=True)))
            size = math.sqrt(sum(b**2 for b in golden))
            assert found.spreads[id(pair)] == pytest.approx(off / size if size else 0.0, abs=1e-12)
        largest[mode] = max(found.spreads.values())
    assert largest["allow_fp32_to_fp16"] > 3e-4
    assert largest["must_keep_origin_dtype"] < 1e-6


def test_a_golden_that_cannot_be_read_leaves_the_forecast_as_it_is():
    class Broken(ArraySource):
        def array(self):
            raise FormatError("core/missing", place="a.npy", got="data")

    target = summed(on_device(LENET, "910a", "allow_fp32_to_fp16"))
    pairs = paired(target, REFERENCE).pairs
    last = [one.golden for one in pairs if one.run is not None and one.io == "output"][-1]
    broken = replace(last, source=Broken(last.source.array()))
    records = (broken if r.key == last.key else r for r in REFERENCE.records)
    pairing = paired(target, replace(REFERENCE, index=index_of(records)))
    found = forecast(pairing, distance_from, npu=True)
    (left,) = found.errors.keys() - found.spreads.keys()
    (pair,) = (one for one in pairing.pairs if id(one) == left)
    assert pair.golden.key == last.key


def test_a_rerun_tells_what_operators_read_and_changes_nothing():
    found = told(summed(on_device(LENET, "910a", "allow_fp32_to_fp16")), REFERENCE)
    before = dict(found.errors), dict(found.models)
    (execution,) = {pair.run.block for pair in found.pairing.pairs if pair.run is not None}
    number = LENET.by_name["Default/conv2-Conv2d/Conv2D-op0"]
    (one,) = found.rerun([(execution, number), (execution._replace(iteration=9), 0)])
    assert (one.execution, one.number, one.graph) == (execution, number, LENET)
    assert set(one.errors_with({}).values()) == {0.0}
    changed = one.errors_with({0: one.inputs[0] * 2})
    assert changed.keys() == one.errors_with({}).keys()
    assert min(changed.values()) > 0.1
    assert (dict(found.errors), dict(found.models)) == before
    with pytest.raises(AttributeError, match="can't set attribute"):
        found.errors = {}
    with pytest.raises(TypeError):
        found.errors[0] = 1.0


def test_tensors_need_no_forecast():
    target = on_device(LENET, "910a", "must_keep_origin_dtype")
    found = told(target, REFERENCE)
    assert (found.errors, found.facts) == ({}, {})


def test_statistics_on_both_sides_have_none():
    assert told(summed(REFERENCE), summed(REFERENCE)).errors == {}


def test_what_nobody_can_compute_is_taken_from_the_golden(monkeypatch):
    monkeypatch.setitem(small.RUN, "Sigmoid", lambda x: x / 2)
    graph = chain("MatMul", "Sigmoid", "Tanh")
    graph = replace(graph, ops=tuple(
        replace(op, op_type="Mystery") if op.op_type == "Sigmoid" else op for op in graph.ops
    ))  # fmt: skip
    monkeypatch.setitem(small.RUN, "Mystery", lambda x: x / 2)
    dump = in_memory(shoot(graph, small.given(graph)), graph)
    found = forecast(paired(summed(dump), dump), distance_from, npu=False)
    assert found.errors
    assert max(found.errors.values()) < 1e-6


def test_readers_without_files_are_not_asked_again_by_each_other_reader(monkeypatch):
    count, asked, read = 30, [], DumpedInputs.read
    net = small.Net()
    feed = net.feed("x")
    for number in range(count):
        net.op("MatMul", feed, net.weight(f"w{number}"))
    graph = net.graph()
    shots = shoot(graph, small.given(graph), parameters=False)
    dump = in_memory([one for one in shots if one.io == "output"], graph)
    pairing = paired(summed(dump), dump)

    def counting(inputs, block, number, *rest):
        asked.append(number)
        return read(inputs, block, number, *rest)

    monkeypatch.setattr(DumpedInputs, "read", counting)
    forecast(pairing, distance_from, npu=False)
    assert set(asked) == set(range(count))
    assert len(asked) <= 4 * count


def test_other_shapes_cannot_be_compared():
    pair = next(p for p in paired(summed(REFERENCE), REFERENCE).pairs if p.io == "output")
    assert distance_from(pair, np.zeros(3, np.float32)) is None
    array = pair.golden.source.array()
    assert distance_from(pair, array) == 0.0
    assert distance_from(pair, np.full_like(array, np.nan)) == math.inf


# --- whole comparisons -------------------------------------------------------------------------------


def test_a_clean_training_of_lower_precision_is_not_blamed():
    graph = load_graph("lenet_train", 1)
    target = on_device(graph, "a2", "allow_mix_precision")
    assert seen(target, on_reference(graph)).verdict == "warn"


@pytest.mark.parametrize(
    "reader", ["Default/conv2-Conv2d/Conv2D-op0", "Default/fc3-Dense/MatMul-op0"]
)
def test_lanes_that_were_exchanged_are_told_by_who_reads_them(reader):
    graph = LENET
    number = graph.by_name[reader]
    producer = graph.ops[next(graph.ops[number].flat_inputs()).op].name
    fault = Fault("wrong-layout-lanes", producer, strength=1)
    result = seen(on_device(graph, "910a", "allow_fp32_to_fp16", faults=[fault]), REFERENCE)
    assert operators(result)[0] == producer
    first = next(one for one in result.findings if one.op_name == producer)
    assert first.fault == "wrong-layout-lanes"
    assert 0 < first.probability < 1
    check_said(first.evidence[1], "compare/producer-exchanged", distance=1)
    assert reader in operators(result)


def test_a_fast_approximation_shows_beside_a_forecast_that_fits():
    graph = load_graph("transformer", 0)
    name = next(op.name for op in graph.ops if op.op_type == "GeLU")
    target = on_device(
        graph, "910a", "allow_fp32_to_fp16", faults=[Fault("fast-approximation", name)]
    )
    assert operators(seen(target, on_reference(graph)))[0] == name


def test_a_setting_that_differs_is_named_though_the_target_does_what_its_graph_says():
    graph = load_graph("resnet", 0)
    name = next(op.name for op in graph.ops if op.op_type == "BatchNorm")
    fault = Fault("wrong-attribute", name, value={"epsilon": 0.1})
    run = on_device(graph, "910a", "allow_fp32_to_fp16", faults=[fault])
    ops = tuple(
        replace(op, attrs={**op.attrs, "epsilon": 0.1}) if op.name == name else op
        for op in graph.ops
    )
    told_so = {place: replace(one, ops=ops) for place, one in run.graphs.items()}
    result = seen(replace(run, graphs=told_so), on_reference(graph))
    assert (result.findings[0].kind, result.findings[0].op_name) == ("attribute", name)


def test_without_a_forecast_the_producers_follow_the_suspect():
    """Nobody has the tensors: whoever gave a product its inputs may have given them in another order."""
    graph = chain("MatMul", "Tanh", "MatMul", "Tanh")
    values = small.given(graph)
    turned = {"Default/Tanh-op0": lambda x: x[:, ::-1].copy()}
    target = summed(in_memory(shoot(graph, values, alter=turned), graph))
    golden = summed(in_memory(shoot(graph, values), graph))
    result = compare_dumps(target, golden).result
    assert operators(result) == ["Default/MatMul-op1", "Default/Tanh-op0"]
    assert result.findings[1].evidence[1] == Message("compare/producer-hidden")
    assert result.findings[1].score < result.findings[0].score
