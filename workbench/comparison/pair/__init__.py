"""Tensors of one side find their partners on the other."""
