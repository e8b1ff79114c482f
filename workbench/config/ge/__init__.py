"""What every dump of the graph engine shares, whichever surface asks for it.

In: options of a session, texts of steps, the environment.
Out: rules on options as rows (`options.ROWS`), iterations and their texts (`steps`), parts of plans (`plans`).
Added here: a check of GE in `options`; a surface takes its rows with `rules_of`.
"""
