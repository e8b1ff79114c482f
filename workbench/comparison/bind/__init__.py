"""Files of a dump become tensors of operators.

In: a `Dump` (or two: `borrow.bind_both`). Out: a frozen `binding.Binding`: executions, operator runs with their
tensors, what was skipped, and which tensors are distrusted; of its memory, `memory` tells what was written over.
Added here: a way to name files is a row of `bind.NAMING_RULES`, a way in which tensors are not what they say one of
`anomalies.ANOMALY_RULES`.
"""
