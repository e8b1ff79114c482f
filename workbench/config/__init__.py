"""Layer 2: dump configurations of each vendor, lowered to a plan."""
