"""Dump trees: read, written, foretold and converted.

In: a folder that nobody vouches for (`reader.load`), or records and a plan (`write`). Out: a `Dump`, or a tree.
Names and headers are read at once, elements when somebody asks (`payload`).
A layout of folders is a row in `layouts.LAYOUTS`, a format of files one in `formats.table.FILE_FORMATS`.
"""
