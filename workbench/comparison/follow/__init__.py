"""Errors are followed through the graph to where they begin."""
