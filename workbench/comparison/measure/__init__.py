"""The error of each pair of tensors."""
