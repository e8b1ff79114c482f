"""Findings name an operator as its graph does, and as its files do where that differs."""

import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import Net, on_disk, shoot
from workbench.core.words import Message

NUMBERS = (2, 0, 1)
"""Ids of the graph in the order of the listing; files that are numbered anew have 0, 1, 2."""


def network():
    net = Net()
    value = net.feed("x", (4,))
    for number in NUMBERS:
        value = net.op("Tanh", value, name=f"Default/Tanh-op{number}", shape=(4,))
        value = net.op("Neg", value, name=f"Default/Neg-op{number}", shape=(4,))
    return net.graph()


def anew(name):
    stem, _, number = name.rpartition("-op")
    return f"{stem}-op{NUMBERS.index(int(number))}" if number.isdecimal() else name


def dumped(root, rename, **more):
    graph = network()
    shots = shoot(graph, small.given(graph), **more)
    return on_disk(root, [shot._replace(name=rename(shot.name)) for shot in shots], graph)


@pytest.mark.parametrize(("rename", "told"), [(str, None), (anew, "Default/Tanh-op1")])
def test_a_finding_has_both_names_of_a_renumbered_operator(tmp_path, rename, told):
    spoilt = {"Default/Tanh-op0": lambda array: array + 0.5}
    result = wb.compare(
        dumped(tmp_path / "t", rename, alter=spoilt), dumped(tmp_path / "g", rename)
    )
    (finding,) = [one for one in result.findings if one.defect]
    assert finding.op_name == "Default/Tanh-op0"
    said = [
        one
        for one in finding.evidence
        if isinstance(one, Message) and one.code == "compare/file-number"
    ]
    assert said == ([] if told is None else [Message("compare/file-number", name=told)])
