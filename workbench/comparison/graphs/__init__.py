"""What a comparison reads off one graph.

In: a `Graph`, whatever file it came from. Out: `view.GraphView` (values with casts looked through, readers, ancestry),
roles of operators and parameters, phases, quantization, the network behind a compiled graph, and dumps whose graphs
are one. Who looks through operators that only hand values on asks `traverse`, with its own set of types.
Added here: what a new question reads off a graph alone; a new kind of graph file needs nothing here.
"""
