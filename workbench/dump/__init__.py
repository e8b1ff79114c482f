"""Layer 3: dump trees, read and written: names, values and files below, `read` and `write` above."""
