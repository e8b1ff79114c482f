"""Other runs of the target: how far its tensors differ from run to run, and which operators are not deterministic.

In: the target, other dumps of it, and the measured pairs of target and golden. Out: `runs.Repeats`, frozen: what is
said of every run, how far each tensor may be off, operators that are not deterministic.
Added here: a reason to refuse a run is a row of `runs.RUN_RULES`, a reason not to count an operator one of
`counting.COUNT_RULES`.
"""
