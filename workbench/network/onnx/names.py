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


def unique_name(text: str, taken: set[str]) -> str:
    """Text that is not taken yet, with a number behind it if it is; it is taken then.

    >>> taken = {"a"}
    >>> unique_name("a", taken), unique_name("a", taken), unique_name("b", taken)
    ('a_2', 'a_3', 'b')
    """
    name, count = text, 1
    while name in taken:
        count += 1
        name = f"{text}_{count}"
    taken.add(name)
    return name
