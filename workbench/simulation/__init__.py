"""Run networks on a simulated device, or on the reference, and write the tree of their dump.

In: networks, what feeds them, a form or plan, device and seed.
Out: a folder as the vendor's software leaves it (`simulate`), or two of them to compare (`pair.dump_both`).
Added here: what several networks of one process share (`process`), ranks (`ranks`), what the device reports
(`events`). Who writes a surface's tree is a row of `workbench.core.writers`.
"""
