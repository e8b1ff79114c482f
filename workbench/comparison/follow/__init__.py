"""Errors are followed through the data flow to where they begin.

Comes in: a `Pairing`, its measures and own errors by replay. Goes out: a frozen `Trace` (`trace`): one `Assessment` an
operator with the rule that decided, and what its inputs carry; `judge` makes rows of it.
To add a rule: a row in a table of `inputs`, `operators`, `in_time.rules` (executions without a graph) or `masking`, a
case for it and its neighbors in ``tests/comparison/follow/test_rules.py``, and its sentence
(`workbench.core.words.compare`).
What a rule asks is worked out in `facts`; what it leaves for later operators it learns into `carry`.
"""
