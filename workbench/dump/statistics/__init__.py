"""Statistics of tensors: tables of every writer.

In: text of a table, or an array. Out: rows by column title, the text of a table, or figures.
`dialects` names the columns of each writer; `parse`, `print` and `compute` read them from there.
A writer's table is added as a row in `dialects`.
"""
