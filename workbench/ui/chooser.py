"""Choose a folder or a file of the machine that the kernel runs on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as W
import traitlets

from workbench.ui.alerts import Alert, close_tree
from workbench.ui.boxes import row

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 500
"""Entries of a folder that are listed; the text beside says how many there are."""


class Chooser(traitlets.HasTraits):
    """A path as text, and a list to go through folders; ``view`` is its widget, ``value`` the path.

    ``suffixes`` makes it choose a file of one of these endings, else it chooses a folder.
    """

    value = traitlets.Unicode("")

    def __init__(
        self, label: str, say: Callable[[str], str] = str, *, suffixes: tuple[str, ...] = ()
    ) -> None:
        super().__init__()
        self.suffixes = suffixes
        self.alert = Alert()
        style = {"description_width": "190px"}
        wide = {"width": "640px", "max_width": "100%"}
        self.text = W.Text(description=label, continuous_update=False, layout=wide, style=style)
        self.browse = W.ToggleButton(description=say("Browse"), layout={"width": "auto"})
        self.list = W.Select(description=say("entries"), rows=10, layout=wide, style=style)
        self.use = W.Button(description=say("Use this folder"), layout={"width": "auto"})
        self.counted = W.HTML()
        self.drawer = W.VBox(layout={"display": "none"})
        self.drawer.children = (self.list, row([self.use, self.counted]))
        self.view = W.VBox([row([self.text, self.browse]), self.drawer, self.alert.widget])
        self._folder, self._listing = Path.cwd(), False
        guard = self.alert.guard
        self.text.observe(guard(lambda _change: self._typed()), "value")
        self.browse.observe(guard(lambda _change: self._open()), "value")
        self.list.observe(guard(lambda _change: self._picked()), "value")
        self.use.on_click(guard(lambda _button: self._take(self._folder)))
        self.observe(guard(lambda _change: self._shown()), "value")

    def close(self) -> None:
        """Remove every widget from the kernel."""
        close_tree(self.view)

    def _typed(self) -> None:
        self.value = self.text.value.strip()

    def _shown(self) -> None:
        if self.text.value != self.value:
            self.text.value = self.value

    def _open(self) -> None:
        self.drawer.layout.display = "" if self.browse.value else "none"
        if self.browse.value:
            start = Path(self.value).expanduser() if self.value else Path.cwd()
            self._go(start if start.is_dir() else start.parent)

    def _go(self, folder: Path) -> None:
        """List a folder: the one above, its folders, and the files that may be chosen."""
        folder = folder.resolve()
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        folders = [f"{entry.name}/" for entry in found if _is_folder(entry)]
        files = [e.name for e in found if e.name.endswith(self.suffixes) and not _is_folder(e)]
        names = folders + (files if self.suffixes else [])
        self._folder = folder
        self._listing = True  # the list selects its first entry by itself
        try:
            self.list.options = ["../", *names[:MOST]]
            self.list.value = None
        finally:
            self._listing = False
        rest = f", {MOST} listed" if len(names) > MOST else ""
        self.counted.value = f"{len(names)} entries{rest}"

    def _picked(self) -> None:
        name = self.list.value
        if name is None or self._listing:
            return
        path = self._folder / name
        if name.endswith("/"):
            self._go(path)
        else:
            self._take(path)

    def _take(self, path: Path) -> None:
        self.value = str(path)
        self.browse.value = False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
