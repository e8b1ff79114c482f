"""Settings in Python source, read without running it.

In: the text of a script.
Out: its tree and what names and expressions are (`literals`, `texts`), statements with their branches (`statements`),
what they assign (`bindings`), and values as source (`write`).
Added here: what a script may do to a setting, once for every surface.
"""
