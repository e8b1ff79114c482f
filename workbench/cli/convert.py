"""``workbench convert``: binary dumps as files that NumPy reads."""

from __future__ import annotations

import click

from workbench.cli.commands import Command, argument, option
from workbench.cli.terminal import Exit, print_lines, progress
from workbench.core.words import Message


@click.command(cls=Command)
@argument("dump", help="Dump file or folder.")
@option("--out", required=True, metavar="DIR", help="Output folder, new or empty.")
@option("--format", "format_", default="", metavar="F", help="Host format, e.g. NCHW.")
@option("--type", "type_", default="npy", metavar="npy|bin|msnpy", help="Output file type.")
def convert(dump: str, out: str, format_: str, type_: str) -> int:
    """Convert binary dumps to npy, in a host format if asked; overflow records to JSON."""
    from workbench.dump.convert import convert as run

    result = run(dump, out, format=format_, type=type_, progress=progress("files"))
    for line in result.remark_lines():
        print_lines(line, err=True)
    counts = {"files": result.files, "written": len(result.written)}
    print_lines(Message("cli/converted", **counts, out=result.out, remarks=len(result.remarks)))
    return Exit.TROUBLE if result.unread else Exit.DONE
