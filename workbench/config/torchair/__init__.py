"""torchair: dump options of a graph compiled for the NPU, set in a Python script.

In: the text of a script (`script`), and the release that reads the form, as a `TorchairReading`.
Out: `surface.TORCHAIR`, a row of functions and tables.
Added here: a setting in `settings`, a rule in `rules`, one on the text in `script`.
"""
