"""Layer 5: what a comparison looks like: plot, table, report."""
