"""Dump trees, written or foretold."""
