"""The parts of ``benchmarks/diagnosis.py``."""
