"""What a configuration will write of a graph, and what it will not, before any run.

In: a form that its vendor accepts, and a graph, its name, or a dump folder that holds one.
Out: a `forecast.Preview`: files with bytes, matches of the operator list, notes, and why a figure is no more than near.
Added here: a note in `preview`, a bound of what only a run knows in `bounds`, text and HTML in `render`.
"""
