"""Rows of the operator table, one module a family: shape rules, gradients, then `ROWS`.

A type stands in one family only; `workbench.ops.table` merges them.
"""
