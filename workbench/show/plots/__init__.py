"""Figures of a comparison, of one operator and of a small graph, made without pyplot.

In: results, rows, elements of a tensor. Out: matplotlib's figures, or SVG that is the same every time.
``series`` says what is drawn, ``divergence`` and ``operator`` draw it, ``graph_picture`` places nodes.
A new figure is a function beside these, with the texts of its axes in `workbench.core.words.show`.
"""
