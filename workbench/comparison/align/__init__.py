"""Operators of one graph find their partners in the other.

In: two graphs and the user's map file. Out: a frozen `alignment.Alignment` (`align.align`): matches with rule and
score, groups, fusions, and which values correspond; `differences` says what two matched operators do otherwise.
Added here: a way to match is a row of `align.MATCHERS`, what it goes by and how sure that is a row of
`rules.MATCH_RULES`, and a case for its place among its neighbors one of ``test_matchers``.
"""
