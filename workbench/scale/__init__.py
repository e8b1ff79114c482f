"""Jobs of many ranks and steps."""
