"""Comparison tables of other tools."""
