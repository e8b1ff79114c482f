"""Guesses at what an operator did wrong, a function for every kind of fault.

In: an `Evaluation` of an operator on trial. Out: `Candidate` values, each with what the operator gives if it has the
fault; whoever asks scores them. What a function applies to, and when it is asked, stands in its row of
`workbench.comparison.explain.table`.
"""
