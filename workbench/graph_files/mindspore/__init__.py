"""Graphs of MindSpore: the text of every release and its binary form, read and written."""
