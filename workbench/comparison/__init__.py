"""Layer 4: bind files to operators, align operators, measure tensors, judge, and name causes."""
