"""Dump trees, written or foretold by the same generators.

In: records of a run (without data: a preview), a plan and a target. Out: frozen `NewFile` values, one a file.
`plan_files.save` writes them into a new folder, `forecast.forecast` sums them up.
A surface's writer is a row in `trees.FILES_OF`.
"""
