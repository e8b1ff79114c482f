"""The compiler of the simulated device: passes over a graph, and the program that they end in.

In: a `Graph` and a `Target`. Out: a `Program`, with the graph after each stage that the graph engine dumps.
A pass is a function from `Module` to `Module` and a row of `pipeline.PASSES`: its stage, its condition, why there.
A fusion is a row of `fusions.FUSIONS`.
"""
