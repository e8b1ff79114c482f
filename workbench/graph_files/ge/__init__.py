"""Graphs of the graph engine: text and binary messages, read, lowered and written."""
