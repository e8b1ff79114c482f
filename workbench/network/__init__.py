"""Networks, written in Python or read from ONNX, as graphs.

In: a Cell with its inputs (`tracer.trace`), a name, a script or a model (`models.load_graph`). Out: a `Graph`,
or a `ControlFlow` of several. `nn` has the layers, `models` the examples, `onnx` the converters.
A layer is added in `nn/`, a network in `models/networks.py`, an ONNX operator in `onnx/table.py`.
"""
