"""Layer 3: dump trees, read and written."""
