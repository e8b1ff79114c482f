"""What each rule of the alignment goes by, and how sure it is: one table for matchers, documents, tables and panels."""

from __future__ import annotations

from typing import Literal

from workbench._values import NamedTuple
from workbench.core.words import Message

Tier = Literal["sure", "stated", "likely", "loose"]
"""How far a match can be doubted.

``sure``    nothing else could be meant
``stated``  the graph engine says so, of kernels that do more than one operator
``likely``  evidence was weighed
``loose``   no operator has the other one as its only partner: slots say nothing, only values at the edges
"""


class MatchRule(NamedTuple):
    """A rule: what it goes by, the score of its matches, 0 to 1 (the most, where evidence is weighed), and its tier."""

    meaning: str
    score: float
    tier: Tier


MATCH_RULES: dict[str, MatchRule] = {
    "map": MatchRule("matched by your map file", 1.0, "sure"),
    "fusion": MatchRule(
        "compiled kernel: the graph engine names the network operators that it stands for",
        1.0,
        "stated",
    ),
    "name": MatchRule("same name and same upstream graph", 1.0, "sure"),
    "structure": MatchRule("same upstream graph", 1.0, "sure"),
    "topology": MatchRule(
        "matched neighbors, weights, source line, scope and shape agree", 0.99, "likely"
    ),
    "again": MatchRule("recomputation: one operator matches several", 0.9, "loose"),
    "group": MatchRule("remaining operators of both sides that replace each other", 0.6, "loose"),
    "stretch": MatchRule(
        "remaining operators of both sides whose inner pairing is unknown", 0.3, "loose"
    ),
    "value": MatchRule(
        "same value: an output in one dump, in the other the input that reads it", 0.95, "likely"
    ),
    "producer": MatchRule(
        "golden of an input: output of its producer (the golden has outputs only)",
        0.95,
        "likely",
    ),
    "joined-name": MatchRule(
        "no graph on both sides; the fused kernel's name joins names of golden operators",
        0.9,
        "likely",
    ),
    "expanded-name": MatchRule(
        "no graph on both sides; last of the kernels that are called after one golden operator",
        0.9,
        "likely",
    ),
    "nearest": MatchRule(
        "no common name; nearly the same values, and no other tensor of this shape comes near",
        0.7,
        "likely",
    ),
    "file-name": MatchRule("no graph on either side; same file name", 1.0, "sure"),
    "short-name": MatchRule("no graph on either side; same short name and type", 0.7, "likely"),
}
"""Rule → evidence, in the order in which they claim. Other rules are names of tools that made the pairs."""

VALUE = "value"
"""Rule of tensors that are one value under different slots."""

PRODUCER = "producer"
"""Rule of inputs whose golden is the output of who produced them."""

JOINED, EXPANDED, NEAREST = "joined-name", "expanded-name", "nearest"
"""Rules of outputs of another framework: by a name that is several, or the begin of several, and by values."""

MAP = "map"
"""Rule of pairs that the map file makes."""

AGAIN = "again"
"""Rule of operators that repeat what an aligned one has computed."""


def rule_meaning(rule: str) -> str | Message:
    """Say what a rule goes by; of another tool's pairs, that they are its own."""
    known = MATCH_RULES.get(rule)
    if known is not None:
        return known.meaning
    return Message("compare/rule-of-tool", rule=rule) if rule else Message("compare/rule-none")
