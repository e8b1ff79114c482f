"""Graphs that were read last: ranks of one program, and its dumps, have files of the same text.

What is found out about an operator is then found out once for all of them.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.graph.graph import Graph

_MOST = 1 << 24
"""Characters of all texts together; a longer text is not kept."""


class GraphCache:
    """The graphs of the texts that ``parse`` was last given; a text that is refused is not kept."""

    def __init__(self, parse: Callable[[str, str], Graph]) -> None:
        self._parse = parse
        self._kept: OrderedDict[str, Graph] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def graph(self, text: str, where: str) -> Graph:
        """Return the graph of a text; ``where`` starts the message of an error."""
        with self._lock:
            found = self._kept.get(text)
            if found is not None:
                self._kept.move_to_end(text)
                return found
        found = self._parse(text, where)
        if len(text) <= _MOST:
            with self._lock:
                self._keep(text, found)
        return found

    def _keep(self, text: str, graph: Graph) -> None:
        if text not in self._kept:
            self._size += len(text)
        self._kept[text] = graph
        while self._size > _MOST:
            self._size -= len(self._kept.popitem(last=False)[0])
