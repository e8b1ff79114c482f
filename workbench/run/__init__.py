"""Layer 2: executors. A NumPy reference and a simulated NPU that share no matrix product."""
