"""What each rule of the alignment goes by: one table for documents, tables and panels."""

from __future__ import annotations

from workbench.core.words import Message

MATCH_RULES: dict[str, str] = {
    "map": "matched by your map file",
    "fusion": "compiled kernel: the graph engine names the network operators that it stands for",
    "name": "same name and same upstream graph",
    "structure": "same upstream graph",
    "topology": "matched neighbors, weights, source line, scope and shape agree",
    "again": "recomputation: one operator matches several",
    "group": "remaining operators of both sides that replace each other",
    "stretch": "remaining operators of both sides whose inner pairing is unknown",
    "file-name": "no graph on either side; same file name",
    "short-name": "no graph on either side; same short name and type",
}
"""Rule → evidence, in the order in which they claim. Other rules are names of tools that made the pairs."""


def rule_meaning(rule: str) -> str | Message:
    """Say what a rule goes by; of another tool's pairs, that they are its own."""
    known = MATCH_RULES.get(rule)
    if known is not None:
        return known
    return Message("compare/rule-of-tool", rule=rule) if rule else Message("compare/rule-none")
