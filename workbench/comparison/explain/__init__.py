"""What may have caused an error."""
