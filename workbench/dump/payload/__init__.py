"""Elements of tensors, whatever file they lie in.

In: an `Extent`, which says where bytes lie and how. Out: an array, or its elements piece by piece.
`host_layout.with_host` is the only place that knows in which host format a device's tensor was meant.
A host format is added to `HOSTS` there.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.dump.payload.host_layout import find as find_layout
    from workbench.dump.payload.host_layout import with_host
    from workbench.dump.payload.rearrange import rearranged

__all__ = [
    "find_layout",
    "rearranged",
    "with_host",
]

PLACES = {
    "find_layout": "workbench.dump.payload.host_layout:find",
    "rearranged": "workbench.dump.payload.rearrange:rearranged",
    "with_host": "workbench.dump.payload.host_layout:with_host",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
