"""Files of one kind each: arrays, overflow, exceptions, cores, slices."""
