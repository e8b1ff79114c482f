"""How large a graph file may be: one limit for all that read one."""

from __future__ import annotations

MAX_BYTES = 1 << 31
"""An operator takes about 1 KB in a ``.pb``, 2 KB in an IR and 10 KB in GE's text, where weights come on top."""
