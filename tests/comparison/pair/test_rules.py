"""The order of the pair rules: for each two neighbors a case that only this order decides rightly, or why any does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import workbench as wb
from kit.build import golden_pairs
from kit.build import small_dumps as small
from kit.build.kernel_files import Call, save_calls, save_golden
from kit.build.small_dumps import Net, chain, in_memory, shoot
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.map_file import NO_OVERRIDES, Match, Overrides
from workbench.comparison.pair import origins
from workbench.comparison.pair import pair as module
from workbench.comparison.pair.pairing import Selection
from workbench.core.plan import DumpPlan
from workbench.dump.reader import load
from workbench.network.models import load_graph

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
SHOTS = shoot(GRAPH, small.given(GRAPH))


def updated(kind, *more):
    """A weight that one kind of optimizer or another updates, by what ``more`` makes of a feed."""
    net = Net()
    weight, step = net.weight("w"), net.feed("s")
    for op_type in more:
        step = net.op(op_type, step)
    net.op(kind, weight, step)
    graph = net.graph()
    return in_memory(shoot(graph, small.given(graph)), graph)


def half(io, *between):
    """A dump of inputs or of outputs alone; between two products stand operators of the types given."""
    graph = chain("MatMul", *between, "MatMul")
    shots = shoot(graph, small.given(graph), parameters=False)
    return in_memory([shot for shot in shots if shot.io == io], graph)


def of_another_framework(root):
    """A compiled run and its golden: without graphs by names and by tensors, with graphs, with groups in these."""
    net = golden_pairs.network()
    found = golden_pairs.values(net)
    model, compiled, silent = root / "net.onnx", root / "ge_1.txt", root / "ge_2.txt"
    model.write_bytes(net.model.SerializeToString())
    compiled.write_text(golden_pairs.ge_text_of(net, found))
    told = [
        one._replace(type="Eltwise", stands=None, origin="") if len(one.stands or ()) > 1 else one
        for one in net.kernels
    ]
    other = net._replace(kernels=tuple(told))
    silent.write_text(golden_pairs.ge_text_of(other, found))
    untold = golden_pairs.save_target(root / "untold", other, found)
    target = golden_pairs.save_target(root / "target", net, found)
    names = golden_pairs.save_golden(root / "nodes", golden_pairs.standard_names(net), found)
    tensors = golden_pairs.save_golden(root / "tensors", golden_pairs.tensor_names(net), found)
    golden = load(names, graph=model)
    return {
        "files of nodes": (load(target), load(names)),
        "files of tensors": (load(target), load(tensors)),
        "a model": (load(target, graph=compiled), golden),
        "a model in groups": (load(untold, graph=silent), golden),
    }


@pytest.fixture(scope="module")
def bound(tmp_path_factory):
    """Two bound dumps and what the map file says of them, by case."""
    root = tmp_path_factory.mktemp("rules")
    mlp, plan = load_graph("mlp"), DumpPlan("/d")
    integers = wb.simulate(
        mlp, None, plan, root / "int8", surface="acl", device="a2", quantization="w8a8"
    )
    kernels = wb.simulate(mlp, None, plan, root / "acl", surface="acl", device="a2")
    floats = wb.simulate(mlp, None, plan, root / "cpu", surface="mindspore-cpu")
    small.RUN["AssignSub"] = lambda a, b: a - b
    dumps = {
        "names": (in_memory(SHOTS), in_memory(SHOTS)),
        "old names": (
            in_memory([s._replace(name=s.name.removeprefix("Default_")) for s in SHOTS]),
            in_memory(SHOTS),
        ),
        "graphs": (in_memory(SHOTS, GRAPH), in_memory(SHOTS, GRAPH)),
        "optimizers": (updated("AssignAdd", "Neg"), updated("AssignSub", "Exp")),
        "halves": (half("output", "Tanh", "Neg"), half("input", "Sigmoid")),
        "kernels": (load(kernels), load(floats)),
        "integers": (load(integers), load(floats)),
    }
    del small.RUN["AssignSub"]
    dumps |= of_another_framework(root)
    dumps["files of kernels"] = of_kernels(root)
    return {name: bind_both(*both) for name, both in dumps.items()}


def of_kernels(root):
    """Kernels without a graph and goldens of outputs alone: an expansion, and one that computes several nodes."""
    a, b, c = np.random.default_rng(1).standard_normal((3, 4, 5)).astype(np.float32)
    calls = [
        Call("conv", (c,), c),
        Call("conv_BiasAdd", (c,), a, "BiasAdd"),
        Call("sum_LayerNorm", (a,), b, "LayerNorm"),
    ]
    golden = {"conv": a, "same": a, "sum": b}
    return save_calls(root / "calls", calls), save_golden(root / "outputs", golden)


GROUP = Match(*(("Default_MatMul-op0", "Default_ReLU-op0"),) * 2)
PAIR = Match(("Default_MatMul-op0",), ("Default_MatMul-op1",))
BY_HAND = {
    "nothing": NO_OVERRIDES,
    "a group": Overrides((GROUP,)),
    "a pair": Overrides((PAIR,)),
    "the first of two": Overrides((Match(("conv",), ("conv",)),)),
}


OF_NETWORK = {"Default_MatMul-op0": "Default_ReLU-op0", "Default_ReLU-op0": "Default_MatMul-op0"}
"""Operators of the target whose files say that their output is another one's."""


