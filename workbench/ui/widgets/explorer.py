"""The explorer of a comparison as a widget: plot, table and details, which follow `comparison.look` and change it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets as T

from workbench.show.assets import explorer_module, style_sheets
from workbench.show.look.look import EXPLORED, look_code, look_data
from workbench.show.packed import compressed
from workbench.ui.widgets.bundle import with_html
from workbench.ui.widgets.live import Answering
from workbench.ui.widgets.still import display_with_still

if TYPE_CHECKING:
    from workbench.core.words.translate import Language
    from workbench.session.comparison import Comparison


class Explorer(Answering):
    """Plot, table and details of a comparison in the notebook.

    ``data`` is the compressed JSON of `workbench.show.payload` and is sent once; ``state`` holds the traits of
    ``comparison.look``, which browser and Python both change.
    """

    _esm = T.Unicode().tag(sync=True)
    _css = T.Unicode().tag(sync=True)
    data = T.Bytes().tag(sync=True)
    state = T.Dict().tag(sync=True)
    taken = ("state",)

    def __init__(self, comparison: Comparison, language: Language = "en") -> None:
        self.comparison, self.look = comparison, comparison.look
        super().__init__(
            _esm=_module(),
            _css=style_sheets("parts", "explorer"),
            data=compressed(comparison.result, language),
            state=look_data(self.look),
        )
        self.look.observe(self._follow, EXPLORED)
        self.observe(self._take, "state")

    def to_code(self) -> str:
        """Python that gives the rows that are shown."""
        return look_code(self.look)

    def _follow(self, _change: Any) -> None:
        self.state = look_data(self.look)

    def _take(self, _change: Any) -> None:
        """Bring to Python what was clicked: all of it before anybody hears; what is refused goes back as it was."""
        try:
            self.look.take({n: value for n, value in self.state.items() if n in EXPLORED})
        finally:
            self.state = look_data(self.look)

    def close(self) -> None:
        """Follow nothing any more, and leave the kernel."""
        if self.comm is not None:  # it is closed once more when it is collected
            self.look.unobserve(self._follow, EXPLORED)
            self.layout.close()
        super().close()

    def _ipython_display_(self) -> None:
        display_with_still(self, self.comparison._repr_html_, repr(self.comparison))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return with_html(super()._repr_mimebundle_(**options), self.comparison)


@cache
def _module() -> str:
    own = (Path(__file__).parent / "explorer.mjs").read_text(encoding="utf-8")
    return f"{explorer_module()}\n{own}"
