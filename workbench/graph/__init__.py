"""Graphs as values: operators, parameters and constants in MindSpore's primitive vocabulary, however they were made."""
