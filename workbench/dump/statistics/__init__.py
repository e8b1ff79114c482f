"""Statistics: tables of every writer, written and read."""
