"""What every kind of finding is worth, and what to do about it."""

from __future__ import annotations

CERTAINTY = {
    "attribute": 0.98,
    "parameter": 0.95,
    "input": 0.95,
    "constant": 0.95,
    "overwritten": 0.95,
    "structure": 0.9,
    "shape": 0.9,
    "ended": 0.9,
    "overflow": 0.9,
    "underflow": 0.9,
    "rank": 0.8,
    "non-finite": 0.65,
    "own-error": 0.5,
    "precision": 0.3,
    "changed-memory": 0.25,
    "cut-short": 0.25,
    "info": 0.2,
    "unmatched": 0.1,
}
"""Kind → score of a finding with full evidence. An own error gains with its size, up to 0.69."""

ADVICE = {
    "attribute": "make the setting the same on both sides and run the target again",
    "parameter": "give both sides the same checkpoint and hyper-parameters and compare again",
    "input": "feed both runs the same data and compare again",
    "constant": "compare how the two programs build this constant",
    "structure": "compare the two programs at this source line",
    "shape": "compare the operator's attributes and input shapes at this source line",
    "overwritten": "look at what this operator writes beyond its output, and at the sizes it was compiled for",
    "changed-memory": "dump the graph, too (DUMP_GE_GRAPH), or name it: memory that nobody needs is used again",
    "ended": "look at the device's log for what failed here, and ask for an exception dump of the operator",
    "cut-short": "look at the log of the run, or dump all operators; expected if a list chose them",
    "overflow": "lower the loss scale, or let it follow overflows",
    "underflow": "raise the loss scale",
    "non-finite": "look at the operator's inputs for values outside the range of its number format",
    "rank": "compare this rank with a golden run; look at its device and its links",
    "own-error": "run this operator alone with the target's inputs, in higher precision",
    "precision": "expected when the runs use different number formats; no action",
    "unmatched": "dump the same operators on both sides to compare them too",
    "info": "no action unless the operator's outputs are in doubt",
}

NAMED = 0.7
"""Findings from this score on name a difference; they come before unexplained errors."""
