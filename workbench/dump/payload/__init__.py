"""Elements of tensors, whatever file they lie in.

In: an `Extent`, which says where bytes lie and how. Out: an array, or its elements piece by piece.
`host_layout.with_host` is the only place that knows in which host format a device's tensor was meant.
A host format is added to `HOSTS` there.
"""
