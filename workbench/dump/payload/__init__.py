"""Tensors as they lie in files: elements, pieces, orders, formats."""
