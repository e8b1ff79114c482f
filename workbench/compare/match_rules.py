"""What each rule of the alignment goes by: one table for documents, tables and panels."""

from __future__ import annotations

MATCH_RULES: dict[str, str] = {
    "map": "your map file says so",
    "fusion": "the graph engine says which operators of the network this kernel stands for",
    "name": "the whole ancestry down to the parameters is the same, and so are the full names",
    "structure": "the whole ancestry down to the parameters is the same",
    "topology": "matched neighbours, weights, source line, scope and shape agree",
    "again": "one side computes more than once what the other computes once",
    "group": "leftovers of both sides that stand for each other",
    "stretch": "leftovers of both sides, of which it is not known who stands for whom",
    "file-name": "no graph on either side; the files carry the same name",
    "short-name": "no graph on either side; the files carry the same short name and type",
}
"""Rule → evidence, in the order in which they claim. Other rules are names of tools that made the pairs."""


def rule_meaning(rule: str) -> str:
    """Say what a rule goes by; of another tool's pairs, that they are its own."""
    return MATCH_RULES.get(rule, f"paired by {rule}" if rule else "no rule claims it")
