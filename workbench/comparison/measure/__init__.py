"""The error of each pair of tensors.

In: a pairing and the errors against a forecast. Out: `Measures`: every pair with its divergence, the metrics of all in
one array, and the pairing with its records as they were measured; what cannot be measured becomes a reason, never an
exception. A new figure is a row of `METRICS` and a value of `finish` (metrics.py).
"""
