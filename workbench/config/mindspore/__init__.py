"""MindSpore's dump configuration on Ascend (O0/O1, O2, GE), CPU and GPU: one form, five readings."""
