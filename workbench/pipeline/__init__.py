"""Layer 7: whole jobs, and the objects that users hold."""
