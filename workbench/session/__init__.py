"""What users hold: a comparison with all that can be asked of it, and the files that it is written to and read from.

In: two dumps (`compare.compare`), or a result that was written here or by another tool (`foreign.read_result`).
Out: a `comparison.Comparison`, its report, the form that dumps its suspects again, parquet, the code that makes it.
Added here: a method of `Comparison` whose work is a module beside it; a layout of foreign results in `foreign`.
"""
