"""Pairs of graphs whose true correspondence is known by construction, and how well they are aligned."""
