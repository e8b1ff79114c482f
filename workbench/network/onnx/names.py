"""What operators and weights of a model are called: names are text of strangers, and may break no line and no path."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[^\w./:-]+")


def safe_name(text: str) -> str:
    """Text as a name in graphs and files: what could break a line of an IR or a path becomes ``_``.

    >>> safe_name("/layer1/conv (1)"), safe_name("../../x")
    ('layer1/conv_1_', 'x')
    """
    parts = [part for part in _UNSAFE.sub("_", text).split("/") if part.strip(".")]
    return "/".join(parts)[:512]


def kernel_name(node: str) -> str:
    """Name of the kernel that computes a node, as ATC calls it: the node's own, a leading slash included.

    >>> kernel_name("/features/0/Conv"), kernel_name("bn.2")
    ('/features/0/Conv', 'bn.2')
    """
    return "/" * node.startswith("/") + safe_name(node)
