"""Layer 8: the face. Widgets over plain objects; nothing below imports this."""
