"""The simulated NPU: what a device makes of a graph, in its own number formats, orders and memory.

In: a `Graph`, a device and its settings. Out: a compiled `Program` and the tensors that its run leaves.
`profiles` has a row for each device, `compile/` the compiler's passes, `faults/` what can go wrong.
Its arithmetic shares no matrix product with the reference in `run/`.
"""
