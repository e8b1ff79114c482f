"""Small faults put into the package, and whether the nearest tests see them."""
