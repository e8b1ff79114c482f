"""ONNX models as graphs of dialect ``onnx``: names, edges, types and attributes as the model has them.

In: a model that nobody vouches for, of any operators. Out: a `Graph` whose weights are read when they are asked for
(`tensors.OnnxTensor`, with the extra ``[onnx]``). `workbench.network.onnx` makes operators of ours of it.
What is read of a node is added in `model`, what exporters keep of the source in `source`.
"""
