"""Choose a folder or a file of the machine that the kernel runs on."""

from __future__ import annotations

import os
from pathlib import Path

import ipywidgets as W
import traitlets

from workbench.core.errors import WorkbenchError
from workbench.core.text import brief, editable
from workbench.core.words.translate import ENGLISH, Say
from workbench.ui.widgets.alerts import Alert, close_tree
from workbench.ui.widgets.boxes import row, styled

MOST = 500
"""Entries of a folder that are listed; the text beside says how many there are."""


class Chooser(traitlets.HasTraits):
    """A path as text, and a list to go through folders; ``view`` is its widget, ``value`` the path.

    ``suffixes`` makes it choose a file of one of these endings, else it chooses a folder.
    """

    value = traitlets.Unicode("")

    def __init__(self, label: str, say: Say = ENGLISH, *, suffixes: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.suffixes = suffixes
        self.alert = Alert(say)
        self._say = say
        self.text = styled(W.Text(description=label, continuous_update=False), "input")
        self.browse = W.ToggleButton(description=say("ui/browse"))
        self.list = styled(W.Select(description=say("ui/entries"), rows=10), "input")
        self.use = W.Button(description=say("ui/use-folder"))
        self.counted = W.HTML()
        self.drawer = W.VBox(layout={"display": "none"})
        self.drawer.children = (self.list, styled(row([self.use, self.counted]), "below"))
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
        if self.text.value != editable(self.value):
            self.value = os.path.expanduser(self.text.value.strip())

    def _shown(self) -> None:
        if self.text.value != editable(self.value):
            self.text.value = editable(self.value)

    def _open(self) -> None:
        self.drawer.layout.display = "" if self.browse.value else "none"
        if self.browse.value:
            self._go(Path(self.value or Path.cwd()))

    def _go(self, path: Path) -> None:
        """List a folder: the one above, its folders, and the files that may be chosen."""
        try:
            folder = (path if path.is_dir() else path.parent).resolve()
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a circle of links
            reason = getattr(error, "strerror", None) or error
            raise WorkbenchError("ui/folder-unlisted", got=str(path), why=reason) from error
        folders = [f"{entry.name}/" for entry in found if _is_folder(entry)]
        files = [e.name for e in found if e.name.endswith(self.suffixes) and not _is_folder(e)]
        names = folders + (files if self.suffixes else [])
        self._folder = folder
        self._listing = True  # the list selects its first entry by itself
        try:
            self.list.options = [(brief(name), name) for name in ("../", *names[:MOST])]
            self.list.value = None
        finally:
            self._listing = False
        told = self._say("ui/counted-entries", n=len(names))
        if len(names) > MOST:
            told = self._say("ui/first-entries", most=MOST, n=len(names))
        self.counted.value = told

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
