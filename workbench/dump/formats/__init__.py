"""Formats of dump files, one module each: the grammar of its names, where the bytes of its tensors lie.

In: a name (`table.parse_name`), or a file. Out: a `FileName`, or an `Extent` for each tensor, from headers alone.
Sizes that a file states are checked against the file before anything is allocated.
A format is added as a module here and a row in `table.FILE_FORMATS`.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.dump.formats.archives import locate as locate_saved
    from workbench.dump.formats.archives import locate_npz
    from workbench.dump.formats.container import (
        element_count,
        list_tensors,
        locate,
        read_container,
        read_form,
        text_of,
    )
    from workbench.dump.formats.container_header import decode_numbers
    from workbench.dump.formats.ffts import read_part

__all__ = [
    "decode_numbers",
    "element_count",
    "list_tensors",
    "locate",
    "locate_npz",
    "locate_saved",
    "read_container",
    "read_form",
    "read_part",
    "text_of",
]

PLACES = {
    "decode_numbers": "workbench.dump.formats.container_header:decode_numbers",
    "element_count": "workbench.dump.formats.container:element_count",
    "list_tensors": "workbench.dump.formats.container:list_tensors",
    "locate": "workbench.dump.formats.container:locate",
    "locate_npz": "workbench.dump.formats.archives:locate_npz",
    "locate_saved": "workbench.dump.formats.archives:locate",
    "read_container": "workbench.dump.formats.container:read_container",
    "read_form": "workbench.dump.formats.container:read_form",
    "read_part": "workbench.dump.formats.ffts:read_part",
    "text_of": "workbench.dump.formats.container:text_of",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
