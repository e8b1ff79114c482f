"""What a comparison looks like: figures, tables, JSON, the one-file report.

In: a frozen `Result`, and the words of the reader's language. Out: text, SVG, columns; nothing here reads a dump.
``plots`` draws, ``look`` says which rows are shown, templates (``*.j2``) and style sheets lie beside the modules.
A new column of tables is a row of ``columns``, a new part of the report a key of ``report.SECTIONS``.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.show.json_result import pieces as json_pieces
    from workbench.show.json_result import to_json
    from workbench.show.look.landmarks import first_divergence, largest_jump

__all__ = [
    "first_divergence",
    "json_pieces",
    "largest_jump",
    "to_json",
]

PLACES = {
    "first_divergence": "workbench.show.look.landmarks:first_divergence",
    "json_pieces": "workbench.show.json_result:pieces",
    "largest_jump": "workbench.show.look.landmarks:largest_jump",
    "to_json": "workbench.show.json_result:to_json",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
