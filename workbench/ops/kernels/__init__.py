"""NumPy in, NumPy out: what each operator computes, in the precision of its inputs.

In: the tensors in order, and by name the settings that a kernel needs. Out: one array or a list of them, and
after its outputs what it leaves in the inputs that it overwrites.
A kernel knows nothing of the number formats of a device. It is added beside its family, and named by its row.
"""
