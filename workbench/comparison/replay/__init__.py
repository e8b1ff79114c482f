"""Operators computed again from the inputs that they had, and what explains what they gave instead."""
