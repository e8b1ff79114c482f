"""Graphs of the graph engine: its text, binary models, ``.om``, ATC's JSON and the text of its ONNX files.

In: a file, or a graph to be written as GE would. Out: a `Graph` with GE's fields, or text.
`schema` declares the messages once for all encodings; `lower` gives any graph GE's fields.
An operator type that GE never dumps is a row in `silent_ops`.
"""
