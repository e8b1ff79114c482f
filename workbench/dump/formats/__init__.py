"""Formats of dump files, one module each: the grammar of its names, where the bytes of its tensors lie.

In: a name (`table.parse_name`), or a file. Out: a `FileName`, or an `Extent` for each tensor, from headers alone.
Sizes that a file states are checked against the file before anything is allocated.
A format is added as a module here and a row in `table.FILE_FORMATS`.
"""
