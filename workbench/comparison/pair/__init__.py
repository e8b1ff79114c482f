"""Tensors of one side find their partners on the other.

In: two bindings and what the user selected. Out: a `Pairing`, in which every tensor of a side is half of a pair,
unmatched or skipped with a reason; the bindings stay whole. A new way to pair is a row of `PAIR_RULES` (pair.py),
a new way to leave out is one of `Claims` (claims.py), which holds what grows and is gone when pairing is done.
Which elements of a pair are undefined is found in undefined/ once the pairs are known.
"""
