"""Layer 8: the face in Jupyter. Widgets over plain objects; nothing below imports this.

In: what the user clicks and types. Out: panels, and `Workbench`, whose every step is Python that can be copied.
`bench` holds what a workbench knows, without any widget; `widgets` what panels are made of; `parts` the panels of the
workbench; `shell` puts them into tabs. A new panel is a module of `parts` and a line of `shell`.
"""
