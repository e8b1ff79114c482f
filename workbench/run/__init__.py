"""Executors: a plan of a graph, operators one after the other, and the exact NumPy reference.

In: a `Graph` and feeds. Out: a stream of `TensorRecord`, in the order in which operators run.
`executor` runs a plan with any arithmetic, `reference` with exact one; `ranks` lets several processes meet.
What an operator computes is its kernel in `ops.kernels`.
"""
