"""Results: what a comparison comes to, and results of other tools.

In: the material of the findings and what was found. Out: `verdict.result_of` gives the `Result` with ledger, anomalies,
verdict, and `sentence.sentence`. `regrade` gives rows other statuses by thresholds of one's own. Another tool's table
is a row of `tables.layouts`.
"""
