"""Layer 1: graphs in MindSpore's primitive vocabulary, however they were made."""
