"""Settings in Python source, read without running it: values, statements and their conditions, what is assigned."""
