"""Layer 0: the vocabulary of the workbench. Imports NumPy and ml_dtypes alone."""
