"""Files that hold no tensors alone: overflow, exceptions, cores of the device, arguments of kernels."""
