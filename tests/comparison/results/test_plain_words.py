"""Sentences and evidence over faults of every kind: plain words, numbers that agree with their nouns."""

import re

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import Net, chain, on_disk, shoot
from kit.evidence import the
from kit.words import check_said
from workbench.comparison.explain.explain import UNEXPLAINED, Explanation
from workbench.core.words import Message
from workbench.session.compare import compare

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
BOTH = ["Default/MatMul-op0", "Default/MatMul-op1"]
NOISE = np.random.default_rng(5)
MACHINE = (
    r"\b1 (?!of\b)[a-z]+s\b(?! not\b)|\b0 (tensors|operators)\b|\binf (off|times)\b|\bnan (off|times)\b|unexplained"
    r"|less than 1 %|\bconfidence [0-4]?\d %|\b1e-0[0-9] %"
    r"|\bNone\b|\(s\)"
)
"""What no person would write: '1 tensors', '0 tensors', 'inf times'."""


def holes(array):
    array = array.copy()
    array.flat[3] = np.nan
    return array


ALTERED = {
    "scaled": lambda a: a * 1.5,
    "noise": lambda a: a + NOISE.standard_normal(a.shape).astype(a.dtype),
    "one hole": holes,
    "nothing but NaN": lambda a: a * np.nan,
    "zero": lambda a: a * 0,
    "half": lambda a: a.astype(np.float16).astype(a.dtype),
}


def told(found):
    """All that a comparison says in words."""
    yield found.sentence
    for finding in found.findings:
        yield from map(str, (*finding.evidence, finding.advice))
    yield from (str(row.reason) for row in found.rows)
    yield from (str(anomaly.detail) for anomaly in found.anomalies)
    yield from map(str, found.result.facts.values())


@pytest.mark.parametrize("name", ALTERED)
@pytest.mark.parametrize("culprits", [["Default/MatMul-op0"], BOTH])
@pytest.mark.parametrize("cut", [0, 1])
def test_nothing_reads_like_a_machine(tmp_path, name, culprits, cut):
    target = shoot(GRAPH, VALUES, alter=dict.fromkeys(culprits, ALTERED[name]))
    on_disk(tmp_path / "golden", shoot(GRAPH, VALUES), GRAPH)
    on_disk(tmp_path / "target", target[: len(target) - cut], GRAPH)
    found = compare(tmp_path / "target", tmp_path / "golden")
    assert [text for text in told(found) if re.search(MACHINE, text)] == []


def test_what_no_kind_of_fault_explains_is_called_so():
    all_wrong = Message("compare/pattern-all")
    said = Explanation(UNEXPLAINED, 0.0, 0.0, all_wrong, 1.0).said
    check_said(said, "compare/not-identified", text=all_wrong)


def test_what_is_likely_is_said_with_its_confidence_and_nothing_else():
    sign = Message("compare/fault-sign")
    said = Explanation("wrong-sign", 1.0, 1.0, sign, 0.93).said
    check_said(said, "compare/likely", kind="wrong-sign", text=sign, probability=0.93)
    assert Explanation("wrong-sign", 1.0, 1.0, sign, 0.49).said is None


def test_one_tensor_alone_is_one(tmp_path):
    net = Net()
    net.op("ReLU", net.op("Tanh", net.feed("x")))
    graph = net.graph()
    values = small.given(graph)
    on_disk(tmp_path / "golden", shoot(graph, values), graph)
    on_disk(tmp_path / "target", shoot(graph, values)[:-1], graph)
    findings = compare(tmp_path / "target", tmp_path / "golden").findings
    said = the([one for found in findings for one in found.evidence], "gap-at")
    assert str(said).startswith("1 tensor only in the golden: ")
