"""What a workbench knows: trees, pairs by hand, the running job, the comparison, what the report is to hold.

In: calls of the user's Python, or of the panels. Out: values that panels observe, their code, the session's file.
No module here imports a widget. What a session is to remember is a field of `session`, with what refuses it.
"""
