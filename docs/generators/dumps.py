"""What dump trees look like: layouts, names of files, statistics, number formats, data layouts, devices."""

from __future__ import annotations

from generators.markdown import code, codes, page, table
from workbench.core.dtypes import DATA_TYPES
from workbench.core.formats import FORMATS
from workbench.dump.formats.table import FILE_FORMATS
from workbench.dump.layouts import FIELDS, LAYOUTS
from workbench.dump.releases import WRITTEN_ON
from workbench.dump.statistics.dialects import DIALECTS

INTRODUCTION = """\
`workbench inspect DIR` prints the layout of a tree. Trees are recognized by their folders and file names;
you may name the tree, or a folder inside it. [Observations in real dumps](../evidence/real-dumps.md) lists
what files really hold."""

LAYOUT = """\
Folders from the top of the tree down to the files. *Files* limits a row to one kind of file."""

FIELD = "Values of the fields, as regular expressions."

NAME = """\
Names of files, in the order of trial. Those of `npy` are
`{type}.{name}.{task}.{stream}.{time}.{input|output}.{slot}.{format}.{number format}.npy`; older releases of MindSpore
have [fewer parts](../evidence/real-dumps.md#releases-of-mindspore). A name with a slot above 4,095, or with a number
that no clock or task has, is skipped."""

TABLES = "Columns of statistics, by the software that writes them."

NUMBERS = """\
*How*: `plain` as in memory, `packed` several elements in a byte, `lookup` decoded to float32, `pairs` two
halves of a complex number, `opaque` or empty bytes without known elements (not compared)."""

DATA_LAYOUTS = """\
Axes as the graph has them, and blocks as the device has them. Rows without axes are known by name only: such
tensors are not compared with a tensor in another format."""

DEVICES = """\
What MindSpore 2.3 and later write beside the tensors of operators. What others wrote says the table of
[releases](../evidence/real-dumps.md#releases-of-mindspore)."""


def dump_formats() -> str:
    """Return the page."""
    layouts = [
        (code(row.name), code(row.path) or "(any folder)",
         codes(sorted(row.kinds)))
        for row in LAYOUTS
    ]  # fmt: skip
    fields = [(code(f"{{{name}}}"), code(pattern)) for name, pattern in FIELDS.items()]
    names = [(code(row.id), row.title, code(row.example)) for row in FILE_FORMATS]
    dialects = [(code(one.name), codes(one.titles.values())) for one in DIALECTS.values()]
    numbers = [
        (one.code, code(one.word), code(one.name), one.bits, code(one.packing))
        for one in DATA_TYPES.values()
    ]
    formats = [
        (one.code if one.code >= 0 else "", code(one.name), code(one.axes), code(one.device))
        for one in FORMATS.values()
    ]
    return page(
        "Dump formats",
        INTRODUCTION,
        "## Layouts",
        LAYOUT,
        table(("Layout", "Folders", "Files"), layouts),
        FIELD,
        table(("Field", "Values"), fields),
        "## File names",
        NAME,
        table(("Kind", "Content", "Example"), names),
        "## Statistics",
        TABLES,
        table(("Table", "Figures"), dialects),
        "## Number formats",
        NUMBERS,
        table(("Number", "In files", "Name", "Bits", "How"), numbers),
        "## Data layouts",
        DATA_LAYOUTS,
        table(("Number", "Format", "Axes", "Blocks on the device"), formats),
        "## Devices",
        DEVICES,
        table(("Content", "Devices"), [(one, ", ".join(by)) for one, by in WRITTEN_ON.items()]),
    )
