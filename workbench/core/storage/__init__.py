"""Files that lie elsewhere: on storages that fsspec reads, and in archives.

In: a URL, or a path into an archive (`workbench.core.files.is_remote`). Out: listings and ranges of bytes, blocks of
which are kept for a while. Loaded with the first such path.
"""
