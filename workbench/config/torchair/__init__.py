"""torchair: dump options of a graph compiled for the NPU, set in a Python script."""
