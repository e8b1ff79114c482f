"""What ``workbench compare`` prints of a result, line by line, and what it exits with."""

import pytest

import workbench as wb
from kit.build.sample_results import make_finding, make_result, make_row
from kit.commands import run
from workbench.cli.compare import _status, summary
from workbench.comparison.result import Anomaly, Coverage, NotDeterministic, OverrideUse
from workbench.core.words import Message
from workbench.network.models import load_graph

NAME = "Default/net/Conv2D-op0"
FOUND = Message("cli/finding", number=1, kind="attribute", name=NAME)


def lines(**changes):
    """What is printed between the coverage of both sides and the verdict."""
    _, _, *found, verdict = summary(wb.Comparison(make_result(**changes)))
    assert verdict.code == "cli/verdict"
    return found


def at(*places):
    """Rows of these ranks and iterations."""
    return tuple(make_row(rank=rank, iteration=iteration) for rank, iteration in places)


def anomaly(kind, side="target", name="net"):
    return Anomaly(side, kind, name, "detail")


def of_kind(count, side, kind):
    return Message("cli/anomaly-kind", count=count, side=side, kind=kind)


def runs_differ(error):
    return NotDeterministic(NAME, "Conv2D", 0, 0, 0, 0, error)


LINES = {
    "nothing": ({}, []),
    "a finding where there is one iteration and rank": (
        {"findings": (make_finding(evidence=()),), "rows": at((0, 0))}, [FOUND],
    ),
    "one of several iterations": (
        {"findings": (make_finding(evidence=(), iteration=1),), "rows": at((0, 0), (0, 1))},
        [Message("cli/finding-when", said=FOUND, parts=[Message("cli/finding-iteration", iteration=1)])],
    ),
    "one of several ranks": (
        {"findings": (make_finding(evidence=(), rank=1),), "rows": at((0, 0), (1, 0))},
        [Message("cli/finding-when", said=FOUND, parts=[Message("cli/finding-rank", rank=1)])],
    ),
    "a model of several": (
        {"anomalies": (anomaly("model"),)},
        [
            Message("cli/model", side="target", name="net", detail="detail"),
            Message("cli/anomalies", count=1, kinds=[of_kind(1, "target", "model")]),
        ],
    ),
    "what devices reported": (
        {"anomalies": (anomaly("overflow"), anomaly("overflow", name="other"), anomaly("slices", "golden"))},
        [
            Message("cli/anomalies", count=3, kinds=[
                of_kind(2, "target", "overflow"), of_kind(1, "golden", "slices"),
            ]),
            *(f"  {Message('cli/anomaly', side='target', name=name, detail='detail')}" for name in ("net", "other")),
        ],
    ),
    "entries of the map file": (
        {"overrides": (OverrideUse("ignore", "*ReLU*", "", 4, 8), OverrideUse("ignore", "nobody", "", 0, 0))},
        [
            Message("cli/override", kind="ignore", what="*ReLU*", tensors=8),
            Message("cli/override-unused", kind="ignore", what="nobody", tensors=0),
        ],
    ),
    "an envelope": ({"facts": {"envelope": "below"}}, [Message("cli/envelope-said", said="below")]),
    "other runs, the worst first": (
        {"facts": {"repeats": "two"}, "not_deterministic": (runs_differ(1e-6), runs_differ(1e-3))},
        [
            Message("cli/repeats", said="two"),
            *(f"  {Message('cli/repeat-operator', op_type='Conv2D', op_name=NAME, error=by)}" for by in (1e-3, 1e-6)),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
def test_lines_of_a_result(case):
    changes, expected = LINES[case]
    found = lines(**changes)
    below = [one for one in found if isinstance(one, str) and one.startswith("     ")]
    assert [one for one in found if one not in below] == expected  # without advice and source


def test_a_defect_has_its_line_evidence_and_advice():
    found = lines(findings=(make_finding(evidence=("first", "second")),))
    assert found[0] == FOUND
    assert "     first" in found
    assert found.index("     first") < found.index("     second")
    assert found[-1] == f"     {Message('cli/next', advice=make_finding().advice)}"
    informative = lines(findings=(make_finding(kind="info", evidence=()),))
    assert not any("next" in str(one) for one in informative[1:])


def test_long_lists_are_cut():
    many = lines(anomalies=tuple(anomaly("overflow", name=str(n)) for n in range(30)))
    assert len(many) == 1 + 10
    used = tuple(OverrideUse("ignore", str(n), "", 1, 1) for n in range(30))
    assert len(lines(overrides=used)) == 10


def test_the_coverage_of_each_side_has_its_own_reasons():
    skipped = {"target:inserted": 3, "target:const": 1, "golden:fused": 4}
    cover = Coverage(5, 1, 2, skipped, shared=2)
    target, golden, _ = summary(wb.Comparison(make_result(coverage=cover)))
    said = [one.values["said"].values for one in (target, golden)]
    counts = [(one["matched"], one["unmatched"], one["skipped"]) for one in said]
    assert counts == [(5, 1, 4), (3, 2, 4)]
    reasons = [(one.values["count"], one.values["reason"]) for one in target.values["reasons"]]
    assert reasons == [(3, "inserted"), (1, "const")]


@pytest.mark.parametrize(("verdict", "partial", "status"), [
    ("pass", False, 0), ("warn", False, 0), ("fail", False, 1), ("incomplete", False, 3),
    ("inconclusive", False, 3), ("warn", True, 2), ("incomplete", True, 2), ("fail", True, 1),
])  # fmt: skip
def test_the_verdict_decides_the_status(verdict, partial, status):
    assert _status(wb.Comparison(make_result(verdict=verdict, partial=partial))) == status


STAGES = "read bind pair forecast measure result total"
ALL_STAGES = "read bind pair forecast measure replay follow explain judge find result total"


@pytest.mark.parametrize("json", [[], ["--json", "-"]])
@pytest.mark.parametrize(("faults", "stages"), [([], STAGES), (["nan-output:*ReLU*"], ALL_STAGES)])
def test_the_time_of_each_stage_is_told_beside_the_result(tmp_path, capsys, json, faults, stages):
    form, graph = wb.config.new("mindspore-o0o1"), load_graph("mlp")
    golden, target = (
        str(wb.simulate(graph, None, form, tmp_path / name, device="a2", faults=some))
        for name, some in (("golden", []), ("target", faults))
    )
    plain = run(capsys, "compare", target, golden, *json)
    timed = run(capsys, "compare", target, golden, *json, "--profile-time")
    assert plain.status == timed.status == bool(faults)
    assert (timed.out, plain.err) == (plain.out, "")
    told = (line.removesuffix(" s").split(": ") for line in timed.err.splitlines())
    names, times = zip(*told, strict=True)
    assert names == tuple(stages.split())
    assert float(times[-1]) == pytest.approx(sum(map(float, times[:-1])), rel=0.1)
