"""What somebody looks at in a comparison: rows that a filter leaves, their order, the selected one.

In: a result, names or indices. Out: `Look`, the one state of table, plot and panel, which can be observed, and
the rows that it leaves.
``narrow`` holds the rules of filters, ``kept_look`` a look by names, ``landmarks`` rows to go to first.
A new filter is a row of ``narrow.CHOICES``.
"""
