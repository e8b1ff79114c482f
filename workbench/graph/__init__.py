"""Graphs as values, in MindSpore's primitive vocabulary, however they were made.

In: operators, parameters and constants of whoever reads or traces them. Out: `Graph` with its operators, and
control flow between several; `GraphBuilder` makes another graph of one.
A fact of every operator is a field of `graph.Op`; what follows from its type stands in `ops`.
"""
