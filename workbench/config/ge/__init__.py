"""What every dump of the graph engine shares, whichever surface asks for it: rules, texts of steps, parts of plans."""
