"""AscendCL's ``acl.json``: what ``aclInit`` and ``aclmdlSetDump`` read.

In: decoded data and the release that reads it, as an `AclReading`.
Out: `surface.ACL`, a row of functions and tables.
Added here: a setting in `settings`, a rule in `refusals` or `warnings`, a note in `notes`.
"""
