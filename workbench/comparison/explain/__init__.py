"""Explain where errors begin: what kind of fault it looks like, or who wrote over what was read.

In: the walk (`workbench.comparison.follow`), with its convictions and what replay knows. Out:
`explain_origins(flow) -> Origins` (explainers.py, origins.py), a value of its own: the walk stays as it is. One
operator on trial: `explain(trial) -> list[Explanation]` (explain.py), from guesses that `Evaluation` (case.py) weighs.
To add a kind of fault: a row in table.py and its function in hypotheses/, its words in
`workbench.core.words.compare_faults`. To add another way to explain an origin: a row in explainers.py.
"""
