"""Dump trees, read."""
