"""Files that hold no tensors alone: overflow records, dumps of exceptions, cores of the device, arguments of kernels.

In: the bytes of a file, or what a device reported. Out: frozen records, or the bytes that a vendor would write.
Fields are tables of words and widths, one a vendor's structure.
A kind of report is added as a module here, and a row in `formats.table.FILE_FORMATS`.
"""
