"""Which elements of a pair nobody has to compare.

In: pairs. Out: `Regions` and `LeftOut`, conditions on their elements. find.py follows what a document or the map file
calls undefined (regions.py: where it lies, spread.py: what operators make of it); masked.py and unchosen.py find what
nothing comes of, in pairs that differ: one class each, asked by `workbench.comparison.measure`.
"""
