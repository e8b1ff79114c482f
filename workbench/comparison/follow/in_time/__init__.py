"""Executions without a graph: the order of time stands in for the data flow, and equal bytes for its edges.

Comes in: a `Survey`. Goes out: one `Assessment` an operator (`visit`).
What feeds what is inferred from the golden (`workbench.comparison.bind.wiring`): its tensors with equal bytes. The
unit that computes, and with it the floor, is that of the operator's type as files name it. Where the evidence stays
weak an operator is *undecided*: neither agreed nor an origin.
"""
