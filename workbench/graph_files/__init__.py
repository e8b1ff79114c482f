"""Graph files of every vendor, behind one door that is told by content.

In: a file that nobody vouches for. Out: a `Graph`, or a FormatError with its byte, line or caret.
`formats.read_graph` is the door; `look` reads the first 64 KiB that the rows of `GRAPH_FORMATS` decide by.
A format is added as a module here, or in the folder of its vendor, and a row in `GRAPH_FORMATS`.
"""
