"""Graphs of MindSpore: ``.ir`` text of every release, and the debugger's ``.pb``.

In: a file, or a graph to be written as MindSpore would. Out: a `Graph`, text or bytes.
`releases` lists how releases spell things, `resolve` finds what names and numbers mean.
A spelling of a release is a row in `releases`.
"""
