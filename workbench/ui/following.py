"""Panels that follow what is looked at in the present comparison, whichever that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from workbench.ui.part import Part

if TYPE_CHECKING:
    from collections.abc import Callable


class Following(Part):
    """A panel over ``bench.comparison.look``; ``traits`` are those of the look that it follows.

    Much work waits until the panel is seen.
    """

    traits: ClassVar[tuple[str, ...]] = ("selected",)
    _unlook: Callable[[], None] | None = None

    def follow_comparison(self) -> None:
        """Follow the comparison of the bench and its look, now and when there is another one."""
        self.follow(self.bench, "comparison", self._follow_look)
        self._follow_look()

    def show(self, shown: bool) -> None:
        late = shown and not self.shown
        super().show(shown)
        if late:
            with self.lock:
                self.refresh()

    def changed(self, name: str) -> None:
        """Show what a trait of the look says now."""

    def _follow_look(self) -> None:
        self._leave()
        comparison = self.bench.comparison
        if comparison is not None:
            look, names = comparison.look, list(self.traits)

            def changed(change: Any) -> None:
                with self.lock:
                    if self.shown:
                        self.changed(change["name"])
                        for update in self.stills:
                            update()

            guarded = self.alert.guard(changed)
            look.observe(guarded, names)
            self._unlook = lambda: look.unobserve(guarded, names)
        if hasattr(self, "view"):
            self.refresh()

    def _leave(self) -> None:
        if self._unlook is not None:
            self._unlook()
            self._unlook = None

    def close(self) -> None:
        self._leave()
        super().close()
