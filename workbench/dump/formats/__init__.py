"""Formats of dump files, one module each: names, where the bytes of a tensor lie, how they are written."""
