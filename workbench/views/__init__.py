"""A close look at what a comparison found, as values that show themselves: operator, match, source; and at one dump.

In: an `index.Compared`: rows, findings, what the walk learned; or a dump.
Out: `operator.OperatorView`, `match.MatchView`, `source_map.SourceMap`, `dump.inspect_dump`; worked out on request.
Added here: a section of an operator in `render` with its template, and the property of `operator` that it shows.
"""
