"""msprobe's ``config.json``: calls and modules of PyTorch or MindSpore, dumped by ``PrecisionDebugger``.

In: decoded data and the framework that is debugged, as an `MsprobeReading`.
Out: `surface.PYTORCH` and `surface.MINDSPORE`, rows of functions and tables.
Added here: a setting in `settings`, a rule in a table of `rules`, a note in `notes`.
"""
