"""Words that stand in literal tables of the comparison: kinds of findings, rules of alignment, profiles, figures."""

from __future__ import annotations

from kit.words import SNAPSHOTS
from workbench.comparison.align.rules import MATCH_RULES
from workbench.comparison.finding_kinds import CAUSE_ADVICE, KERNEL_CORRECT, KINDS
from workbench.comparison.measure.metrics import METRICS, ON_DEMAND
from workbench.comparison.measure.profiles import PROFILES


def blocks():
    for kind, row in KINDS.items():
        yield f"finding {kind}", [row.meaning, row.advice]
    for cause, advice in CAUSE_ADVICE.items():
        yield f"advice {cause}", [advice]
    yield "advice of a correct kernel", [KERNEL_CORRECT]
    for rule, row in MATCH_RULES.items():
        yield f"rule {rule}", [row.meaning]
    for name, profile in PROFILES.items():
        yield f"profile {name}", list(filter(None, (profile.source, profile.apart)))
    for title, metric in (METRICS | ON_DEMAND).items():
        yield f"figure {title}", [metric.formula]


def test_the_snapshot_shows_every_row(pytestconfig):
    text = "\n".join("\n    ".join((name, *lines)) + "\n" for name, lines in blocks())
    path = SNAPSHOTS / "compare_tables.txt"
    if pytestconfig.getoption("update_words"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_advice_is_a_sentence_and_a_meaning_none():
    assert [kind for kind, row in KINDS.items() if not row.advice.endswith(".")] == []
    assert [kind for kind, row in KINDS.items() if row.meaning.endswith(".")] == []
