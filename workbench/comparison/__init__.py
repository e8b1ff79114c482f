"""Layer 4: two dumps in, one result out.

In: two `Dump` values, what the user selected, a profile (`engine.compare_dumps`). Out: `engine.Compared`: the
`result.Result` that users see, the walk and the origins of errors. Every room is one stage; each takes frozen values
and returns one, and imports from earlier rooms only.
Added here: nothing but rooms; what is added in which room, its face says, and ``docs/architecture.md`` for all.
"""
