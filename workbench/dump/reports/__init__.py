"""Files that hold no tensors alone: overflow records, dumps of exceptions, cores of the device, arguments of kernels.

In: the bytes of a file, or what a device reported. Out: frozen records, or the bytes that a vendor would write.
Fields are tables of words and widths, one a vendor's structure.
A kind of report is added as a module here, and a row in `formats.table.FILE_FORMATS`.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.dump.reports.exception import read_exception, read_failed_core
    from workbench.dump.reports.opdebug import read_overflow
    from workbench.dump.reports.opdebug_json import parse_json

__all__ = [
    "parse_json",
    "read_exception",
    "read_failed_core",
    "read_overflow",
]

PLACES = {
    "parse_json": "workbench.dump.reports.opdebug_json:parse_json",
    "read_exception": "workbench.dump.reports.exception:read_exception",
    "read_failed_core": "workbench.dump.reports.exception:read_failed_core",
    "read_overflow": "workbench.dump.reports.opdebug:read_overflow",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
