"""AscendCL's ``acl.json``: what ``aclInit`` and ``aclmdlSetDump`` read."""
