"""What ipywidgets cannot do: the clipboard, a slider with a name, HTML that can be clicked. Made with anywidget.

Ask `workbench.ui.widgets.native` for them: without anywidget there are plain ones.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import traitlets

from workbench.core.errors import WorkbenchError
from workbench.core.words.translate import ENGLISH, Say
from workbench.scale.report import MAP_WORDS, packed_map
from workbench.show.assets import read_asset, style_sheets

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.scale.job import JobResult


def _module(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


class Answering(anywidget.AnyWidget):
    """Takes from the browser what is its to change, ``taken``, and fits; else tells the browser what is.

    Nothing that a browser may send is an error in the kernel, and both sides stay the same.
    """

    taken: ClassVar[tuple[str, ...]] = ()

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take what was sent, or answer."""
        own = set(self.trait_names()) - set(anywidget.AnyWidget.class_trait_names())
        known = {n: value for n, value in sync_data.items() if n in self.taken or n not in own}
        with suppress(traitlets.TraitError, WorkbenchError):
            super().set_state(known)
        sent = [n for n in sync_data if n in own and getattr(self, n) != sync_data[n]]
        if sent:
            self.send_state(sent)


class CopyButton(Answering):
    """Copies ``text`` to the clipboard of the browser, and says whether that let it."""

    _esm = _module("copy.mjs")
    label = traitlets.Unicode("").tag(sync=True)
    text = traitlets.Unicode("").tag(sync=True)
    copied = traitlets.Unicode("").tag(sync=True)
    forbidden = traitlets.Unicode("").tag(sync=True)

    def __init__(self, label: str, copied: str, forbidden: str) -> None:
        super().__init__(label=label, copied=copied, forbidden=forbidden)


class Slider(Answering):
    """Chooses a ``value`` from 0 to ``max``; it has a name for screen readers, that of ipywidgets has none."""

    _esm = _module("slider.mjs")
    label = traitlets.Unicode("").tag(sync=True)
    max = traitlets.Int(0).tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    taken = ("value",)

    def __init__(self, axis: int, label: str, last: int) -> None:
        super().__init__(label=label, max=last)
        self.axis = axis

    @traitlets.validate("value")
    def _inside(self, proposal: traitlets.Bunch) -> int:
        return min(max(int(proposal["value"]), 0), self.max)


class Pieces(Answering):
    """Shows ``html``, which must be escaped already; calls back with the ``data-row`` of what was chosen.

    A click on ``data-fold`` opens or closes the details in it.
    """

    _esm = read_asset("explorer/press.mjs") + _module("pieces.mjs")
    html = traitlets.Unicode("").tag(sync=True)
    clickable: ClassVar[bool] = True

    def __init__(self, chosen: Callable[[str], None]) -> None:
        super().__init__()
        self._chosen = chosen
        self.on_msg(self._take)

    def _take(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and isinstance(content.get("row"), str):
            self._chosen(content["row"])


class JobMap(Answering):
    """Shows the units of a job, ranks down, iterations across; calls back with rank and iteration of a chosen one.

    ``data`` is `workbench.scale.report.packed_map`, a few bytes a unit, and is sent once.
    """

    _esm = f"{read_asset('job.mjs')}\n{_module('job_map.mjs')}"
    _css = style_sheets("parts", "job")
    data = traitlets.Bytes().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)

    def __init__(
        self, job: JobResult, chosen: Callable[[int, int], None], say: Say = ENGLISH
    ) -> None:
        said = {name: say(code) for name, code in MAP_WORDS.items()}
        super().__init__(data=packed_map(job), words=said)
        self._chosen = chosen
        self.on_msg(self._take)

    def _take(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and {"rank", "iteration"} <= content.keys():
            rank, iteration = content["rank"], content["iteration"]
            if type(rank) is type(iteration) is int:
                self._chosen(rank, iteration)
