"""Layer 5: what a comparison looks like: plot, table, report."""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.show.json_result import pieces as json_pieces
    from workbench.show.json_result import to_json
    from workbench.show.landmarks import first_divergence, largest_jump

__all__ = [
    "first_divergence",
    "json_pieces",
    "largest_jump",
    "to_json",
]

PLACES = {
    "first_divergence": "workbench.show.landmarks:first_divergence",
    "json_pieces": "workbench.show.json_result:pieces",
    "largest_jump": "workbench.show.landmarks:largest_jump",
    "to_json": "workbench.show.json_result:to_json",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
