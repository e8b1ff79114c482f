"""Findings: what is wrong, where, and what to do.

In: a frozen `material.Material`, all that the stages before have learned. Out: `find.find` gives ranked findings and
what the golden shows of their kind, its anomalies; nothing of what comes in is changed. A new source of findings is a
row of `find.FINDERS`; what says a finding better once all are known is a row of `find.REFINEMENTS`; a new kind is a
row of `workbench.comparison.finding_kinds.KINDS`. A finding is made by `material.finding(kind, place, evidence)`.
"""
