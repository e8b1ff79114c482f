"""The panels of the workbench, one module each."""
