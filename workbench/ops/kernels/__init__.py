"""NumPy in, NumPy out: what each operator computes, in the precision of its inputs.

A kernel takes the tensors in order and the settings it needs by name; it returns one array, or a list of them, and
after its outputs what it leaves in the inputs that it overwrites. It knows nothing of the number formats of a device.
"""
