"""pyACL on a simulated NPU: the interface by which a program runs models and operators, and dumps them.

In: calls of `AscendCL`, models that were written with `workbench.simulation`, an ``acl.json``.
Out: return codes as CANN's, outputs, and dump trees.
Added here: a call in `api`, its errors in `errors`; what of an ``acl.json`` takes effect when in `dump_state`.
"""
