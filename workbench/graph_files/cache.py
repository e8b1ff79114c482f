"""Graphs that were read last: ranks of one program, and its dumps, have files of the same text.

What is found out about an operator is then found out once for all of them.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.graph.graph import Graph

_MOST = 1 << 24
"""Characters of all texts together that are kept."""


class GraphCache:
    """The graphs of the texts that ``parse`` was last given; a text that is refused is not kept.

    The graph of a text that is too long to be kept is known as long as somebody holds it, by the digest of the text.
    """

    def __init__(self, parse: Callable[[str, str], Graph]) -> None:
        self._parse = parse
        self._kept: OrderedDict[str, Graph] = OrderedDict()
        self._held: WeakValueDictionary[bytes, Graph] = WeakValueDictionary()
        self._size = 0
        self._lock = Lock()

    def graph(self, text: str, path: str, graph_id: int = 0) -> Graph:
        """Return the graph of the text of a file, under its path and id; ``path`` starts the message of an error."""
        key = text if len(text) <= _MOST else _digest(text)
        with self._lock:
            known = self._kept.get(key) if isinstance(key, str) else self._held.get(key)
        found = (self._parse(text, path) if known is None else known).elsewhere(path, graph_id)
        with self._lock:
            if isinstance(key, str):
                self._keep(key, found)
            else:
                self._held[key] = found  # the last one, which is held longest
        return found

    def _keep(self, text: str, graph: Graph) -> None:
        if text not in self._kept:
            self._size += len(text)
            self._kept[text] = graph
        self._kept.move_to_end(text)
        while self._size > _MOST:
            self._size -= len(self._kept.popitem(last=False)[0])


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
