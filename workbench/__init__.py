"""NPU accuracy workbench."""
