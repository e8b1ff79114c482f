"""What the forms of every surface have in common: settings of some kinds, read and judged.

In: declarations (`settings`, `kinds`), rules as rows (`rules`), decoded data (`json_text`).
Out: a typed form and the problems of its values (`reader.Reader`), and those that a row finds (`rules.Rule`).
Added here: a kind of value in `kinds`; what a row may look at in `rules`.
"""
