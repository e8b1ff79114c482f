"""Operators of one graph find their partners in the other."""
