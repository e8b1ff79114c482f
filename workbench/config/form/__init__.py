"""What the forms of every surface have in common: rules as rows."""
