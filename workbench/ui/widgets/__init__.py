"""What panels are made of: boxes, inputs, alerts, the explorer, and what stays of them without a kernel.

In: plain values and callbacks. Out: ipywidgets; those of `live` need anywidget, `native` decides whether they or
the ones of `plain` are shown. A new widget comes with both, and with what a page without widgets shows of it.
"""
