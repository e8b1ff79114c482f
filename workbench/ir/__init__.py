"""Layer 2: graphs as files, one dialect at a time."""
