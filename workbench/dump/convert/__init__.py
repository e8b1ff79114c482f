"""Dumped files converted to files that NumPy reads."""
