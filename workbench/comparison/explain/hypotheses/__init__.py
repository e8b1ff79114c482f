"""Which fault makes an operator give what it gave: guesses that are computed and compared."""
