"""The compiler of the simulated device: passes over a graph, and the program that they end in."""
