"""What a comparison reads off one graph."""
