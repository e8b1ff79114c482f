"""Trees of many small tensors, and what every stage of their comparison takes."""
