"""Executors: a plan of a graph, operators one after the other, and the exact NumPy reference."""
