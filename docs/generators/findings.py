"""Kinds of findings, statuses, verdicts and match rules."""

from __future__ import annotations

from generators.markdown import code, page, prose, table
from workbench.comparison.align.rules import MATCH_RULES
from workbench.comparison.explain.symptoms import SYMPTOMS
from workbench.comparison.finding_kinds import CAUSE_ADVICE, KINDS
from workbench.core.words.render import template
from workbench.show.words import STATUSES, UNMATCHED, VERDICTS

INTRODUCTION = """\
A finding is one cause, or one fact worth knowing, with its evidence and the next step. Findings are sorted by
score: named differences before unexplained errors, earlier operators before later ones. A comparison fails if
one of them is a defect."""

SCORE = "*Score* is the score with full evidence; the score of `own-error` grows with its size up to 0.69."

CAUSES = """\
Of `own-error` and `non-finite`, where a likely cause is stated. Where replay finds the kernel correct, the next
step is to check the golden."""

STATUS = """\
Of one pair of tensors, the worst first. `unmatched` is said of a tensor without a pair, on screen, in the data frame
and in files (CSV, parquet)."""

SHOWN = {**STATUSES, UNMATCHED: "show/means-unmatched"}

SYMPTOM = """\
What is certain about a wrong output, whatever the cause: it follows from the output and what was expected alone. The
first of these that holds is reported, with its place (rows, columns, channels, a block, single elements); none if
nothing is certain. Likely causes, with their confidence, are a second statement:
[how they are found](../concepts/root-cause.md#local-error-what-explains-it)."""

VERDICT = """\
Of the whole comparison, the first that holds:

1. `fail`: any defect.
2. `inconclusive`: nothing could be compared, or the evidence is too weak.
3. `incomplete`: a network output, or a tensor that counts, was not compared ([coverage](coverage.md)).
4. `warn`: all that counts agrees, with a remark, such as a narrower number format.
5. `pass`: all that counts agrees."""

RULES = """\
How a match was made, in the order of trial. [Alignment](../concepts/alignment.md) explains them;
[measured quality](../evidence/alignment.md) lists precision and recall."""


def findings() -> str:
    """Return the page."""
    kinds = [
        (
            code(kind),
            "yes" if row.defect else "no",
            row.score,
            prose(row.meaning),
            prose(row.advice),
        )
        for kind, row in KINDS.items()
    ]
    return page(
        "Findings, statuses and match rules",
        INTRODUCTION,
        "## Finding kinds",
        SCORE,
        table(("Kind", "Defect", "Score", "Meaning", "Next step"), kinds),
        "## Symptoms",
        SYMPTOM,
        table(
            ("Symptom", "What is seen"), ((code(one), row.meaning) for one, row in SYMPTOMS.items())
        ),
        "### Next step by likely cause",
        CAUSES,
        table(
            ("Cause", "Next step"), ((code(one), prose(said)) for one, said in CAUSE_ADVICE.items())
        ),
        "## Statuses",
        STATUS,
        table(
            ("Status", "Meaning"),
            ((code(one), prose(template(text))) for one, text in SHOWN.items()),
        ),
        "## Verdicts",
        VERDICT,
        table(
            ("Verdict", "On screen"),
            ((code(one), prose(template(text))) for one, text in VERDICTS.items()),
        ),
        "## Match rules",
        RULES,
        table(("Rule", "Evidence"), ((code(one), row.meaning) for one, row in MATCH_RULES.items())),
    )