def paired(bound, overrides=NO_OVERRIDES):
    """What is paired by which rule, and what is skipped for which reason."""
    found = module.pair_tensors(*bound, Selection(overrides=overrides))
    pairs = sorted(
        (p.target.key, p.golden.key, p.rule, p.score) for p in found.pairs
    )  # the order of the pairs is that of the rules, and tells nothing
    skips = [
        sorted((s.name, s.reason) for s in found.skips.of(side)) for side in ("target", "golden")
    ]
    return pairs, skips


CASES = {
    ("groups of the user", "tensors of the network"): ("names", "a group"),
    ("pairs of the user", "ends of expansions"): ("files of kernels", "the first of two"),
    ("ends of expansions", "file names"): ("files of kernels", "nothing"),
    ("wired by bytes", "enclosed by fused kernels"): ("files of kernels", "nothing"),
    ("enclosed by fused kernels", "copies"): ("files of kernels", "nothing"),
    ("fused kernels", "floats of quantized layers"): ("integers", "nothing"),
    ("joined names", "nearest values"): ("files of nodes", "nothing"),
    ("nearest values", "wired by bytes"): ("files of tensors", "nothing"),
    ("same values", "producers"): ("a model", "nothing"),
    ("producers", "groups"): ("a model in groups", "nothing"),
}
"""Neighbors → dumps and map file that both apply to; files of "names" say of their outputs what is `OF_NETWORK`."""

NEEDS = "one is for executions that have graphs, the other for those that have none"
INDEPENDENT = {
    (
        "integers of files",
        "quantized inputs",
    ): "one is for graphs of the target's own that quantize, the other for targets without such a graph",
    ("quantized inputs", "groups of the user"): NEEDS,
    (
        "tensors of the network",
        "pairs of the user",
    ): "files say nothing of operators that the user pairs",
    (
        "file names",
        "short names",
    ): "equal names end alike, so that neither of a longer pair has an end of its own",
    (
        "short names",
        "joined names",
    ): "another framework's files know no types, which short names need",
    ("copies", "matches"): NEEDS,
    ("matches", "fused kernels"): "an operator is matched or a member of a kernel, never both",
    (
        "floats of quantized layers",
        "updated weights",
    ): "what quantizes, or lies in such a layer, updates nothing",
    ("updated weights", "same values"): "what an operator writes over stands for no other tensor",
    (
        "groups",
        "what one side cannot have",
    ): "members of groups are neither inserted nor matched with anything",
}
"""Neighbors that never decide of the same tensor → why."""


def swapped(names):
    rows = list(module.PAIR_RULES)
    first = [rule.name for rule in rows].index(names[0])
    assert rows[first + 1].name == names[1]
    rows[first : first + 2] = reversed(rows[first : first + 2])
    return tuple(rows)


def test_every_two_neighbors_have_a_case_or_a_reason_why_they_need_none():
    names = [rule.name for rule in module.PAIR_RULES]
    assert [*pairwise(names)] == [
        one for one in pairwise(names) if one in CASES.keys() ^ INDEPENDENT.keys()
    ]
    assert len(names) - 1 == len(CASES) + len(INDEPENDENT)


@pytest.mark.parametrize("names", CASES, ids=" before ".join)
def test_the_order_of_two_neighbors_decides(names, bound, monkeypatch):
    dumps, by_hand = CASES[names]
    ours = bound[dumps][0].dump.records
    said = {
        id(one): (OF_NETWORK[one.key.op_name], 0) for one in ours if one.key.op_name in OF_NETWORK
    }
    monkeypatch.setattr(origins, "_origin", lambda record: said.get(id(record)))
    usual = paired(bound[dumps], BY_HAND[by_hand])
    monkeypatch.setattr(module, "PAIR_RULES", swapped(names))
    assert paired(bound[dumps], BY_HAND[by_hand]) != usual


@pytest.mark.parametrize("names", INDEPENDENT, ids=" before ".join)
def test_any_order_of_two_that_exclude_each_other_pairs_the_same(names, bound, monkeypatch):
    for dumps, by_hand in ((one, other) for one in bound for other in BY_HAND.values()):
        with monkeypatch.context() as patch:
            usual = paired(bound[dumps], by_hand)
            patch.setattr(module, "PAIR_RULES", swapped(names))
            assert paired(bound[dumps], by_hand) == usual


@pytest.mark.parametrize("dumps", ["graphs", "optimizers", "halves", "kernels", "integers"])
def test_an_operator_is_matched_or_a_member_of_a_kernel_or_group(dumps, bound):
    """What makes the order of three rules indifferent."""
    for one in module.pair_tensors(*bound[dumps]).alignments.values():
        members = {n for some in (*one.groups, *one.fusions) for n in some.target}
        assert not members & one.match_of.keys()
