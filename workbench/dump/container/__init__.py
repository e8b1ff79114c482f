"""The binary container of an operator's tensors: messages, blocks, bytes."""
