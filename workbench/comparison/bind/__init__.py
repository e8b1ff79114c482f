"""Files of a dump become tensors of operators."""
