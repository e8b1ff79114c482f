"""Clean runs and planted faults, compared with and without graphs: what is said of each."""
