"""Rows of the operator table, one module a family.

In: specs of tensors and settings (`Call`), or an operator to go back through (`Backward`). Out: specs of the
outputs, attributes, gradients.
A type is added to the `ROWS` of one family; `workbench.ops.table` merges them, and refuses a type in two.
"""
