"""MindSpore's dump configuration on Ascend (O0/O1, O2, GE), CPU and GPU: one form, five readings.

In: decoded data and the release that reads it, as a `MindSporeReading`.
Out: the five surfaces of `surfaces`, rows of functions and tables.
Added here: a setting in `settings`; a rule in a table of `rules_*`, with its surfaces; a note in `notes`.
"""
