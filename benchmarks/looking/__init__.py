"""How long a reader waits for the panels of a large comparison."""
