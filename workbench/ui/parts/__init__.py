"""The panels of the workbench, one module each.

In: the `Workbench` that a panel follows. Out: a `part.Part`, whose code does in a cell what was clicked.
Panels know each other only by the workbench. Planes, rehearsals and pairs by hand are pieces of a panel of their own.
"""
