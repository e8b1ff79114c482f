"""msprobe's ``config.json``: calls and modules of PyTorch or MindSpore, dumped by ``PrecisionDebugger``."""
