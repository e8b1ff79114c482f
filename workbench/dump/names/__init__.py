"""Names of dump files: written for every version, read back in all their forms."""
